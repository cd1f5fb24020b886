// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The offsets are what Ruby's headers give on x86-64. Whose a method is, is said by its method
 * entry, which is taken for the frame's only if it leads back to the frame's instructions.
 */
#include "runtime/ruby/ruby_frames.h"

#include <string.h>

#include "bpf/interp.h"
#include "runtime/function_code.h"

#define MAX_NAME_BYTES	   256u
#define MAX_FILE_BYTES	   1024u
#define MAX_LINE	   (1u << 24)

/* An object begins with its flags and its class. */
#define FLAGS_OFF	   0u
#define CLASS_OFF	   8u
#define TYPE_MASK	   0x1fu
#define TYPE_CLASS	   0x02u
#define TYPE_MODULE	   0x03u
#define TYPE_STRING	   0x05u
#define TYPE_ARRAY	   0x07u
#define TYPE_INTERNAL	   0x1au
#define TYPE_INCLUDED	   0x1cu /* a class that stands for a module */
#define FLAG_SHIFT	   12u
#define IS_SINGLETON	   (1u << FLAG_SHIFT)

/* Kinds of what is internal, above FLAG_SHIFT. */
#define KIND_MASK	   0xfu
#define KIND_SVAR	   2u /* in place of a method entry, which it has */
#define KIND_METHOD	   6u
#define KIND_CODE	   7u

#define SVAR_METHOD_OFF	   8u
#define DEFINITION_OFF	   16u /* of a method entry */
#define OWNER_OFF	   32u
#define DEFINITION_CODE	   8u /* of a definition, after its type */
#define DEFINITION_NAME	   32u
#define DEFINITION_TYPE	   0xfu
#define DEFINITION_OF_CODE 0u
#define DEFINITION_OF_C	   1u

#define FRAME_CODE	   16u /* of a frame */
#define FRAME_ENV	   32u
#define FRAME_IS_LAST	   0x20u /* VM_FRAME_FLAG_FINISH, without VM_FRAME_FLAG_CFRAME */
#define FRAME_LAST_MASK	   0xa0u
#define BODY_OFF	   16u /* of code */
#define BODY_PATH_OFF	   64u
#define BODY_BASE_OFF	   72u /* the name of the method that a block is in */
#define BODY_LABEL_OFF	   80u
#define BODY_LINE_OFF	   88u
#define SYMBOLS_TEXT_OFF   16u /* of the table of symbols */
#define SYMBOLS_A_PIECE	   512u

/* Versions differ in these. */
struct tapir_ruby_layout {
	char version[5];
	uint16_t frame_bytes;
	uint16_t body_method; /* the code of the method itself */
	uint8_t last_operator;
	uint8_t nil;
	bool has_wide_texts;  /* their length is a word, also of those that are in themselves */
	uint8_t array_mask;   /* of the length of an Array in itself */
	bool has_plain_lines; /* a number, not an Integer */
	uint16_t class_path, attached; /* of a class; 0: in its table of names */
};

static const struct tapir_ruby_layout layouts[] = {
	{"3.1.", 64, 176, 169, 8, false, 0x03, false, 0, 0},
	{"3.3.", 56, 168, 169, 4, true, 0x7f, true, 152, 128},
};

/* ---- where it is ---------------------------------------------------------------------------- */

/*
 * rb_id2str continues with the function that reads the table, which compares with its first word,
 * the highest number: jmp get_id_serial_entry; ... cmp %edi,symbols(%rip). What is found has a
 * symbol that is known, or none is named (is_symbols).
 */
static uint64_t find_symbols(const struct tapir_process_memory *memory, uint64_t fn_va)
{
	uint8_t code[96];
	uint64_t va = 0;

	if (!fn_va || !tapir_process_memory__get(memory, fn_va, code, 32))
		return 0;
	for (size_t i = 0; i + 5 <= 32 && !va; i++)
		if (code[i] == 0xe9)
			va = tapir_function_code__relative(fn_va, code, i + 1);
	if (!va || !tapir_process_memory__get(memory, va, code, sizeof(code)))
		return 0;
	for (size_t i = 0; i + 6 <= sizeof(code); i++)
		if (code[i] == 0x39 && code[i + 1] == 0x3d)
			return tapir_function_code__relative(va, code, i + 2);
	return 0;
}

