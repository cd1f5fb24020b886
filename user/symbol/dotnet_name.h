/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dotnet_name.h - a .NET method's name as people write it, from the one its runtime gives:
 *
 *  instance void [App] My.Box`1+Inner`1[System.Int32,System.String]::Go(!1,class
 * My.Thing&)[OptimizedTier1]
 *  -> My.Box<int>.Inner<string>.Go(string, Thing&)                         tier OptimizedTier1
 *
 *  My.Program+<Download>d__2::MoveNext()        -> My.Program.Download (async), or (iterator)
 *  My.Program+<>c::<Main>b__8_3(int32)          -> My.Program.Main (lambda 8_3)(int)
 *  My.Program+<>c__DisplayClass8_0::<Main>b__1()-> My.Program.Main (lambda 8_0.1)()
 *  My.Program::<Local>g__Inner|6_0(int32)       -> My.Program.Local.Inner (local)(int)
 *
 * Left out: the return type, the module, namespaces of types within types and parameters. Kept:
 * everything that distinguishes two methods, except modules with equal types. `!!0` is the method's
 * own first type parameter, which the runtime does not resolve.
 *
 * Names are chosen by the traced process: any bytes; work is linear. Any thread.
 */
#ifndef TAPIR_USER_DOTNET_NAME_H
#define TAPIR_USER_DOTNET_NAME_H

#include "base/str.h"
#include "trace/record.h"

/*
 * Adds the readable name to out. False: raw is no such name, nothing was added. *tier: how it was
 * compiled ("PreJIT": before the program ran), borrowed from raw.
 */
bool tapir_dotnet_name__add(struct tapir_str *out, struct tapir_sv raw, struct tapir_sv *tier);

/* Returns true if both name one method, compiled the same way. */
bool tapir_dotnet_name__are_one(struct tapir_sv raw, struct tapir_sv other);

#endif
