/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dotnet_profiler.h - the bytes of libtapir-coreclr.so (usdt/coreclr), which a .NET process is to
 * load: part of tapir, so that it is one file. Constant; any thread.
 */
#ifndef TAPIR_USER_DOTNET_PROFILER_H
#define TAPIR_USER_DOTNET_PROFILER_H

#include <stddef.h>

/* Returns an ELF file of *len bytes; static. */
const void *tapir_dotnet_profiler__image(size_t *len);

#endif
