// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Observed on .NET 9.0.22 and 10.0.12. What the contract describes is followed; what it does not
 * (the item on a waiter's stack, the words of a monitor) is recognized by agreement: a pointer to a
 * thread that is in the list, an index that leads back to its own entry. A wrong owner would be
 * worse than none.
 */
#include "runtime/dotnet/dotnet_monitors.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

#define MAGIC		0x0043414443434e44ull /* "DNCCDAC" */
#define IS_32_BIT	2u		      /* of its flags */
#define MAX_JSON_BYTES	(256u << 10)
#define MAX_POINTERS	4096u
#define MAX_OFFSET	4096u
#define MAX_THREADS	65536u
#define THREAD_BYTES	4096u /* within which it points to the item; 672 and 1,032 were seen */
#define WAITS_FOR_ENTRY 0u    /* an item's kind: not for a pulse */
#define IS_LOCKED	1u
#define INDEX_MASK	0x3ffffffu
#define HEADER_BYTES	4u /* before an object */
#define IS_INDEX	0x8000000u
#define IS_HASH		0x4000000u /* with IS_INDEX: it is not one */
#define TYPE_KIND_MASK	0xc0000u
#define TYPE_IS_ARRAY	0x80000u
#define TYPE_IS_VECTOR	0x20000u /* an array with one dimension that begins at 0 */
#define IS_TYPE_DESC	2u	 /* of a pointer to a type: of another structure */
#define MAX_DEPTH	4u	 /* of arrays of arrays */
#define ROW_SHIFT	8u

struct descriptor {
	uint64_t magic;
	uint32_t flags, json_bytes;
	uint64_t json_va;
	uint32_t pointer_cnt, pad;
	uint64_t pointers_va;
};

struct item { /* DebugBlockingItem */
	uint64_t monitor_va, app_domain_va;
	uint32_t kind, timeout_ms;
	uint64_t next_va;
};

struct monitor { /* AwareLock */
	uint32_t state, depth;
	uint64_t holder; /* .NET 9: the Thread's address; 10: its number */
	uint64_t holder_tid;
	uint32_t waiter_cnt, index;
};

struct tapir_dotnet_monitors {
	struct tapir_process_memory memory;
	struct tapir_dotnet_contract contract;
	uint64_t app_domain_va, thread_store_va, sync_table_va;
	struct tapir_map thread_by_tid; /* its address */
};

/* ---- the description ------------------------------------------------------------------------ */

/* A number, or a list that begins with one: {"OSId":296,"LinkNext":[112,"pointer"]} */
static bool get_offset(const json_t *types, const char *type, const char *field, uint32_t *out)
{
	const json_t *value = json_object_get(json_object_get(types, type), field);
	json_int_t number;

	if (json_is_array(value))
		value = json_array_get(value, 0);
	number = json_is_integer(value) ? json_integer_value(value) : -1;
	if (number < 0 || number > MAX_OFFSET)
		return false;
	*out = (uint32_t)number;
	return true;
}

/* {"ThreadStore":[[3],"pointer"]} */
static bool get_pointer(const json_t *globals, const char *name, uint32_t *out)
{
	const json_t *entry = json_array_get(json_object_get(globals, name), 0);
	const json_t *value = json_array_get(entry, 0);
	json_int_t number = json_is_integer(value) ? json_integer_value(value) : -1;

	if (number < 0 || number >= MAX_POINTERS)
		return false;
	*out = (uint32_t)number;
	return true;
}

int tapir_dotnet_contract__parse(const char *json, size_t len, struct tapir_dotnet_contract *out)
{
	struct tapir_dotnet_contract c = {};
	json_t *root = json_loadb(json, len, 0, NULL);
	const json_t *types = json_object_get(root, "types");
	const json_t *globals = json_object_get(root, "globals");
	bool is_complete = get_offset(types, "Thread", "Id", &c.thread_number) &&
			   get_offset(types, "Thread", "OSId", &c.thread_tid) &&
			   get_offset(types, "Thread", "LinkNext", &c.thread_link) &&
			   get_offset(types, "ThreadStore", "FirstThreadLink", &c.first_thread) &&
			   get_offset(types, "SyncTableEntry", "!", &c.entry_bytes) &&
			   get_offset(types, "SyncTableEntry", "SyncBlock", &c.entry_block) &&
			   get_offset(types, "SyncBlock", "InteropInfo", &c.monitor_bytes) &&
			   get_pointer(globals, "AppDomain", &c.app_domain_idx) &&
			   get_pointer(globals, "ThreadStore", &c.thread_store_idx) &&
			   get_pointer(globals, "SyncTableEntries", &c.sync_table_idx);

	/* Without these a lock is found all the same, but not the type of its object. */
	c.has_types = get_offset(types, "Object", "m_pMethTab", &c.object_type) &&
		      get_offset(types, "MethodTable", "MTFlags", &c.type_kind) &&
		      get_offset(types, "MethodTable", "MTFlags2", &c.type_row) &&
		      get_offset(types, "MethodTable", "Module", &c.type_module) &&
		      get_offset(types, "Module", "Path", &c.module_path);
	(void)get_offset(types, "MethodTable", "PerInstInfo", &c.type_element);
	json_decref(root);
	if (!is_complete || c.monitor_bytes < sizeof(struct monitor))
		return -EINVAL;
	*out = c;
	return 0;
}

/* ---- the process's memory ------------------------------------------------------------------- */

static int read_contract(struct tapir_dotnet_monitors *m, const struct descriptor *d)
{
	char *json;
	int err = -EINVAL;

	if (d->magic != MAGIC || d->flags & IS_32_BIT || d->json_bytes > MAX_JSON_BYTES)
		return -EINVAL;
	json = malloc(d->json_bytes + 1ul);
	if (!json)
		return -ENOMEM;
	if (tapir_process_memory__get(&m->memory, d->json_va, json, d->json_bytes))
		err = tapir_dotnet_contract__parse(json, d->json_bytes, &m->contract);
	free(json);
	return err;
}

/* A global of the runtime that is a pointer. */
static uint64_t read_global(const struct tapir_dotnet_monitors *m, const struct descriptor *d,
			    uint32_t idx)
{
	return idx < d->pointer_cnt
		       ? tapir_process_memory__u64(
				 &m->memory,
				 tapir_process_memory__u64(&m->memory, d->pointers_va + 8ul * idx))
		       : 0;
}

static int list_threads(struct tapir_dotnet_monitors *m)
{
	const struct tapir_dotnet_contract *c = &m->contract;
	uint64_t link = tapir_process_memory__u64(&m->memory, m->thread_store_va + c->first_thread);

	for (unsigned i = 0; link && i < MAX_THREADS; i++) {
		uint64_t thread_va = link - c->thread_link;
		uint64_t tid = tapir_process_memory__u64(&m->memory, thread_va + c->thread_tid);
		uint64_t *slot = tid ? tapir_map__put(&m->thread_by_tid, tid, NULL) : NULL;

		if (tid && !slot)
			return -ENOMEM;
		if (slot)
			*slot = thread_va;
		link = tapir_process_memory__u64(&m->memory, link);
	}
	return 0;
}

static int start_monitors(struct tapir_dotnet_monitors *m, uint64_t descriptor_va)
{
	struct descriptor d;
	int err;

	if (!tapir_process_memory__get(&m->memory, descriptor_va, &d, sizeof(d)))
		return -EINVAL;
	err = read_contract(m, &d);
	if (err)
		return err;
	m->app_domain_va = read_global(m, &d, m->contract.app_domain_idx);
	m->thread_store_va = read_global(m, &d, m->contract.thread_store_idx);
	m->sync_table_va = read_global(m, &d, m->contract.sync_table_idx);
	if (!m->app_domain_va || !m->thread_store_va || !m->sync_table_va)
		return -EINVAL;
	return list_threads(m);
}

int tapir_dotnet_monitors__new(const struct tapir_process_memory *memory, uint64_t descriptor_va,
			       struct tapir_dotnet_monitors **out)
{
	struct tapir_dotnet_monitors *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return -ENOMEM;
	m->memory = *memory;
	err = start_monitors(m, descriptor_va);
	if (err) {
		tapir_dotnet_monitors__free(m);
		return err;
	}
	*out = m;
	return 0;
}

void tapir_dotnet_monitors__free(struct tapir_dotnet_monitors *m)
{
	if (!m)
		return;
	tapir_map__fini(&m->thread_by_tid);
	free(m);
}

/* ---- waits ---------------------------------------------------------------------------------- */

/* *entry_va: where the table of sync blocks has it. False: it is no monitor. */
static bool read_monitor(const struct tapir_dotnet_monitors *m, uint64_t monitor_va,
			 struct monitor *out, uint64_t *entry_va)
{
	const struct tapir_dotnet_contract *c = &m->contract;

	if (!tapir_process_memory__get(&m->memory, monitor_va, out, sizeof(*out)))
		return false;
	*entry_va = m->sync_table_va + (uint64_t)(out->index & INDEX_MASK) * c->entry_bytes;
	return tapir_process_memory__u64(&m->memory, *entry_va + c->entry_block) == monitor_va;
}

/* 0: it is free, or not a monitor. */
static uint32_t holder_of(const struct tapir_dotnet_monitors *m, uint64_t monitor_va)
{
	const uint64_t *thread_va;
	struct monitor monitor;
	uint64_t entry_va;
	uint32_t number;

	if (!read_monitor(m, monitor_va, &monitor, &entry_va) || !(monitor.state & IS_LOCKED))
		return 0;
	thread_va = tapir_map__get(&m->thread_by_tid, monitor.holder_tid);
	if (!thread_va ||
	    !tapir_process_memory__get(&m->memory, *thread_va + m->contract.thread_number, &number,
				       sizeof(number)))
		return 0;
	if (monitor.holder != *thread_va && monitor.holder != number)
		return 0;
	return (uint32_t)monitor.holder_tid;
}

/* Returns true if the word points to an item on the stack; *monitor_va: what it waits for. */
static bool is_wait(const struct tapir_dotnet_monitors *m, uint64_t word, const uint8_t *stack,
		    size_t bytes, uint64_t stack_va, uint64_t *monitor_va)
{
	struct item item;

	if (word < stack_va || bytes < sizeof(item) || word - stack_va > bytes - sizeof(item))
		return false;
	memcpy(&item, stack + (word - stack_va), sizeof(item));
	*monitor_va = item.monitor_va;
	return item.app_domain_va == m->app_domain_va && item.kind == WAITS_FOR_ENTRY;
}

/* The monitor for which it waits, and who holds that; 0: none. */
static uint64_t find_wait(const struct tapir_dotnet_monitors *m, uint32_t tid, const uint8_t *stack,
			  size_t bytes, uint64_t stack_va, uint32_t *owner)
{
	const uint64_t *thread_va = tapir_map__get(&m->thread_by_tid, tid);
	uint64_t words[THREAD_BYTES / 8], monitor_va;
	size_t cnt;

	if (!thread_va)
		return 0;
	cnt = m->memory.read(m->memory.ctx, *thread_va, words, sizeof(words)) / 8;
	for (size_t i = 0; i < cnt; i++) {
		*owner = is_wait(m, words[i], stack, bytes, stack_va, &monitor_va)
				 ? holder_of(m, monitor_va)
				 : 0;
		if (*owner && *owner != tid)
			return monitor_va;
	}
	return 0;
}

uint32_t tapir_dotnet_monitors__owner(const struct tapir_dotnet_monitors *m, uint32_t tid,
				      const uint8_t *stack, size_t bytes, uint64_t stack_va)
{
	uint32_t owner = 0;

	return find_wait(m, tid, stack, bytes, stack_va, &owner) ? owner : 0;
}

/* ---- objects -------------------------------------------------------------------------------- */

/* The other word of an entry is the object's address. 0: its header does not say so. */
static uint64_t object_of(const struct tapir_dotnet_monitors *m, uint64_t monitor_va)
{
	const struct tapir_dotnet_contract *c = &m->contract;
	struct monitor monitor;
	uint64_t entry_va, object_va;
	uint32_t header;

	if (c->entry_bytes != 16 || (c->entry_block && c->entry_block != 8) ||
	    !read_monitor(m, monitor_va, &monitor, &entry_va))
		return 0;
	object_va = tapir_process_memory__u64(&m->memory, entry_va + 8 - c->entry_block);
	if (object_va <= HEADER_BYTES ||
	    !tapir_process_memory__get(&m->memory, object_va - HEADER_BYTES, &header,
				       sizeof(header)) ||
	    (header & (IS_INDEX | IS_HASH)) != IS_INDEX ||
	    (header & INDEX_MASK) != (monitor.index & INDEX_MASK))
		return 0;
	return object_va;
}

/* In UTF-16. A path that is not ASCII is left: without it, the type has no name. */
static bool read_path(const struct tapir_dotnet_monitors *m, uint64_t va,
		      char out[TAPIR_DOTNET_PATH_BYTES])
{
	uint16_t units[TAPIR_DOTNET_PATH_BYTES];
	size_t cnt = va ? m->memory.read(m->memory.ctx, va, units, sizeof(units)) / 2 : 0;

	for (size_t i = 0; i < cnt; i++) {
		if (units[i] >= 0x80)
			return false;
		out[i] = (char)units[i];
		if (!units[i])
			return i > 0;
	}
	return false;
}

/* The type of an array's elements. 0: it is not known. */
static uint64_t element_of(const struct tapir_dotnet_monitors *m, uint64_t type_va, uint32_t kind)
{
	uint32_t offset = m->contract.type_element;
	uint64_t element = kind & TYPE_IS_VECTOR && offset
				   ? tapir_process_memory__u64(&m->memory, type_va + offset)
				   : 0;

	return element & IS_TYPE_DESC ? 0 : element;
}

/* The innermost type of its elements, if it is an array. 0: it is not known. */
static uint64_t skip_arrays(const struct tapir_dotnet_monitors *m, uint64_t type_va,
			    uint32_t *depth)
{
	uint32_t kind;

	for (*depth = 0; type_va && *depth <= MAX_DEPTH; ++*depth) {
		if (!tapir_process_memory__get(&m->memory, type_va + m->contract.type_kind, &kind,
					       sizeof(kind)))
			return 0;
		if ((kind & TYPE_KIND_MASK) != TYPE_IS_ARRAY)
			return type_va;
		type_va = element_of(m, type_va, kind);
	}
	return 0;
}

bool tapir_dotnet_monitors__type(const struct tapir_dotnet_monitors *m, uint32_t tid,
				 const uint8_t *stack, size_t bytes, uint64_t stack_va,
				 struct tapir_dotnet_type *out)
{
	const struct tapir_dotnet_contract *c = &m->contract;
	uint32_t owner, row;
	uint64_t object_va, type_va, module_va;

	if (!c->has_types)
		return false;
	object_va = object_of(m, find_wait(m, tid, stack, bytes, stack_va, &owner));
	if (!object_va)
		return false;
	/* The lowest bits are the collector's. */
	type_va = tapir_process_memory__u64(&m->memory, object_va + c->object_type) & ~7ull;
	type_va = skip_arrays(m, type_va, &out->array_depth);
	if (!type_va ||
	    !tapir_process_memory__get(&m->memory, type_va + c->type_row, &row, sizeof(row)))
		return false;
	out->row = row >> ROW_SHIFT;
	module_va = tapir_process_memory__u64(&m->memory, type_va + c->type_module);
	return out->row && module_va &&
	       read_path(m, tapir_process_memory__u64(&m->memory, module_va + c->module_path),
			 out->path);
}
