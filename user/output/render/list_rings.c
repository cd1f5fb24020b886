// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events of ring lanes as their catalogs have them; every text in them is the process's, printed
 * escaped.
 */
#include "output/render/list_rings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/order.h"
#include "output/render/list_view.h"
#include "output/render/table.h"
#include "decode/event_layout.h"
#include "decode/probe_name.h"
#include "attach/rings/ring_select.h"
#include "trace/record.h"
#include "output/render/screen.h"

/* The copy has what followed the record, too. */
static int complete(struct tapir_ring_event_info *info)
{
	const struct tapir_rec_metadata *metadata = info->metadata;
	size_t more = metadata ? metadata->h.size : 0;
	struct tapir_recbuf buf = {};
	const struct tapir_rec *named = tapir_probe_name__complete(&buf, info->probe);
	struct tapir_rec *copy = named && named != info->probe ? malloc(named->size + more) : NULL;

	if (copy) {
		memcpy(copy, named, named->size);
		if (more)
			memcpy((char *)copy + named->size, metadata, more);
		info->metadata = more ? (void *)((char *)copy + named->size) : NULL;
		free(info->probe);
		info->probe = copy;
	}
	tapir_recbuf__fini(&buf);
	return named && (copy || named == info->probe) ? 0 : -ENOMEM;
}

static int by_name(const void *left, const void *right)
{
	const struct tapir_ring_event_info *l = left, *r = right;
	struct tapir_probe_view a, b;

	tapir_probe_view__of(l->probe, &a);
	tapir_probe_view__of(r->probe, &b);
	return tapir_order__by(tapir_sv__compare(a.provider, b.provider),
			       tapir_sv__compare(a.event, b.event),
			       tapir_order__up(l->tgid, r->tgid));
}

int tapir_list_rings__add(uint32_t tgid, struct tapir_ring_event_list *list,
			  struct tapir_ring_counter_list *counters)
{
	size_t first = list->cnt;
	int err = tapir_ring_events__add(tgid, list, counters);

	if (err)
		return err == -ENOMEM ? err : 0;
	for (size_t i = first; i < list->cnt && !err; i++)
		err = complete(&list->data[i]);
	if (list->cnt)
		qsort(list->data, list->cnt, sizeof(*list->data), by_name);
	return err;
}

bool tapir_list_rings__is_chosen(const struct tapir_rec *probe, const char *word,
				 const struct tapir_spec *spec)
{
	struct tapir_spec *const specs[] = {(struct tapir_spec *)spec};
	const struct tapir_spec_list one = {.data = (struct tapir_spec **)specs, .cnt = 1};
	struct tapir_probe_view view;
	char provider[256], event[256];

	tapir_probe_view__of(probe, &view);
	if (!word)
		return tapir_ring_select__classify(&one, TAPIR_SPEC_ZERO_IS_ALL, &view, NULL);
	tapir_sv__copy(view.provider, provider, sizeof(provider));
	tapir_sv__copy(view.event, event, sizeof(event));
	return tapir_glob__match(word, provider) || tapir_glob__match(word, event);
}

void tapir_list_rings__choose(struct tapir_ring_event_list *list, const char *word,
			      const struct tapir_spec *spec)
{
	TAPIR_LIST_KEEP_CHOSEN(list, word, spec);
}

/* ---- what a field is ---------------------------------------------------------------------- */

/* The names of types in the table of probes, and of types that no register can hold. */
static const char *type_of_layout(const struct tapir_layout_field *f, struct tapir_str *text)
{
	static const char *const names[TAPIR_LAYOUT_TYPE_CNT] = {
		"u8",	"i8",	   "u16", "i16",  "u32",  "i32",  "u64",   "i64",
		"f32",	"f64",	   "ptr", "bool", "bool", "char", "guid",  "time",
		"time", "decimal", "str", "str",  "str",  "str",  "bytes", "struct",
	};
	bool has_length = f->type == TAPIR_LAYOUT_UTF16N || f->type == TAPIR_LAYOUT_UTF8N ||
			  f->type == TAPIR_LAYOUT_BINARY;

	tapir_str__clear(text);
	tapir_str__adds(text, f->type < TAPIR_LAYOUT_TYPE_CNT ? names[f->type] : "?");
	if (f->repeat == TAPIR_REPEAT_FIXED)
		tapir_str__addf(text, "[%u]", f->count);
	else if (f->repeat != TAPIR_REPEAT_ONCE && !has_length)
		tapir_str__adds(text, "[]");
	return text->len ? text->data : "?";
}

