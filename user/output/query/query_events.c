// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the tables of events by one pass over the file. Fields are those of the first event of each
 * probe; probes of one event may have others, so a column may be NULL.
 */
#include "output/query/query_events.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAME_BYTES	       200
#define RECORDS_BETWEEN_CHECKS 4096

struct reading {
	struct tapir_event_tables *tables;
	struct tapir_arena *arena;
	struct tapir_event_lines *lines;
	const struct tapir_catalog *catalog;
	struct tapir_map by_probe; /* id -> struct tapir_event_table * */
};

static char *copy_name(struct reading *r, struct tapir_sv name)
{
	size_t len = name.data ? strnlen(name.data, name.len) : 0;

	return tapir_arena__text(r->arena, name.data ? name.data : "",
				 len < MAX_NAME_BYTES ? len : MAX_NAME_BYTES);
}

static bool has_column(const struct tapir_event_table *t, const char *name)
{
	const struct tapir_sql_column *column;

	tapir_vec_for_each (column, &t->columns)
		if (column->name && !strcasecmp(column->name, name))
			return true;
	return false;
}

static bool is_common(const char *name)
{
	for (const struct tapir_sql_column *c = tapir_tables[0].columns; c->name; c++)
		if (!strcasecmp(c->name, name))
			return true;
	return false;
}

static int add_field(struct reading *r, struct tapir_event_table *t, struct tapir_sv name,
		     unsigned idx)
{
	struct tapir_sql_column column = {.kind = TAPIR_COLUMN_FIELD,
					  .make = tapir_sql_column__make_field};
	char text[MAX_NAME_BYTES + 8];

	snprintf(text, sizeof(text), "arg%u", idx);
	column.description = copy_name(r, name.len ? name : tapir_sv__of(text));
	if (!column.description)
		return -ENOMEM;
	snprintf(text, sizeof(text), "%s%s", is_common(column.description) ? "arg_" : "",
		 column.description);
	if (!*text || has_column(t, text))
		return 0;
	column.name = copy_name(r, tapir_sv__of(text));
	return column.name && tapir_vec__push(&t->columns, column) ? 0 : -ENOMEM;
}

static int add_fields(struct reading *r, struct tapir_event_table *t, const struct tapir_rec *rec)
{
	unsigned cnt = 0;
	const struct tapir_value *values = tapir_event_lines__values(r->lines, rec, &cnt);
	int err = 0;

	for (unsigned i = 0; values && i < cnt && !err; i++)
		if (t->columns.cnt < TAPIR_QUERY_MAX_FIELDS)
			err = add_field(r, t, values[i].name, i);
	return err;
}

static struct tapir_event_table *find_table(const struct tapir_event_tables *tables,
					    const struct tapir_probe_view *probe)
{
	struct tapir_event_table **t;

	tapir_vec_for_each (t, &tables->all)
		if (tapir_sv__is(probe->event, (*t)->desc.event) &&
		    tapir_sv__is(probe->provider, (*t)->desc.provider))
			return *t;
	return NULL;
}

static struct tapir_event_table *make_table(struct reading *r, const struct tapir_probe_view *probe)
{
	struct tapir_event_table *t;
	char name[2 * MAX_NAME_BYTES + 2];

	if (r->tables->all.cnt == TAPIR_QUERY_MAX_EVENTS) {
		r->tables->skipped_cnt++;
		return NULL;
	}
	t = calloc(1, sizeof(*t));
	if (!t || !tapir_vec__push(&r->tables->all, t)) {
		free(t);
		return NULL;
	}
	t->desc = tapir_tables[0];
	t->desc.name = t->desc.event = copy_name(r, probe->event);
	t->desc.provider = copy_name(r, probe->provider);
	if (t->desc.event && t->desc.provider) {
		snprintf(name, sizeof(name), "%s:%s", t->desc.provider, t->desc.event);
		t->full_name = tapir_arena__text(r->arena, name, strlen(name));
	}
	for (unsigned i = 0; i < TAPIR_EVENT_HEAD_COLUMNS; i++)
		if (!tapir_vec__push(&t->columns, tapir_tables[0].columns[i]))
			t->full_name = NULL;
	return t;
}

/* Finds the table for the first event of a probe, or makes it. */
static int take_probe(struct reading *r, const struct tapir_rec *rec,
		      struct tapir_event_table **out)
{
	const struct tapir_rec_probe *found =
		tapir_catalog__probe(r->catalog, ((const struct tapir_rec_event *)rec)->probe_id);
	struct tapir_probe_view probe;
	uint64_t skipped_cnt = r->tables->skipped_cnt;

	*out = NULL;
	if (!found)
		return 0;
	tapir_probe_view__of(&found->h, &probe);
	*out = find_table(r->tables, &probe);
	if (!*out)
		*out = make_table(r, &probe);
	if (!*out || !(*out)->full_name)
		return r->tables->skipped_cnt > skipped_cnt ? 0 : -ENOMEM;
	return add_fields(r, *out, rec);
}

static int take_event(struct reading *r, const struct tapir_rec *rec)
{
	struct tapir_event_table *t;
	bool is_new = false;
	uint64_t *slot = tapir_map__put(&r->by_probe,
					((const struct tapir_rec_event *)rec)->probe_id, &is_new);
	int err = slot ? 0 : -ENOMEM;

	if (!err && is_new) {
		err = take_probe(r, rec, &t);
		*slot = (uint64_t)(uintptr_t)t;
	}
	t = slot ? (void *)(uintptr_t)*slot : NULL;
	if (t)
		t->cnt++;
	return err;
}

static int finish_table(struct tapir_event_table *t)
{
	const struct tapir_sql_column *column = &tapir_tables[0].columns[TAPIR_EVENT_TAIL_COLUMN];
	bool is_last;

	do {
		is_last = !column->name;
		if (!tapir_vec__push(&t->columns, *column))
			return -ENOMEM;
		column++;
	} while (!is_last);
	t->desc.columns = t->columns.data;
	return 0;
}

static int read_event_tables(struct reading *r, struct tapir_query_source *source,
			     struct tapir_reader *reader)
{
	const struct tapir_rec *rec;
	uint64_t cnt = 0;
	int next = 0, err = 0;

	while (!err && (next = tapir_reader__next(reader, &rec)) > 0) {
		if (rec->type == TAPIR_REC_EVENT)
			err = take_event(r, rec);
		if (!(++cnt % RECORDS_BETWEEN_CHECKS) && tapir_query_source__has_ended(source))
			err = -EINTR;
	}
	return err ? err : next;
}

int tapir_event_tables__read(struct tapir_event_tables *tables, struct tapir_query_source *source)
{
	struct reading r = {.tables = tables, .arena = &source->arena};
	struct tapir_reader *reader;
	int err = tapir_query_source__open(source, &reader);

	if (err)
		return err;
	r.catalog = tapir_reader__catalog(reader);
	r.lines = tapir_event_lines__new(TAPIR_EVENT_JSON, r.catalog, source->start_ns);
	err = r.lines ? read_event_tables(&r, source, reader) : -ENOMEM;
	for (size_t i = 0; i < tables->all.cnt && !err; i++)
		err = finish_table(tables->all.data[i]);
	tapir_event_lines__free(r.lines);
	tapir_map__fini(&r.by_probe);
	tapir_query_source__close(source, reader, !err);
	return err;
}

void tapir_event_tables__fini(struct tapir_event_tables *tables)
{
	for (size_t i = 0; i < tables->all.cnt; i++) {
		tapir_vec__fini(&tables->all.data[i]->columns);
		free(tables->all.data[i]);
	}
	tapir_vec__fini(&tables->all);
}
