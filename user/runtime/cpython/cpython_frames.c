// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The offsets of 3.11 and 3.12 are what their headers give on x86-64; those of 3.13 and later
 * begin _PyRuntime.
 */
#include "runtime/cpython/cpython_frames.h"

#include <string.h>

#include "bpf/interp.h"
#include "runtime/function_code.h"

#define MAX_INTERPRETERS 256u
#define MAX_THREADS	 65536u
#define MAX_USER_VA	 (1ull << 56)
#define MAX_NAME_CHARS	 256u /* longer names are cut */
#define MAX_FILE_CHARS	 1024u
#define MAX_TEXT_LEN	 65536u /* of more it is no name */
#define MAX_OFFSET	 (1u << 20)
#define RUNTIME_BYTES	 (1u << 20)
#define CODE_BYTES	 48u /* are read of a function */
#define RELEASE_MASK	 0xf0u
#define RELEASE_IS_FINAL 0xf0u
#define TYPE_OFF	 8  /* of any object */
#define OWNED_BY_C	 3  /* a frame of no function, for a call of the loop; from 3.12 on */
#define TAGS		 7u /* of a reference to an object; from 3.14 on */

/* ---- layouts -------------------------------------------------------------------------------- */

static const struct tapir_cpython_layout layout_3_11 = {
	.interpreters = 40,
	.interpreter_next = 0,
	.threads = 16,
	.gc = 648,
	.thread_next = 8,
	.tid = 160,
	.frame = 56,
	.has_cframe = true,
	.frame_of_cframe = 8,
	.code = 32,
	.previous = 48,
	.owner = 68,
	.has_entry = true,
	.file = 112,
	.name = 128,
	.text_len = 16,
	.text_state = 32,
	.ascii_bytes = 48,
	.compact_bytes = 72,
};

static const struct tapir_cpython_layout layout_3_12 = {
	.interpreters = 40,
	.interpreter_next = 0,
	.threads = 72,
	.gc = 112,
	.thread_next = 8,
	.tid = 144,
	.frame = 56,
	.has_cframe = true,
	.frame_of_cframe = 0,
	.code = 0,
	.previous = 8,
	.owner = 70,
	.file = 112,
	.name = 128,
	.text_len = 16,
	.text_state = 32,
	.ascii_bytes = 40,
	.compact_bytes = 56,
};

/*
 * _PyRuntime begins with _Py_DebugOffsets, words of which the first are a mark of eight characters,
 * the version, and whether it is without a global lock. Here are the indexes of the members that
 * are needed. Each version has other members; their values are those of the build.
 */
struct debug_words {
	uint16_t version;
	uint8_t thread_next, frame, tid, previous, code, owner, file, name;
	uint8_t text_state; /* and behind it its length, and what precedes its characters */
};

enum {
	MARK_WORD,
	VERSION_WORD,
	FREE_THREADED_WORD,
	INTERPRETERS_WORD = 5,
	INTERPRETER_NEXT_WORD = 8,
	THREADS_WORD,
	GC_WORD,
	DEBUG_WORD_CNT = 93
};

static const struct debug_words debug_words[] = {
	{0x030d, 21, 23, 25, 29, 30, 33, 35, 37, 68},
	{0x030e, 24, 26, 28, 32, 33, 36, 40, 42, 78},
	{0x030f, 24, 26, 31, 40, 41, 44, 48, 50, 90},
};

static bool are_offsets(const struct tapir_cpython_layout *l)
{
	const uint64_t offsets[] = {l->interpreters, l->interpreter_next,
				    l->threads,	     l->thread_next,
				    l->tid,	     l->frame,
				    l->code,	     l->previous,
				    l->owner,	     l->file,
				    l->name,	     l->text_len,
				    l->text_state,   l->ascii_bytes};

	for (size_t i = 0; i < sizeof(offsets) / sizeof(*offsets); i++)
		if (offsets[i] > MAX_OFFSET)
			return false;
	return true;
}

/*
 * One without a global lock frees what others may read at any time: nothing was tried there. Those
 * that precede a version's release differ from it.
 */
