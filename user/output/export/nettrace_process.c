// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Processes, what is mapped in them, and names at addresses. Readers apply a name to an address of
 * a process once and for all (TraceLog: the first one), so code that replaces other code is written
 * at a different address. A process is created once, whatever it executes later: TraceLog leaves
 * threads in the first of several that have one pid.
 */
#include <stdlib.h>
#include <string.h>

#include "output/export/nettrace_impl.h"
#include "symbol/frame.h"

#define NAME_MAX_BYTES	28672u
#define MOVED_BYTES	(1ull << 30) /* of code, before another piece of room is written */
#define KERNEL_TGID	0u
#define KERNEL_MAPPINGS 64u /* written for every process */

struct range {
	struct tapir_ordset_node node; /* pos: its start; first */
	uint64_t end_va;
	uint64_t hash; /* of what is mapped; of names: whose they are, see program_of */
	uint64_t id;
	bool is_dotnet; /* CoreCLR's memory for generated code */
	bool is_code;	/* generated */
};

static struct tapir_nettrace_process *process_of(struct tapir_nettrace *n, uint32_t tgid)
{
	bool is_full = n->process_by_tgid.cnt >= TAPIR_NETTRACE_PROCESSES_MAX;
	uint64_t *slot = is_full ? tapir_map__get(&n->process_by_tgid, tgid)
				 : tapir_map__put(&n->process_by_tgid, tgid, NULL);
	struct tapir_nettrace_process *p = slot ? (void *)(uintptr_t)*slot : NULL;

	if (slot && !p) {
		p = calloc(1, sizeof(*p));
		*slot = (uint64_t)(uintptr_t)p;
		if (p) {
			p->tgid = tgid;
			p->program = ++n->next_program;
		}
	}
	n->failed |= !p && !is_full;
	return p;
}

static void forget_ranges(struct tapir_nettrace *n, struct tapir_ordset *set)
{
	while (set->root) {
		struct tapir_ordset_node *node = set->root;

		tapir_ordset__remove(set, node);
		free(node);
		n->range_cnt--;
	}
}

/* Another program: its addresses mean nothing of what they meant. */
static void renew_process(struct tapir_nettrace *n, struct tapir_nettrace_process *p)
{
	forget_ranges(n, &p->mappings);
	p->program = ++n->next_program;
	p->kernel_cnt = 0;
	p->has_ended = false;
}

void tapir_nettrace__forget_processes(struct tapir_nettrace *n)
{
	for (size_t i = 0; i < n->process_by_tgid.cap; i++) {
		struct tapir_nettrace_process *p =
			(void *)(uintptr_t)n->process_by_tgid.slots[i].value;

		if (!n->process_by_tgid.slots[i].used || !p)
			continue;
		forget_ranges(n, &p->mappings);
		forget_ranges(n, &p->code);
		free(p);
	}
	tapir_map__fini(&n->process_by_tgid);
}

static void emit(struct tapir_nettrace *n, uint32_t tgid, enum tapir_nettrace_own event)
{
	tapir_nettrace__emit(n, &(struct tapir_nettrace_subject){.metadata_id = event,
								 .tgid = tgid,
								 .tid = tgid,
								 .cpu = TAPIR_CPU_UNKNOWN});
}

/* ---- processes ------------------------------------------------------------------------------ */

void tapir_nettrace__write_process(struct tapir_nettrace *n, const struct tapir_rec *rec)
{
	struct tapir_process_view view;
	struct tapir_nettrace_process *p;
	bool exists, is_first;

	tapir_process_view__of(rec, &view);
	exists = view.rec->kind == TAPIR_PROCESS_EXISTING;
	p = process_of(n, view.rec->tgid);
	if (!p || view.rec->tgid == KERNEL_TGID)
		return;
	if (view.rec->kind == TAPIR_PROCESS_EXIT) {
		if (!p->has_ended)
			emit(n, p->tgid, TAPIR_NETTRACE_PROCESS_EXIT);
		p->has_ended = true;
		return;
	}
	if (exists && p->is_written && !p->has_ended)
		return; /* repeated */
	is_first = !p->is_written;
	if (!is_first)
		renew_process(n, p);
	p->is_written = true;
	tapir_nettrace__put_var(&n->payload, view.rec->ns_tgid ? view.rec->ns_tgid : p->tgid);
	tapir_nettrace__put_text16(&n->payload, view.comm, NAME_MAX_BYTES);
	tapir_nettrace__put_text16(&n->payload, view.cgroup, NAME_MAX_BYTES);
	emit(n, p->tgid,
	     is_first && !exists ? TAPIR_NETTRACE_PROCESS_CREATE : TAPIR_NETTRACE_EXISTING_PROCESS);
}

