// SPDX-License-Identifier: GPL-2.0-or-later
/* Sorted when something is taken; what stays moves to the front. */
#include "cli/line_order.h"

#include <stdlib.h>
#include <string.h>

#define FULL_BYTES (4u << 20)

bool tapir_line_order__add(struct tapir_line_order *o, uint64_t time_ns, const char *text,
			   size_t len)
{
	struct tapir_held_line line = {time_ns, o->next_nr++, o->text.len, len};

	tapir_str__add(&o->text, text, len);
	return !o->text.failed && tapir_vec__push(&o->lines, line);
}

bool tapir_line_order__is_full(const struct tapir_line_order *o)
{
	return o->text.len >= FULL_BYTES;
}

static int by_time(const void *left, const void *right)
{
	const struct tapir_held_line *l = left, *r = right;

	if (l->time_ns != r->time_ns)
		return l->time_ns < r->time_ns ? -1 : 1;
	return (l->nr > r->nr) - (l->nr < r->nr);
}

/* The lines that are left get a text of their own. */
static void keep_from(struct tapir_line_order *o, size_t first)
{
	struct tapir_str kept = {};

	for (size_t i = first; i < o->lines.cnt; i++) {
		struct tapir_held_line line = o->lines.data[i];
		size_t off = kept.len;

		tapir_str__add(&kept, o->text.data + line.off, line.len);
		line.off = off;
		o->lines.data[i - first] = line;
	}
	o->lines.cnt = kept.failed ? 0 : o->lines.cnt - first;
	tapir_str__fini(&o->text);
	o->text = kept;
}

void tapir_line_order__take(struct tapir_line_order *o, uint64_t until_ns, struct tapir_str *out)
{
	size_t cnt = 0;

	if (!o->lines.cnt)
		return;
	qsort(o->lines.data, o->lines.cnt, sizeof(*o->lines.data), by_time);
	for (; cnt < o->lines.cnt && o->lines.data[cnt].time_ns <= until_ns; cnt++)
		tapir_str__add(out, o->text.data + o->lines.data[cnt].off, o->lines.data[cnt].len);
	if (cnt)
		keep_from(o, cnt);
}

void tapir_line_order__fini(struct tapir_line_order *o)
{
	tapir_str__fini(&o->text);
	tapir_vec__fini(&o->lines);
}
