// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A tracepoint's format file in tracefs has a line for each field: "field:DECLARATION; offset:N;
 * size:N; signed:N;". The declaration is C as the kernel's macro wrote it, so its type is
 * recognized by its words; a field of an unknown type is counted and left out.
 */
#include "decode/tracepoint_format.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "trace/record.h"

#define MAX_OFF 65535u

/* Finds the number after "NAME:" in a line. */
static bool find_number(const char *line, size_t len, const char *name, uint64_t max, uint64_t *out)
{
	const char *at = memmem(line, len, name, strlen(name));
	char digits[8];
	size_t cnt;

	if (!at)
		return false;
	at += strlen(name);
	cnt = strspn(at, "0123456789");
	if (!cnt || cnt >= sizeof(digits) || at + cnt > line + len)
		return false;
	memcpy(digits, at, cnt);
	digits[cnt] = '\0';
	return tapir_str__to_u64(digits, 0, max, out);
}

static struct tapir_sv trimmed(struct tapir_sv text)
{
	while (text.len && text.data[0] == ' ') {
		text.data++;
		text.len--;
	}
	while (text.len && text.data[text.len - 1] == ' ')
		text.len--;
	return text;
}

static bool is_word_char(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z');
}

/* Takes "[16]" or "[]" off the end. */
static bool take_brackets(struct tapir_sv *text)
{
	const char *open = text->len && text->data[text->len - 1] == ']'
				   ? memrchr(text->data, '[', text->len)
				   : NULL;

	if (!open)
		return false;
	text->len = (size_t)(open - text->data);
	*text = trimmed(*text);
	return true;
}

/* "__data_loc char[] comm", "char comm[16]", "const char * name": type and name; an array? */
static bool take_apart(struct tapir_sv declaration, struct tapir_sv *type, struct tapir_sv *name,
		       bool *is_array)
{
	size_t at;

	declaration = trimmed(declaration);
	*is_array = take_brackets(&declaration);
	for (at = declaration.len; at && is_word_char(declaration.data[at - 1]); at--)
		;
	*name = (struct tapir_sv){declaration.data + at, declaration.len - at};
	*type = trimmed((struct tapir_sv){declaration.data, at});
	*is_array = take_brackets(type) || *is_array;
	return name->len && name->len < TAPIR_TRACEPOINT_NAME_BYTES && type->len;
}

static uint8_t read_of(struct tapir_sv *type, bool is_array)
{
	static const struct {
		const char *word;
		uint8_t read;
	} words[] = {{"__data_loc ", TAPIR_MACHINE_AT_LOC},
		     {"__rel_loc ", TAPIR_MACHINE_AT_REL_LOC}};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (tapir_sv__starts_with(*type, words[i].word)) {
			type->data += strlen(words[i].word);
			type->len -= strlen(words[i].word);
			*type = trimmed(*type);
			return words[i].read;
		}
	return is_array ? TAPIR_MACHINE_AT : TAPIR_MACHINE_NUMBER;
}

static bool is_char(struct tapir_sv type)
{
	return tapir_sv__is(type, "char") || tapir_sv__is(type, "const char");
}

static uint8_t tracepoint_field_type(const struct tapir_tracepoint_field *f, struct tapir_sv type)
{
	if (f->machine_field.is_text)
		return TAPIR_FIELD_STR;
	if (f->machine_field.read != TAPIR_MACHINE_NUMBER)
		return TAPIR_FIELD_BLOB;
	if (memchr(type.data, '*', type.len))
		return TAPIR_FIELD_PTR;
	if (tapir_sv__is(type, "bool"))
		return TAPIR_FIELD_BOOL;
	return f->machine_field.is_signed ? TAPIR_FIELD_INT : TAPIR_FIELD_UINT;
}

static bool is_of_number(uint64_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

/* Returns false if it is not a field. A field that cannot be read is only counted. */
static bool add_field(const char *line, size_t len, struct tapir_tracepoint_format *out)
{
	const char *end = memchr(line, ';', len);
	struct tapir_tracepoint_field f = {};
	uint64_t off, size, is_signed;
	struct tapir_sv type, name;
	bool is_array;

	if (!end || !find_number(line, len, "offset:", MAX_OFF, &off) ||
	    !find_number(line, len, "size:", MAX_OFF, &size) ||
	    !find_number(line, len, "signed:", 1, &is_signed) ||
	    !take_apart((struct tapir_sv){line, (size_t)(end - line)}, &type, &name, &is_array))
		return false;
	if (tapir_sv__starts_with(name, "common_"))
		return true;
	f.machine_field.read = read_of(&type, is_array);
	/* A structure is declared like a number: it is kept as bytes. */
	if (f.machine_field.read == TAPIR_MACHINE_NUMBER && !is_of_number(size))
		f.machine_field.read = TAPIR_MACHINE_AT;
	f.machine_field.off = (uint16_t)off;
	f.machine_field.size = (uint16_t)size;
	f.machine_field.is_signed = (uint8_t)is_signed;
	f.machine_field.is_text = f.machine_field.read != TAPIR_MACHINE_NUMBER && is_char(type);
	f.field_type = tracepoint_field_type(&f, type);
	tapir_sv__copy(name, f.name, sizeof(f.name));
	tapir_sv__copy(type, f.type, sizeof(f.type));
	if (!size || out->field_cnt == TAPIR_MACHINE_FIELDS)
		out->skipped_cnt++;
	else
		out->fields[out->field_cnt++] = f;
	return true;
}

int tapir_tracepoint_format__parse(const char *text, struct tapir_tracepoint_format *out)
{
	static const char word[] = "field:";
	const char *at = strstr(text, "format:");

	*out = (struct tapir_tracepoint_format){};
	if (!at)
		return -EINVAL;
	for (at += strcspn(at, "\n"); *at; at += strcspn(at, "\n")) {
		at += strspn(at, "\n\t ");
		if (!strncmp(at, "print fmt:", strlen("print fmt:")))
			return 0;
		if (!strncmp(at, word, strlen(word)) &&
		    !add_field(at + strlen(word), strcspn(at + strlen(word), "\n"), out))
			return -EINVAL;
	}
	return 0;
}
