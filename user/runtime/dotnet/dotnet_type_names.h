/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dotnet_type_names.h - names of types of a .NET process, by the metadata of the assemblies that it
 * maps. Assemblies are hostile input: reads and memory are bounded. One thread.
 */
#ifndef TAPIR_USER_DOTNET_TYPE_NAMES_H
#define TAPIR_USER_DOTNET_TYPE_NAMES_H

#include "base/str.h"
#include "base/vec.h"
#include "elf/pe_metadata.h"

struct tapir_dotnet_type_name {
	uint32_t row;
	char *path, *name; /* name: NULL where there is none */
};

struct tapir_dotnet_type_names { /* zeroed at first, but for the process */
	uint32_t tgid;
	struct tapir_vec(struct tapir_dotnet_type_name) known;
};

/*
 * Appends "Shop.Cart.Line" of a nested type, "System.Collections.Generic.List<>". Pure; nothing:
 * there is no such row.
 */
void tapir_dotnet_type__add_name(const struct tapir_metadata *m, uint32_t row,
				 struct tapir_str *out);

/*
 * Returns the name of a type in the assembly that the process maps from that path. Borrowed; NULL:
 * not known.
 */
const char *tapir_dotnet_type_names__of(struct tapir_dotnet_type_names *names, const char *path,
					uint32_t row);
/* Frees the names. */
void tapir_dotnet_type_names__fini(struct tapir_dotnet_type_names *names);

#endif
