/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dotnet_ops.h - the tables of functions of which .NET's row is made (dotnet_ops.c). */
#ifndef TAPIR_USER_DOTNET_OPS_H
#define TAPIR_USER_DOTNET_OPS_H

#include "runtime/runtime_ops.h"

/* Finds who holds monitors: dotnet_seekers.c */
extern const struct tapir_lock_ops tapir_dotnet_lock_ops;

#endif
