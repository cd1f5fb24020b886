/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dotnet_monitors.h - which thread holds the monitor for which another waits, by the memory of a
 * CoreCLR that runs: nothing is asked of it, and nothing stops.
 *
 * Since .NET 9 the runtime describes its structures to debuggers (DotNetRuntimeContractDescriptor):
 * the list of threads and the table of sync blocks, each of which begins with a monitor. A thread
 * that waits for one has put an item for debuggers on its stack, to which its Thread object points.
 * What that item and a monitor look like is not described, so each field is checked against what
 * is: the item names the AppDomain, the monitor its own index of the table, and its holder twice.
 * What does not agree is no owner. The object whose monitor it is, and its type, are found the same
 * way: the object's header names the monitor's index. One thread.
 */
#ifndef TAPIR_USER_DOTNET_MONITORS_H
#define TAPIR_USER_DOTNET_MONITORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/process_memory.h"

/*
 * The parts of the description that are used: offsets, the size of an entry, indexes in the
 * descriptor's list of pointers.
 */
struct tapir_dotnet_contract {
	uint32_t thread_number, thread_tid, thread_link; /* in a Thread */
	uint32_t first_thread;				 /* in the ThreadStore */
	uint32_t entry_bytes, entry_block;		 /* of the table of sync blocks */
	uint32_t monitor_bytes;				 /* at the start of a sync block */
	uint32_t app_domain_idx, thread_store_idx, sync_table_idx;
	/* in an object, in its MethodTable, in the Module of that; has_types: they are described.
	 * type_element: of an array's; 0: it is not described */
	uint32_t object_type, type_kind, type_row, type_module, type_element, module_path;
	bool has_types;
};

#define TAPIR_DOTNET_PATH_BYTES 1024u

struct tapir_dotnet_type {
	uint32_t row;			    /* in its module's table of types, from 1 */
	uint32_t array_depth;		    /* 2: it is an array of arrays of that type */
	char path[TAPIR_DOTNET_PATH_BYTES]; /* the module's file, as the process calls it */
};

/* -EINVAL: it lacks something, or is out of bounds; *out is untouched. Pure. */
int tapir_dotnet_contract__parse(const char *json, size_t len, struct tapir_dotnet_contract *out);

struct tapir_dotnet_monitors;

/*
 * Lists the threads. memory is copied, its ctx borrowed. 0; -EINVAL: no descriptor is there; *out
 * is the caller's to free.
 */
int tapir_dotnet_monitors__new(const struct tapir_process_memory *memory, uint64_t descriptor_va,
			       struct tapir_dotnet_monitors **out);
void tapir_dotnet_monitors__free(struct tapir_dotnet_monitors *m);

/*
 * Returns the thread that holds the monitor for which tid waits, both as their own namespace
 * numbers them; 0: it waits for none, or its owner is not known. stack: a copy of its memory from
 * stack_va on.
 */
uint32_t tapir_dotnet_monitors__owner(const struct tapir_dotnet_monitors *m, uint32_t tid,
				      const uint8_t *stack, size_t bytes, uint64_t stack_va);
/*
 * Writes the type of the object for whose monitor tid waits, with the same stack. False: it is not
 * known, or an array of more dimensions.
 */
bool tapir_dotnet_monitors__type(const struct tapir_dotnet_monitors *m, uint32_t tid,
				 const uint8_t *stack, size_t bytes, uint64_t stack_va,
				 struct tapir_dotnet_type *out);

#endif
