/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * emit_tables.h - a manifest's providers as C source: constant tables of decode/layout.h. One
 * thread.
 */
#ifndef TAPIR_EMIT_TABLES_H
#define TAPIR_EMIT_TABLES_H

#include "base/map.h"
#include "base/str.h"
#include "decode/layout.h"

/* Numbers the arrays that several events share. */
struct emit_tables {
	struct tapir_str out;
	struct tapir_map fields, maps; /* address -> number of the array, from 1 */
	unsigned provider_cnt;
};

/*
 * Begins the file; __provider adds the tables of one provider, which must outlive e: arrays are
 * known by their addresses. A lack of memory is in out.failed.
 */
void emit_tables__begin(struct emit_tables *e);
void emit_tables__provider(struct emit_tables *e, const struct tapir_layout_provider *p);
/* Adds the array of all, called tapir_dotnet_providers, and ends the file. */
void emit_tables__end(struct emit_tables *e);
/* Frees out as well: take its text before. */
void emit_tables__fini(struct emit_tables *e);

#endif
