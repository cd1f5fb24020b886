// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Objects of a V8 without compressed pointers: a word is a small number in its upper half, or the
 * address of an object plus 1. The first word of an object is its map, which has its type.
 *
 * A scope's description is a list of words: [flags, parameters, context locals, ...] names of the
 * context locals, a word for each of them, then the function's name with another word if it has
 * one, the inferred name if there is one, and where it begins and ends in the source; V8 13 has
 * these two before the names.
 */
#include "runtime/v8/v8_functions.h"

#include <string.h>

#include "bpf/interp_logic.bpf.h"

#define MAX_NAME_CHARS	   256u /* longer names are cut */
#define MAX_PATH_CHARS	   1024u
#define MAX_STRINGS	   32u	      /* that one text is put together of */
#define MAX_SOURCE_CHARS   (1u << 20) /* as far as newlines are counted */
#define MAX_LOCALS	   4096u
#define MAX_INLINED_LOCALS 75u /* the names of more are in a table, which is one word */
#define NAME_WORDS	   8u  /* after the locals, in which a name is */
#define EARLY_POSITION	   3u  /* the words of V8 13's positions */
#define MAX_OFFSET	   256

#define FORM_MASK	   7u /* of a string's type */
#define IS_ONE_BYTE	   8u
#define IS_UNCACHED	   16u /* an external one, of which V8 does not know where it is */

enum form { SEQUENCE, CONS, EXTERNAL, SLICED, THIN = 5 };

/* ---- constants ------------------------------------------------------------------------------ */

/* A type follows, or nothing. */
static bool is_constant(const char *name, const char *wanted)
{
	size_t len = strlen(wanted);

	return !strncmp(name, wanted, len) && (wanted[len - 1] == '_' || !name[len]);
}

enum tapir_v8_constant tapir_v8__constant(const char *name)
{
	static const char *const prefixes[] = {
#define X(id, prefix) prefix,
		TAPIR_V8_CONSTANTS(X)
#undef X
	};
	int i = 0;

	while (i < TAPIR_V8_CONSTANT_CNT && !is_constant(name, prefixes[i]))
		i++;
	return (enum tapir_v8_constant)i;
}

/* All words of a description that are hashed are read at once, by the programs too. */
bool tapir_v8__is_known(const struct tapir_v8 *v8)
{
	const int32_t *c = v8->constants;

	for (int i = TAPIR_V8_SHARED; i <= TAPIR_V8_CHARS; i++)
		if (c[i] < 8 || c[i] > MAX_OFFSET)
			return false;
	return c[TAPIR_V8_NAME] % 8 == 0 && c[TAPIR_V8_SCRIPT] % 8 == 0 &&
	       c[TAPIR_V8_NAME] <= (int)TAPIR_INTERP_FRAME_BYTES - 8 &&
	       c[TAPIR_V8_SCRIPT] <= (int)TAPIR_INTERP_FRAME_BYTES - 8 &&
	       c[TAPIR_V8_TYPE_FUNCTION] && c[TAPIR_V8_TYPE_SCOPE] && c[TAPIR_V8_TYPE_SCRIPT] &&
	       c[TAPIR_V8_FIRST_NO_STRING] == 128 && c[TAPIR_V8_LOCALS] == 2 &&
	       (c[TAPIR_V8_FIRST_VARIABLES] == 3 || c[TAPIR_V8_FIRST_VARIABLES] == 5) &&
	       c[TAPIR_V8_FP_FUNCTION] == -16 && c[TAPIR_V8_FP_CONTEXT] == -8 &&
	       c[TAPIR_V8_SMALL_SHIFT] == 31 && c[TAPIR_V8_OBJECT_TAG] == TAPIR_INTERP_OBJECT;
}

void tapir_v8__interp(const struct tapir_v8 *v8, struct tapir_interp *out)
{
	*out = (struct tapir_interp){
		.root = TAPIR_INTERP_SLOTS,
		.language = TAPIR_INTERP_V8,
		.code = (uint16_t)v8->constants[TAPIR_V8_SHARED],
		.previous = (uint16_t)v8->constants[TAPIR_V8_SCRIPT],
		.cookie = (uint16_t)v8->constants[TAPIR_V8_NAME],
	};
}

/* ---- objects -------------------------------------------------------------------------------- */

struct reader {
	const int32_t *c;
	const struct tapir_process_memory *memory;
	unsigned string_cnt; /* of the text that is read: they may be a circle */
};

static uint64_t word_at(const struct reader *r, uint64_t object, uint64_t off)
{
	return tapir_interp__is_object(object)
		       ? tapir_process_memory__u64(r->memory, object - TAPIR_INTERP_OBJECT + off)
		       : 0;
}

