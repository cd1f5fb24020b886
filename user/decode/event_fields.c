// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Values are decoded once per event; pairs and inner fields are added after the plain ones, so that
 * a plain field hides a pair of the same name. Layouts are found by probe id and kept: of a view's
 * millions of events few have different ones.
 */
#include "decode/event_fields.h"

#include <string.h>

#include "decode/packed.h"
#include "decode/value.h"
#include "decode/value_packed.h"

#define MAX_LAYOUTS 8192u

/* NULL: there is no room for one more. */
static struct tapir_event_layout *layout_of(struct tapir_event_fields *f,
					    const struct tapir_catalog *catalog,
					    const struct tapir_probe_view *probe)
{
	struct tapir_event_layout **known = tapir_keyed__get(&f->layouts, probe->rec->probe_id);
	struct tapir_event_layout *layout;

	if (known)
		return *known;
	if (f->layouts.cnt == MAX_LAYOUTS ||
	    tapir_event_layout__new(probe, tapir_catalog__metadata(catalog, probe->rec->probe_id),
				    &layout))
		return NULL;
	if (tapir_keyed__add(&f->layouts, probe->rec->probe_id, MAX_LAYOUTS, layout))
		return layout;
	tapir_event_layout__free(layout);
	return NULL;
}

/* A { Key, Value } of texts, as a value of that name. */
static bool take_pair(struct tapir_event_fields *f, const struct tapir_value *element)
{
	struct tapir_packed_iter iter;
	struct tapir_value key, value;
	char *name = f->keys[f->cnt];

	if (element->type != TAPIR_FIELD_STRUCT)
		return false;
	tapir_packed_iter__init(&iter, element);
	if (!tapir_packed_iter__next(&iter, &key) || !tapir_packed_iter__next(&iter, &value) ||
	    !tapir_sv__is(key.name, "Key") || !tapir_sv__is(value.name, "Value"))
		return false;
	if (key.type != TAPIR_FIELD_UTF16 || key.flags & TAPIR_VALUE_ABSENT ||
	    key.len / 2 * 3 > TAPIR_EVENT_KEY_BYTES)
		return true; /* the next one may be shorter */
	value.name.len = tapir_utf16__to_utf8(key.bytes, key.len, name);
	value.name.data = name;
	f->values[f->cnt++] = value;
	return true;
}

static void add_pairs(struct tapir_event_fields *f)
{
	for (unsigned i = 0, cnt = f->cnt; i < cnt; i++) {
		struct tapir_packed_iter iter;
		struct tapir_value element;

		if (!(f->values[i].flags & TAPIR_VALUE_ABSENT) &&
		    f->values[i].type == TAPIR_VALUE_ARRAY) {
			tapir_packed_iter__init(&iter, &f->values[i]);
			while (f->cnt < TAPIR_EVENT_FIELDS_MAX &&
			       tapir_packed_iter__next(&iter, &element) && take_pair(f, &element))
				;
		}
	}
}

/* Adds the fields within GCDynamicEvent's Data. */
static void add_inner(struct tapir_event_fields *f)
{
	for (unsigned i = 0, cnt = f->cnt; i < cnt; i++) {
		struct tapir_packed_iter iter;

		if (f->values[i].flags & TAPIR_VALUE_ABSENT ||
		    f->values[i].type != TAPIR_FIELD_STRUCT)
			continue;
		tapir_packed_iter__init(&iter, &f->values[i]);
		while (f->cnt < TAPIR_EVENT_FIELDS_MAX &&
		       tapir_packed_iter__next(&iter, &f->values[f->cnt]))
			f->cnt++;
	}
}