/* ---- mappings ------------------------------------------------------------------------------- */

/* NULL: there are too many, or no memory. */
static struct range *add_range(struct tapir_nettrace *n, struct tapir_ordset *set,
			       const struct range *like)
{
	struct range *range;

	if (n->range_cnt == TAPIR_NETTRACE_RANGES_MAX)
		return NULL;
	range = malloc(sizeof(*range));
	n->failed |= !range;
	if (!range)
		return NULL;
	n->range_cnt++;
	*range = *like;
	tapir_ordset__insert(set, &range->node);
	return range;
}

/* The range that covers va, or NULL. Ranges of a set do not overlap. */
static struct range *range_at(const struct tapir_ordset *set, uint64_t va)
{
	struct range *range = (struct range *)tapir_ordset__floor(set, va, UINT64_MAX);

	return range && range->end_va > va ? range : NULL;
}

/* The last that has a byte in [start_va, end_va), or NULL. */
static struct range *range_in(const struct tapir_ordset *set, uint64_t start_va, uint64_t end_va)
{
	struct range *range = (struct range *)tapir_ordset__floor(set, end_va - 1, UINT64_MAX);

	return range && range->end_va > start_va ? range : NULL;
}

/* A new mapping takes its addresses from those that were there. */
static void remove_ranges_below(struct tapir_nettrace *n, struct tapir_ordset *set,
				uint64_t start_va, uint64_t end_va)
{
	struct range *old;

	while ((old = range_in(set, start_va, end_va))) {
		struct range tail = *old;

		if (old->end_va > end_va) {
			tail.node = (struct tapir_ordset_node){.pos = end_va};
			if (!add_range(n, set, &tail))
				return;
		}
		if (old->node.pos < start_va) {
			old->end_va = start_va;
			continue;
		}
		tapir_ordset__remove(set, &old->node);
		free(old);
		n->range_cnt--;
	}
}

static void put_mapping(struct tapir_nettrace *n, uint64_t id, uint64_t start_va, uint64_t end_va,
			uint64_t file_off, struct tapir_sv path, uint64_t metadata_id)
{
	tapir_nettrace__put_var(&n->payload, id);
	tapir_nettrace__put_var(&n->payload, start_va);
	tapir_nettrace__put_var(&n->payload, end_va);
	tapir_nettrace__put_var(&n->payload, file_off);
	tapir_nettrace__put_text16(&n->payload, path, NAME_MAX_BYTES);
	tapir_nettrace__put_var(&n->payload, metadata_id);
}

#define VADDR_PAGE 4096 /* of tapir_rec_mapping.vaddr_pages */

/* Reported once for each build ID and segment. 0: there is none. */
static uint64_t put_build_id(struct tapir_nettrace *n, const struct tapir_mapping_view *view)
{
	uint64_t bias = (uint64_t)(int64_t)view->rec->vaddr_pages * VADDR_PAGE;
	uint64_t off = view->rec->file_off;
	struct tapir_sv build_id = view->build_id;
	struct tapir_str json = {};
	bool is_new = false;
	uint64_t *id;

	if (!build_id.len)
		return 0;
	id = tapir_map__put(&n->metadata_by_build_id,
			    tapir_hash__mix(tapir_hash__bytes(3, build_id.data, build_id.len), off),
			    &is_new);
	n->failed |= !id;
	if (!id || !is_new)
		return id ? *id : 0;
	*id = n->metadata_by_build_id.cnt;
	tapir_str__adds(&json, "{\"type\":\"ELF\",\"build_id\":\"");
	tapir_str__add_hex(&json, build_id.data, build_id.len);
	/* Readers compute a symbol's address in the file as (st_value - p_vaddr) + p_offset. */
	tapir_str__addf(&json, "\",\"p_vaddr\":\"0x%llx\",\"p_offset\":\"0x%llx\"}",
			(unsigned long long)(off + bias), (unsigned long long)off);
	tapir_nettrace__put_var(&n->payload, *id);
	tapir_nettrace__put_text16(&n->payload, (struct tapir_sv){json.data, json.len},
				   NAME_MAX_BYTES);
	tapir_nettrace__put_text16(&n->payload, (struct tapir_sv){}, 0);
	emit(n, view->rec->tgid, TAPIR_NETTRACE_MAPPING_METADATA);
	tapir_str__fini(&json);
	return n->metadata_by_build_id.cnt;
}

static const char doublemapper[] = "/memfd:doublemapper", jit_module[] = "[jit]",
		  kernel_module[] = "[kernel]", moved_module[] = "[moved]";

static void remember_kernel(struct tapir_nettrace *n, const struct tapir_rec_mapping *rec)
{
	struct tapir_nettrace_kernel_mapping m = {rec->start_va, rec->end_va, rec->file_off};

	if (n->kernel_mappings.cnt < KERNEL_MAPPINGS)
		n->failed |= !tapir_vec__push(&n->kernel_mappings, m);
}

