// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Columns are numbered as in ECMA-335, II.22. Metadata has no index by base type or attribute, so
 * the tables are walked: TypeDef for classes that derive from EventSource (through at most
 * BASES_MAX others), then CustomAttribute once, for all of their names and events.
 */
#include "runtime/dotnet/dotnet_assembly.h"

#include <errno.h>
#include <string.h>

#include "elf/pe_metadata.h"

#define SOURCES_MAX  256u /* of an assembly */
#define EVENTS_MAX   1024u
#define KEYWORDS_MAX 64u
#define BASES_MAX    4	 /* between a source and EventSource */
#define NAMED_MAX    16u /* arguments of an attribute */
#define ARENA_MAX    (16u << 20)
#define ABSTRACT     0x80u
#define TRACING	     "System.Diagnostics.Tracing"

struct source {
	uint32_t type, keywords_type; /* rows; 0: it has no such */
	uint32_t first_method, end_method;
	uint32_t first_keyword, end_keyword;
	const char *name;
	struct tapir_vec(struct tapir_layout_keyword) keywords;
	struct tapir_vec(struct tapir_layout_event) events;
};

struct scan {
	struct tapir_metadata m;
	struct tapir_event_sources *out;
	struct tapir_vec(struct source) found;
};

/* ---- types ------------------------------------------------------------------------------------ */

static bool is_called(const struct tapir_metadata *m, struct tapir_md_ref type, const char *name)
{
	enum tapir_md_table t = type.table;

	if (t != TAPIR_MD_TYPE_REF && t != TAPIR_MD_TYPE_DEF)
		return false;
	return !strcmp(tapir_metadata__string(m, t, type.row, 1), name) &&
	       !strcmp(tapir_metadata__string(m, t, type.row, 2), TRACING);
}

static bool is_source(const struct tapir_metadata *m, uint32_t row)
{
	struct tapir_md_ref base = {TAPIR_MD_TYPE_DEF, row};

	for (int i = 0; i < BASES_MAX && base.table == TAPIR_MD_TYPE_DEF && base.row; i++) {
		base = tapir_metadata__ref(m, TAPIR_MD_TYPE_DEF, base.row, TAPIR_MD_TYPE_BASE);
		if (is_called(m, base, "EventSource"))
			return true;
	}
	return false;
}

/* The rows of another table that belong to a type: up to those of the next. */
static void rows_of(const struct tapir_metadata *m, uint32_t type, unsigned column,
		    enum tapir_md_table of, uint32_t *first, uint32_t *end)
{
	*first = tapir_metadata__number(m, TAPIR_MD_TYPE_DEF, type, column);
	*end = type < tapir_metadata__rows(m, TAPIR_MD_TYPE_DEF)
		       ? tapir_metadata__number(m, TAPIR_MD_TYPE_DEF, type + 1, column)
		       : tapir_metadata__rows(m, of) + 1;
}

static void find_sources(struct scan *s)
{
	uint32_t cnt = tapir_metadata__rows(&s->m, TAPIR_MD_TYPE_DEF);

	for (uint32_t row = 1; row <= cnt && s->found.cnt < SOURCES_MAX; row++) {
		struct source source = {.type = row};

		if (!is_source(&s->m, row) ||
		    tapir_metadata__number(&s->m, TAPIR_MD_TYPE_DEF, row, TAPIR_MD_TYPE_FLAGS) &
			    ABSTRACT)
			continue;
		source.name =
			tapir_metadata__string(&s->m, TAPIR_MD_TYPE_DEF, row, TAPIR_MD_TYPE_NAME);
		rows_of(&s->m, row, TAPIR_MD_TYPE_METHODS, TAPIR_MD_METHOD, &source.first_method,
			&source.end_method);
		tapir_vec__push(&s->found, source);
	}
}

static struct source *source_of_type(struct scan *s, uint32_t type)
{
	struct source *source;

	tapir_vec_for_each (source, &s->found)
		if (source->type == type)
			return source;
	return NULL;
}

static struct source *source_of_method(struct scan *s, uint32_t method)
{
	struct source *source;

	tapir_vec_for_each (source, &s->found)
		if (method >= source->first_method && method < source->end_method)
			return source;
	return NULL;
}

/* ---- keywords --------------------------------------------------------------------------------- */

static void find_keyword_classes(struct scan *s)
{
	uint32_t cnt = tapir_metadata__rows(&s->m, TAPIR_MD_NESTED_CLASS);

	for (uint32_t row = 1; row <= cnt; row++) {
		uint32_t nested = tapir_metadata__number(&s->m, TAPIR_MD_NESTED_CLASS, row, 0);
		struct source *source = source_of_type(
			s, tapir_metadata__number(&s->m, TAPIR_MD_NESTED_CLASS, row, 1));

		if (!source || strcmp(tapir_metadata__string(&s->m, TAPIR_MD_TYPE_DEF, nested,
							     TAPIR_MD_TYPE_NAME),
				      "Keywords") != 0)
			continue;
		rows_of(&s->m, nested, TAPIR_MD_TYPE_FIELDS, TAPIR_MD_FIELD, &source->first_keyword,
			&source->end_keyword);
	}
}

