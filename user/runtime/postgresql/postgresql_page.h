/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * postgresql_page.h - rows of PostgreSQL's catalogs as its pages hold them, in its buffers as in
 * its files, and the map of the files of catalogs. Structures: page layout version 4
 * with pages of 8 KB, as observed in PostgreSQL 13 to 18.
 *
 * Of pg_class, pg_namespace and pg_database the first columns are the row's OID and its name; until
 * PostgreSQL 11 the OID is before the columns. The input is not trusted: whatever does not agree is
 * no row. Pure.
 */
#ifndef TAPIR_USER_POSTGRESQL_PAGE_H
#define TAPIR_USER_POSTGRESQL_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAPIR_POSTGRESQL_PAGE_BYTES    8192u
#define TAPIR_POSTGRESQL_NAME_BYTES    64u
#define TAPIR_POSTGRESQL_NUMBERS       6u
#define TAPIR_POSTGRESQL_MAP_MAX_BYTES 1024u

/* OIDs of catalogs are the same in all databases of all versions. */
#define TAPIR_POSTGRESQL_PG_CLASS      1259u
#define TAPIR_POSTGRESQL_PG_DATABASE   1262u
#define TAPIR_POSTGRESQL_PG_NAMESPACE  2615u

/* The evidence that a version of a row gives: of several, the one with most of it holds. */
enum tapir_postgresql_row_state {
	TAPIR_POSTGRESQL_ROW_OLD,     /* deleted, replaced, or never committed */
	TAPIR_POSTGRESQL_ROW_PERHAPS, /* a transaction deletes or replaces it; the row does not say
					 if that is committed */
	TAPIR_POSTGRESQL_ROW_CURRENT,
};

struct tapir_postgresql_row {
	uint32_t oid;
	enum tapir_postgresql_row_state state;
	char name[TAPIR_POSTGRESQL_NAME_BYTES]; /* terminated, not empty */
	/* Columns after it, 0 where there are none. Of pg_class: [0] the schema, [5] the file. */
	uint32_t numbers[TAPIR_POSTGRESQL_NUMBERS];
};

typedef void (*tapir_postgresql_row_fn)(void *ctx, const struct tapir_postgresql_row *row);

/* page: TAPIR_POSTGRESQL_PAGE_BYTES. false: it is not one, or an empty one. */
bool tapir_postgresql_page__each(const uint8_t *page, tapir_postgresql_row_fn fn, void *ctx);

/* The file number that pg_filenode.map has for a catalog; 0: none. */
uint32_t tapir_postgresql_map__file(const uint8_t *map, size_t bytes, uint32_t oid);

#endif
