/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * table.h - rows of text whose columns line up. Cells may come from traced processes: they are made
 * printable. One thread.
 */
#ifndef TAPIR_USER_TABLE_H
#define TAPIR_USER_TABLE_H

#include <stdint.h>

#include "base/str.h"
#include "base/vec.h"
#include "output/render/screen.h"

#define TAPIR_TABLE_MAX_COLUMNS 12

/* The place where a cell is cut, and its columns at most, in a table that has to fit. */
enum tapir_shortening {
	TAPIR_SHORTEN_NEVER,
	TAPIR_SHORTEN_BEGIN,
	TAPIR_SHORTEN_MIDDLE,
	TAPIR_SHORTEN_END
};

struct tapir_column_fit {
	enum tapir_shortening shortening;
	unsigned least_columns;
};

struct tapir_table {
	const char *const *titles; /* ended by NULL; one that starts with '>' is right-aligned */
	struct tapir_vec(char *) cells; /* row after row */
	bool failed;			/* out of memory: the table is not written */
	size_t max_columns; /* of a column: a wider cell moves the rest of its own row to the right,
			       not other rows; 0: no limit */
	size_t wrap_columns; /* words of the last column continue below it at this width; 0: one
				line per row */
	/*
	 * The greatest width of the table: cells of left-aligned columns are cut, with an ellipsis,
	 * and if that is not enough the last one is put on its own line. Set it on a terminal only
	 * (tapir_screen__fit_columns). 0: as wide as the cells are.
	 */
	size_t fit_columns;
	const struct tapir_column_fit *fits; /* one per column; NULL: by the column's position */
};

void tapir_table__cell(struct tapir_table *table, const char *text); /* copied, made printable */
/* Adds a cell of len bytes, or of a number in decimal digits. */
void tapir_table__cell_bytes(struct tapir_table *table, const char *text, size_t len);
void tapir_table__cell_u64(struct tapir_table *table, uint64_t value);
/* Returns true if rows as narrow as they may be cut fit into fit_columns. */
bool tapir_table__can_fit(const struct tapir_table *table);
void tapir_table__write(const struct tapir_table *table, const struct tapir_palette *p,
			struct tapir_str *out);
void tapir_table__fini(struct tapir_table *table);

#endif