/* UINT16_MAX, which no type is: it is no object. */
static uint16_t v8_object_type(const struct reader *r, uint64_t object)
{
	uint64_t map = word_at(r, object, 0);
	uint16_t type;

	return tapir_interp__is_object(map) &&
			       tapir_process_memory__get(r->memory,
							 map - TAPIR_INTERP_OBJECT +
								 (unsigned)r->c[TAPIR_V8_MAP_TYPE],
							 &type, sizeof(type))
		       ? type
		       : UINT16_MAX;
}

static bool is_small(uint64_t word)
{
	return !(uint32_t)word;
}

static uint32_t small(uint64_t word)
{
	return (uint32_t)(word >> 32);
}

static bool is_string(const struct reader *r, uint64_t object)
{
	return v8_object_type(r, object) < r->c[TAPIR_V8_FIRST_NO_STRING];
}

/* ---- strings -------------------------------------------------------------------------------- */

struct characters {
	uint64_t va;
	uint32_t cnt;
	unsigned width;
};

/* The characters that are searched of a string, which may stand for a part of another one. */
struct part {
	uint64_t object; /* 0: it was found */
	uint32_t from, cnt;
};

/* Finds its characters, or the string that it stands for. */
static bool find_part(struct reader *r, struct part *part, struct characters *out)
{
	uint64_t object = part->object;
	uint16_t type = v8_object_type(r, object);
	uint32_t len = (uint32_t)word_at(r, object, (unsigned)r->c[TAPIR_V8_STRING_LENGTH]);

	if (!is_string(r, object) || r->string_cnt++ >= MAX_STRINGS)
		return false;
	*out = (struct characters){.width = type & IS_ONE_BYTE ? 1 : 2};
	part->object = 0;
	switch (type & FORM_MASK) {
	case SEQUENCE:
		out->va = object - TAPIR_INTERP_OBJECT + (unsigned)r->c[TAPIR_V8_CHARS];
		break;
	/*
	 * The word after the resource is a cache of where its characters are; uncached strings lack
	 * it.
	 */
	case EXTERNAL:
		out->va = word_at(r, object, (unsigned)r->c[TAPIR_V8_EXTERNAL_RESOURCE] + 8);
		if (type & IS_UNCACHED || !out->va)
			return false;
		break;
	case THIN:
		part->object = word_at(r, object, (unsigned)r->c[TAPIR_V8_THIN_ACTUAL]);
		return true;
	case SLICED:
		part->object = word_at(r, object, (unsigned)r->c[TAPIR_V8_SLICED_PARENT]);
		part->from += small(word_at(r, object, (unsigned)r->c[TAPIR_V8_SLICED_OFFSET]));
		part->cnt = len < part->cnt ? len : part->cnt;
		return true;
	default:
		return false;
	}
	if (part->from > len)
		return false;
	out->cnt = len - part->from;
	out->va += (uint64_t)part->from * out->width;
	if (part->cnt != UINT32_MAX && part->cnt > out->cnt)
		return false;
	out->cnt = part->cnt < out->cnt ? part->cnt : out->cnt;
	return true;
}

/* Finds the characters of a string in one piece, as those of a joined text that was read. */
static bool find_whole(struct reader *r, uint64_t object, struct characters *out)
{
	struct part part = {.object = object, .cnt = UINT32_MAX};

	while (is_string(r, part.object) && (v8_object_type(r, part.object) & FORM_MASK) == CONS &&
	       r->string_cnt++ < MAX_STRINGS) {
		uint64_t second = word_at(r, part.object, (unsigned)r->c[TAPIR_V8_CONS_SECOND]);

		if (word_at(r, second, (unsigned)r->c[TAPIR_V8_STRING_LENGTH]) & UINT32_MAX)
			return false;
		part.object = word_at(r, part.object, (unsigned)r->c[TAPIR_V8_CONS_FIRST]);
	}
	do {
		if (!find_part(r, &part, out))
			return false;
	} while (part.object);
	return true;
}

static void add_code_point(struct tapir_str *out, uint32_t c)
{
	static const uint8_t marks[] = {0, 0xc0, 0xe0, 0xf0};
	unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;

	tapir_str__addc(out, (char)(marks[more] | c >> 6 * more));
	while (more--)
		tapir_str__addc(out, (char)(0x80 | (c >> 6 * more & 0x3f)));
}

