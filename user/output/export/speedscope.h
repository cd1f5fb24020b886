/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * speedscope.h - CPU samples (or events with a stack, if a file has no samples) in the file format
 * of speedscope (https://www.speedscope.app/file-format-schema.json): one profile per thread, the
 * busiest first; names of functions once for all of them.
 *
 * Samples of a clock are placed in time: each profile begins with the recording and ends with it,
 * and where a thread was not sampled its stack is empty. A sample covers the period before it.
 * Samples of another event, and events, follow each other, as wide as they count.
 *
 * A profile is one piece of the document, so samples are held until the end: 12 bytes each, and
 * each stack once; TAPIR_SPEEDSCOPE_MAX_BYTES of them. One thread.
 */
#ifndef TAPIR_USER_SPEEDSCOPE_H
#define TAPIR_USER_SPEEDSCOPE_H

#include "base/str.h"
#include "trace/catalog.h"

#define TAPIR_SPEEDSCOPE_MAX_BYTES (120u << 20)

struct tapir_speedscope;

/*
 * catalog: borrowed; it may learn more between records. start_ns: when the recording began, on the
 * records' clock. NULL: out of memory.
 */
struct tapir_speedscope *tapir_speedscope__new(const struct tapir_catalog *catalog,
					       uint64_t start_ns);
void tapir_speedscope__free(struct tapir_speedscope *s);

/* Adds a record. 0, or -ENOMEM. Records of other types, or without a stack, are skipped. */
int tapir_speedscope__add(struct tapir_speedscope *s, const struct tapir_rec *rec);

/* Appends the next part of the document; false: that was all. title: of the document. */
bool tapir_speedscope__next_part(struct tapir_speedscope *s, const char *title,
				 struct tapir_str *out);

/* Samples, or events, with a stack that are not in the document: there were too many. */
uint64_t tapir_speedscope__skipped_cnt(const struct tapir_speedscope *s);

#endif