bool tapir_ruby__read(struct tapir_ruby *out, const struct tapir_process_memory *memory,
		      const uint64_t vas[TAPIR_RUBY_EXPORT_CNT])
{
	struct tapir_ruby found = {.loop = {.va = vas[TAPIR_RUBY_LOOP]}};
	char version[sizeof(found.layout->version)];

	if (!found.loop.va) /* it is the last that this function calls */
		found.loop.va = tapir_function_code__tail_call(memory, vas[TAPIR_RUBY_EVAL]);
	if (!found.loop.va ||
	    !tapir_process_memory__get(memory, vas[TAPIR_RUBY_VERSION], version, sizeof(version)))
		return false;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		if (!memcmp(version, layouts[i].version, sizeof(version) - 1))
			found.layout = &layouts[i];
	if (!found.layout || !tapir_function_code__thread_local(memory, vas[TAPIR_RUBY_THREAD],
								&found.root, &found.root_va))
		return false;
	found.symbols_va = find_symbols(memory, vas[TAPIR_RUBY_SYMBOL]);
	*out = found;
	return true;
}

void tapir_ruby__interp(const struct tapir_ruby *ruby, struct tapir_interp *out)
{
	*out = (struct tapir_interp){
		.root_va = ruby->root_va,
		.root = ruby->root,
		.language = TAPIR_INTERP_RUBY,
		.code = FRAME_CODE,
		.previous = ruby->layout->frame_bytes,
		.last = FRAME_ENV,
		.last_mask = FRAME_LAST_MASK,
		.last_value = FRAME_IS_LAST,
		.cookie = BODY_OFF,
	};
}

/* ---- texts ---------------------------------------------------------------------------------- */

struct text {
	char bytes[MAX_FILE_BYTES];
	size_t len;
};

static uint64_t flags_of(const struct tapir_process_memory *memory, uint64_t va)
{
	return va & 7 ? 0 : tapir_process_memory__u64(memory, va + FLAGS_OFF);
}

static bool is_internal_kind(const struct tapir_process_memory *memory, uint64_t va, uint64_t kind)
{
	uint64_t flags = flags_of(memory, va);

	return (flags & TYPE_MASK) == TYPE_INTERNAL && (flags >> FLAG_SHIFT & KIND_MASK) == kind;
}

/* A String: in itself, or elsewhere if it has a flag. Without control characters. */
static bool read_text(const struct tapir_ruby *ruby, const struct tapir_process_memory *memory,
		      uint64_t va, size_t max_bytes, struct text *out)
{
	uint64_t words[4]; /* flags, class, length, address; or flags, class, (length,) bytes */
	uint64_t len;

	if (va & 7 || !tapir_process_memory__get(memory, va, words, sizeof(words)) ||
	    (words[0] & TYPE_MASK) != TYPE_STRING)
		return false;
	len = ruby->layout->has_wide_texts ? words[2] : words[0] >> 14 & 0x1f;
	va += ruby->layout->has_wide_texts ? 24 : 16;
	if (words[0] & 1u << 13) {
		len = words[2];
		va = words[3];
	}
	if (!len || len > max_bytes || !tapir_process_memory__get(memory, va, out->bytes, len))
		return false;
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)out->bytes[i] < ' ' || out->bytes[i] == 0x7f)
			return false;
	out->len = len;
	return true;
}

/* An element of an Array: in itself or elsewhere. */
static uint64_t element(const struct tapir_ruby *ruby, const struct tapir_process_memory *memory,
			uint64_t va, uint64_t idx)
{
	uint64_t words[5]; /* flags, class, length, capacity, address; or flags, class, elements */

	if (va & 7 || !tapir_process_memory__get(memory, va, words, sizeof(words)) ||
	    (words[0] & TYPE_MASK) != TYPE_ARRAY)
		return 0;
	if (words[0] & 1u << 13)
		return idx < (words[0] >> 15 & ruby->layout->array_mask)
			       ? tapir_process_memory__u64(memory, va + 16 + 8 * idx)
			       : 0;
	return idx < words[2] ? tapir_process_memory__u64(memory, words[4] + 8 * idx) : 0;
}

static bool read_entry(const struct tapir_ruby *ruby, const struct tapir_process_memory *memory,
		       uint64_t number, struct text *out)
{
	uint64_t texts, piece;
	uint32_t highest;

	if (!ruby->symbols_va ||
	    !tapir_process_memory__get(memory, ruby->symbols_va, &highest, sizeof(highest)) ||
	    number > highest)
		return false;
	texts = tapir_process_memory__u64(memory, ruby->symbols_va + SYMBOLS_TEXT_OFF);
	piece = element(ruby, memory, texts, number / SYMBOLS_A_PIECE);
	return read_text(ruby, memory, element(ruby, memory, piece, number % SYMBOLS_A_PIECE * 2),
			 MAX_NAME_BYTES, out);
}

/* The number of an operator is its character: so the table is what it is taken for. */
static bool is_symbols(const struct tapir_ruby *ruby, const struct tapir_process_memory *memory)
{
	struct text text;

	return read_entry(ruby, memory, '+', &text) && text.len == 1 && *text.bytes == '+';
}

