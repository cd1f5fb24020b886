// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the interpreter's code; from a frame's Method follows ConstMethod and ConstantPool to
 * Symbols.
 */
#include "runtime/jvm/jvm_interpreter.h"

#include <errno.h>
#include <string.h>

#include "attach/proc.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"
#include "bpf/interp_logic.bpf.h"
#include "elf/image.h"
#include "runtime/exported.h"
#include "runtime/jvm/jvm.h"
#include "decode/java_name.h"
#include "runtime/jvm/jvm_methods.h"

#define MAX_CODE_BYTES	 (16u << 20) /* JDK 17 has 200 KB */
#define MIN_METHOD_BYTES 16u	     /* the first ones are a frame's address (interpreters.h) */
#define MAX_METHOD_BYTES 1024u
#define MAX_SYMBOL_BYTES 1024u /* longer names are cut */
#define MAX_USER_VA	 (1ull << 56)
#define MAX_OFFSET	 1024u /* in what the programs read */

/* The members that are needed of the description, in the order in which they are used below. */
enum {
	CODE,
	QUEUE_BUFFER,
	QUEUE_LIMIT,
	METHOD_BYTES,
	CONST_METHOD,
	POOL,
	NAME,
	SIGNATURE,
	POOL_BYTES,
	POOL_HOLDER,
	CLASS_NAME,
	SYMBOL_LEN,
	SYMBOL_BYTES,
	WANTED_CNT,
	/* Either is in a JVM; where neither is, names are read, but not of stacks of the past. */
	SYMBOL_HASH = WANTED_CNT, /* from JDK 13 on: the reference count, then the hash */
	SYMBOL_IDENTITY,
	STRUCT_CNT
};

static const struct tapir_jvm_struct wanted_structs[STRUCT_CNT] = {
	[CODE] = {"AbstractInterpreter", "_code", .is_static = true},
	[QUEUE_BUFFER] = {"StubQueue", "_stub_buffer"},
	[QUEUE_LIMIT] = {"StubQueue", "_buffer_limit"},
	[METHOD_BYTES] = {"Method", NULL},
	[CONST_METHOD] = {"Method", "_constMethod"},
	[POOL] = {"ConstMethod", "_constants"},
	[NAME] = {"ConstMethod", "_name_index"},
	[SIGNATURE] = {"ConstMethod", "_signature_index"},
	[POOL_BYTES] = {"ConstantPool", NULL},
	[POOL_HOLDER] = {"ConstantPool", "_pool_holder"},
	[CLASS_NAME] = {"Klass", "_name"},
	[SYMBOL_LEN] = {"Symbol", "_length"},
	[SYMBOL_BYTES] = {"Symbol", "_body"},
	[SYMBOL_HASH] = {"Symbol", "_hash_and_refcount"},
	[SYMBOL_IDENTITY] = {"Symbol", "_identity_hash"},
};

static bool find_code(struct tapir_jvm_interpreter *out, const struct tapir_process_memory *memory,
		      const struct tapir_jvm_struct *s)
{
	uint64_t queue_va = tapir_process_memory__u64(memory, s[CODE].value);
	uint64_t code_va =
		queue_va ? tapir_process_memory__u64(memory, queue_va + s[QUEUE_BUFFER].value) : 0;
	int32_t bytes;

	if (!code_va || code_va > MAX_USER_VA ||
	    !tapir_process_memory__get(memory, queue_va + s[QUEUE_LIMIT].value, &bytes,
				       sizeof(bytes)) ||
	    bytes <= 0 || (uint32_t)bytes > MAX_CODE_BYTES)
		return false;
	out->code_va = code_va;
	out->code_end_va = code_va + (uint32_t)bytes;
	return true;
}

/* Sets what the frames of stacks are named by, if the programs can read all of it. */
static void find_name_id(struct tapir_jvm_interpreter *out, const struct tapir_jvm_struct *s)
{
	uint64_t at = s[SYMBOL_HASH].is_found ? s[SYMBOL_HASH].value + 2 : s[SYMBOL_IDENTITY].value;

	out->name_id = (uint32_t)at;
	out->has_name_id = (s[SYMBOL_HASH].is_found || s[SYMBOL_IDENTITY].is_found) &&
			   at <= MAX_OFFSET && out->const_method <= MAX_OFFSET &&
			   out->pool % 8 == 0 && out->pool < TAPIR_INTERP_METHOD_BYTES &&
			   out->name % 8 <= 4 && out->name < TAPIR_INTERP_METHOD_BYTES &&
			   out->signature - out->name == 2 && out->pool_holder <= MAX_OFFSET &&
			   out->class_name <= MAX_OFFSET;
}