static void add_keyword(struct scan *s, uint32_t constant, uint32_t field)
{
	struct tapir_md_blob value = tapir_metadata__blob(&s->m, TAPIR_MD_CONSTANT, constant, 2);
	struct tapir_layout_keyword keyword = {};
	struct source *source;

	tapir_vec_for_each (source, &s->found) {
		if (field < source->first_keyword || field >= source->end_keyword ||
		    source->keywords.cnt >= KEYWORDS_MAX)
			continue;
		if (value.len <= sizeof(keyword.mask))
			memcpy(&keyword.mask, value.data ? value.data : (const uint8_t *)"",
			       value.data ? value.len : 0);
		keyword.name = tapir_metadata__string(&s->m, TAPIR_MD_FIELD, field, 1);
		if (*keyword.name && keyword.mask)
			tapir_vec__push(&source->keywords, keyword);
	}
}

static void find_keywords(struct scan *s)
{
	uint32_t cnt = tapir_metadata__rows(&s->m, TAPIR_MD_CONSTANT);

	for (uint32_t row = 1; row <= cnt; row++) {
		struct tapir_md_ref field = tapir_metadata__ref(&s->m, TAPIR_MD_CONSTANT, row, 1);

		if (field.table == TAPIR_MD_FIELD)
			add_keyword(s, row, field.row);
	}
}

/* ---- attributes --------------------------------------------------------------------------------- */

static bool read_custom_attribute_text(struct tapir_md_blob *blob, struct tapir_md_blob *text)
{
	uint32_t len;

	if (blob->len && *blob->data == 0xff) { /* null */
		uint8_t byte;

		*text = (struct tapir_md_blob){};
		return tapir_md_blob__take(blob, &byte, 1);
	}
	if (!tapir_md_blob__take_length(blob, &len) || len > blob->len)
		return false;
	*text = (struct tapir_md_blob){blob->data, len};
	blob->data += len;
	blob->len -= len;
	return true;
}

static bool is_metadata_text(struct tapir_md_blob text, const char *wanted)
{
	return text.len == strlen(wanted) && !memcmp(text.data, wanted, text.len);
}

static bool begins_with(struct tapir_md_blob text, const char *wanted)
{
	return text.len >= strlen(wanted) && !memcmp(text.data, wanted, strlen(wanted));
}

/* One named argument: a text, or a number of as many bytes as its type has. */
struct named {
	struct tapir_md_blob name, text;
	uint64_t number;
};

static size_t bytes_of_enum(struct tapir_md_blob type)
{
	if (begins_with(type, TRACING ".EventKeywords"))
		return 8;
	return begins_with(type, TRACING ".EventChannel") ? 1 : 4;
}

static bool take_named(struct tapir_md_blob *blob, struct named *out)
{
	struct tapir_md_blob type = {};
	uint8_t kind, member;
	size_t bytes;

	*out = (struct named){};
	if (!tapir_md_blob__take(blob, &kind, 1) || !tapir_md_blob__take(blob, &member, 1) ||
	    (member == 0x55 && !read_custom_attribute_text(blob, &type)) ||
	    !read_custom_attribute_text(blob, &out->name))
		return false;
	if (member == 0x0e)
		return read_custom_attribute_text(blob, &out->text);
	switch (member) {
	case 0x02: /* bool */
	case 0x04: /* i8 */
	case 0x05: /* u8 */
		bytes = 1;
		break;
	case 0x08: /* i32 */
	case 0x09: /* u32 */
		bytes = 4;
		break;
	case 0x0a: /* i64 */
	case 0x0b: /* u64 */
		bytes = 8;
		break;
	case 0x55:
		bytes = bytes_of_enum(type);
		break;
	default:
		return false;
	}
	return tapir_md_blob__take(blob, &out->number, bytes);
}

/* Behind the arguments by place come those by name. */
static uint16_t take_named_cnt(struct tapir_md_blob *blob)
{
	uint16_t cnt = 0;

	if (!tapir_md_blob__take(blob, &cnt, 2))
		return 0;
	return cnt < NAMED_MAX ? cnt : NAMED_MAX;
}

static bool take_prolog(struct tapir_md_blob *blob)
{
	uint16_t prolog;

	return tapir_md_blob__take(blob, &prolog, 2) && prolog == 1;
}

/* [EventSource(Name = "...")] */
static void name_source(struct scan *s, struct source *source, struct tapir_md_blob blob)
{
	struct named named;

	if (!take_prolog(&blob))
		return;
	for (uint16_t left = take_named_cnt(&blob); left && take_named(&blob, &named); left--)
		if (is_metadata_text(named.name, "Name") && named.text.len) {
			const char *name = tapir_arena__text(
				&s->out->arena, (const char *)named.text.data, named.text.len);

			source->name = name ? name : source->name;
		}
}