static bool read_symbol(const struct tapir_ruby *ruby, const struct tapir_process_memory *memory,
			uint64_t id, struct text *out)
{
	return is_symbols(ruby, memory) &&
	       read_entry(ruby, memory, id > ruby->layout->last_operator ? id >> 4 : id, out);
}

/* ---- classes -------------------------------------------------------------------------------- */

/*
 * A class of 3.1 has what belongs to it in a table of names, the first of which are its own; a
 * later one in words of its own.
 */
#define CLASS_MORE_OFF	24u
#define MORE_TABLE_OFF	8u
#define TABLE_START_OFF 32u
#define TABLE_END_OFF	40u
#define TABLE_ENTRIES	48u
#define MAX_ENTRIES	32u
#define WORDS_OF_ENTRY	3u /* a hash, the name, the value */

static uint64_t value_in_class(const struct tapir_ruby *ruby,
			       const struct tapir_process_memory *memory, uint64_t class_va,
			       const char *name)
{
	uint64_t more = tapir_process_memory__u64(memory, class_va + CLASS_MORE_OFF),
		 table = tapir_process_memory__u64(memory, more + MORE_TABLE_OFF),
		 from = tapir_process_memory__u64(memory, table + TABLE_START_OFF),
		 end = tapir_process_memory__u64(memory, table + TABLE_END_OFF),
		 va = tapir_process_memory__u64(memory, table + TABLE_ENTRIES);
	struct text text;

	for (uint64_t i = 0; i < MAX_ENTRIES && from + i < end; i++) {
		uint64_t entry[WORDS_OF_ENTRY];

		if (!tapir_process_memory__get(memory, va + (from + i) * sizeof(entry), entry,
					       sizeof(entry)))
			return 0;
		if (read_symbol(ruby, memory, entry[1], &text) && text.len == strlen(name) &&
		    !memcmp(text.bytes, name, text.len))
			return entry[2];
	}
	return 0;
}

static uint64_t path_of(const struct tapir_ruby *ruby, const struct tapir_process_memory *memory,
			uint64_t class_va)
{
	uint16_t off = ruby->layout->class_path;

	return off ? tapir_process_memory__u64(memory, class_va + off)
		   : value_in_class(ruby, memory, class_va, "__classpath__");
}

/* The object whose own methods the singleton class has. */
static uint64_t attached_to(const struct tapir_ruby *ruby,
			    const struct tapir_process_memory *memory, uint64_t class_va)
{
	uint16_t off = ruby->layout->attached;

	return off ? tapir_process_memory__u64(memory, class_va + off)
		   : value_in_class(ruby, memory, class_va, "__attached__");
}

/* "Shop#", of a class's own methods "Shop."; nothing of a class that has no name. */
static void add_class(const struct tapir_ruby *ruby, const struct tapir_process_memory *memory,
		      uint64_t va, struct tapir_str *out)
{
	uint64_t flags = flags_of(memory, va), type = flags & TYPE_MASK;
	struct text text;
	char mark = '#';

	if (type == TYPE_INCLUDED) {
		va = tapir_process_memory__u64(memory, va + CLASS_OFF);
	} else if (type == TYPE_CLASS && flags & IS_SINGLETON) {
		va = attached_to(ruby, memory, va);
		mark = '.';
	}
	type = flags_of(memory, va) & TYPE_MASK;
	if ((type != TYPE_CLASS && type != TYPE_MODULE) ||
	    !read_text(ruby, memory, path_of(ruby, memory, va), MAX_NAME_BYTES, &text))
		return;
	tapir_str__add(out, text.bytes, text.len);
	tapir_str__addc(out, mark);
}

/* ---- methods -------------------------------------------------------------------------------- */

/* The method entry's definition; 0: it is none, or another's. *owner: the class. */
static uint64_t definition(const struct tapir_process_memory *memory, uint64_t va, uint64_t *owner)
{
	if (is_internal_kind(memory, va, KIND_SVAR))
		va = tapir_process_memory__u64(memory, va + SVAR_METHOD_OFF);
	if (!is_internal_kind(memory, va, KIND_METHOD))
		return 0;
	*owner = tapir_process_memory__u64(memory, va + OWNER_OFF);
	return tapir_process_memory__u64(memory, va + DEFINITION_OFF);
}

static bool is_of_type(const struct tapir_process_memory *memory, uint64_t definition_va,
		       uint64_t type)
{
	uint64_t word;

	return tapir_process_memory__get(memory, definition_va, &word, sizeof(word)) &&
	       (word & DEFINITION_TYPE) == type;
}