void tapir_nettrace__write_mapping(struct tapir_nettrace *n, const struct tapir_rec *rec)
{
	struct tapir_mapping_view view;
	struct tapir_nettrace_process *p;
	struct range range = {}, *old;
	uint64_t metadata_id;

	tapir_mapping_view__of(rec, &view);
	p = process_of(n, view.rec->tgid);
	if (!p)
		return;
	range.node.pos = view.rec->start_va;
	range.end_va = view.rec->end_va;
	range.is_dotnet = tapir_sv__starts_with(view.path, doublemapper);
	range.hash = tapir_hash__mix(tapir_hash__bytes(9, view.path.data, view.path.len),
				     view.rec->file_id ^ view.rec->file_off);
	old = range_at(&p->mappings, range.node.pos);
	if (old && old->node.pos == range.node.pos && old->end_va == range.end_va &&
	    old->hash == range.hash)
		return;
	if (p->tgid == KERNEL_TGID)
		remember_kernel(n, view.rec);
	/*
	 * Mappings of a process do not overlap: those that this one replaces end, or are cut,
	 * before it begins.
	 */
	remove_ranges_below(n, &p->mappings, range.node.pos, range.end_va);
	range.id = ++n->next_mapping_id;
	if (!add_range(n, &p->mappings, &range))
		return;
	metadata_id = put_build_id(n, &view);
	put_mapping(n, range.id, range.node.pos, range.end_va,
		    view.rec->flags & TAPIR_MAPPING_ANON ? 0 : view.rec->file_off,
		    view.path.len ? view.path : tapir_sv__of(jit_module), metadata_id);
	emit(n, p->tgid, TAPIR_NETTRACE_PROCESS_MAPPING);
}

void tapir_nettrace__write_kernel(struct tapir_nettrace *n, uint32_t tgid)
{
	struct tapir_nettrace_process *p = process_of(n, tgid);

	for (; p && p->kernel_cnt < n->kernel_mappings.cnt; p->kernel_cnt++) {
		const struct tapir_nettrace_kernel_mapping *m =
			&n->kernel_mappings.data[p->kernel_cnt];
		struct range range = {
			.node.pos = m->start_va, .end_va = m->end_va, .id = ++n->next_mapping_id};

		if (tgid == KERNEL_TGID)
			continue;
		remove_ranges_below(n, &p->mappings, m->start_va, m->end_va);
		(void)add_range(n, &p->mappings, &range);
		put_mapping(n, range.id, m->start_va, m->end_va, m->file_off,
			    tapir_sv__of(kernel_module), 0);
		emit(n, tgid, TAPIR_NETTRACE_PROCESS_MAPPING);
	}
}

/* The mapping that contains va. If none is known, a new one is written for it. */
static uint64_t mapping_id_at(struct tapir_nettrace *n, struct tapir_nettrace_process *p,
			      uint64_t va, uint64_t end_va)
{
	struct range *range = range_at(&p->mappings, va);
	struct range own = {.node.pos = va, .end_va = end_va};

	if (range)
		return range->id;
	own.id = ++n->next_mapping_id;
	remove_ranges_below(n, &p->mappings, va, end_va);
	(void)add_range(n, &p->mappings, &own);
	put_mapping(n, own.id, va, end_va, 0, tapir_sv__of(jit_module), 0);
	emit(n, p->tgid, TAPIR_NETTRACE_PROCESS_MAPPING);
	return own.id;
}

/* ---- names ---------------------------------------------------------------------------------- */

/* The kernel is the same for every program of a process. */
static uint64_t program_of(const struct tapir_nettrace *n, const struct tapir_nettrace_process *p)
{
	return n->naming.owner == KERNEL_TGID ? 1ull << 63 | p->tgid : p->program;
}

/* Room at addresses that no process has, for code whose own addresses are taken. */
static uint64_t moved_room(struct tapir_nettrace *n, struct tapir_nettrace_process *p, uint64_t va,
			   uint64_t bytes, bool is_code)
{
	const struct range *home = range_at(&p->mappings, va);
	const char *module = home && home->is_dotnet ? doublemapper
			     : is_code		     ? jit_module
						     : moved_module;
	uint64_t start_va = p->moved_va;

	if (bytes > MOVED_BYTES)
		return va;
	if (p->moved_end_va - p->moved_va < bytes) {
		start_va = p->moved_end_va ? p->moved_end_va : TAPIR_NETTRACE_MOVED_VA;
		p->moved_end_va = start_va + MOVED_BYTES;
		p->moved_mapping_id = ++n->next_mapping_id;
		put_mapping(n, p->moved_mapping_id, start_va, p->moved_end_va, 0,
			    tapir_sv__of(module), 0);
		emit(n, p->tgid, TAPIR_NETTRACE_PROCESS_MAPPING);
	}
	p->moved_va = start_va + ((bytes + 15) & ~15ull);
	return start_va;
}

