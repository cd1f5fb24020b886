// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Values in the kernel only grow. What was read last is kept here for each, and a record has the
 * difference: nothing has to stop or be cleared while it is read, and a value that is read while
 * its thread changes it is complete the next time.
 *
 * A thread that ends sends its values and removes them. They may arrive before or after a reading
 * that still had them; either way the difference to what was written is what remains.
 */
#include "record/call_counts.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"
#include "base/map.h"
#include "trace/recbuf.h"

#define AT_ONCE	  512u /* entries of the kernel's table */
#define PERIOD_NS TAPIR_NS_PER_SEC
#define SHARE	  100u /* of the time, reading takes at most one part */

/* The values that were written of one thread's calls of a number with a result. */
struct written {
	struct tapir_call_key key;
	struct tapir_call_count count;
};

struct tapir_call_counts {
	struct tapir_programs *programs;
	tapir_call_counts_fn fn;
	void *ctx;
	struct tapir_map by_key; /* struct written * */
	uint64_t last_ns, next_ns;
	struct tapir_call_key *keys; /* AT_ONCE each */
	struct tapir_call_count *counts;
	bool has_warned;
	union {
		struct tapir_rec_calls rec;
		char room[sizeof(struct tapir_rec_calls) +
			  TAPIR_CALL_STEPS * sizeof(struct tapir_call_step)];
	} out;
};

static uint64_t hash_of(const struct tapir_call_key *key)
{
	uint64_t hash = tapir_hash__mix((uint64_t)key->tid << 32 | key->start, key->tgid);

	return tapir_hash__mix(hash, (uint64_t)key->nr << 16 | key->err);
}

/* NULL: out of memory. */
static struct written *written_of(struct tapir_call_counts *c, const struct tapir_call_key *key)
{
	uint64_t *place = tapir_map__put(&c->by_key, hash_of(key), NULL);
	struct written *w;

	if (!place || *place)
		return place ? (struct written *)(uintptr_t)*place : NULL;
	w = calloc(1, sizeof(*w));
	if (!w) {
		tapir_map__del(&c->by_key, hash_of(key));
		return NULL;
	}
	w->key = *key;
	*place = (uint64_t)(uintptr_t)w;
	return w;
}

/* The longest of those that were added: exact where it is the longest of all. */
static uint64_t longest(const struct tapir_call_count *now, const struct tapir_call_count *before,
			uint32_t last_step)
{
	uint64_t end_ns = tapir_call_step__ns(last_step + 1) - 1;

	if (now->max_ns > before->max_ns || last_step + 1 == TAPIR_CALL_STEPS)
		return now->max_ns;
	return end_ns < now->max_ns ? end_ns : now->max_ns;
}

/* Adds the steps; false: there is nothing new. */
static bool fill_calls_record(struct tapir_rec_calls *rec, const struct tapir_call_count *now,
			      const struct tapir_call_count *before)
{
	struct tapir_call_step *steps = (struct tapir_call_step *)(rec + 1);

	for (uint32_t i = 0; i < TAPIR_CALL_STEPS; i++) {
		uint32_t cnt = now->steps[i] - before->steps[i];

		if (!cnt)
			continue;
		steps[rec->step_cnt++] = (struct tapir_call_step){i, cnt};
		rec->cnt += cnt;
	}
	if (rec->step_cnt)
		rec->max_ns = longest(now, before, steps[rec->step_cnt - 1].step);
	rec->sum_ns = now->sum_ns - before->sum_ns;
	rec->open_cnt = now->open_cnt - before->open_cnt;
	rec->unbegun_cnt = now->unbegun_cnt - before->unbegun_cnt;
	return rec->cnt || rec->open_cnt || rec->unbegun_cnt;
}

static void write_difference(struct tapir_call_counts *c, const struct tapir_call_key *key,
			     const struct tapir_call_count *now, uint64_t now_ns)
{
	struct written *w = written_of(c, key);
	struct tapir_rec_calls *rec = &c->out.rec;

	if (!w)
		return; /* the next time, or at the end, it is still there */
	*rec = (struct tapir_rec_calls){.tgid = key->tgid,
					.tid = key->tid,
					.nr = key->nr,
					.err = key->err,
					.kind = TAPIR_CALLS_OF_THREAD,
					.since_ns = c->last_ns < now_ns ? c->last_ns : now_ns};
	if (!fill_calls_record(rec, now, &w->count))
		return;
	w->count = *now;
	tapir_rec__init(&rec->h, TAPIR_REC_CALLS,
			(uint32_t)(sizeof(*rec) + rec->step_cnt * sizeof(struct tapir_call_step)),
			now_ns);
	c->fn(c->ctx, &rec->h);
}

