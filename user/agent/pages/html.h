/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * html.h - text of pages. Whatever is put in by %s is escaped: names of processes, functions and
 * exceptions are what strangers chose. And members of JSON documents, which may be missing. No
 * state; any thread.
 */
#ifndef TAPIR_USER_HTML_H
#define TAPIR_USER_HTML_H

#include <jansson.h>

#include "base/str.h"

/*
 * Markup with %s (escaped for elements and quoted attributes; NULL: nothing), %u, %llu, %.Nf and
 * %%, as in printf(3); no other conversion.
 */
void tapir_html__add(struct tapir_str *out, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Members of an object; "", 0 or false where there is none of that type. */
const char *tapir_member__text(const json_t *object, const char *key);
uint64_t tapir_member__u64(const json_t *object, const char *key);
double tapir_member__f64(const json_t *object, const char *key);
bool tapir_member__is_true(const json_t *object, const char *key);
bool tapir_member__is(const json_t *object, const char *key, const char *text);

/* Appends a member like "2026-11-24T14:09:28Z" as "2026-11-24 14:09:28". */
void tapir_html__add_utc(struct tapir_str *out, const json_t *object, const char *key);
/* Appends "once", "7 times". */
void tapir_html__add_times(struct tapir_str *out, const json_t *object, const char *key);

/*
 * Begins a table with its titles: "Method|>Count|-Actions", where > is above numbers and - is for
 * readers of the screen only. id: NULL, or the table's.
 */
void tapir_html__begin_table(struct tapir_str *out, const char *id, const char *titles);
void tapir_html__end_table(struct tapir_str *out);

/* Append cells of a row: a text, which may be long, or a number with its unit: "1.2 ms". */
void tapir_html__cell(struct tapir_str *out, const json_t *object, const char *key);
void tapir_html__cell_count(struct tapir_str *out, const json_t *object, const char *key);
void tapir_html__cell_ns(struct tapir_str *out, const json_t *object, const char *key);
void tapir_html__cell_bytes(struct tapir_str *out, const json_t *object, const char *key);

#endif