static bool read_layout(const struct tapir_process_memory *memory, uint64_t va, uint64_t version,
			const struct debug_words *at, struct tapir_cpython_layout *out)
{
	uint64_t words[DEBUG_WORD_CNT];

	if (!tapir_process_memory__get(memory, va, words, sizeof(words)) ||
	    memcmp(words, "xdebugpy", 8) != 0 || words[VERSION_WORD] != version ||
	    words[FREE_THREADED_WORD] || (version & RELEASE_MASK) != RELEASE_IS_FINAL)
		return false;
	*out = (struct tapir_cpython_layout){
		.interpreters = words[INTERPRETERS_WORD],
		.interpreter_next = words[INTERPRETER_NEXT_WORD],
		.threads = words[THREADS_WORD],
		.gc = words[GC_WORD] <= MAX_OFFSET ? words[GC_WORD] : 0,
		.thread_next = words[at->thread_next],
		.tid = words[at->tid],
		.frame = words[at->frame],
		.code = words[at->code],
		.previous = words[at->previous],
		.owner = words[at->owner],
		.file = words[at->file],
		.name = words[at->name],
		.text_len = words[at->text_state + 1],
		.text_state = words[at->text_state],
		.ascii_bytes = words[at->text_state + 2],
		.compact_bytes = words[at->text_state + 2] + 16,
	};
	return are_offsets(out);
}

static bool find_layout(const struct tapir_process_memory *memory, uint64_t va, uint64_t version,
			struct tapir_cpython_layout *out)
{
	if (version >> 16 == 0x030b || version >> 16 == 0x030c) {
		*out = version >> 16 == 0x030b ? layout_3_11 : layout_3_12;
		return true;
	}
	for (size_t i = 0; i < sizeof(debug_words) / sizeof(*debug_words); i++)
		if (version >> 16 == debug_words[i].version)
			return read_layout(memory, va, version, &debug_words[i], out);
	return false;
}

/*
 * PyGILState_GetThisThreadState passes the key to pthread_getspecific, or the address of the
 * Py_tss_t that has it, as its second member, to PyThread_tss_get. Its code, as gcc makes it of
 * 3.11 to 3.14:
 *
 *	mov	key(%rip),%edi; jmp				  the program has all of it
 *	mov	$tss,%edi; jmp
 *	lea	tss(%rip),%rdi; jmp
 *	mov	_PyRuntime@GOT(%rip),%rax; ... lea tss(%rax),%rdi (or %rbx)	in a library
 *
 * Whatever is read by a wrong key is no state of the thread: that has the thread's number.
 */
static uint64_t find_key(const uint8_t code[CODE_BYTES], uint64_t fn_va, uint64_t runtime_va)
{
	static const uint8_t load[] = {0x48, 0x8b, 0x05};
	uint32_t disp;

	for (size_t i = 0; i + 8 <= CODE_BYTES; i++) {
		const uint8_t *c = code + i;

		if (c[0] == 0x8b && c[1] == 0x3d && c[6] == 0xe9)
			return tapir_function_code__relative(fn_va, code, i + 2);
		if (c[0] == 0x48 && c[1] == 0x8d && c[2] == 0x3d && c[7] == 0xe9)
			return tapir_function_code__relative(fn_va, code, i + 3) + sizeof(int);
		memcpy(&disp, c + 1, sizeof(disp));
		if (c[0] == 0xbf && c[5] == 0xe9)
			return disp + sizeof(int);
		memcpy(&disp, c + 3, sizeof(disp));
		if (c[0] == 0x48 && c[1] == 0x8d && (c[2] == 0xb8 || c[2] == 0x98) && disp &&
		    disp < RUNTIME_BYTES && !memcmp(code, load, sizeof(load)))
			return runtime_va + disp + sizeof(int);
	}
	return 0;
}

/* The state is a thread-local variable from 3.15 on: the function returns its value. */
static void find_state(struct tapir_cpython *out, const struct tapir_process_memory *memory,
		       uint64_t fn_va)
{
	uint8_t code[CODE_BYTES];

	if (!fn_va || !tapir_process_memory__get(memory, fn_va, code, sizeof(code)))
		return;
	out->root_va = find_key(code, fn_va, out->runtime_va);
	if (out->root_va)
		out->root = TAPIR_INTERP_TSS;
	else
		tapir_function_code__thread_local(memory, fn_va, &out->root, &out->root_va);
}

