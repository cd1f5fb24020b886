// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Folded stacks with their times: a line has a piece of time as its first frame, then process and
 * functions, and how many samples had that stack in that piece. Lines are in order of time, so that
 * flamegraph.pl --flamechart draws them, awk chooses a time, and every reader of the folded format
 * takes the rest. Written as it is read.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "output/query/query_stacks.h"
#include "output/sink/sink.h"
#include "trace/family.h"
#include "trace/reorder.h"

#define PIECE_NS       (TAPIR_NS_PER_SEC / 100)
#define PIECE_MAX_TEXT (1u << 20) /* of one piece: what has more is written as several */

struct row {
	size_t at, len; /* of texts */
	uint64_t cnt;
};

struct collapsed {
	struct tapir_export *x;
	struct tapir_reorder *order;
	struct tapir_query_stacks stacks;
	struct tapir_map by_text; /* hash -> idx of rows */
	struct tapir_vec(struct row) rows;
	struct tapir_str texts;
	uint64_t piece;
	uint16_t type; /* of records that have lines */
	int err;
};

/* ---- rows --------------------------------------------------------------------------------------- */

static void write_piece(struct collapsed *c)
{
	const struct row *row;

	tapir_vec_for_each (row, &c->rows) {
		tapir_str__addf(&c->x->out, "%" PRIu64 ".%02u;", c->piece / 100,
				(unsigned)(c->piece % 100));
		tapir_str__add_printable(&c->x->out, c->texts.data + row->at, row->len);
		tapir_str__addc(&c->x->out, ' ');
		tapir_str__addu(&c->x->out, row->cnt);
		tapir_str__addc(&c->x->out, '\n');
	}
	c->rows.cnt = 0;
	tapir_map__clear(&c->by_text);
	tapir_str__clear(&c->texts);
	if (!c->err)
		c->err = tapir_sink__flush_much(c->x);
}

/* Counts the text that stands at the end of texts. */
static void count(struct collapsed *c, size_t at)
{
	size_t len = c->texts.len - at;
	bool is_new = false;
	uint64_t *slot =
		tapir_map__put(&c->by_text, tapir_hash__bytes(1, c->texts.data + at, len), &is_new);
	struct row *row = slot && !is_new ? &c->rows.data[*slot] : NULL;

	if (row && row->len == len && !memcmp(c->texts.data + row->at, c->texts.data + at, len)) {
		row->cnt++;
		c->texts.len = at;
		return;
	}
	if (!slot || !tapir_vec__push(&c->rows, ((struct row){at, len, 1})))
		c->err = -ENOMEM;
	else if (is_new)
		*slot = c->rows.cnt - 1;
}

/* A name may hold what separates: readers split at ';' and at the last space. */
static void add_collapsed_process(struct collapsed *c, const struct tapir_rec *rec)
{
	uint32_t tgid = tapir_rec__tgid(rec, 0);
	const struct tapir_rec_process *found =
		tapir_catalog__process(c->x->catalog, tgid, rec->time_ns);
	struct tapir_process_view view = {};
	size_t at = c->texts.len;

	if (found)
		tapir_process_view__of(&found->h, &view);
	tapir_str__add(&c->texts, view.comm.len ? view.comm.data : "?",
		       view.comm.len ? view.comm.len : 1);
	for (; at < c->texts.len; at++)
		if (c->texts.data[at] == ';')
			c->texts.data[at] = ':';
}

static void in_order(void *ctx, const struct tapir_rec *rec)
{
	struct collapsed *c = ctx;
	uint64_t start_ns = tapir_reader__stats(c->x->reader)->created_ns;
	uint64_t piece = (rec->time_ns > start_ns ? rec->time_ns - start_ns : 0) / PIECE_NS;
	struct tapir_sv stack;
	size_t at;

	if (c->err)
		return;
	if (piece != c->piece || c->texts.len > PIECE_MAX_TEXT)
		write_piece(c);
	c->piece = piece;
	at = c->texts.len;
	add_collapsed_process(c, rec);
	stack = tapir_query_stacks__whole(&c->stacks, c->x->catalog, rec);
	if (stack.len)
		tapir_str__addc(&c->texts, ';');
	tapir_str__add(&c->texts, stack.data, stack.len);
	if (c->texts.failed || c->x->out.failed || c->stacks.text.failed)
		c->err = -ENOMEM;
	else
		count(c, at);
}

/* ---- the sink ------------------------------------------------------------------------------------ */

/* Events have lines where they were asked for, or in a recording without samples. */
static int choose_type(struct collapsed *c)
{
	const struct tapir_rec *rec;
	struct tapir_reader *reader;
	int err;

	c->type = TAPIR_REC_EVENT;
	if (c->x->choice.glob)
		return 0;
	err = c->x->host->open_again(c->x->host->ctx, &reader);
	if (err)
		return err;
	while (c->type != TAPIR_REC_SAMPLE && (err = tapir_reader__next(reader, &rec)) > 0)
		if (rec->type == TAPIR_REC_SAMPLE)
			c->type = TAPIR_REC_SAMPLE;
	tapir_reader__close(reader);
	return err < 0 ? err : 0;
}

static int begin_collapsed(struct tapir_export *x)
{
	struct collapsed *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	x->state = c;
	c->x = x;
	c->order = tapir_reorder__new(in_order, c);
	return c->order ? choose_type(c) : -ENOMEM;
}

static int add(struct tapir_export *x, const struct tapir_rec *rec)
{
	struct collapsed *c = x->state;
	int err;

	if (rec->type != c->type)
		return 0;
	err = tapir_reorder__add(c->order, rec, false);
	return err ? err : c->err;
}

static int end_collapsed(struct tapir_export *x)
{
	struct collapsed *c = x->state;

	tapir_reorder__finish(c->order);
	write_piece(c);
	if (!c->err && tapir_reorder__late(c->order))
		tapir_warn("%" PRIu64
			   " records arrived much later than others of their time: their lines are "
			   "not in order",
			   tapir_reorder__late(c->order));
	return c->err;
}

static void free_collapsed(struct tapir_export *x)
{
	struct collapsed *c = x->state;

	if (!c)
		return;
	tapir_reorder__free(c->order);
	tapir_query_stacks__fini(&c->stacks);
	tapir_map__fini(&c->by_text);
	tapir_vec__fini(&c->rows);
	tapir_str__fini(&c->texts);
	free(c);
}

const struct tapir_sink tapir_sink_collapsed = {
	.name = "collapsed",
	.description = "folded stacks by hundredths of a second, in order of time",
	.lacks = "threads, fields, trace ids, losses",
	.suffix = "collapsed",
	.content = TAPIR_SINK_IS_TEXT,
	.begin = begin_collapsed,
	.add = add,
	.end = end_collapsed,
	.free = free_collapsed,
};
