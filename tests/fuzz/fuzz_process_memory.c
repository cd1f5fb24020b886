// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The input is the memory of a process that claims to be CoreCLR, HotSpot, CPython, PHP, V8,
 * Ruby, PostgreSQL, and a publisher of OpenTelemetry's process context: what is found in it ends.
 */
#include <stdlib.h>

#include "bpf/interp_logic.bpf.h"
#include "runtime/otel/otel_process.h"
#include "runtime/cpython/cpython_coroutines.h"
#include "runtime/cpython/cpython_lines.h"
#include "runtime/dotnet/dotnet_monitors.h"
#include "runtime/jvm/jvm_interpreter.h"
#include "runtime/php/php_frames.h"
#include "runtime/postgresql/postgresql_locks.h"
#include "runtime/ruby/ruby_frames.h"
#include "runtime/v8/v8_functions.h"
#include "tapir/abi.h"
#include "tests/unit/fake_memory.h"

#define TID 4712

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void copy_context(const struct tapir_process_memory *source)
{
	static char payload[TAPIR_RESOURCE_MAX_BYTES];
	uint64_t published_ns = 0;
	size_t bytes;

	if (tapir_otel_process__copy(source, MEMORY_VA, &published_ns, payload, &bytes) <= 0)
		return;
	if (!published_ns || bytes > sizeof(payload))
		abort();
}

/* The description is in the input; and as if it had described these layouts. */
static void read_jvm(const struct tapir_process_memory *source)
{
	struct tapir_jvm_interpreter found, known = {.const_method = 8,
						     .pool = 16,
						     .name = 34,
						     .signature = 36,
						     .pool_bytes = 72,
						     .pool_holder = 24,
						     .class_name = 24,
						     .symbol_len = 2,
						     .symbol_bytes = 6,
						     .name_id = 2};
	uint64_t vas[TAPIR_JVM_EXPORT_CNT];
	struct tapir_interp how;
	struct tapir_str name = {};

	for (unsigned i = 0; i < TAPIR_JVM_EXPORT_CNT; i++)
		vas[i] = MEMORY_VA + 8ull * i;
	if (tapir_jvm_interpreter__read(&found, source, vas) &&
	    (found.code_va >= found.code_end_va || found.code.heap_cnt > TAPIR_JVM_CODE_HEAPS ||
	     (tapir_jvm_interpreter__interp(&found, &how) && how.code != found.const_method)))
		abort();
	(void)tapir_jvm_interpreter__is_method(&known, source, MEMORY_VA, MEMORY_VA);
	if (tapir_jvm_interpreter__add_name(&known, source, MEMORY_VA, &name) && !name.len)
		abort();
	tapir_str__fini(&name);
}

static void read_postgresql(const struct tapir_process_memory *source)
{
	struct tapir_postgresql_holder holder;
	struct tapir_postgresql_lock wanted;
	struct tapir_str text = {};

	if (tapir_postgresql_locks__holder(source, MEMORY_VA, TID, &holder) &&
	    (!holder.pid || holder.pid == TID))
		abort();
	if (tapir_postgresql_locks__wanted(source, MEMORY_VA, TID, &wanted)) {
		tapir_postgresql_lock__add_text(&wanted, NULL, NULL, &text);
		if (!text.len)
			abort();
	}
	tapir_str__fini(&text);
}

/* As if its version had been that one, or as it says. */
static bool read_layout(uint64_t version, const struct tapir_process_memory *source,
			struct tapir_cpython *out)
{
	static const uint64_t vas[TAPIR_CPYTHON_EXPORT_CNT] = {MEMORY_VA, MEMORY_VA + 8, MEMORY_VA,
							       0, MEMORY_VA + 16};
	static struct fake_memory memory = {.size = 8};
	const struct tapir_process_memory known = fake_memory__of(&memory);

	memcpy(memory.bytes, &version, sizeof(version));
	return tapir_cpython__read(out, version ? &known : source, vas);
}

static void name_all(const struct tapir_cpython *python, const struct tapir_process_memory *source,
		     const struct tapir_interp_function *frames, size_t cnt)
{
	struct tapir_str name = {};

	if (cnt > TAPIR_MAX_FRAMES)
		abort();
	for (size_t i = 0; i < cnt; i++) {
		tapir_str__clear(&name);
		if (tapir_cpython__add_name(python, source, frames[i].code_va, &name) &&
		    (name.len < 7 || memchr(name.data, 0, name.len)))
			abort();
	}
	tapir_str__fini(&name);
}

