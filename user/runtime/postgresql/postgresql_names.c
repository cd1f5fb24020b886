// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Searches a server's buffers and files for rows of pg_class, pg_namespace and pg_database. Nothing
 * is locked: a page, and whose it is, is compared before and after it was read.
 */
#include "runtime/postgresql/postgresql_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES	 TAPIR_POSTGRESQL_PAGE_BYTES
#define DESCRIPTOR_BYTES 64u
#define DESCRIPTORS_READ 1024u	    /* at once */
#define BUFFERS_MAX	 (4u << 20) /* 32 GB of them: their descriptors are 256 MB */
#define FILE_PAGES_MAX	 8192u	    /* of a catalog: 64 MB */
#define SCHEMAS_MAX	 64u	    /* of one call */
#define BUFFER_IS_VALID	 (1u << 24)
#define FIRST_SCHEMA	 11u /* pg_catalog */
#define PUBLIC_SCHEMA	 2200u

struct descriptor { /* BufferDesc, as far as it is read */
	uint32_t tablespace, database, file, fork, block;
	uint32_t nth;
	uint32_t state;
};

struct wanted {
	uint32_t oid;
	bool is_found;
	struct tapir_postgresql_row row;
};

struct search {
	const struct tapir_postgresql_server *server;
	struct wanted *wanted; /* ascending */
	size_t cnt;
	uint8_t seen[FILE_PAGES_MAX / 8]; /* pages that were in a buffer: the file's may be older */
};

/* ---- rows ----------------------------------------------------------------------------------- */

static int compare_wanted(const void *a, const void *b)
{
	uint32_t x = ((const struct wanted *)a)->oid, y = ((const struct wanted *)b)->oid;

	return x < y ? -1 : x > y;
}

static struct wanted *find_wanted(const struct search *s, uint32_t oid)
{
	const struct wanted key = {.oid = oid};

	return bsearch(&key, s->wanted, s->cnt, sizeof(key), compare_wanted);
}

static void on_row(void *ctx, const struct tapir_postgresql_row *row)
{
	struct search *s = ctx;
	struct wanted *w = find_wanted(s, row->oid);

	if (!w || row->state == TAPIR_POSTGRESQL_ROW_OLD ||
	    (w->is_found && w->row.state >= row->state))
		return;
	w->is_found = true;
	w->row = *row;
}

static bool is_complete(const struct search *s)
{
	for (size_t i = 0; i < s->cnt; i++)
		if (!s->wanted[i].is_found)
			return false;
	return true;
}

/* ---- buffers -------------------------------------------------------------------------------- */

static bool is_buffer_of_file(const struct descriptor *d, uint32_t nth, uint32_t database,
			      uint32_t file)
{
	return d->nth == nth && d->state & BUFFER_IS_VALID && d->database == database &&
	       d->file == file && !d->fork;
}

/* Neither the page nor whose it is may change while it is read. */
static void read_buffer(struct search *s, uint32_t nth, const struct descriptor *before)
{
	const struct tapir_process_memory *memory = s->server->memory;
	uint64_t page_va = s->server->blocks_va + (uint64_t)nth * PAGE_BYTES;
	uint8_t page[PAGE_BYTES], again[PAGE_BYTES];
	struct descriptor after;

	if (!tapir_process_memory__get(memory, page_va, page, sizeof(page)) ||
	    !tapir_process_memory__get(memory, page_va, again, sizeof(again)) ||
	    memcmp(page, again, sizeof(page)) != 0 ||
	    !tapir_process_memory__get(memory,
				       s->server->descriptors_va + (uint64_t)nth * DESCRIPTOR_BYTES,
				       &after, sizeof(after)) ||
	    !is_buffer_of_file(&after, nth, before->database, before->file) ||
	    after.block != before->block)
		return;
	if (before->block < FILE_PAGES_MAX)
		s->seen[before->block / 8] |= (uint8_t)(1u << before->block % 8);
	(void)tapir_postgresql_page__each(page, on_row, s);
}

static void search_buffers(struct search *s, uint32_t database, uint32_t file)
{
	const struct tapir_postgresql_server *server = s->server;
	uint8_t *some = malloc((size_t)DESCRIPTORS_READ * DESCRIPTOR_BYTES);
	uint32_t all = server->buffer_cnt < BUFFERS_MAX ? server->buffer_cnt : BUFFERS_MAX;

	for (uint32_t at = 0; some && server->descriptors_va && at < all; at += DESCRIPTORS_READ) {
		uint32_t cnt = all - at < DESCRIPTORS_READ ? all - at : DESCRIPTORS_READ;
		struct descriptor d;

		if (!tapir_process_memory__get(server->memory,
					       server->descriptors_va +
						       (uint64_t)at * DESCRIPTOR_BYTES,
					       some, (size_t)cnt * DESCRIPTOR_BYTES))
			break;
		for (uint32_t i = 0; i < cnt; i++) {
			memcpy(&d, some + (size_t)i * DESCRIPTOR_BYTES, sizeof(d));
			if (is_buffer_of_file(&d, at + i, database, file))
				read_buffer(s, at + i, &d);
		}
	}
	free(some);
}

/* ---- files ---------------------------------------------------------------------------------- */

