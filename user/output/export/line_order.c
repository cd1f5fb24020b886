// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Holds lines until they can be printed in the order of their times. They are sorted when something
 * is taken; what stays moves to the front.
 */
#include "output/export/line_order.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

#define FULL_BYTES (4u << 20)

bool tapir_line_order__add(struct tapir_line_order *o, uint64_t time_ns, const void *bytes,
			   size_t len)
{
	struct tapir_held_line line = {time_ns, o->next_nr++, o->bytes.len, len};

	tapir_str__add(&o->bytes, bytes, len);
	return !o->bytes.failed && tapir_vec__push(&o->lines, line);
}

bool tapir_line_order__is_full(const struct tapir_line_order *o)
{
	return o->bytes.len >= FULL_BYTES;
}

static int lines_by_time(const void *left, const void *right)
{
	const struct tapir_held_line *l = left, *r = right;

	return tapir_order__up(l->time_ns, r->time_ns) ?: tapir_order__up(l->nr, r->nr);
}

/* The lines that are left get a buffer of their own. */
static void keep_from(struct tapir_line_order *o, size_t first)
{
	struct tapir_str kept = {};

	for (size_t i = first; i < o->lines.cnt; i++) {
		struct tapir_held_line line = o->lines.data[i];
		size_t off = kept.len;

		tapir_str__add(&kept, o->bytes.data + line.off, line.len);
		line.off = off;
		o->lines.data[i - first] = line;
	}
	o->lines.cnt = kept.failed ? 0 : o->lines.cnt - first;
	tapir_str__fini(&o->bytes);
	o->bytes = kept;
}

void tapir_line_order__take(struct tapir_line_order *o, uint64_t until_ns, tapir_line_order_fn fn,
			    void *ctx)
{
	size_t cnt = 0;

	if (!o->lines.cnt)
		return;
	qsort(o->lines.data, o->lines.cnt, sizeof(*o->lines.data), lines_by_time);
	for (; cnt < o->lines.cnt && o->lines.data[cnt].time_ns <= until_ns; cnt++)
		fn(ctx, o->bytes.data + o->lines.data[cnt].off, o->lines.data[cnt].len);
	if (cnt)
		keep_from(o, cnt);
}

void tapir_line_order__fini(struct tapir_line_order *o)
{
	tapir_str__fini(&o->bytes);
	tapir_vec__fini(&o->lines);
}
