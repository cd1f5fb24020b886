/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dotnet_r2r.h - the methods that were compiled into an assembly (ReadyToRun), by the position of
 * their code in its file.
 *
 * The runtime names such code itself, but not all of it: no stubs that call native functions, and
 * no code of a method that it has compiled anew. Here are the methods that the assembly defines and
 * the instances of generic ones it has code of, each with its exception handlers; not the instances
 * of what another assembly defines, unless a member reference names the method. x86-64 only.
 *
 * Formats: READYTORUN_HEADER and the sections RuntimeFunctions, MethodDefEntryPoints and
 * InstanceMethodEntryPoints of dotnet/runtime docs/design/coreclr/botr/readytorun-format.md. Files
 * are hostile input: every access is checked. A loaded one is read-only: any thread.
 */
#ifndef TAPIR_USER_DOTNET_R2R_H
#define TAPIR_USER_DOTNET_R2R_H

#include "base/str.h"

struct tapir_r2r;

struct tapir_r2r_method {
	uint32_t start_off; /* in the file */
	uint32_t size;
	uint32_t row, sig; /* for __put_name */
};

/* fd is not kept. -ENOEXEC, without a line: no assembly, or no code of x86-64 in it; -ENOMEM. */
int tapir_r2r__load(int fd, struct tapir_r2r **out);
void tapir_r2r__free(struct tapir_r2r *r); /* NULL is fine */

/* The memory that it takes, in bytes. */
size_t tapir_r2r__bytes(const struct tapir_r2r *r);

/* The method whose code covers the offset. False: there is none, *out is untouched. Any thread. */
bool tapir_r2r__find(const struct tapir_r2r *r, uint64_t file_off, struct tapir_r2r_method *out);

/*
 * Adds the runtime's name of it to out (whose failed reports lack of memory): "instance bool
 * [Module] Namespace.Type+Nested`1[System.Int32]::Method(string,!0)[PreJIT]".
 */
void tapir_r2r__put_name(const struct tapir_r2r *r, const struct tapir_r2r_method *method,
			 struct tapir_str *out);

#endif