static void put_name(struct tapir_nettrace *n, struct tapir_nettrace_process *p, uint64_t start_va,
		     uint64_t size, struct tapir_sv name)
{
	uint64_t id = start_va >= TAPIR_NETTRACE_MOVED_VA && start_va < p->moved_end_va
			      ? p->moved_mapping_id
			      : mapping_id_at(n, p, start_va, start_va + size);

	tapir_nettrace__put_var(&n->payload, ++n->next_symbol_id);
	tapir_nettrace__put_var(&n->payload, id);
	tapir_nettrace__put_var(&n->payload, start_va);
	tapir_nettrace__put_var(&n->payload, start_va + size - 1);
	tapir_nettrace__put_text16(&n->payload, name, NAME_MAX_BYTES);
	emit(n, p->tgid, TAPIR_NETTRACE_PROCESS_SYMBOL);
}

/*
 * The address of a function for readers: its own, or another if that one had other code. Functions
 * of one program's files may overlap: aliases.
 */
static uint64_t assign_code_va(struct tapir_nettrace *n, struct tapir_nettrace_process *p,
			       uint64_t start_va, uint64_t size, bool is_code)
{
	struct range range = {.node.pos = start_va,
			      .end_va = start_va + size,
			      .hash = program_of(n, p),
			      .is_code = is_code};
	const struct range *old = range_in(&p->code, start_va, range.end_va);

	if (old && (is_code || old->is_code || old->hash != range.hash))
		return moved_room(n, p, start_va, size, is_code);
	if (!old)
		(void)add_range(n, &p->code, &range);
	return start_va;
}

/* The number of bytes that the name at va covers; 0: unknown. */
static uint64_t name_bytes(struct tapir_nettrace *n, uint64_t va, bool *is_code)
{
	const struct tapir_rec_jit *jit =
		tapir_catalog__jit(n->catalog, n->naming.owner, va, n->naming.time_ns);
	const struct tapir_rec_mapping *m;
	const struct tapir_rec_symbol *symbol;

	*is_code = jit;
	if (jit)
		return jit->size;
	m = tapir_catalog__mapping(n->catalog, n->naming.owner, va, n->naming.time_ns);
	symbol = m ? tapir_catalog__function(n->catalog, m, va - m->start_va + m->file_off) : NULL;
	return symbol ? symbol->size : 0;
}

/* home: where it is mapped. */
static void put_function(struct tapir_nettrace *n, struct tapir_nettrace_process *p,
			 const struct range *home, uint64_t start_va, uint64_t size,
			 struct tapir_sv name)
{
	struct tapir_str method = {};

	if (home && home->is_dotnet) {
		tapir_nettrace__add_method(&method, name);
		n->failed |= method.failed;
		name = (struct tapir_sv){method.data, method.len};
	}
	put_name(n, p, start_va, size, name);
	tapir_str__fini(&method);
}

uint64_t tapir_nettrace__assign_va(void *ctx, const struct tapir_frame *frame)
{
	struct tapir_nettrace *n = ctx;
	uint64_t start_va = frame->va - frame->offset, size, key, *slot;
	struct tapir_nettrace_process *p;
	bool is_new = false, is_code;

	if (!frame->name.len)
		return frame->va;
	/* A return address may be the first byte of the next function: the call is before it. */
	size = name_bytes(n, frame->va - n->naming.is_caller, &is_code);
	if (!size) /* as much of it as was seen */
		size = frame->offset + 1;
	p = process_of(n, n->naming.tgid);
	if (!p || start_va + size < start_va)
		return frame->va;
	key = tapir_hash__mix(tapir_hash__mix(program_of(n, p), start_va), size);
	key = tapir_hash__bytes(key, frame->name.data, frame->name.len);
	if (n->va_by_name.cnt == TAPIR_NETTRACE_NAMES_MAX && !tapir_map__get(&n->va_by_name, key)) {
		n->stats.unnamed++;
		return frame->va;
	}
	slot = tapir_map__put(&n->va_by_name, key, &is_new);
	n->failed |= !slot;
	if (!slot)
		return frame->va;
	if (is_new) {
		*slot = assign_code_va(n, p, start_va, size, is_code);
		put_function(n, p, range_at(&p->mappings, start_va), *slot, size, frame->name);
	}
	/* A call at the end of its function returns to what follows it. */
	return *slot + (frame->offset < size ? frame->offset : size - 1);
}