static bool is_even(void *ctx, uint64_t va)
{
	(void)ctx;
	return !(va & 1);
}

/* Native frames, which are even here, are in the input: all are there in their order, with
 * functions, which are odd, between them. */
static void merge_all(const struct tapir_cpython *python, const struct fake_memory *memory,
		      const struct tapir_interp_function *frames, size_t cnt)
{
	static const struct tapir_interp_namer namer = {is_even, is_even, NULL};
	uint64_t native[64] = {}, out[48];
	struct tapir_cpython loop = *python;
	size_t bytes = memory->size < sizeof(native) ? memory->size : sizeof(native), all, at = 0;

	memcpy(native, memory->bytes, bytes);
	for (size_t i = 0; i < bytes / 8; i++)
		native[i] &= ~1ull;
	loop.loop.va = native[0];
	loop.loop.end_va = native[1];
	all = tapir_interp__merge(&loop.loop, frames, cnt, &namer, native, bytes / 8,
				  memory->size & 1, out, 48);
	for (size_t i = 0; i < all && i < 48; i++)
		if (!(out[i] & 1) && (at == bytes / 8 || out[i] != native[at++]))
			abort();
	if (all > bytes / 8 + cnt || (all <= 48 && at != bytes / 8))
		abort();
}

static void count_stack(void *ctx, const struct tapir_suspended_stack *stack)
{
	uint64_t *cnt = ctx;

	if (!stack->frames.len || stack->frames.data[stack->frames.len - 1] != '\n')
		abort();
	++*cnt;
}

/* The first objects of the input are the types of what is suspended. */
static void list_coroutines(const struct tapir_cpython *known,
			    const struct tapir_process_memory *source)
{
	struct tapir_cpython python = *known;
	const struct fake_memory *memory = source->ctx;
	uint64_t cnt = 0;
	struct tapir_suspended_sink sink = {.add = count_stack, .ctx = &cnt};

	python.coroutine_type_va = MEMORY_VA + 0x100;
	python.generator_type_va = MEMORY_VA + 0x200;
	python.async_generator_type_va = MEMORY_VA + 0x300;
	if (!tapir_cpython_coroutines__list(&python, source, true, &sink) && sink.stuck_cnt > cnt)
		abort();
	(void)tapir_cpython_lines__at(memory->bytes, memory->size, 1, 100);
}

static void read_cpython(uint64_t version, const struct tapir_process_memory *source)
{
	struct tapir_interp_function frames[TAPIR_MAX_FRAMES];
	struct tapir_cpython python;
	struct tapir_map states = {};
	size_t cnt;

	if (!read_layout(version, source, &python))
		return;
	tapir_cpython__threads(&python, source, &states);
	for (size_t i = 0; i < states.cap && i < 64; i++)
		if (states.slots[i].used)
			name_all(&python, source, frames,
				 tapir_cpython__frames(&python, source, states.slots[i].value,
						       frames, TAPIR_MAX_FRAMES));
	cnt = tapir_cpython__frames(&python, source, MEMORY_VA, frames, TAPIR_MAX_FRAMES);
	name_all(&python, source, frames, cnt);
	merge_all(&python, source->ctx, frames, cnt);
	list_coroutines(&python, source);
	tapir_map__fini(&states);
}

/* As Node 20 has its objects, or Node 24; the first bytes are a function's description. */
static void read_v8(int32_t name, int32_t first_variables,
		    const struct tapir_process_memory *source)
{
	struct tapir_v8 v8 = {};
	struct tapir_interp how;
	struct tapir_str text = {};
	uint64_t words[TAPIR_INTERP_WORDS] = {};

	for (int i = TAPIR_V8_SHARED; i <= TAPIR_V8_CHARS; i++)
		v8.constants[i] = 16;
	v8.constants[TAPIR_V8_NAME] = name;
	v8.constants[TAPIR_V8_SCRIPT] = name + 16;
	v8.constants[TAPIR_V8_MAP_TYPE] = v8.constants[TAPIR_V8_STRING_LENGTH] = 12;
	v8.constants[TAPIR_V8_CONS_SECOND] = v8.constants[TAPIR_V8_SLICED_OFFSET] = 24;
	v8.constants[TAPIR_V8_SCRIPT_SOURCE] = 8;
	v8.constants[TAPIR_V8_TYPE_FUNCTION] = 262;
	v8.constants[TAPIR_V8_TYPE_SCOPE] = 261;
	v8.constants[TAPIR_V8_TYPE_SCRIPT] = 167;
	v8.constants[TAPIR_V8_FIRST_NO_STRING] = 128;
	v8.constants[TAPIR_V8_FIRST_VARIABLES] = first_variables;
	v8.constants[TAPIR_V8_LOCALS] = 2;
	tapir_v8__interp(&v8, &how);
	if (!tapir_process_memory__get(source, MEMORY_VA, words, TAPIR_INTERP_FRAME_BYTES))
		return;
	if (tapir_v8__add_name(&v8, source, MEMORY_VA, tapir_interp__slot_cookie(&how, words, 3),
			       &text) &&
	    (!text.len || memchr(text.data, 0, text.len)))
		abort();
	tapir_str__fini(&text);
}