/* Characters that a terminal takes for something else are in no name. */
static bool add_characters(const uint8_t *bytes, size_t cnt, unsigned width, struct tapir_str *out)
{
	for (size_t i = 0; i < cnt; i++) {
		uint16_t c = 0, low = 0;

		memcpy(&c, bytes + i * width, width);
		if (c < ' ' || (c >= 0x7f && c < 0xa0) || (c & 0xfc00) == 0xdc00)
			return false;
		if ((c & 0xfc00) != 0xd800) {
			add_code_point(out, c);
			continue;
		}
		if (++i == cnt)
			break; /* cut between both halves */
		memcpy(&low, bytes + i * width, width);
		if ((low & 0xfc00) != 0xdc00)
			return false;
		add_code_point(out, 0x10000 + ((c & 0x3ffu) << 10) + (low & 0x3ffu));
	}
	return true;
}

static bool add_piece(struct reader *r, const struct characters *piece, size_t max,
		      struct tapir_str *out)
{
	uint8_t bytes[2 * MAX_PATH_CHARS];
	size_t cnt = piece->cnt < max ? piece->cnt : max;

	return !cnt ||
	       (tapir_process_memory__get(r->memory, piece->va, bytes, cnt * piece->width) &&
		add_characters(bytes, cnt, piece->width, out));
}

/* The parts of a joined name may still be apart. */
static bool add_string(struct reader *r, uint64_t object, size_t max, struct tapir_str *out)
{
	uint64_t rest[MAX_STRINGS], second;
	struct characters piece;
	unsigned rest_cnt = 1;
	size_t begin = out->len;

	r->string_cnt = 0;
	rest[0] = object;
	while (rest_cnt && out->len - begin < max) {
		object = rest[--rest_cnt];
		if (is_string(r, object) && (v8_object_type(r, object) & FORM_MASK) == CONS) {
			second = word_at(r, object, (unsigned)r->c[TAPIR_V8_CONS_SECOND]);
			if (rest_cnt + 2 > MAX_STRINGS || r->string_cnt++ >= MAX_STRINGS)
				return false;
			rest[rest_cnt++] = second;
			rest[rest_cnt++] = word_at(r, object, (unsigned)r->c[TAPIR_V8_CONS_FIRST]);
			continue;
		}
		if (!find_whole(r, object, &piece) ||
		    !add_piece(r, &piece, max - (out->len - begin), out))
			return false;
	}
	return true;
}

/* ---- functions ------------------------------------------------------------------------------ */

struct function {
	uint64_t name;	/* a string; 0: none */
	uint32_t begin; /* in the source */
	bool has_begin;
};

static bool has_characters(const struct reader *r, uint64_t object)
{
	return is_string(r, object) &&
	       (uint32_t)word_at(r, object, (unsigned)r->c[TAPIR_V8_STRING_LENGTH]);
}

/*
 * After the locals: [name, number], [inferred name or undefined], begin, end; of which each
 * bracket may not be there, and the numbers may not with V8 13. What follows is no number.
 */
static void read_names(const struct reader *r, const uint64_t words[NAME_WORDS],
		       struct function *out)
{
	bool is_early = r->c[TAPIR_V8_FIRST_VARIABLES] > (int)EARLY_POSITION;
	bool has_inferred = !is_small(words[2]);
	unsigned at = 0;

	/* Methods with a computed name have 0 for it. */
	if ((is_string(r, words[0]) || is_small(words[0])) && is_small(words[1]) &&
	    (is_early ||
	     (is_small(words[2 + has_inferred]) && is_small(words[3 + has_inferred])))) {
		out->name = has_characters(r, words[0]) ? words[0] : 0;
		at = 2;
	}
	if (!is_small(words[at])) {
		if (!out->name && has_characters(r, words[at]))
			out->name = words[at];
		at++;
	}
	out->has_begin = is_small(words[at]) && is_small(words[at + 1]);
	out->begin = small(words[at]);
}

static bool read_scope(const struct reader *r, uint64_t scope, struct function *out)
{
	unsigned first = (unsigned)r->c[TAPIR_V8_FIRST_VARIABLES];
	uint32_t locals = small(word_at(r, scope, 8 + 8u * (unsigned)r->c[TAPIR_V8_LOCALS]));
	uint64_t words[NAME_WORDS];

	if (locals > MAX_LOCALS)
		return false;
	first += locals + (locals < MAX_INLINED_LOCALS ? locals : 1);
	if (!tapir_interp__is_object(scope) ||
	    !tapir_process_memory__get(r->memory, scope - TAPIR_INTERP_OBJECT + 8 + 8ull * first,
				       words, sizeof(words)))
		return false;
	read_names(r, words, out);
	if (r->c[TAPIR_V8_FIRST_VARIABLES] > (int)EARLY_POSITION) {
		words[0] = word_at(r, scope, 8 + 8 * EARLY_POSITION);
		out->has_begin = is_small(words[0]);
		out->begin = small(words[0]);
	}
	return true;
}