/* Adds the class, if the entry is that of the method with this code. */
static void add_owner(const struct tapir_ruby *ruby, const struct tapir_process_memory *memory,
		      uint64_t entry_va, uint64_t method_va, struct tapir_str *out)
{
	uint64_t owner = 0, va = definition(memory, entry_va, &owner);

	if (method_va && va && is_of_type(memory, va, DEFINITION_OF_CODE) &&
	    tapir_process_memory__u64(memory, va + DEFINITION_CODE) == method_va)
		add_class(ruby, memory, owner, out);
}

/* "block in draw", in which the class's name belongs before the method's. */
static bool add_ruby_label(const struct tapir_ruby *ruby, const struct tapir_process_memory *memory,
			   const struct tapir_interp_frame *frame, uint64_t body,
			   struct tapir_str *out)
{
	struct text label, base;
	size_t len;

	if (!read_text(ruby, memory, tapir_process_memory__u64(memory, body + BODY_LABEL_OFF),
		       MAX_NAME_BYTES, &label))
		return false;
	len = label.len;
	if (read_text(ruby, memory, tapir_process_memory__u64(memory, body + BODY_BASE_OFF),
		      MAX_NAME_BYTES, &base) &&
	    base.len <= len && !memcmp(label.bytes + len - base.len, base.bytes, base.len)) {
		len -= base.len;
		tapir_str__add(out, label.bytes, len);
		add_owner(ruby, memory, frame->owner,
			  tapir_process_memory__u64(memory, body + ruby->layout->body_method), out);
		tapir_str__add(out, base.bytes, base.len);
		return true;
	}
	tapir_str__add(out, label.bytes, len);
	return true;
}

/* The path as the file system has it, where there is one: it is the second of two. */
static bool add_ruby_location(const struct tapir_ruby *ruby,
			      const struct tapir_process_memory *memory, uint64_t body,
			      struct tapir_str *out)
{
	uint64_t path = tapir_process_memory__u64(memory, body + BODY_PATH_OFF),
		 line = tapir_process_memory__u64(memory, body + BODY_LINE_OFF);
	struct text text;

	if ((flags_of(memory, path) & TYPE_MASK) == TYPE_ARRAY) {
		uint64_t real = element(ruby, memory, path, 1);

		path = real && real != ruby->layout->nil ? real : element(ruby, memory, path, 0);
	}
	if (!read_text(ruby, memory, path, MAX_FILE_BYTES, &text))
		return false;
	tapir_str__add(out, text.bytes, text.len);
	if (ruby->layout->has_plain_lines)
		line &= UINT32_MAX;
	else
		line = line & 1 ? line >> 1 : 0; /* a small Integer */
	if (line && line < MAX_LINE)
		tapir_str__addf(out, ":%u", (unsigned)line);
	return true;
}

static bool add_c_function(const struct tapir_ruby *ruby, const struct tapir_process_memory *memory,
			   const struct tapir_interp_frame *frame, struct tapir_str *out)
{
	uint64_t owner = 0, va = definition(memory, frame->owner, &owner);
	struct text text;

	if (va != frame->va || !is_of_type(memory, va, DEFINITION_OF_C) ||
	    !read_symbol(ruby, memory, tapir_process_memory__u64(memory, va + DEFINITION_NAME),
			 &text))
		return false;
	add_class(ruby, memory, owner, out);
	tapir_str__add(out, text.bytes, text.len);
	tapir_str__adds(out, ":[internal]");
	return true;
}

static bool add_code(const struct tapir_ruby *ruby, const struct tapir_process_memory *memory,
		     const struct tapir_interp_frame *frame, struct tapir_str *out)
{
	uint64_t body = tapir_process_memory__u64(memory, frame->va + BODY_OFF);

	if (!add_ruby_label(ruby, memory, frame, body, out))
		return false;
	tapir_str__addc(out, ':');
	return add_ruby_location(ruby, memory, body, out);
}

/* Code that eval compiles is freed soon, and other code takes its place. */
static bool is_still_there(const struct tapir_process_memory *memory, uint64_t va, uint64_t cookie)
{
	uint64_t word = tapir_process_memory__u64(memory, va);

	return word && !((word ^ cookie) & ~(uint64_t)TAPIR_INTERP_FRAME_LAST);
}

bool tapir_ruby__add_name(const struct tapir_ruby *ruby, const struct tapir_process_memory *memory,
			  const struct tapir_interp_frame *frame, struct tapir_str *out,
			  bool *is_internal)
{
	uint64_t at;
	bool is_named;

	tapir_str__adds(out, "rb::");
	*is_internal = !is_internal_kind(memory, frame->va, KIND_CODE);
	at = frame->va + (*is_internal ? DEFINITION_CODE : BODY_OFF);
	is_named = is_still_there(memory, at, frame->cookie) &&
		   (*is_internal ? add_c_function(ruby, memory, frame, out)
				 : add_code(ruby, memory, frame, out));
	return is_named && is_still_there(memory, at, frame->cookie) && !out->failed;
}
