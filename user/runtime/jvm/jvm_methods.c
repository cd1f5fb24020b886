// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names of a JVM's compiled methods from hotspot's probes. Descriptors are those of the JVM
 * specification, 4.3: "(I[Ljava/lang/String;)V" becomes "(int, java.lang.String[])".
 */
#include "runtime/jvm/jvm_methods.h"

#include <errno.h>
#include <string.h>

#include "decode/fields.h"

#define MAX_DIMENSIONS 255
#define LOAD_FIELDS    8
#define UNLOAD_FIELDS  6

/* ---- names ---------------------------------------------------------------------------------- */

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

bool tapir_jvm_method__add_name(struct tapir_str *out, struct tapir_sv class_name,
				struct tapir_sv method, struct tapir_sv signature)
{
	size_t before = out->len;
	bool is_whole = signature.len && add_whole_name(out, class_name, method, signature);

	if (!is_whole) {
		rewind_to(out, before);
		add_class_and_method(out, class_name, method);
	}
	if (out->len - before > TAPIR_JVM_MAX_NAME_BYTES)
		rewind_to(out, before + TAPIR_JVM_MAX_NAME_BYTES);
	return is_whole;
}

/* ---- events --------------------------------------------------------------------------------- */

enum tapir_jvm_probe tapir_jvm_probe__of(const struct tapir_probe_view *probe)
{
	if (!tapir_sv__is(probe->provider, "hotspot") ||
	    probe->rec->encoding != TAPIR_ENCODING_SLOTS)
		return TAPIR_JVM_PROBE_OTHER;
	if (tapir_sv__is(probe->event, "compiled__method__load"))
		return probe->rec->field_cnt == LOAD_FIELDS ? TAPIR_JVM_PROBE_LOAD
							    : TAPIR_JVM_PROBE_OTHER;
	if (tapir_sv__is(probe->event, "compiled__method__unload"))
		return probe->rec->field_cnt == UNLOAD_FIELDS ? TAPIR_JVM_PROBE_UNLOAD
							      : TAPIR_JVM_PROBE_OTHER;
	return TAPIR_JVM_PROBE_OTHER;
}

/* false: not a text. Names never hold a NUL: modified UTF-8 has another way to write it. */
static bool text_of(const struct tapir_value *value, struct tapir_sv *out, bool *is_exact)
{
	if ((value->type != TAPIR_FIELD_STRN && value->type != TAPIR_FIELD_BLOB) ||
	    value->flags & TAPIR_VALUE_ABSENT || !value->len ||
	    memchr(value->bytes, '\0', value->len))
		return false;
	*out = (struct tapir_sv){(const char *)value->bytes, value->len};
	*is_exact = *is_exact && !(value->flags & TAPIR_VALUE_CUT);
	return true;
}

static bool value_as_integer(const struct tapir_value *value, uint64_t *out)
{
	if ((value->type != TAPIR_FIELD_INT && value->type != TAPIR_FIELD_UINT &&
	     value->type != TAPIR_FIELD_PTR) ||
	    value->flags)
		return false;
	*out = value->u64;
	return true;
}

static bool range_of(const struct tapir_value *values, struct tapir_jvm_method *out)
{
	/* sizes are an int of the JVM */
	return value_as_integer(&values[6], &out->start_va) &&
	       value_as_integer(&values[7], &out->size) && out->start_va && out->size &&
	       out->size <= INT32_MAX && out->start_va <= UINT64_MAX - out->size;
}

int tapir_jvm_method__of(const struct tapir_probe_view *probe, const struct tapir_event_view *event,
			 struct tapir_jvm_method *out, struct tapir_str *name)
{
	struct tapir_jvm_method method = {.is_exact = true};
	struct tapir_sv class_name, method_name, signature = {};
	struct tapir_value values[LOAD_FIELDS];
	unsigned cnt = tapir_fields__decode(probe, event, values, LOAD_FIELDS);
	size_t before = name->len;

	if (cnt < UNLOAD_FIELDS || !text_of(&values[0], &class_name, &method.is_exact) ||
	    !text_of(&values[2], &method_name, &method.is_exact))
		return -EINVAL;
	if (tapir_jvm_probe__of(probe) == TAPIR_JVM_PROBE_LOAD &&
	    (cnt < LOAD_FIELDS || !range_of(values, &method)))
		return -EINVAL;
	if (!text_of(&values[4], &signature, &method.is_exact))
		method.is_exact = false;
	if (!tapir_jvm_method__add_name(name, class_name, method_name, signature))
		method.is_exact = false;
	if (name->failed) {
		rewind_to(name, before);
		return -ENOMEM;
	}
	*out = method;
	return 0;
}