static const char *type_of_field(const struct tapir_field *f, struct tapir_str *text)
{
	static const char *const names[] = {
		[TAPIR_FIELD_INT] = "i",	[TAPIR_FIELD_UINT] = "u",
		[TAPIR_FIELD_FLOAT] = "f",	[TAPIR_FIELD_PTR] = "ptr",
		[TAPIR_FIELD_BOOL] = "bool",	[TAPIR_FIELD_CHAR] = "char",
		[TAPIR_FIELD_STR] = "str",	[TAPIR_FIELD_STRN] = "str",
		[TAPIR_FIELD_BLOB] = "bytes",	[TAPIR_FIELD_I128] = "i128",
		[TAPIR_FIELD_U128] = "u128",	[TAPIR_FIELD_UTF16] = "str",
		[TAPIR_FIELD_GUID] = "guid",	[TAPIR_FIELD_TIME] = "time",
		[TAPIR_FIELD_STRUCT] = "struct"};
	const char *name = f->type < sizeof(names) / sizeof(names[0]) ? names[f->type] : NULL;

	if (!name || name[1] || !f->size)
		return name && name[1] ? name : "?";
	tapir_str__clear(text);
	tapir_str__addf(text, "%s%u", name, f->size * 8u);
	return text->len ? text->data : "?";
}

/* type and name: for the time of the call. */
typedef void (*field_fn)(void *ctx, unsigned idx, const char *type, struct tapir_sv name);

/* Calls fn for each field of the record's own list, or of the description of packed payloads. */
static void each_field(const struct tapir_ring_event_info *info, field_fn fn, void *ctx)
{
	struct tapir_event_layout *layout = NULL;
	struct tapir_probe_view view;
	struct tapir_str type = {};
	unsigned cnt;

	tapir_probe_view__of(info->probe, &view);
	cnt = view.rec->field_cnt;
	for (unsigned i = 0; i < cnt; i++)
		fn(ctx, i, type_of_field(&view.fields[i], &type), tapir_probe_view__name(&view, i));
	if (!cnt && view.rec->encoding == TAPIR_ENCODING_PACKED &&
	    !tapir_event_layout__new(&view, info->metadata, &layout)) {
		for (unsigned i = 0; i + 1 < tapir_event_layout__max(layout); i++)
			fn(ctx, i, type_of_layout(tapir_event_layout__field(layout, i), &type),
			   tapir_event_layout__name(layout, i));
	}
	tapir_event_layout__free(layout);
	tapir_str__fini(&type);
}

/* ---- as a table --------------------------------------------------------------------------- */

static void add_field(void *ctx, unsigned idx, const char *type, struct tapir_sv name)
{
	struct tapir_str *text = ctx;

	tapir_str__addf(text, "%s%s%s", idx ? ", " : "(", type, name.len ? " " : "");
	if (name.len)
		tapir_str__add(text, name.data, name.len);
}

/* Writes the arguments as a function's; empty: it has none, or they are not described. */
static void describe_args(const struct tapir_ring_event_info *info, struct tapir_str *text)
{
	tapir_str__clear(text);
	each_field(info, add_field, text);
	if (text->len)
		tapir_str__addc(text, ')');
}

/* Each tracer with its own lane has the events again. */
static bool is_same_row(const struct tapir_ring_event_info *left,
			const struct tapir_ring_event_info *right)
{
	struct tapir_str left_fields = {}, right_fields = {};
	struct tapir_probe_view a, b;
	bool is_same;

	tapir_probe_view__of(left->probe, &a);
	tapir_probe_view__of(right->probe, &b);
	if (left->tgid != right->tgid || left->is_private != right->is_private ||
	    tapir_sv__compare(a.provider, b.provider) || tapir_sv__compare(a.event, b.event) ||
	    a.rec->event_id != b.rec->event_id || a.rec->version != b.rec->version ||
	    a.rec->level != b.rec->level || a.rec->keywords != b.rec->keywords)
		return false;
	describe_args(left, &left_fields);
	describe_args(right, &right_fields);
	is_same =
		left_fields.len == right_fields.len &&
		(!left_fields.len || !memcmp(left_fields.data, right_fields.data, left_fields.len));
	tapir_str__fini(&left_fields);
	tapir_str__fini(&right_fields);
	return is_same;
}