bool tapir_cpython__read(struct tapir_cpython *out, const struct tapir_process_memory *memory,
			 const uint64_t vas[TAPIR_CPYTHON_EXPORT_CNT])
{
	uint64_t version = tapir_process_memory__u64(memory, vas[TAPIR_CPYTHON_VERSION]);
	struct tapir_cpython found = {.runtime_va = vas[TAPIR_CPYTHON_RUNTIME],
				      .loop = {.va = vas[TAPIR_CPYTHON_LOOP]},
				      .version = (uint16_t)(version >> 16),
				      .code_type_va = vas[TAPIR_CPYTHON_CODE],
				      .coroutine_type_va = vas[TAPIR_CPYTHON_COROUTINE],
				      .generator_type_va = vas[TAPIR_CPYTHON_GENERATOR],
				      .async_generator_type_va =
					      vas[TAPIR_CPYTHON_ASYNC_GENERATOR]};

	if (!found.runtime_va || !found.loop.va)
		return false;
	if (!find_layout(memory, found.runtime_va, version, &found.layout))
		return false;
	find_state(&found, memory, vas[TAPIR_CPYTHON_STATE]);
	*out = found;
	return true;
}

static bool is_in_frame(uint64_t off)
{
	return off < TAPIR_INTERP_FRAME_BYTES;
}

bool tapir_cpython__interp(const struct tapir_cpython *python, struct tapir_interp *out)
{
	const struct tapir_cpython_layout *l = &python->layout;

	if (!python->root || !is_in_frame(l->code + 7) || !is_in_frame(l->previous + 7) ||
	    !is_in_frame(l->owner) || l->tid > UINT16_MAX || l->frame > UINT16_MAX ||
	    l->frame_of_cframe > UINT16_MAX || l->name > UINT16_MAX || !l->tid)
		return false;
	*out = (struct tapir_interp){
		.root_va = python->root_va,
		.root = python->root,
		.language = TAPIR_INTERP_CPYTHON,
		.flags = l->has_entry ? 0 : TAPIR_INTERP_LAST_IS_BARE,
		.step_cnt = l->has_cframe ? 2 : 1,
		.steps = {(uint16_t)l->frame, (uint16_t)l->frame_of_cframe},
		.tid = (uint16_t)l->tid,
		.code = (uint16_t)l->code,
		.previous = (uint16_t)l->previous,
		.last = (uint16_t)l->owner,
		.last_mask = UINT8_MAX,
		.last_value = l->has_entry ? 1 : OWNED_BY_C,
		.cookie = (uint16_t)l->name,
	};
	return true;
}

/* ---- threads and frames --------------------------------------------------------------------- */

static bool is_object(uint64_t va)
{
	return va && !(va & 7) && va < MAX_USER_VA;
}

static uint64_t object_at(const struct tapir_process_memory *memory, uint64_t va)
{
	uint64_t object_va = tapir_process_memory__u64(memory, va);

	return is_object(object_va) ? object_va : 0;
}

/* Lists may be circles: another process wrote them. */
void tapir_cpython__threads(const struct tapir_cpython *python,
			    const struct tapir_process_memory *memory,
			    struct tapir_map *state_by_tid)
{
	const struct tapir_cpython_layout *l = &python->layout;
	uint64_t interpreter_va = object_at(memory, python->runtime_va + l->interpreters), *state;
	unsigned interpreters = 0, threads = 0;

	while (interpreter_va && interpreters++ < MAX_INTERPRETERS) {
		uint64_t va = object_at(memory, interpreter_va + l->threads);

		for (bool is_new = true; va && threads < MAX_THREADS && is_new; threads++) {
			uint64_t tid = tapir_process_memory__u64(memory, va + l->tid);

			state = tapir_map__put(state_by_tid, tid, &is_new);
			if (state && is_new)
				*state = va;
			va = object_at(memory, va + l->thread_next);
		}
		interpreter_va = object_at(memory, interpreter_va + l->interpreter_next);
	}
}

static bool read_frame(const struct tapir_cpython_layout *l,
		       const struct tapir_process_memory *memory, uint64_t va,
		       struct tapir_interp_function *out)
{
	uint64_t code_va;
	uint8_t owner;

	if (!tapir_process_memory__get(memory, va + l->owner, &owner, sizeof(owner)))
		return false;
	out->is_last = l->has_entry ? owner != 0 : owner == OWNED_BY_C;
	code_va = tapir_process_memory__u64(memory, va + l->code) & ~(uint64_t)TAGS;
	out->code_va = is_object(code_va) && (l->has_entry || !out->is_last) ? code_va : 0;
	return true;
}

