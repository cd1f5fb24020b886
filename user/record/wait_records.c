// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A thread writes its sums in the kernel while they are read: the time that it has run may be seen
 * together with the run before or after it. What is too little is in the next record, and of what
 * is too much nothing is taken back: the next record has that much less.
 */
#include "record/wait_records.h"

#include <stdlib.h>
#include <string.h>

#include "bpf/control.h"
#include "record/kernel_sums.h"
#include "trace/recbuf.h"

struct tapir_wait_records {
	tapir_wait_records_fn fn;
	void *ctx;
	struct tapir_kernel_sums *sums;
	union {
		struct tapir_rec_waits rec;
		char room[sizeof(struct tapir_rec_waits) +
			  TAPIR_WAIT_KIND_CNT * TAPIR_WAIT_STEPS * sizeof(struct tapir_wait_step)];
	} out;
};

static uint64_t less(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* The run that continues counts up to now. */
static void end_run(struct tapir_wait_sums *sums, uint64_t now_ns)
{
	if (!sums->is_out && sums->since_ns)
		sums->run_ns += less(now_ns, sums->since_ns);
}

static void add_steps(struct tapir_rec_waits *rec, uint16_t kind, const struct tapir_wait_sum *now,
		      const struct tapir_wait_sum *before)
{
	struct tapir_wait_step *steps = (struct tapir_wait_step *)(rec + 1);

	for (uint16_t i = 0; i < TAPIR_WAIT_STEPS; i++) {
		uint32_t cnt = now->steps[i] - before->steps[i];

		if (!cnt)
			continue;
		steps[rec->step_cnt++] = (struct tapir_wait_step){kind, i, cnt};
		rec->cnt[kind] += cnt;
	}
	rec->ns[kind] = less(now->ns, before->ns);
}

/*
 * Says since when it is away, once for each time, if that is a long wait already: of a short one no
 * record would say that it has ended.
 */
static bool add_leaving(struct tapir_rec_waits *rec, const struct tapir_wait_sums *now,
			const struct tapir_wait_sums *before, uint64_t now_ns)
{
	if (!now->is_out || less(now_ns, now->since_ns) < TAPIR_SHORT_WAIT_NS)
		return false;
	rec->left_ns = now->since_ns;
	return !before->is_out || before->since_ns != now->since_ns;
}

/* False: there is nothing new. */
static bool fill_waits_record(struct tapir_rec_waits *rec, const struct tapir_wait_sums *now,
			      const struct tapir_wait_sums *before, uint64_t now_ns)
{
	bool is_dead = now->is_out && now->out_state & TAPIR_STATE_DEAD;
	bool has_left = is_dead ? !before->is_out || !(before->out_state & TAPIR_STATE_DEAD)
				: add_leaving(rec, now, before, now_ns);

	rec->run_ns = less(now->run_ns, before->run_ns);
	for (uint16_t kind = 0; kind < TAPIR_WAIT_KIND_CNT; kind++)
		add_steps(rec, kind, &now->kinds[kind], &before->kinds[kind]);
	if (is_dead || rec->left_ns)
		rec->out_state = now->out_state;
	return rec->run_ns || rec->step_cnt || has_left;
}

static void write_difference(void *ctx, const void *key, const void *value, void *was,
			     uint64_t now_ns)
{
	struct tapir_wait_sums now = *(const struct tapir_wait_sums *)value, *before = was;
	struct tapir_wait_records *w = ctx;
	struct tapir_rec_waits *rec = &w->out.rec;

	(void)key;
	end_run(&now, now_ns);
	if (before->start_ns != now.start_ns) /* the id was another thread's */
		memset(before, 0, sizeof(*before));
	*rec = (struct tapir_rec_waits){.tgid = now.tgid,
					.tid = now.tid,
					.since_ns = tapir_kernel_sums__since_ns(w->sums, now_ns)};
	if (!fill_waits_record(rec, &now, before, now_ns))
		return;
	if (now.run_ns < before->run_ns)
		now.run_ns = before->run_ns;
	now.is_out = rec->left_ns || rec->out_state & TAPIR_STATE_DEAD;
	*before = now;
	tapir_rec__init(&rec->h, TAPIR_REC_WAITS,
			(uint32_t)(sizeof(*rec) + rec->step_cnt * sizeof(struct tapir_wait_step)),
			now_ns);
	w->fn(w->ctx, &rec->h);
}

bool tapir_wait_records__end(struct tapir_wait_records *w, const struct tapir_rec *rec)
{
	const struct tapir_rec_wait_total *total = (const void *)rec;

	if (!w || rec->size < sizeof(*total))
		return false;
	tapir_kernel_sums__end(w->sums, &total->sums.tid, &total->sums, rec->time_ns);
	return true;
}

void tapir_wait_records__poll(struct tapir_wait_records *w, uint64_t now_ns, bool must)
{
	if (w)
		tapir_kernel_sums__poll(w->sums, now_ns, must);
}

struct tapir_wait_records *tapir_wait_records__new(int fd, tapir_wait_records_fn fn, void *ctx)
{
	struct tapir_wait_records *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->fn = fn;
	w->ctx = ctx;
	w->sums = tapir_kernel_sums__new(
		&(struct tapir_kernel_sums_opts){.fd = fd,
						 .description = "the sums of waits",
						 .key_bytes = sizeof(uint32_t),
						 .value_bytes = sizeof(struct tapir_wait_sums),
						 .fn = write_difference,
						 .ctx = w});
	if (w->sums)
		return w;
	tapir_wait_records__free(w);
	return NULL;
}

void tapir_wait_records__free(struct tapir_wait_records *w)
{
	if (!w)
		return;
	tapir_kernel_sums__free(w->sums);
	free(w);
}
