// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See jvm_scopes.h. Source of the facts: src/hotspot/share/code/{nmethod,pcDesc,scopeDesc}.cpp and
 * utilities/unsigned5.hpp of JDK 17 and 25.
 */
#include "runtime/jvm/jvm_scopes.h"

#include <stdlib.h>
#include <string.h>

#define MAX_USER_VA	 (1ull << 47)
#define MAX_HEADER_BYTES 1024u /* of an nmethod: JDK 17 has 352 */
#define MAX_BLOCK_BYTES	 256u  /* before an nmethod: 16 */
#define MAX_PCS		 65536u
#define MAX_DATA_BYTES	 (16u << 20)
#define MAX_SEGMENTS	 64u /* steps back, as of TAPIR_UNWIND_SEGMENT_STEPS */
#define PC_BYTES	 16u
#define SCOPE_BYTES	 15u /* of three numbers */

/* The members that are needed of the description, in the order in which they are used below. */
enum {
	BLOCK_BYTES,
	HEADER_BYTES,
	PC_DESC_BYTES,
	PC_OFF,
	SCOPE_OFF,
	NAME,
	PCS,
	COMMON_CNT,
	/* up to JDK 22 */
	METHOD = COMMON_CNT,
	CODE,
	DATA,
	METADATA,
	PCS_END,
	OLD_END,
	/* since JDK 25 */
	NEW_METHOD = OLD_END,
	NEW_CODE,
	NEW_DATA,
	APART,
	APART_BYTES,
	MUTABLE,
	MUTABLE_BYTES,
	RELOCATION_BYTES,
	NEW_END,
	MAJOR = NEW_END,
};

const struct tapir_jvm_struct tapir_jvm_scope_structs[TAPIR_JVM_SCOPE_STRUCT_CNT] = {
	[BLOCK_BYTES] = {"HeapBlock", NULL},
	[HEADER_BYTES] = {"nmethod", NULL},
	[PC_DESC_BYTES] = {"PcDesc", NULL},
	[PC_OFF] = {"PcDesc", "_pc_offset"},
	[SCOPE_OFF] = {"PcDesc", "_scope_decode_offset"},
	[NAME] = {"CodeBlob", "_name"},
	[PCS] = {"nmethod", "_scopes_pcs_offset"},
	[METHOD] = {"CompiledMethod", "_method"},
	[CODE] = {"CodeBlob", "_code_begin"},
	[DATA] = {"CompiledMethod", "_scopes_data_begin"},
	[METADATA] = {"nmethod", "_metadata_offset"},
	[PCS_END] = {"nmethod", "_dependencies_offset"},
	[NEW_METHOD] = {"nmethod", "_method"},
	[NEW_CODE] = {"CodeBlob", "_code_offset"},
	[NEW_DATA] = {"nmethod", "_scopes_data_offset"},
	[APART] = {"nmethod", "_immutable_data"},
	[APART_BYTES] = {"nmethod", "_immutable_data_size"},
	[MUTABLE] = {"CodeBlob", "_mutable_data"},
	[MUTABLE_BYTES] = {"CodeBlob", "_mutable_data_size"},
	[RELOCATION_BYTES] = {"CodeBlob", "_relocation_size"},
	[MAJOR] = {"Abstract_VM_Version", "_vm_major_version", .is_static = true},
};

static bool has_all(const struct tapir_jvm_struct *found, unsigned from, unsigned end)
{
	while (from < end)
		if (!found[from++].is_found)
			return false;
	return true;
}

