/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_window.h - a file's records in the order of their times, for formats that ask for it.
 *
 * A file's times step back by milliseconds where one chunk ends and the next begins (reader.h),
 * and descriptions come before all that happened while they were made. Records are held until
 * TAPIR_RECORD_WINDOW_BYTES of them are there; then the older half goes. What comes later than
 * that is given at once and counted. One thread.
 */
#ifndef TAPIR_USER_RECORD_WINDOW_H
#define TAPIR_USER_RECORD_WINDOW_H

#include <stdbool.h>

#include "base/str.h"
#include "base/vec.h"
#include "tapir/abi.h"

#define TAPIR_RECORD_WINDOW_BYTES (16u << 20)

struct tapir_record_window_entry {
	uint64_t time_ns;
	size_t off;
};

/* All zero: empty. */
struct tapir_record_window {
	/* for the window alone */
	struct tapir_str held, spare;
	struct tapir_vec(struct tapir_record_window_entry) order;
	size_t given_cnt,
		give_cnt; /* of order: delivered; to be removed before the next record arrives */
	uint64_t newest_ns, last_ns; /* of what is held, of what was given */
	uint64_t late_cnt; /* records older than what was given before them; descriptions apart */
};

/*
 * Takes a well-formed record, copied. False: out of memory. Take all that __next gives before the
 * next record is added.
 */
bool tapir_record_window__add(struct tapir_record_window *w, const struct tapir_rec *rec);

/* Gives what is held up to this long before the newest, whether or not there is much. */
void tapir_record_window__release(struct tapir_record_window *w, uint64_t keep_ns);

/*
 * Returns the next record, borrowed until the next call of __add; NULL: none until more arrive, or
 * with is_end: no more.
 */
const struct tapir_rec *tapir_record_window__next(struct tapir_record_window *w, bool is_end);

/* Frees both buffers. */
void tapir_record_window__fini(struct tapir_record_window *w);

#endif