bool tapir_jvm_interpreter__read(struct tapir_jvm_interpreter *out,
				 const struct tapir_process_memory *memory,
				 const uint64_t vas[TAPIR_JVM_EXPORT_CNT])
{
	struct tapir_jvm_struct
		s[STRUCT_CNT + TAPIR_JVM_CODE_STRUCT_CNT + TAPIR_JVM_SCOPE_STRUCT_CNT];
	struct tapir_jvm_struct *scopes = &s[STRUCT_CNT + TAPIR_JVM_CODE_STRUCT_CNT];
	struct tapir_jvm_interpreter found;

	memcpy(s, wanted_structs, sizeof(wanted_structs));
	memcpy(&s[STRUCT_CNT], tapir_jvm_code_structs, sizeof(tapir_jvm_code_structs));
	memcpy(scopes, tapir_jvm_scope_structs, sizeof(tapir_jvm_scope_structs));
	/*
	 * One pass over the JVM's table of its own structures (vmStructs.hpp) finds all of them: it
	 * has thousands of entries, each with texts in the JVM's memory.
	 */
	tapir_jvm_structs__find(memory, vas, s, sizeof(s) / sizeof(*s));
	for (unsigned i = 0; i < WANTED_CNT; i++)
		if (!s[i].is_found)
			return false;
	if (s[METHOD_BYTES].value < MIN_METHOD_BYTES || s[METHOD_BYTES].value > MAX_METHOD_BYTES)
		return false;
	found = (struct tapir_jvm_interpreter){
		.const_method = (uint32_t)s[CONST_METHOD].value,
		.pool = (uint32_t)s[POOL].value,
		.name = (uint32_t)s[NAME].value,
		.signature = (uint32_t)s[SIGNATURE].value,
		.pool_bytes = (uint32_t)s[POOL_BYTES].value,
		.pool_holder = (uint32_t)s[POOL_HOLDER].value,
		.class_name = (uint32_t)s[CLASS_NAME].value,
		.symbol_len = (uint32_t)s[SYMBOL_LEN].value,
		.symbol_bytes = (uint32_t)s[SYMBOL_BYTES].value,
	};
	if (!find_code(&found, memory, s))
		return false;
	find_name_id(&found, s);
	if (tapir_jvm_code__read(&found.code, memory, &s[STRUCT_CNT]))
		tapir_jvm_scopes__read(&found.scopes, memory, scopes);
	*out = found;
	return true;
}

bool tapir_jvm_interpreter__find(struct tapir_jvm_interpreter *out, uint32_t tgid,
				 const struct tapir_mapping_line *libjvm)
{
	struct tapir_process_memory memory = {tapir_process_memory__read_fn, &tgid};
	tapir_autofd int fd = tapir_proc__open_mapped(tgid, libjvm, NULL);
	uint64_t vas[TAPIR_JVM_EXPORT_CNT];
	int mark = tapir_diag__cnt();
	struct tapir_elf *elf = NULL;
	int err = fd < 0 ? fd : tapir_elf__open_fd(fd, &elf);

	if (err) {
		tapir_diag__rewind(mark);
		if (err == -EIO)
			tapir_warn("cannot read %s of process %u: %s (interpreted methods have no "
				   "names)",
				   libjvm->path, tgid, tapir_errno__text(err));
		return false;
	}
	tapir_exported__vas(elf, libjvm, tapir_jvm_exports, vas, TAPIR_JVM_EXPORT_CNT);
	tapir_elf__free(elf);
	tapir_diag__rewind(mark);
	return tapir_jvm_interpreter__read(out, &memory, vas);
}

struct search {
	struct tapir_jvm_interpreter *out;
	uint32_t tgid;
	bool is_found;
};

static int jvm_interpreter_on_mapping(const struct tapir_mapping_line *m, void *ctx)
{
	struct search *s = ctx;

	if (!m->is_executable || !tapir_mapping_line__is_file(m) ||
	    !tapir_jvm__is_libjvm_path(m->path, m->path_len))
		return 0;
	s->is_found = tapir_jvm_interpreter__find(s->out, s->tgid, m);
	return 1; /* the first executable segment of the first one */
}

bool tapir_jvm_interpreter__of(struct tapir_jvm_interpreter *out, uint32_t tgid)
{
	struct search search = {.out = out, .tgid = tgid};
	int mark = tapir_diag__cnt();

	(void)tapir_proc__each_mapping(tgid, jvm_interpreter_on_mapping, &search);
	tapir_diag__rewind(mark);
	return search.is_found;
}

/* ---- names ---------------------------------------------------------------------------------- */

struct symbol {
	char bytes[MAX_SYMBOL_BYTES];
	size_t len;
};

/* Modified UTF-8: neither control characters nor spaces are in names. */
static bool is_jvm_name(const struct symbol *s)
{
	for (size_t i = 0; i < s->len; i++)
		if ((unsigned char)s->bytes[i] <= ' ' || s->bytes[i] == 0x7f)
			return false;
	return s->len > 0;
}

