/* SPDX-License-Identifier: GPL-2.0-or-later */
/* span_path.h - the way through a request's spans on which most of its time was spent. Pure. */
#ifndef TAPIR_USER_SPAN_PATH_H
#define TAPIR_USER_SPAN_PATH_H

#include "analyze/spans/span_store.h"
#include "base/str.h"

/*
 * Adds "GET /checkout 812 ms > GET /tax 790 ms (pid 77) > SELECT price 780 ms" of linked spans:
 * each is below the one before and has at least half of its time. A call whose server is recorded
 * is that server's request; a span that was only seen is what it consists of. False: nothing below
 * the root has most of its time, and nothing is added.
 */
bool tapir_span_path__add(const struct tapir_span_store *s, uint32_t root, struct tapir_str *out);

#endif