/* [Event(1, Level = EventLevel.Error, Keywords = Keywords.Orders, Version = 2)] */
static void add_source_event(struct scan *s, struct source *source, uint32_t method,
			     struct tapir_md_blob blob)
{
	struct tapir_layout_event event = {
		.name = tapir_metadata__string(&s->m, TAPIR_MD_METHOD, method, 3),
		.level = 4, /* Informational */
		.opcode = "",
		.task = "",
	};
	struct named named;
	int32_t id;

	if (!take_prolog(&blob) || !tapir_md_blob__take(&blob, &id, sizeof(id)) ||
	    source->events.cnt >= EVENTS_MAX || !*event.name)
		return;
	event.symbol = event.name;
	event.id = (uint16_t)id;
	for (uint16_t left = take_named_cnt(&blob); left && take_named(&blob, &named); left--) {
		if (is_metadata_text(named.name, "Level"))
			event.level = (uint8_t)named.number;
		else if (is_metadata_text(named.name, "Keywords"))
			event.keywords = named.number;
		else if (is_metadata_text(named.name, "Version"))
			event.version = (uint8_t)named.number;
	}
	tapir_vec__push(&source->events, event);
}

/* The type whose constructor it is. */
static struct tapir_md_ref attribute_type(const struct tapir_metadata *m, uint32_t row)
{
	struct tapir_md_ref ctor = tapir_metadata__ref(m, TAPIR_MD_CUSTOM_ATTRIBUTE, row, 1);

	if (ctor.table == TAPIR_MD_MEMBER_REF)
		return tapir_metadata__ref(m, TAPIR_MD_MEMBER_REF, ctor.row, 0);
	/* its own assembly's */
	return (struct tapir_md_ref){TAPIR_MD_TYPE_DEF, tapir_metadata__type_of(m, ctor.row)};
}

static void see_attribute(struct scan *s, uint32_t row)
{
	struct tapir_md_ref on = tapir_metadata__ref(&s->m, TAPIR_MD_CUSTOM_ATTRIBUTE, row, 0);
	struct source *source = on.table == TAPIR_MD_TYPE_DEF ? source_of_type(s, on.row)
				: on.table == TAPIR_MD_METHOD ? source_of_method(s, on.row)
							      : NULL;
	struct tapir_md_ref type;
	struct tapir_md_blob blob;

	if (!source)
		return;
	type = attribute_type(&s->m, row);
	blob = tapir_metadata__blob(&s->m, TAPIR_MD_CUSTOM_ATTRIBUTE, row, 2);
	if (on.table == TAPIR_MD_TYPE_DEF && is_called(&s->m, type, "EventSourceAttribute"))
		name_source(s, source, blob);
	else if (on.table == TAPIR_MD_METHOD && is_called(&s->m, type, "EventAttribute"))
		add_source_event(s, source, on.row, blob);
}

/* ---- what is kept ------------------------------------------------------------------------------- */

static const char *keep_name(struct scan *s, const char *text)
{
	const char *kept = tapir_arena__text(&s->out->arena, text, strnlen(text, 256));

	return kept ? kept : "";
}

static void put_source(struct scan *s, struct source *source)
{
	struct tapir_layout_provider provider = {.name = keep_name(s, source->name)};
	struct tapir_layout_keyword *keyword;
	struct tapir_layout_event *event;

	tapir_vec_for_each (keyword, &source->keywords)
		keyword->name = keep_name(s, keyword->name);
	tapir_vec_for_each (event, &source->events)
		event->name = event->symbol = keep_name(s, event->name);
	provider.keywords = tapir_arena__copy(&s->out->arena, source->keywords.data,
					      source->keywords.cnt, sizeof(*keyword));
	provider.events = tapir_arena__copy(&s->out->arena, source->events.data, source->events.cnt,
					    sizeof(*event));
	provider.keyword_cnt = provider.keywords ? (uint16_t)source->keywords.cnt : 0;
	provider.event_cnt = provider.events ? (uint16_t)source->events.cnt : 0;
	if (*provider.name)
		tapir_vec__push(&s->out->all, provider);
}

int tapir_dotnet_sources__add_metadata(struct tapir_event_sources *sources, const void *bytes,
				       size_t len)
{
	struct scan s = {.out = sources};
	struct source *source;
	uint32_t cnt;
	int err = tapir_metadata__init(&s.m, bytes, len);

	if (err)
		return err;
	sources->arena.max_bytes = ARENA_MAX;
	find_sources(&s);
	cnt = s.found.cnt ? tapir_metadata__rows(&s.m, TAPIR_MD_CUSTOM_ATTRIBUTE) : 0;
	if (cnt) {
		find_keyword_classes(&s);
		find_keywords(&s);
	}
	for (uint32_t row = 1; row <= cnt; row++)
		see_attribute(&s, row);
	tapir_vec_for_each (source, &s.found) {
		put_source(&s, source);
		tapir_vec__fini(&source->keywords);
		tapir_vec__fini(&source->events);
	}
	tapir_vec__fini(&s.found);
	return 0;
}