static bool read_symbol(const struct tapir_jvm_interpreter *i,
			const struct tapir_process_memory *memory, uint64_t va, struct symbol *out)
{
	uint16_t len;

	if (!va || va & 7 || va > MAX_USER_VA ||
	    !tapir_process_memory__get(memory, va + i->symbol_len, &len, sizeof(len)))
		return false;
	out->len = len < sizeof(out->bytes) ? len : sizeof(out->bytes);
	return tapir_process_memory__get(memory, va + i->symbol_bytes, out->bytes, out->len) &&
	       is_jvm_name(out);
}

/* The name at a place of the pool that a field of the ConstMethod has. */
static bool read_entry(const struct tapir_jvm_interpreter *i,
		       const struct tapir_process_memory *memory, uint64_t pool_va,
		       uint64_t field_va, struct symbol *out)
{
	uint16_t idx;

	return tapir_process_memory__get(memory, field_va, &idx, sizeof(idx)) && idx &&
	       read_symbol(i, memory,
			   tapir_process_memory__u64(memory, pool_va + i->pool_bytes + 8ull * idx),
			   out);
}

static bool is_metadata(uint64_t va)
{
	return va && !(va & 7) && va < MAX_USER_VA;
}

static struct tapir_sv symbol_text(const struct symbol *s)
{
	return (struct tapir_sv){s->bytes, s->len};
}

/*
 * The way is HotSpot's: Method, ConstMethod, ConstantPool, class. The process runs while it is
 * read, so each pointer is checked before it is followed.
 */
bool tapir_jvm_interpreter__add_name(const struct tapir_jvm_interpreter *i,
				     const struct tapir_process_memory *memory, uint64_t method_va,
				     struct tapir_str *out)
{
	struct symbol class_name, name, signature;
	uint64_t code_va, pool_va, class_va;

	if (!is_metadata(method_va))
		return false;
	code_va = tapir_process_memory__u64(memory, method_va + i->const_method);
	pool_va = is_metadata(code_va) ? tapir_process_memory__u64(memory, code_va + i->pool) : 0;
	class_va = is_metadata(pool_va)
			   ? tapir_process_memory__u64(memory, pool_va + i->pool_holder)
			   : 0;
	if (!is_metadata(class_va) ||
	    !read_symbol(i, memory, tapir_process_memory__u64(memory, class_va + i->class_name),
			 &class_name) ||
	    !read_entry(i, memory, pool_va, code_va + i->name, &name) ||
	    !read_entry(i, memory, pool_va, code_va + i->signature, &signature) ||
	    signature.bytes[0] != '(')
		return false;
	(void)tapir_java_name__add(out, symbol_text(&class_name), symbol_text(&name),
				   symbol_text(&signature));
	return !out->failed;
}

/* ---- functions of stacks -------------------------------------------------------------------- */

bool tapir_jvm_interpreter__interp(const struct tapir_jvm_interpreter *i, struct tapir_interp *out)
{
	if (!i->has_name_id)
		return false;
	*out = (struct tapir_interp){
		.root = TAPIR_INTERP_SLOTS,
		.language = TAPIR_INTERP_HOTSPOT,
		.steps = {(uint16_t)i->pool_holder, (uint16_t)i->class_name},
		.code = (uint16_t)i->const_method,
		.previous = (uint16_t)i->pool,
		.last = (uint16_t)i->name_id,
		.cookie = (uint16_t)i->name,
	};
	return true;
}

static bool has_hash(uint64_t hash, uint64_t cookie)
{
	return !((tapir_interp__indexed(hash, 0) ^ cookie) >> TAPIR_INTERP_IDX_BITS);
}

bool tapir_jvm_interpreter__is_method(const struct tapir_jvm_interpreter *i,
				      const struct tapir_process_memory *memory, uint64_t method_va,
				      uint64_t cookie)
{
	uint64_t code_va = tapir_process_memory__u64(memory, method_va + i->const_method);
	uint64_t indexes = tapir_process_memory__u64(memory, code_va + i->name / 8 * 8);
	uint64_t pool_va = tapir_process_memory__u64(memory, code_va + i->pool);
	uint64_t class_va = tapir_process_memory__u64(memory, pool_va + i->pool_holder);
	uint64_t name_va = tapir_process_memory__u64(memory, class_va + i->class_name);
	uint16_t id = 0;

	return tapir_process_memory__get(memory, name_va + i->name_id, &id, sizeof(id)) &&
	       (has_hash(tapir_interp__method_hash(code_va, indexes, name_va, id), cookie) ||
		has_hash(tapir_interp__method_hash(code_va, indexes, name_va, 0), cookie));
}
