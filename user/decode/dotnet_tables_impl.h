/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dotnet_tables_impl.h - what the generated tables (build/gen/dotnet_layouts.c) define. Constant.
 */
#ifndef TAPIR_USER_DOTNET_TABLES_IMPL_H
#define TAPIR_USER_DOTNET_TABLES_IMPL_H

#include "decode/layout.h"

extern const struct tapir_layout_provider *const tapir_dotnet_providers[];
extern const unsigned tapir_dotnet_provider_cnt;

#endif