static bool read_function(const struct reader *r, uint64_t name_or_scope, struct function *out)
{
	*out = (struct function){};
	if (is_string(r, name_or_scope)) {
		out->name = name_or_scope;
		return true;
	}
	return v8_object_type(r, name_or_scope) == r->c[TAPIR_V8_TYPE_SCOPE] &&
	       read_scope(r, name_or_scope, out);
}

/* Newlines before a place, and the characters after the last one. */
static void count_lines(const uint8_t *bytes, size_t cnt, unsigned width, uint32_t *line,
			uint32_t *column)
{
	for (size_t i = 0; i < cnt; i++) {
		uint16_t c = 0;

		memcpy(&c, bytes + i * width, width);
		++*column;
		if (c == '\n') {
			++*line;
			*column = 1;
		}
	}
}

static bool find_line(struct reader *r, uint64_t source, uint32_t at, uint32_t *line,
		      uint32_t *column)
{
	struct characters text;
	uint8_t bytes[8192];
	size_t cnt;

	r->string_cnt = 0;
	*line = *column = 1;
	if (!find_whole(r, source, &text) || at > text.cnt || at > MAX_SOURCE_CHARS)
		return false;
	for (; at; at -= (uint32_t)cnt) {
		cnt = sizeof(bytes) / text.width < at ? sizeof(bytes) / text.width : at;
		if (!tapir_process_memory__get(r->memory, text.va, bytes, cnt * text.width))
			return false;
		count_lines(bytes, cnt, text.width, line, column);
		text.va += cnt * text.width;
	}
	return true;
}

static bool add_script(struct reader *r, uint64_t script, const struct function *function,
		       struct tapir_str *out)
{
	uint64_t name = word_at(r, script, (unsigned)r->c[TAPIR_V8_SCRIPT_NAME]);
	uint64_t source = word_at(r, script, (unsigned)r->c[TAPIR_V8_SCRIPT_SOURCE]);
	uint32_t line, column;

	tapir_str__addc(out, ' ');
	if (!has_characters(r, name))
		tapir_str__adds(out, "<anonymous>"); /* as V8's own stack traces have it */
	else if (!add_string(r, name, MAX_PATH_CHARS, out))
		return false;
	if (function->has_begin && find_line(r, source, function->begin, &line, &column))
		tapir_str__addf(out, ":%u:%u", line, column);
	return true;
}

static bool add_v8_string_name(struct reader *r, uint64_t name, struct tapir_str *out)
{
	if (name)
		return add_string(r, name, MAX_NAME_CHARS, out);
	tapir_str__adds(out, "(anonymous)");
	return true;
}

static bool read_words(const struct tapir_v8 *v8, const struct tapir_process_memory *memory,
		       uint64_t va, uint64_t cookie, uint64_t words[TAPIR_INTERP_WORDS])
{
	struct tapir_interp how;

	tapir_v8__interp(v8, &how);
	return tapir_process_memory__get(memory, va, words, TAPIR_INTERP_FRAME_BYTES) &&
	       !((tapir_interp__slot_cookie(&how, words, 0) ^ cookie) >> TAPIR_INTERP_IDX_BITS);
}

/* A built-in function has no script, and a name of its own in the symbols of the file. */
static bool add_once(const struct tapir_v8 *v8, const struct tapir_process_memory *memory,
		     uint64_t va, uint64_t cookie, struct tapir_str *out)
{
	struct reader r = {.c = v8->constants, .memory = memory};
	uint64_t words[TAPIR_INTERP_WORDS] = {}, script;
	struct function function;

	if (!read_words(v8, memory, va, cookie, words) ||
	    v8_object_type(&r, va + TAPIR_INTERP_OBJECT) != r.c[TAPIR_V8_TYPE_FUNCTION])
		return false;
	script = words[r.c[TAPIR_V8_SCRIPT] / 8];
	return v8_object_type(&r, script) == r.c[TAPIR_V8_TYPE_SCRIPT] &&
	       read_function(&r, words[r.c[TAPIR_V8_NAME] / 8], &function) &&
	       add_v8_string_name(&r, function.name, out) &&
	       add_script(&r, script, &function, out) && read_words(v8, memory, va, cookie, words);
}

bool tapir_v8__add_name(const struct tapir_v8 *v8, const struct tapir_process_memory *memory,
			uint64_t va, uint64_t cookie, struct tapir_str *out)
{
	size_t begin = out->len;
	struct tapir_str again = {};
	bool is_same = add_once(v8, memory, va, cookie, out) &&
		       add_once(v8, memory, va, cookie, &again) && again.len == out->len - begin &&
		       !memcmp(again.data, out->data + begin, again.len);

	tapir_str__fini(&again);
	return is_same;
}