static void add_ring_event_row(struct tapir_table *table, const struct tapir_ring_event_info *info,
			       size_t cnt)
{
	struct tapir_probe_view view;
	struct tapir_str text = {};

	tapir_probe_view__of(info->probe, &view);
	tapir_table__cell_bytes(table, view.provider.data, view.provider.len);
	tapir_table__cell_bytes(table, view.event.data, view.event.len);
	describe_args(info, &text);
	if (text.len)
		tapir_table__cell_bytes(table, text.data, text.len);
	else
		tapir_table__cell(table, "-");
	tapir_table__cell_u64(table, view.rec->level);
	tapir_str__clear(&text);
	if (view.rec->keywords)
		tapir_str__addf(&text, "0x%" PRIx64, view.rec->keywords);
	tapir_table__cell(table, text.len ? text.data : "-");
	tapir_str__clear(&text);
	if (cnt > 1)
		tapir_str__addf(&text, "ring of %zu other tracers", cnt);
	tapir_table__cell(table, text.len	    ? text.data
				 : info->is_private ? "ring of another tracer"
						    : "ring");
	tapir_table__cell_u64(table, info->tgid);
	tapir_str__fini(&text);
}

void tapir_list_rings__write_table(const struct tapir_ring_event_list *list,
				   const struct tapir_palette *p, struct tapir_str *out)
{
	static const char *const titles[] = {"PROVIDER",  "EVENT", "ARGUMENTS", ">LEVEL",
					     ">KEYWORDS", "LANE",  ">PID",	NULL};
	static const struct tapir_column_fit fits[] = {
		{TAPIR_SHORTEN_MIDDLE, 10}, {}, /* a name that has to be typed */
		{TAPIR_SHORTEN_END, 9},	    {}, {}, {TAPIR_SHORTEN_END, 4}, {}};
	struct tapir_table table = {.titles = titles,
				    .fits = fits,
				    .max_columns = TAPIR_LIST_MAX_COLUMNS,
				    .fit_columns = tapir_screen__fit_columns()};
	size_t first = 0;

	for (size_t i = 1; i <= list->cnt; i++) {
		if (i < list->cnt && list->data[first].is_private &&
		    is_same_row(&list->data[first], &list->data[i]))
			continue;
		add_ring_event_row(&table, &list->data[first], i - first);
		first = i;
	}
	if (list->cnt)
		tapir_table__write(&table, p, out);
	tapir_table__fini(&table);
}

/* ---- as JSON ------------------------------------------------------------------------------ */

static void write_field(void *ctx, unsigned idx, const char *type, struct tapir_sv name)
{
	struct tapir_json *j = ctx;

	(void)idx;
	tapir_json__open(j, NULL, '{');
	tapir_json__strn(j, "name", name.data, name.len);
	tapir_json__str(j, "type", type);
	tapir_json__close(j, '}');
}

static void write_event(const struct tapir_ring_event_info *info, struct tapir_str *out)
{
	struct tapir_json j = tapir_json__to(out);
	struct tapir_probe_view view;

	tapir_probe_view__of(info->probe, &view);
	tapir_json__open(&j, NULL, '{');
	tapir_json__strn(&j, "provider", view.provider.data, view.provider.len);
	tapir_json__strn(&j, "name", view.event.data, view.event.len);
	tapir_json__str(&j, "lane", "ring");
	tapir_json__bool(&j, "private", info->is_private);
	tapir_json__u64(&j, "pid", info->tgid);
	tapir_json__u64(&j, "event_id", view.rec->event_id);
	tapir_json__u64(&j, "version", view.rec->version);
	tapir_json__u64(&j, "level", view.rec->level);
	tapir_json__u64(&j, "keywords", view.rec->keywords);
	tapir_json__open(&j, "args", '[');
	each_field(info, write_field, &j);
	tapir_json__close(&j, ']');
	tapir_json__close(&j, '}');
	tapir_str__addc(out, '\n');
}

void tapir_list_rings__write_json(const struct tapir_ring_event_list *list, struct tapir_str *out)
{
	for (size_t i = 0; i < list->cnt; i++)
		write_event(&list->data[i], out);
}