static void set_offsets(struct tapir_jvm_scopes *out, const struct tapir_jvm_struct *s)
{
	*out = (struct tapir_jvm_scopes){
		.is_apart = !has_all(s, METHOD, OLD_END),
		.block_bytes = (uint32_t)s[BLOCK_BYTES].value,
		.header_bytes = (uint32_t)s[HEADER_BYTES].value,
		.name = (uint32_t)s[NAME].value,
		.pcs = (uint32_t)s[PCS].value,
		.pc_off = (uint32_t)s[PC_OFF].value,
		.scope_off = (uint32_t)s[SCOPE_OFF].value,
		.pcs_end = (uint32_t)s[PCS_END].value,
		.metadata = (uint32_t)s[METADATA].value,
		.apart_va = (uint32_t)s[APART].value,
		.apart_bytes = (uint32_t)s[APART_BYTES].value,
		.mutable_va = (uint32_t)s[MUTABLE].value,
		.mutable_bytes = (uint32_t)s[MUTABLE_BYTES].value,
		.relocation_bytes = (uint32_t)s[RELOCATION_BYTES].value,
	};
	out->method = (uint32_t)s[out->is_apart ? NEW_METHOD : METHOD].value;
	out->code = (uint32_t)s[out->is_apart ? NEW_CODE : CODE].value;
	out->data = (uint32_t)s[out->is_apart ? NEW_DATA : DATA].value;
}

/* Every field is read from the header, which is read as a whole. */
static bool fits_scopes_header(const struct tapir_jvm_scopes *s)
{
	const uint32_t fields[] = {s->name,	  s->method,	    s->code,
				   s->pcs,	  s->pcs_end,	    s->data,
				   s->metadata,	  s->apart_va,	    s->apart_bytes,
				   s->mutable_va, s->mutable_bytes, s->relocation_bytes};

	if (s->block_bytes > MAX_BLOCK_BYTES || s->header_bytes < 8 ||
	    s->header_bytes > MAX_HEADER_BYTES)
		return false;
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		if (fields[i] > s->header_bytes - 8)
			return false;
	return s->pc_off <= PC_BYTES - 4 && s->scope_off <= PC_BYTES - 4;
}

void tapir_jvm_scopes__read(struct tapir_jvm_scopes *out, const struct tapir_process_memory *memory,
			    const struct tapir_jvm_struct found[TAPIR_JVM_SCOPE_STRUCT_CNT])
{
	int32_t major;

	*out = (struct tapir_jvm_scopes){};
	if (!has_all(found, 0, COMMON_CNT) || !found[MAJOR].is_found ||
	    (!has_all(found, METHOD, OLD_END) && !has_all(found, NEW_METHOD, NEW_END)) ||
	    found[PC_DESC_BYTES].value != PC_BYTES ||
	    !tapir_process_memory__get(memory, found[MAJOR].value, &major, sizeof(major)))
		return;
	set_offsets(out, found);
	out->excluded = major >= 20;
	out->is_known = fits_scopes_header(out);
}

/* ---- one compiled method --------------------------------------------------------------------- */

struct part {
	uint64_t va;
	uint64_t bytes;
};

struct compiled {
	const struct tapir_jvm_scopes *s;
	const struct tapir_process_memory *memory;
	uint64_t block_va, code_va, method_va;
	struct part pcs, data, metadata;
	uint8_t header[MAX_HEADER_BYTES];
};

static uint64_t u64_of(const struct compiled *c, uint32_t off)
{
	uint64_t value;

	memcpy(&value, c->header + off, sizeof(value));
	return value;
}

/* Negative ones are too large for what they are used for. */
static uint64_t u32_of(const struct compiled *c, uint32_t off)
{
	uint32_t value;

	memcpy(&value, c->header + off, sizeof(value));
	return value;
}

/* The block that va is in, by the map of its heap; 0: none. */
static uint64_t block_of(const struct tapir_jvm_scopes *s, const struct tapir_jvm_code *code,
			 const struct tapir_process_memory *memory, uint64_t va)
{
	const struct tapir_walk_heap *heap = NULL;
	uint64_t segment, first;
	uint8_t back = TAPIR_UNWIND_SEGMENT_FREE;

	for (unsigned i = 0; i < code->heap_cnt; i++)
		if (va >= code->heaps[i].start_va && va < code->heaps[i].end_va)
			heap = &code->heaps[i];
	if (!heap)
		return 0;
	segment = va >> heap->segment_shift;
	first = heap->start_va >> heap->segment_shift;
	for (unsigned i = 0; i < MAX_SEGMENTS && back; i++) {
		if (!tapir_process_memory__get(memory, heap->segment_map_va + segment - first,
					       &back, 1) ||
		    back == TAPIR_UNWIND_SEGMENT_FREE || back > segment - first)
			return 0;
		segment -= back;
	}
	return back ? 0 : (segment << heap->segment_shift) + s->block_bytes;
}