/* As if its version had been that one, and the first words of the input a frame. */
static void read_ruby(char minor, const struct tapir_process_memory *source)
{
	static const uint64_t vas[TAPIR_RUBY_EXPORT_CNT] = {MEMORY_VA, MEMORY_VA, MEMORY_VA + 8,
							    MEMORY_VA + 48};
	static struct fake_memory memory = {
		.bytes = "3.1.2\0\0\0\x64\x48\x8b\x04\x25\xf8\xff\xff\xff", .size = 64};
	const struct tapir_process_memory known = fake_memory__of(&memory);
	struct tapir_interp_frame frame = {};
	struct tapir_str name = {};
	struct tapir_ruby ruby;
	bool is_internal;

	(void)tapir_ruby__read(&ruby, source, vas);
	memory.bytes[2] = (uint8_t)minor;
	if (!tapir_ruby__read(&ruby, &known, vas))
		abort();
	ruby.symbols_va = MEMORY_VA + 64;
	(void)tapir_process_memory__get(source, MEMORY_VA, &frame, sizeof(frame));
	if (tapir_ruby__add_name(&ruby, source, &frame, &name, &is_internal) &&
	    (name.len < 6 || memchr(name.data, 0, name.len)))
		abort();
	tapir_str__fini(&name);
}

/* As it says, by a version of which there is a function; and as 8.2. */
static void read_php(const struct tapir_process_memory *source)
{
	static const uint64_t vas[TAPIR_PHP_EXPORT_CNT] = {MEMORY_VA, MEMORY_VA, MEMORY_VA},
			      older_vas[TAPIR_PHP_EXPORT_CNT] = {MEMORY_VA, MEMORY_VA},
			      bytes[TAPIR_PHP_EXPORT_CNT] = {0x7c0, 64, 16},
			      older_bytes[TAPIR_PHP_EXPORT_CNT] = {0x708, 64};
	struct tapir_str name = {};
	struct tapir_php php;
	bool is_internal;

	(void)tapir_php__read(&php, source, vas, bytes);
	if (!tapir_php__read(&php, source, older_vas, older_bytes))
		abort();
	if (tapir_php__add_name(&php, source, MEMORY_VA, &name, &is_internal) &&
	    (name.len < 7 || memchr(name.data, 0, name.len)))
		abort();
	tapir_str__fini(&name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fake_memory memory;
	const struct tapir_process_memory source = fake_memory__of(&memory);
	struct tapir_dotnet_contract contract;
	struct tapir_dotnet_monitors *m = NULL;
	struct tapir_dotnet_type type;

	memory.size = size < MEMORY_BYTES ? size : MEMORY_BYTES;
	memcpy(memory.bytes, data, memory.size);
	(void)tapir_dotnet_contract__parse((const char *)data, size, &contract);
	if (!tapir_dotnet_monitors__new(&source, MEMORY_VA, &m)) {
		if (tapir_dotnet_monitors__owner(m, TID, memory.bytes, memory.size, MEMORY_VA) ==
		    TID)
			abort();
		if (tapir_dotnet_monitors__type(m, TID, memory.bytes, memory.size, MEMORY_VA,
						&type) &&
		    (!type.row || !*type.path))
			abort();
		tapir_dotnet_monitors__free(m);
	}
	read_postgresql(&source);
	copy_context(&source);
	read_jvm(&source);
	read_cpython(0, &source);
	read_cpython(0x030b02f0, &source);
	read_cpython(0x030c01f0, &source);
	read_v8(16, 3, &source);
	read_v8(24, 5, &source);
	read_ruby('1', &source);
	read_ruby('3', &source);
	read_php(&source);
	return 0;
}
