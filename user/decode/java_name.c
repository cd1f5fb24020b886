// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Descriptors are those of the JVM specification, 4.3: "(I[Ljava/lang/String;)V" becomes
 * "(int, java.lang.String[])".
 */
#include "decode/java_name.h"

#include <string.h>

#define MAX_DIMENSIONS 255

static const char *primitive(char c)
{
	switch (c) {
	case 'Z':
		return "boolean";
	case 'B':
		return "byte";
	case 'C':
		return "char";
	case 'S':
		return "short";
	case 'I':
		return "int";
	case 'J':
		return "long";
	case 'F':
		return "float";
	case 'D':
		return "double";
	default:
		return NULL;
	}
}

static void add_dotted(struct tapir_str *out, const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++)
		tapir_str__addc(out, name[i] == '/' ? '.' : name[i]);
}

/* One type at *at, which moves past it. */
static bool add_type(struct tapir_str *out, const char **at, const char *end)
{
	unsigned dimensions = 0;
	const char *name, *semicolon;

	while (*at < end && **at == '[' && dimensions <= MAX_DIMENSIONS)
		dimensions++, (*at)++;
	if (*at == end || dimensions > MAX_DIMENSIONS)
		return false;
	name = primitive(**at);
	if (name) {
		tapir_str__adds(out, name);
		(*at)++;
	} else {
		semicolon = **at == 'L' ? memchr(*at, ';', (size_t)(end - *at)) : NULL;
		if (!semicolon || semicolon == *at + 1)
			return false;
		add_dotted(out, *at + 1, (size_t)(semicolon - *at - 1));
		*at = semicolon + 1;
	}
	while (dimensions--)
		tapir_str__adds(out, "[]");
	return true;
}

/* The part after ')'. */
static bool add_return_type(struct tapir_str *out, const char *at, const char *end)
{
	if (end - at == 1 && *at == 'V') {
		tapir_str__adds(out, "void");
		return true;
	}
	return add_type(out, &at, end) && at == end;
}

static bool add_parameters(struct tapir_str *out, const char *at, const char *end)
{
	for (bool is_first = true; at < end; is_first = false) {
		if (!is_first)
			tapir_str__adds(out, ", ");
		if (!add_type(out, &at, end))
			return false;
	}
	return true;
}

/* A hidden class is Name+0xADDRESS inside the JVM and Name/0xADDRESS outside. */
static void add_class(struct tapir_str *out, struct tapir_sv name)
{
	const char *plus = memrchr(name.data, '+', name.len);
	size_t head = plus ? (size_t)(plus - name.data) : name.len, at = head + 3;
	bool is_hidden = name.len > at && plus[1] == '0' && plus[2] == 'x';

	for (; is_hidden && at < name.len; at++)
		is_hidden = memchr("0123456789abcdef", name.data[at], 16);
	if (!is_hidden) {
		add_dotted(out, name.data, name.len);
		return;
	}
	add_dotted(out, name.data, head);
	tapir_str__addc(out, '/');
	tapir_str__add(out, plus + 1, name.len - head - 1);
}

static void add_class_and_method(struct tapir_str *out, struct tapir_sv class_name,
				 struct tapir_sv method)
{
	add_class(out, class_name);
	tapir_str__addc(out, '.');
	tapir_str__add(out, method.data, method.len);
}

static void rewind_to(struct tapir_str *out, size_t len)
{
	if (out->data)
		out->data[len] = '\0';
	out->len = len;
}

static bool add_whole_name(struct tapir_str *out, struct tapir_sv class_name,
			   struct tapir_sv method, struct tapir_sv signature)
{
	const char *end = signature.data + signature.len;
	const char *close = memrchr(signature.data, ')', signature.len);

	if (!close || *signature.data != '(' || !add_return_type(out, close + 1, end))
		return false;
	tapir_str__addc(out, ' ');
	add_class_and_method(out, class_name, method);
	tapir_str__addc(out, '(');
	if (!add_parameters(out, signature.data + 1, close))
		return false;
	tapir_str__addc(out, ')');
	return true;
}

bool tapir_java_name__add(struct tapir_str *out, struct tapir_sv class_name, struct tapir_sv method,
			  struct tapir_sv signature)
{
	size_t before = out->len;
	bool is_complete = signature.len && add_whole_name(out, class_name, method, signature);

	if (!is_complete) {
		rewind_to(out, before);
		add_class_and_method(out, class_name, method);
	}
	if (out->len - before > TAPIR_JAVA_NAME_MAX_BYTES)
		rewind_to(out, before + TAPIR_JAVA_NAME_MAX_BYTES);
	return is_complete;
}