static void find_parts(struct compiled *c)
{
	const struct tapir_jvm_scopes *s = c->s;
	uint64_t pcs = u32_of(c, s->pcs), data, end;

	c->method_va = u64_of(c, s->method);
	if (s->is_apart) {
		data = u32_of(c, s->data);
		end = u32_of(c, s->relocation_bytes);
		c->code_va = c->block_va + u32_of(c, s->code);
		c->pcs = (struct part){u64_of(c, s->apart_va) + pcs, data - pcs};
		c->data = (struct part){u64_of(c, s->apart_va) + data,
					u32_of(c, s->apart_bytes) - data};
		c->metadata = (struct part){u64_of(c, s->mutable_va) + end,
					    u32_of(c, s->mutable_bytes) - end};
		return;
	}
	data = u64_of(c, s->data);
	c->code_va = u64_of(c, s->code);
	c->pcs = (struct part){c->block_va + pcs, u32_of(c, s->pcs_end) - pcs};
	c->data = (struct part){data, c->pcs.va - data};
	c->metadata.va = c->block_va + u32_of(c, s->metadata);
	c->metadata.bytes = data - c->metadata.va;
}

static bool is_sound(const struct part *part, uint64_t max_bytes)
{
	return part->va && part->va < MAX_USER_VA && part->bytes && part->bytes <= max_bytes;
}

/* "nmethod", "native nmethod" and stubs have names; the second has no scopes. */
static bool is_compiled(const struct compiled *c)
{
	char name[sizeof("nmethod")];

	return tapir_process_memory__get(c->memory, u64_of(c, c->s->name), name, sizeof(name)) &&
	       !memcmp(name, "nmethod", sizeof(name));
}

static bool open_compiled(struct compiled *c, const struct tapir_jvm_code *code, uint64_t va)
{
	c->block_va = block_of(c->s, code, c->memory, va);
	if (!c->block_va ||
	    !tapir_process_memory__get(c->memory, c->block_va, c->header, c->s->header_bytes) ||
	    !is_compiled(c))
		return false;
	find_parts(c);
	return is_sound(&c->pcs, (uint64_t)MAX_PCS * PC_BYTES) &&
	       is_sound(&c->data, MAX_DATA_BYTES) && is_sound(&c->metadata, MAX_DATA_BYTES) &&
	       va >= c->code_va && va - c->code_va < INT32_MAX;
}

/* ---- scopes ---------------------------------------------------------------------------------- */

/* UNSIGNED5: digits of 64, up to five bytes, of which all but the last are 192 or more. */
static bool take_number(const struct compiled *c, const uint8_t *bytes, size_t len, size_t *at,
			uint32_t *out)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < 5 && *at < len; i++) {
		uint8_t byte = bytes[(*at)++];

		if (byte < c->s->excluded)
			return false;
		sum += (uint32_t)(byte - c->s->excluded) << (6 * i);
		if (byte < 192 || i == 4) {
			*out = sum;
			return true;
		}
	}
	return false;
}

/* *next: where the caller's is; 0: it has none. */
static bool read_scope(const struct compiled *c, uint32_t off, struct tapir_jvm_scope *out,
		       uint32_t *next)
{
	uint8_t bytes[SCOPE_BYTES];
	size_t len = c->data.bytes - off < sizeof(bytes) ? c->data.bytes - off : sizeof(bytes);
	size_t at = 0;
	uint32_t method, bci;

	if (!tapir_process_memory__get(c->memory, c->data.va + off, bytes, len) ||
	    !take_number(c, bytes, len, &at, next) || !take_number(c, bytes, len, &at, &method) ||
	    !take_number(c, bytes, len, &at, &bci) || !method || method > c->metadata.bytes / 8)
		return false;
	out->bci = (int32_t)(bci - 1);
	out->method_va = tapir_process_memory__u64(c->memory, c->metadata.va + 8ull * (method - 1));
	return out->method_va;
}

