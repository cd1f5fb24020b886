// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Turns rows of the kernel's map of sums into KERNEL records. BPF programs add to a row while it is
 * read: its numbers may be of different moments, and what one of them lacks is in the next record.
 */
#include "record/kernel_rows.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "record/kernel_sums.h"
#include "trace/recbuf.h"

struct tapir_kernel_rows {
	struct tapir_kernel_row *rows;
	size_t cnt, used_cnt; /* used_cnt: of the last reading */
	tapir_kernel_rows_fn fn;
	void *ctx;
	struct tapir_kernel_sums *sums;
	struct tapir_recbuf buf;
	union {
		struct tapir_rec_kernel rec;
		char room[sizeof(struct tapir_rec_kernel) + TAPIR_KERNEL_NAME_BYTES];
	} out;
};

static uint64_t less(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static void write_stack(struct tapir_kernel_rows *k, const struct tapir_kernel_row *row,
			uint64_t now_ns)
{
	unsigned cnt = row->frame_cnt < TAPIR_KERNEL_FRAMES ? row->frame_cnt : TAPIR_KERNEL_FRAMES;
	struct tapir_rec_stack fixed = {.stack_id = row->stack_id, .flags = TAPIR_STACK_KERNEL};
	const struct tapir_rec *rec;

	tapir_rec__init(&fixed.h, TAPIR_REC_STACK, sizeof(fixed), now_ns);
	rec = cnt ? tapir_recbuf__stack(&k->buf, &fixed, row->frames, cnt) : NULL;
	if (rec)
		k->fn(k->ctx, rec);
}

/* Interrupts come in processes that nothing else describes, as those of the kernel. */
static void write_name(struct tapir_kernel_rows *k, const struct tapir_kernel_row *row,
		       uint64_t now_ns)
{
	struct tapir_rec_thread thread = {.tgid = row->tgid, .tid = row->tgid};
	size_t len = strnlen(row->name, sizeof(thread.comm));

	memcpy(thread.comm, row->name, len);
	memcpy(thread.leader_comm, row->name, len);
	tapir_rec__init(&thread.h, TAPIR_REC_THREAD, sizeof(thread), now_ns);
	k->fn(k->ctx, &thread.h);
}

static void write_difference(void *ctx, const void *key, const void *value, void *was,
			     uint64_t now_ns)
{
	const struct tapir_kernel_row *now = value, *before = was;
	struct tapir_kernel_rows *k = ctx;
	struct tapir_rec_kernel *rec = &k->out.rec;
	bool is_lock = now->kind == TAPIR_KERNEL_LOCK;

	(void)key;
	k->used_cnt++;
	if (!now->is_ready || now->cnt == before->cnt)
		return;
	*rec = (struct tapir_rec_kernel){.tgid = now->tgid,
					 .number = now->number,
					 .kind = (uint8_t)now->kind,
					 .since_ns = tapir_kernel_sums__since_ns(k->sums, now_ns),
					 .cnt = less(now->cnt, before->cnt),
					 .part_cnt = less(now->part_cnt, before->part_cnt),
					 .sum_ns = less(now->sum_ns, before->sum_ns),
					 .max_ns = now->max_ns,
					 .stack_id = is_lock ? 0 : now->stack_id,
					 .kernel_stack_id = is_lock ? now->stack_id : 0,
					 .lock_va = now->lock_va};
	if (now->kind == TAPIR_KERNEL_IRQ)
		rec->name_len = (uint16_t)strnlen(now->name, sizeof(now->name));
	else if (!before->cnt && now->tgid)
		write_name(k, now, now_ns);
	memcpy(rec + 1, now->name, rec->name_len);
	if (is_lock)
		write_stack(k, now, now_ns);
	memcpy(was, now, sizeof(*now));
	tapir_rec__init(&rec->h, TAPIR_REC_KERNEL, (sizeof(*rec) + rec->name_len + 7u) & ~7u,
			now_ns);
	k->fn(k->ctx, &rec->h);
}

/* Nothing is added for a process that is gone. The id comes last: it makes the row free. */
static void give_back(struct tapir_kernel_rows *k, uint64_t now_ns)
{
	for (uint32_t i = 0; i < k->cnt; i++) {
		struct tapir_kernel_row *row = &k->rows[i];

		if (!row->id || !row->is_ready || !row->tgid || !kill((pid_t)row->tgid, 0) ||
		    errno != ESRCH)
			continue;
		tapir_kernel_sums__end(k->sums, &i, row, now_ns);
		memset((char *)row + sizeof(row->id), 0, sizeof(*row) - sizeof(row->id));
		atomic_thread_fence(memory_order_release);
		row->id = 0;
	}
}

void tapir_kernel_rows__poll(struct tapir_kernel_rows *k, uint64_t now_ns, bool must)
{
	if (!k)
		return;
	k->used_cnt = 0;
	tapir_kernel_sums__poll(k->sums, now_ns, must);
	if (k->used_cnt > k->cnt / 2)
		give_back(k, now_ns);
}

struct tapir_kernel_rows *tapir_kernel_rows__new(struct tapir_kernel_row *rows, size_t cnt,
						 tapir_kernel_rows_fn fn, void *ctx)
{
	struct tapir_kernel_rows *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->rows = rows;
	k->cnt = cnt;
	k->fn = fn;
	k->ctx = ctx;
	k->sums = tapir_kernel_sums__new(
		&(struct tapir_kernel_sums_opts){.fd = -1,
						 .rows = rows,
						 .row_cnt = cnt,
						 .description = "the sums of the kernel's work",
						 .key_bytes = sizeof(uint32_t),
						 .value_bytes = sizeof(struct tapir_kernel_row),
						 .fn = write_difference,
						 .ctx = k});
	if (k->sums)
		return k;
	tapir_kernel_rows__free(k);
	return NULL;
}

void tapir_kernel_rows__free(struct tapir_kernel_rows *k)
{
	if (!k)
		return;
	tapir_kernel_sums__free(k->sums);
	tapir_recbuf__fini(&k->buf);
	free(k);
}