bool tapir_call_counts__end(struct tapir_call_counts *c, const struct tapir_rec *rec)
{
	const struct tapir_rec_call_total *total = (const void *)rec;
	uint64_t *place;

	if (!c || rec->size < sizeof(*total))
		return false;
	write_difference(c, &total->key, &total->count, rec->time_ns);
	place = tapir_map__get(&c->by_key, hash_of(&total->key));
	if (!place)
		return true;
	free((struct written *)(uintptr_t)*place);
	tapir_map__del(&c->by_key, hash_of(&total->key));
	return true;
}

/* The kernel's table, AT_ONCE entries at a time. 0 or -errno. */
static int read_all(struct tapir_call_counts *c, uint64_t now_ns)
{
	int fd = tapir_programs__call_counts_fd(c->programs);
	uint32_t place;
	bool is_first = true;

	for (;;) {
		uint32_t cnt = AT_ONCE;
		int err = bpf_map_lookup_batch(fd, is_first ? NULL : &place, &place, c->keys,
					       c->counts, &cnt, NULL)
				  ? -errno
				  : 0;

		if (err && err != -ENOENT)
			return err;
		for (uint32_t i = 0; i < cnt; i++)
			if (!c->counts[i].is_sent)
				write_difference(c, &c->keys[i], &c->counts[i], now_ns);
		if (err)
			return 0;
		is_first = false;
	}
}

static void read_counts(struct tapir_call_counts *c, uint64_t now_ns)
{
	int err = read_all(c, now_ns);
	uint64_t took_ns = tapir_clock__now_ns() - now_ns;

	if (err && !c->has_warned)
		tapir_warn("cannot read the numbers of system calls: %s", tapir_errno__text(err));
	c->has_warned |= err != 0;
	c->last_ns = now_ns;
	c->next_ns = now_ns + (took_ns * SHARE > PERIOD_NS ? took_ns * SHARE : PERIOD_NS);
}

void tapir_call_counts__poll(struct tapir_call_counts *c, uint64_t now_ns, bool must)
{
	if (c && (must || now_ns >= c->next_ns))
		read_counts(c, now_ns);
}

static void write_open(struct tapir_call_counts *c, const struct tapir_call_open *open,
		       uint64_t now_ns)
{
	struct tapir_rec_calls *rec = &c->out.rec;

	*rec = (struct tapir_rec_calls){.tgid = open->key.tgid,
					.tid = open->key.tid,
					.nr = open->key.nr,
					.kind = TAPIR_CALLS_OF_THREAD,
					.since_ns = open->start_ns,
					.open_cnt = 1};
	tapir_rec__init(&rec->h, TAPIR_REC_CALLS, sizeof(*rec), now_ns);
	c->fn(c->ctx, &rec->h);
}

void tapir_call_counts__finish(struct tapir_call_counts *c, uint64_t now_ns)
{
	tapir_autofd int fd = c ? tapir_programs__iterate_open_calls(c->programs) : -1;
	struct tapir_call_open open;
	size_t have = 0;

	if (!c)
		return;
	read_counts(c, now_ns);
	while (fd >= 0) {
		ssize_t n = read(fd, (char *)&open + have, sizeof(open) - have);

		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return;
		have += (size_t)n;
		if (have < sizeof(open))
			continue;
		have = 0;
		write_open(c, &open, now_ns);
	}
}

struct tapir_call_counts *tapir_call_counts__new(struct tapir_programs *programs,
						 tapir_call_counts_fn fn, void *ctx)
{
	struct tapir_call_counts *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->programs = programs;
	c->fn = fn;
	c->ctx = ctx;
	c->last_ns = tapir_clock__now_ns();
	c->next_ns = c->last_ns + PERIOD_NS;
	c->keys = calloc(AT_ONCE, sizeof(*c->keys));
	c->counts = calloc(AT_ONCE, sizeof(*c->counts));
	if (c->keys && c->counts)
		return c;
	tapir_call_counts__free(c);
	return NULL;
}

void tapir_call_counts__free(struct tapir_call_counts *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->by_key.cap; i++)
		if (c->by_key.slots[i].used)
			free((struct written *)(uintptr_t)c->by_key.slots[i].value);
	tapir_map__fini(&c->by_key);
	free(c->keys);
	free(c->counts);
	free(c);
}