void tapir_event_fields__decode(struct tapir_event_fields *f, const struct tapir_catalog *catalog,
				const struct tapir_probe_view *probe,
				const struct tapir_event_view *event)
{
	struct tapir_event_layout *layout;

	f->cnt = 0;
	if (probe->rec->encoding == TAPIR_ENCODING_SLOTS) {
		f->cnt = tapir_fields__decode(probe, event, f->values, TAPIR_EVENT_FIELDS_MAX);
		return;
	}
	layout = layout_of(f, catalog, probe);
	if (layout)
		f->cnt = tapir_event_layout__decode(layout, event, f->values,
						    TAPIR_EVENT_FIELDS_MAX);
	add_pairs(f);
	add_inner(f);
}

static bool is_arg(const char *name, size_t len, unsigned idx)
{
	unsigned value = 0;

	if (len < 4 || len > 5 || memcmp(name, "arg", 3))
		return false;
	for (size_t i = 3; i < len; i++) {
		if (name[i] < '0' || name[i] > '9')
			return false;
		value = value * 10 + (unsigned)(name[i] - '0');
	}
	return value == idx;
}

const struct tapir_value *tapir_event_fields__named(const struct tapir_event_fields *f,
						    const char *name, size_t len)
{
	for (unsigned i = 0; i < f->cnt; i++)
		if (f->values[i].name.len == len && len &&
		    !memcmp(f->values[i].name.data, name, len))
			return &f->values[i];
	for (unsigned i = 0; i < f->cnt; i++)
		if (is_arg(name, len, i))
			return &f->values[i];
	return NULL;
}

const struct tapir_value *tapir_event_fields__find(const struct tapir_event_fields *f,
						   const char *name, size_t len)
{
	const struct tapir_value *v = tapir_event_fields__named(f, name, len);

	return v && !(v->flags & TAPIR_VALUE_ABSENT) ? v : NULL;
}

bool tapir_event_fields__may_have(const struct tapir_event_fields *f, const char *name, size_t len)
{
	for (unsigned i = 0; i < f->cnt; i++)
		if (f->values[i].type == TAPIR_VALUE_ARRAY)
			return true;
	return tapir_event_fields__named(f, name, len);
}

uint64_t tapir_event_fields__u64(const struct tapir_event_fields *f, const char *name)
{
	const struct tapir_value *v = tapir_event_fields__find(f, name, strlen(name));

	return v && !v->bytes ? v->u64 : 0;
}

static void add_field_value(const struct tapir_value *v, struct tapir_str *out)
{
	struct tapir_str text = {};
	bool is_quoted;

	if ((v->type == TAPIR_FIELD_STR || v->type == TAPIR_FIELD_STRN) && v->bytes) {
		tapir_str__add(out, (const char *)v->bytes, v->len);
		return;
	}
	tapir_value__add_text(&text, v);
	is_quoted = text.len >= 2 && text.data[0] == '"' && text.data[text.len - 1] == '"';
	if (text.len)
		tapir_str__add(out, text.data + is_quoted, text.len - 2 * (size_t)is_quoted);
	out->failed |= text.failed;
	tapir_str__fini(&text);
}

void tapir_event_fields__add_value(const struct tapir_value *value, size_t max_bytes,
				   struct tapir_str *out)
{
	size_t from = out->len;

	add_field_value(value, out);
	if (out->len - from > max_bytes) {
		out->len = from + max_bytes;
		out->data[out->len] = 0;
	}
}

void tapir_event_fields__add_text(const struct tapir_event_fields *f, const char *names,
				  size_t max_bytes, struct tapir_str *out)
{
	size_t from = out->len;

	for (size_t len; names && *names; names += len + (names[len] == ' ')) {
		const struct tapir_value *v;

		len = strcspn(names, " ");
		v = tapir_event_fields__find(f, names, len);
		if (v && out->len > from)
			tapir_str__addc(out, ' ');
		if (v)
			add_field_value(v, out);
	}
	if (out->len - from > max_bytes) {
		out->len = from + max_bytes;
		out->data[out->len] = 0;
	}
}

void tapir_event_fields__fini(struct tapir_event_fields *f)
{
	for (size_t i = 0; i < f->layouts.cnt; i++)
		tapir_event_layout__free(f->layouts.data[i]);
	tapir_keyed__fini(&f->layouts);
}
