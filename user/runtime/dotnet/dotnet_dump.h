/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dotnet_dump.h - whether a runtime wrote its jitdump to the end. It dumps stubs by blocks of 64
 * KB, as they are in memory; where the rest of a block is not mapped, write(2) is short, and the
 * runtime stops there without a word: no later method has a name (observed on .NET 10 in a program
 * that makes thousands of dynamic methods). No state; any thread.
 */
#ifndef TAPIR_USER_DOTNET_DUMP_H
#define TAPIR_USER_DOTNET_DUMP_H

#include <stdbool.h>

/*
 * Returns true if the last record is longer than the file. False for a file that is not a jitdump.
 */
bool tapir_dotnet_dump__is_truncated(int fd);

#endif
