/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * speedscope.h - CPU samples, or where a file has none events with a stack, in the file format
 * of speedscope (https://www.speedscope.app/file-format-schema.json): one profile a thread, the
 * busiest first, in the order of time; names of functions once for all of them.
 *
 * A profile stands in one piece, so samples are held until the end: 12 bytes each, less where
 * one stack repeats, and each stack once; TAPIR_SPEEDSCOPE_MAX_BYTES of them. One thread.
 */
#ifndef TAPIR_USER_SPEEDSCOPE_H
#define TAPIR_USER_SPEEDSCOPE_H

#include "base/str.h"
#include "trace/catalog.h"

#define TAPIR_SPEEDSCOPE_MAX_BYTES (120u << 20)

struct tapir_speedscope;

/* catalog: borrowed; it may learn more between records. NULL: out of memory. */
struct tapir_speedscope *tapir_speedscope__new(const struct tapir_catalog *catalog);
void tapir_speedscope__free(struct tapir_speedscope *s);

/* 0, or -ENOMEM. Records of other types, or without a stack, are passed over. */
int tapir_speedscope__add(struct tapir_speedscope *s, const struct tapir_rec *rec);

/* Appends the next part of the document; false: that was all. title: of the document. */
bool tapir_speedscope__next_part(struct tapir_speedscope *s, const char *title,
				 struct tapir_str *out);

/* Samples, or events, with a stack that are not in the document: there were too many. */
uint64_t tapir_speedscope__left_out(const struct tapir_speedscope *s);

#endif