static void search_file(struct search *s, const char *dir, uint32_t file)
{
	const struct tapir_postgresql_server *server = s->server;
	uint8_t page[PAGE_BYTES];
	char path[TAPIR_POSTGRESQL_DIR_BYTES + 16];

	snprintf(path, sizeof(path), "%s/%u", dir, file);
	for (uint64_t i = 0; i < FILE_PAGES_MAX && !is_complete(s); i++) {
		if (server->read_file(server->ctx, path, i * PAGE_BYTES, page, sizeof(page)) !=
		    sizeof(page))
			break;
		if (!(s->seen[i / 8] & 1u << i % 8))
			(void)tapir_postgresql_page__each(page, on_row, s);
	}
}

/* A catalog that was never rewritten has its OID for a number. */
static uint32_t file_of(const struct tapir_postgresql_server *server, const char *dir, uint32_t oid)
{
	uint8_t map[TAPIR_POSTGRESQL_MAP_MAX_BYTES];
	char path[TAPIR_POSTGRESQL_DIR_BYTES + 24];
	uint32_t file;

	snprintf(path, sizeof(path), "%s/pg_filenode.map", dir);
	file = tapir_postgresql_map__file(
		map, server->read_file(server->ctx, path, 0, map, sizeof(map)), oid);
	return file ? file : oid;
}

/* Rows that no buffer has, or that are not settled there, are searched in the file. */
static void search_catalog(struct search *s, uint32_t database, const char *dir, uint32_t file)
{
	qsort(s->wanted, s->cnt, sizeof(*s->wanted), compare_wanted);
	search_buffers(s, database, file);
	if (!is_complete(s))
		search_file(s, dir, file);
}

/* ---- names ---------------------------------------------------------------------------------- */

static bool is_wanted_oid(const struct wanted *wanted, size_t cnt, uint32_t oid)
{
	for (size_t i = 0; i < cnt; i++)
		if (wanted[i].oid == oid)
			return true;
	return false;
}

/* Schemas of what was found. */
static size_t list_schemas(const struct search *classes, struct wanted *out)
{
	size_t cnt = 0;

	for (size_t i = 0; i < classes->cnt && cnt < SCHEMAS_MAX; i++) {
		uint32_t schema = classes->wanted[i].row.numbers[0];

		if (classes->wanted[i].is_found && schema != FIRST_SCHEMA &&
		    schema != PUBLIC_SCHEMA && !is_wanted_oid(out, cnt, schema))
			out[cnt++] = (struct wanted){.oid = schema};
	}
	return cnt;
}

static void name_relation(const struct search *classes, const struct search *schemas,
			  struct tapir_postgresql_relation *relation)
{
	const struct wanted *found = find_wanted(classes, relation->oid);
	const struct wanted *schema =
		found && found->is_found ? find_wanted(schemas, found->row.numbers[0]) : NULL;
	bool has_schema = schema && schema->is_found;

	*relation->name = 0;
	if (found && found->is_found)
		snprintf(relation->name, sizeof(relation->name), "%s%s%s",
			 has_schema ? schema->row.name : "", has_schema ? "." : "",
			 found->row.name);
}

static void find_relations(struct search *classes, uint32_t database, const char *dir,
			   struct tapir_postgresql_relation *relations, size_t cnt)
{
	const struct tapir_postgresql_server *server = classes->server;
	struct wanted list[SCHEMAS_MAX];
	struct search schemas = {.server = server, .wanted = list};
	const struct wanted *namespaces;

	search_catalog(classes, database, dir, file_of(server, dir, TAPIR_POSTGRESQL_PG_CLASS));
	schemas.cnt = list_schemas(classes, list);
	namespaces = find_wanted(classes, TAPIR_POSTGRESQL_PG_NAMESPACE);
	if (schemas.cnt && namespaces && namespaces->is_found)
		search_catalog(&schemas, database, dir, namespaces->row.numbers[5]);
	for (size_t i = 0; i < cnt; i++)
		name_relation(classes, &schemas, &relations[i]);
}

void tapir_postgresql_names__relations(const struct tapir_postgresql_server *server,
				       uint32_t database, const char *dir,
				       struct tapir_postgresql_relation *relations, size_t cnt)
{
	struct search classes = {.server = server,
				 .wanted = calloc(cnt + 1, sizeof(struct wanted))};

	if (!classes.wanted)
		return;
	classes.wanted[classes.cnt++].oid = TAPIR_POSTGRESQL_PG_NAMESPACE;
	for (size_t i = 0; i < cnt; i++) {
		*relations[i].name = 0;
		if (!is_wanted_oid(classes.wanted, classes.cnt, relations[i].oid))
			classes.wanted[classes.cnt++].oid = relations[i].oid;
	}
	find_relations(&classes, database, dir, relations, cnt);
	server->read_file(server->ctx, NULL, 0, NULL, 0);
	free(classes.wanted);
}

/* pg_database is one for all of a server. */
void tapir_postgresql_names__database(const struct tapir_postgresql_server *server,
				      uint32_t database, char name[TAPIR_POSTGRESQL_NAME_BYTES])
{
	struct wanted wanted = {.oid = database};
	struct search s = {.server = server, .wanted = &wanted, .cnt = 1};

	search_catalog(&s, 0, "global", file_of(server, "global", TAPIR_POSTGRESQL_PG_DATABASE));
	memcpy(name, wanted.row.name, TAPIR_POSTGRESQL_NAME_BYTES); /* zeroed, else */
	server->read_file(server->ctx, NULL, 0, NULL, 0);
}
