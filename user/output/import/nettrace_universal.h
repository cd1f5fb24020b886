/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nettrace_universal.h - the events by which a nettrace file of a machine describes it (providers
 * Universal.System and Universal.Events, after UniversalProviders.md of microsoft/perfview):
 * processes, mappings, symbols, CPU samples. One thread.
 */
#ifndef TAPIR_USER_NETTRACE_UNIVERSAL_H
#define TAPIR_USER_NETTRACE_UNIVERSAL_H

#include "decode/nettrace_stream.h"
#include "output/import/import_tasks.h"

enum tapir_nettrace_universal {
	TAPIR_UNIVERSAL_NONE,
	TAPIR_UNIVERSAL_PROCESS,
	TAPIR_UNIVERSAL_EXIT,
	TAPIR_UNIVERSAL_MAPPING,
	TAPIR_UNIVERSAL_SYMBOL,
	TAPIR_UNIVERSAL_OTHER, /* describes, and is of no use here */
	TAPIR_UNIVERSAL_CPU,
	TAPIR_UNIVERSAL_SWITCH, /* an event: its thread was out for so long */
};

/* Stands for the kernel's file in mappings and symbols of such a recording. */
#define TAPIR_UNIVERSAL_KERNEL_ID 3u
#define TAPIR_UNIVERSAL_KERNEL_VA (1ull << 63)

/* The meaning of an event, by its names in the file; NONE: it is an event like any other. */
enum tapir_nettrace_universal tapir_nettrace_universal__of(const char *provider, const char *event);

/* A symbol becomes a name of code, of process 0 where it is the kernel's. False: malformed. */
bool tapir_nettrace_universal__add_symbol(struct tapir_import_names *names,
					  const struct tapir_nettrace_event *event);
/* A process, its end, a mapping. False: malformed. */
bool tapir_nettrace_universal__put(struct tapir_import_tasks *tasks,
				   enum tapir_nettrace_universal kind,
				   const struct tapir_nettrace_event *event, uint64_t ns);
/* Before the first record: the kernel's mapping. */
void tapir_nettrace_universal__put_kernel(struct tapir_import_sink *sink);

#endif
