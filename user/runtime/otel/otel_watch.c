// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Decides when each process is read next: soon after a change, and each time twice as late while it
 * publishes nothing. A RESOURCE record is written only if it differs from the process's last one.
 */
#include "runtime/otel/otel_watch.h"

#include <errno.h>
#include <stdlib.h>

#include "attach/proc.h"
#include "base/clock.h"
#include "base/keyed.h"
#include "runtime/otel/otel_reader.h"
#include "trace/recbuf.h"

#define FIRST_NS      (500 * TAPIR_NS_PER_MS)
#define SILENT_MAX_NS (32 * TAPIR_NS_PER_SEC)
#define PUBLISHER_NS  (2 * TAPIR_NS_PER_SEC)
#define PROCESSES_MAX 65536u

struct watched {
	struct tapir_otel_process process;
	uint64_t next_ns, interval_ns;
	uint64_t pages;	      /* that it had mapped at its last look */
	uint64_t start_ticks; /* distinguishes it from a later process of its number */
	uint32_t round;	      /* in which it was alive last */
	bool is_owed;	      /* the last look failed; the next one may not */
	bool is_reported;     /* that it could not be read */
	bool is_left;	      /* it did not answer: it is not asked again */
};

struct tapir_otel_watch {
	struct tapir_queue *queue;
	struct tapir_otel_reader reader;
	struct tapir_keyed(struct watched) all; /* by tgid */
	uint32_t round;				/* of looks */
	struct tapir_recbuf recbuf;
};

struct tapir_otel_watch *tapir_otel_watch__new(struct tapir_queue *queue)
{
	struct tapir_otel_watch *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->queue = queue;
	w->reader = TAPIR_OTEL_READER_NONE;
	return w;
}

void tapir_otel_watch__free(struct tapir_otel_watch *w)
{
	if (!w)
		return;
	tapir_otel_reader__fini(&w->reader);
	tapir_keyed__fini(&w->all);
	tapir_recbuf__fini(&w->recbuf);
	free(w);
}

static void post_loss(struct tapir_otel_watch *w, uint64_t now_ns)
{
	struct tapir_rec_loss loss = {.cause = TAPIR_LOSS_RESOURCE_UNREADABLE,
				      .count = 1,
				      .from_ns = now_ns,
				      .until_ns = now_ns};

	tapir_rec__init(&loss.h, TAPIR_REC_LOSS, sizeof(loss), now_ns);
	(void)tapir_queue__post(w->queue, &loss.h, -1); /* it counts what it refuses */
}

static void post_resource(struct tapir_otel_watch *w, uint32_t tgid)
{
	struct tapir_rec_resource fixed = {.tgid = tgid};
	const struct tapir_rec *rec;
	uint64_t now_ns = tapir_clock__now_ns();

	tapir_rec__init(&fixed.h, TAPIR_REC_RESOURCE, sizeof(fixed), now_ns);
	rec = tapir_recbuf__resource(
		&w->recbuf, &fixed,
		(struct tapir_sv){w->reader.payload.data, w->reader.payload.len});
	if (rec)
		(void)tapir_queue__post(w->queue, rec, -1);
	else
		post_loss(w, now_ns);
}

/* NULL: there are too many, or no memory. */
static struct watched *watched_of(struct tapir_otel_watch *w, uint32_t tgid)
{
	return tapir_keyed__add(&w->all, tgid, PROCESSES_MAX,
				((struct watched){.process.tgid = tgid}));
}

static void plan_next(struct watched *one, uint64_t now_ns)
{
	if (one->process.header_va)
		one->interval_ns = PUBLISHER_NS;
	else if (!one->interval_ns || one->interval_ns == PUBLISHER_NS)
		one->interval_ns = FIRST_NS;
	else if (one->interval_ns < SILENT_MAX_NS)
		one->interval_ns *= 2;
	one->next_ns = now_ns + one->interval_ns;
}

static void count_unread(struct tapir_otel_watch *w, struct watched *one, uint64_t now_ns)
{
	if (!one->is_reported)
		post_loss(w, now_ns);
	one->is_reported = true;
}

/*
 * A process that has published nothing, and has as much memory as before, has mapped no context
 * since. At the longest interval its mappings are read all the same.
 */
static bool is_calm(struct watched *one)
{
	uint64_t pages;

	if (one->process.header_va || one->is_owed || one->interval_ns >= SILENT_MAX_NS ||
	    tapir_proc__mapped_pages(one->process.tgid, &pages))
		return false;
	if (pages == one->pages)
		return true;
	one->pages = pages;
	return false;
}

/* The id belongs to another process now, about which nothing is known. */
static void begin_again_if_replaced(struct watched *one)
{
	uint64_t start_ticks = tapir_proc__start_ticks(one->process.tgid);

	if (one->start_ticks == start_ticks)
		return;
	*one = (struct watched){
		.process.tgid = one->process.tgid, .start_ticks = start_ticks, .round = one->round};
}

static void read_process(struct tapir_otel_watch *w, struct watched *one, uint64_t now_ns)
{
	int got = 0;

	begin_again_if_replaced(one);
	if (!one->is_left && !is_calm(one))
		got = tapir_otel_reader__read(&w->reader, &one->process, &one->is_left);
	plan_next(one, now_ns);
	one->is_owed = got == -EAGAIN || got == -ECANCELED; /* it changes, or the user ends us */
	if (got > 0)
		post_resource(w, one->process.tgid);
	else if (got < 0 && !one->is_owed)
		count_unread(w, one, now_ns);
}

/* With what they published until their end, if that could not be read. */
static void forget_ended(struct tapir_otel_watch *w, uint64_t now_ns)
{
	for (size_t i = w->all.cnt; i-- > 0;) {
		if (w->all.data[i].round == w->round)
			continue;
		if (w->all.data[i].is_owed)
			count_unread(w, &w->all.data[i], now_ns);
		tapir_keyed__drop(&w->all, w->all.data[i].process.tgid,
				  w->all.data[w->all.cnt - 1].process.tgid);
	}
}

void tapir_otel_watch__poll(struct tapir_otel_watch *w, const struct tapir_pids *live,
			    uint64_t now_ns, bool is_last)
{
	const uint32_t *tgid;
	struct watched *one;

	if (!w)
		return;
	w->round++;
	tapir_vec_for_each (tgid, live) {
		one = tapir_keyed__get(&w->all, *tgid);
		if (one)
			one->round = w->round;
	}
	forget_ended(w, now_ns); /* first: those that are new need the room */
	tapir_vec_for_each (tgid, live) {
		one = watched_of(w, *tgid);
		if (one)
			one->round = w->round;
		if (one && (is_last || now_ns >= one->next_ns))
			read_process(w, one, now_ns);
	}
	tapir_vec_for_each (one, &w->all)
		if (is_last && one->is_owed)
			count_unread(w, one, now_ns);
}
