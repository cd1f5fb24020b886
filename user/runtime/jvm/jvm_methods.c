// SPDX-License-Identifier: GPL-2.0-or-later
/* The fields of hotspot's probes are counted texts: class, method and signature, then the range. */
#include "runtime/jvm/jvm_methods.h"

#include <errno.h>
#include <string.h>

#include "decode/fields.h"
#include "decode/java_name.h"

#define LOAD_FIELDS   8
#define UNLOAD_FIELDS 6

static void rewind_to(struct tapir_str *out, size_t len)
{
	if (out->data)
		out->data[len] = '\0';
	out->len = len;
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
static bool method_part_text(const struct tapir_value *value, struct tapir_sv *out, bool *is_exact)
{
	if ((value->type != TAPIR_FIELD_STRN && value->type != TAPIR_FIELD_BLOB) ||
	    value->flags & TAPIR_VALUE_ABSENT || !value->len ||
	    memchr(value->bytes, '\0', value->len))
		return false;
	*out = (struct tapir_sv){(const char *)value->bytes, value->len};
	*is_exact = *is_exact && !(value->flags & TAPIR_VALUE_TRUNCATED);
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

	if (cnt < UNLOAD_FIELDS || !method_part_text(&values[0], &class_name, &method.is_exact) ||
	    !method_part_text(&values[2], &method_name, &method.is_exact))
		return -EINVAL;
	if (tapir_jvm_probe__of(probe) == TAPIR_JVM_PROBE_LOAD &&
	    (cnt < LOAD_FIELDS || !range_of(values, &method)))
		return -EINVAL;
	if (!method_part_text(&values[4], &signature, &method.is_exact))
		method.is_exact = false;
	if (!tapir_java_name__add(name, class_name, method_name, signature))
		method.is_exact = false;
	if (name->failed) {
		rewind_to(name, before);
		return -ENOMEM;
	}
	*out = method;
	return 0;
}