static unsigned read_scopes(const struct compiled *c, uint32_t off,
			    struct tapir_jvm_scope out[TAPIR_JVM_SCOPES_MAX])
{
	unsigned cnt = 0;

	while (off) {
		if (cnt == TAPIR_JVM_SCOPES_MAX || off >= c->data.bytes ||
		    !read_scope(c, off, &out[cnt], &off))
			return 0;
		cnt++;
	}
	return cnt && out[cnt - 1].method_va == c->method_va ? cnt : 0;
}

/* ---- places ---------------------------------------------------------------------------------- */

/* The scopes at the last place that is not behind pc, and at the first that is; 0: none. */
struct neighbours {
	int32_t before_pc, after_pc;
	uint32_t before, after;
};

static void note_neighbours(const struct tapir_jvm_scopes *s, const uint8_t *desc, int32_t pc,
			    struct neighbours *n)
{
	uint32_t scope;
	int32_t at;

	memcpy(&at, desc + s->pc_off, sizeof(at));
	memcpy(&scope, desc + s->scope_off, sizeof(scope));
	if (at <= pc && at >= n->before_pc) {
		n->before_pc = at;
		n->before = scope;
	} else if (at > pc && at < n->after_pc) {
		n->after_pc = at;
		n->after = scope;
	}
}

static bool find_neighbours(const struct compiled *c, int32_t pc, struct neighbours *n)
{
	uint8_t *descs = malloc(c->pcs.bytes);
	bool ok = descs && tapir_process_memory__get(c->memory, c->pcs.va, descs, c->pcs.bytes);

	*n = (struct neighbours){.before_pc = -1, .after_pc = INT32_MAX};
	for (uint64_t off = 0; ok && c->pcs.bytes - off >= PC_BYTES; off += PC_BYTES)
		note_neighbours(c->s, descs + off, pc, n);
	free(descs);
	return ok;
}

/*
 * The number of outermost scopes that both have: callers are the same if their calls are at the
 * same bytecode.
 */
static unsigned common_cnt(const struct tapir_jvm_scope *a, unsigned a_cnt,
			   const struct tapir_jvm_scope *b, unsigned b_cnt)
{
	unsigned max = a_cnt < b_cnt ? a_cnt : b_cnt, cnt = 0;

	while (cnt < max && a[a_cnt - 1 - cnt].method_va == b[b_cnt - 1 - cnt].method_va) {
		cnt++;
		if (a[a_cnt - cnt].bci != b[b_cnt - cnt].bci)
			break;
	}
	return cnt;
}

unsigned tapir_jvm_scopes__at(const struct tapir_jvm_scopes *s, const struct tapir_jvm_code *code,
			      const struct tapir_process_memory *memory, uint64_t va,
			      bool is_return, struct tapir_jvm_scope out[TAPIR_JVM_SCOPES_MAX])
{
	struct tapir_jvm_scope before[TAPIR_JVM_SCOPES_MAX], after[TAPIR_JVM_SCOPES_MAX];
	struct compiled c = {.s = s, .memory = memory};
	struct neighbours n;
	unsigned before_cnt, after_cnt, cnt;
	int32_t pc;

	if (!s->is_known || !open_compiled(&c, code, va - is_return))
		return 0;
	pc = (int32_t)(va - c.code_va);
	if (!find_neighbours(&c, pc, &n))
		return 0;
	before_cnt = read_scopes(&c, n.before, before);
	if (is_return) { /* the place is at the address to return to */
		cnt = n.before_pc == pc ? before_cnt : 0;
		memcpy(out, before, cnt * sizeof(*out));
		return cnt;
	}
	after_cnt = read_scopes(&c, n.after, after);
	cnt = common_cnt(before, before_cnt, after, after_cnt);
	memcpy(out, &after[after_cnt - cnt], cnt * sizeof(*out));
	return cnt;
}
