// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Numbers in the kernel as records: the table is read by record/kernel_sums.h. A thread that ends
 * sends its values and removes them.
 */
#include "record/call_counts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "record/call_files.h"
#include "record/kernel_sums.h"
#include "trace/recbuf.h"

struct tapir_call_counts {
	struct tapir_programs *programs;
	tapir_call_counts_fn fn;
	void *ctx;
	struct tapir_kernel_sums *sums;
	struct tapir_call_files *files; /* NULL: they are not counted by file */
	union {
		struct tapir_rec_calls rec;
		char room[sizeof(struct tapir_rec_calls) +
			  TAPIR_CALL_STEPS * sizeof(struct tapir_call_step)];
	} out;
};

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

/*
 * The kernel counts from the beginning on; a record has what was added since the last one. A thread
 * that has ended has sent its counts itself (is_sent).
 */
static void write_difference(void *ctx, const void *key_bytes, const void *value, void *was,
			     uint64_t now_ns)
{
	const struct tapir_call_count *now = value;
	const struct tapir_call_key *key = key_bytes;
	struct tapir_call_count *before = was;
	struct tapir_call_counts *c = ctx;
	struct tapir_rec_calls *rec = &c->out.rec;

	if (now->is_sent)
		return;
	*rec = (struct tapir_rec_calls){.tgid = key->tgid,
					.tid = key->tid,
					.nr = key->nr,
					.err = key->err,
					.kind = TAPIR_CALLS_OF_THREAD,
					.since_ns = tapir_kernel_sums__since_ns(c->sums, now_ns)};
	if (!fill_calls_record(rec, now, before))
		return;
	*before = *now;
	tapir_rec__init(&rec->h, TAPIR_REC_CALLS,
			(uint32_t)(sizeof(*rec) + rec->step_cnt * sizeof(struct tapir_call_step)),
			now_ns);
	c->fn(c->ctx, &rec->h);
}

bool tapir_call_counts__end(struct tapir_call_counts *c, const struct tapir_rec *rec)
{
	const struct tapir_rec_call_total *total = (const void *)rec;

	if (!c || rec->size < sizeof(*total))
		return false;
	tapir_kernel_sums__end(c->sums, &total->key, &total->count, rec->time_ns);
	return true;
}

void tapir_call_counts__poll(struct tapir_call_counts *c, uint64_t now_ns, bool must)
{
	if (!c)
		return;
	tapir_kernel_sums__poll(c->sums, now_ns, must);
	tapir_call_files__poll(c->files, now_ns, must);
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
	tapir_call_counts__poll(c, now_ns, true);
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
	struct tapir_call_file_tables tables;
	bool has_files = tapir_programs__call_files(programs, &tables);

	if (!c)
		return NULL;
	*c = (struct tapir_call_counts){.programs = programs, .fn = fn, .ctx = ctx};
	c->sums = tapir_kernel_sums__new(
		&(struct tapir_kernel_sums_opts){.fd = tapir_programs__call_counts_fd(programs),
						 .description = "the numbers of system calls",
						 .key_bytes = sizeof(struct tapir_call_key),
						 .value_bytes = sizeof(struct tapir_call_count),
						 .fn = write_difference,
						 .ctx = c});
	if (has_files)
		c->files = tapir_call_files__new(&tables, fn, ctx);
	if (c->sums && (c->files || !has_files))
		return c;
	tapir_call_counts__free(c);
	return NULL;
}

void tapir_call_counts__free(struct tapir_call_counts *c)
{
	if (!c)
		return;
	tapir_kernel_sums__free(c->sums);
	tapir_call_files__free(c->files);
	free(c);
}