size_t tapir_cpython__frames(const struct tapir_cpython *python,
			     const struct tapir_process_memory *memory, uint64_t state_va,
			     struct tapir_interp_function *out, size_t cnt)
{
	const struct tapir_cpython_layout *l = &python->layout;
	uint64_t va = object_at(memory, state_va + l->frame);
	size_t found = 0;

	if (l->has_cframe && va)
		va = object_at(memory, va + l->frame_of_cframe);
	for (; va && found < cnt && read_frame(l, memory, va, &out[found]); found++)
		va = object_at(memory, va + l->previous);
	return found;
}

/* ---- names ---------------------------------------------------------------------------------- */

/* Neither control characters nor halves of pairs. */
static bool add_character(uint32_t c, struct tapir_str *out)
{
	if (c < ' ' || (c >= 0x7f && c < 0xa0) || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff)
		return false;
	if (c < 0x80) {
		tapir_str__addc(out, (char)c);
		return true;
	}
	if (c >= 0x10000) {
		tapir_str__addc(out, (char)(0xf0 | c >> 18));
		tapir_str__addc(out, (char)(0x80 | (c >> 12 & 0x3f)));
	} else if (c >= 0x800) {
		tapir_str__addc(out, (char)(0xe0 | c >> 12));
	}
	if (c >= 0x800)
		tapir_str__addc(out, (char)(0x80 | (c >> 6 & 0x3f)));
	else
		tapir_str__addc(out, (char)(0xc0 | c >> 6));
	tapir_str__addc(out, (char)(0x80 | (c & 0x3f)));
	return true;
}

static bool add_characters(const uint8_t *bytes, size_t cnt, unsigned width, struct tapir_str *out)
{
	for (size_t i = 0; i < cnt; i++) {
		uint32_t c = 0;

		memcpy(&c, bytes + i * width, width);
		if (!add_character(c, out))
			return false;
	}
	return true;
}

/* A str, as all names are: its characters, of 1, 2 or 4 bytes, follow it. */
bool tapir_cpython__add_text(const struct tapir_cpython_layout *l,
			     const struct tapir_process_memory *memory, uint64_t va, size_t max_cnt,
			     struct tapir_str *out)
{
	uint8_t bytes[4 * MAX_FILE_CHARS];
	uint64_t len;
	uint32_t state;
	unsigned width;
	bool is_compact, is_ascii;
	size_t cnt;

	if (!va || !tapir_process_memory__get(memory, va + l->text_len, &len, sizeof(len)) ||
	    !tapir_process_memory__get(memory, va + l->text_state, &state, sizeof(state)) || !len ||
	    len > MAX_TEXT_LEN)
		return false;
	width = state >> 2 & 7;
	is_compact = state >> 5 & 1;
	is_ascii = state >> 6 & 1;
	if (!is_compact || (width != 1 && width != 2 && width != 4) || (is_ascii && width != 1))
		return false;
	cnt = len < max_cnt ? (size_t)len : max_cnt;
	va += is_ascii ? l->ascii_bytes : l->compact_bytes;
	return tapir_process_memory__get(memory, va, bytes, cnt * width) &&
	       add_characters(bytes, cnt, width, out);
}

static bool is_code(const struct tapir_cpython *python, const struct tapir_process_memory *memory,
		    uint64_t va)
{
	return is_object(va) &&
	       (!python->code_type_va ||
		tapir_process_memory__u64(memory, va + TYPE_OFF) == python->code_type_va);
}

bool tapir_cpython__add_name(const struct tapir_cpython *python,
			     const struct tapir_process_memory *memory, uint64_t code_va,
			     struct tapir_str *out)
{
	const struct tapir_cpython_layout *l = &python->layout;

	tapir_str__adds(out, "py::");
	if (!is_code(python, memory, code_va) ||
	    !tapir_cpython__add_text(l, memory, object_at(memory, code_va + l->name),
				     MAX_NAME_CHARS, out))
		return false;
	tapir_str__addc(out, ':');
	return tapir_cpython__add_text(l, memory, object_at(memory, code_va + l->file),
				       MAX_FILE_CHARS, out) &&
	       !out->failed;
}
