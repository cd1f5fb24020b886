/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dotnet_r2r_name.h - signatures of instances of generic methods in compiled assemblies, and names
 * as the runtime writes them; for dotnet_r2r.c only.
 *
 * Formats: "Method Signatures" of dotnet/runtime docs/design/coreclr/botr/readytorun-format.md,
 * types as of ECMA-335 II.23.2.12. Bytes are hostile input: every access is checked. Pure.
 */
#ifndef TAPIR_USER_DOTNET_R2R_NAME_H
#define TAPIR_USER_DOTNET_R2R_NAME_H

#include "base/str.h"
#include "elf/pe_metadata.h"

struct tapir_r2r_sig {
	struct tapir_md_ref method;
	struct tapir_md_blob owner; /* its type's signature; empty: the method's own type */
	size_t bytes;
};

/* False: not understood. method.row is 0 if the file does not identify it. */
bool tapir_r2r_sig__parse(struct tapir_md_blob bytes, struct tapir_r2r_sig *out);

/*
 * "instance bool [Module] Namespace.Type+Nested`1[Argument]::Method(int32)[PreJIT]", some 4 KB at
 * most; "(...)" where the file does not have its declaration. sig may be NULL: row is of the table
 * of methods.
 */
void tapir_r2r_name__add(struct tapir_str *out, const struct tapir_metadata *m, uint32_t row,
			 const struct tapir_r2r_sig *sig);

#endif
