/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * process_runtime.h - which runtime a recorded process has, by the files it mapped, and which of
 * its names a stack lacks. Thread safety: that of the catalog.
 */
#ifndef TAPIR_USER_PROCESS_RUNTIME_H
#define TAPIR_USER_PROCESS_RUNTIME_H

#include "base/str.h"
#include "trace/catalog.h"
#include "trace/record.h"

struct tapir_lore;

/* Returns the runtime; NULL: spec/runtime_db has none for any mapped file. */
const struct tapir_lore *tapir_process_runtime__of(const struct tapir_catalog *catalog,
						   uint32_t tgid, uint64_t time_ns);

/*
 * Appends its name and, where the path of a mapped file has it, its version: ".NET 10.0.12".
 * Nothing where no runtime is known.
 */
void tapir_process_runtime__add(const struct tapir_catalog *catalog, uint32_t tgid,
				uint64_t time_ns, struct tapir_str *out);

#define TAPIR_GENERATED_CODE "[jit]" /* in the place of a file's path */

struct tapir_missing_names {
	struct tapir_sv path; /* of the innermost function without a name: its file, or
				 TAPIR_GENERATED_CODE of no runtime that is known; or "" */
	bool runs_methods;    /* as far as is known: functions of its runtime's language, which can
				 have names */
	bool of_methods;      /* and none of them is named */
};

/*
 * Returns which names a user stack lacks. runtime: of its process, or NULL. .NET's assemblies name
 * themselves.
 */
struct tapir_missing_names tapir_missing_names__of(const struct tapir_catalog *catalog,
						   uint32_t tgid, uint64_t time_ns,
						   const struct tapir_rec_stack *stack,
						   const struct tapir_lore *runtime);

#endif
