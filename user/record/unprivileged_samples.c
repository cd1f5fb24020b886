// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Turns samples of perf rings into records, without BPF. Stack ids are those of the other walkers
 * (tapir/ring.h), so that equal stacks are equal in a file whatever walked them.
 */
#include "record/unprivileged_samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "trace/recbuf.h"

#define ROOM_BYTES 2048			  /* in a block, for a stack of 127 frames and its sample */
#define AGAIN_NS   (5 * TAPIR_NS_PER_SEC) /* segments of a file must each have their stacks */
#define WAIT_MS	   10

struct tapir_unprivileged_samples {
	struct tapir_queue *queue;
	struct tapir_unprivileged_sampler *sampler;
	struct tapir_block *block;
	struct tapir_map seen; /* stack ids */
	uint64_t forget_ns, drained_ns, lost_cnt;
	struct tapir_recbuf recbuf;
};

int tapir_unprivileged_samples__start(struct tapir_queue *queue,
				      const struct tapir_sample_event *event, unsigned hz,
				      const uint32_t *tgids, size_t tgid_cnt,
				      struct tapir_unprivileged_samples **out)
{
	struct tapir_unprivileged_samples *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->queue = queue;
	s->drained_ns = tapir_clock__now_ns();
	err = tapir_unprivileged_sampler__new(event, hz, &s->sampler);
	for (size_t i = 0; !err && i < tgid_cnt; i++)
		err = tapir_unprivileged_sampler__add(s->sampler, tgids[i]);
	if (err)
		tapir_unprivileged_samples__free(s);
	else
		*out = s;
	return err;
}

static void flush_samples(struct tapir_unprivileged_samples *s)
{
	if (s->block)
		tapir_queue__give_full(s->queue, s->block);
	s->block = NULL;
}

static bool has_room(struct tapir_unprivileged_samples *s)
{
	if (s->block && s->block->used_bytes + ROOM_BYTES > TAPIR_BLOCK_BYTES)
		flush_samples(s);
	if (!s->block)
		s->block = tapir_queue__take_empty(s->queue, WAIT_MS);
	return s->block != NULL;
}

static void post_sample_record(struct tapir_unprivileged_samples *s, const struct tapir_rec *rec)
{
	memcpy((char *)s->block->data + s->block->used_bytes, rec, rec->size);
	s->block->used_bytes += rec->size;
}

static uint64_t stack_id_of(const struct tapir_unprivileged_sample *sample)
{
	uint64_t id = 0;

	for (uint32_t i = 0; i < sample->frame_cnt; i++)
		id = tapir_hash__mix(id, sample->frames[i]);
	return id ? id : 1;
}

static void put_stack(struct tapir_unprivileged_samples *s, uint64_t id,
		      const struct tapir_unprivileged_sample *sample)
{
	struct tapir_rec_stack fixed = {.stack_id = id, .frame_cnt = (uint16_t)sample->frame_cnt};
	const struct tapir_rec *rec;
	bool is_new = false;

	if (!tapir_map__put(&s->seen, id, &is_new) || !is_new)
		return;
	tapir_rec__init(&fixed.h, TAPIR_REC_STACK, sizeof(fixed), sample->time_ns);
	rec = tapir_recbuf__stack(&s->recbuf, &fixed, sample->frames, sample->frame_cnt);
	if (rec)
		post_sample_record(s, rec);
}

static void unprivileged_on_sample(void *ctx, const struct tapir_unprivileged_sample *sample)
{
	struct tapir_unprivileged_samples *s = ctx;
	struct tapir_rec_sample rec = {
		.tgid = sample->tgid,
		.tid = sample->tid,
		.period = sample->period,
	};

	if (!has_room(s)) {
		s->lost_cnt++;
		return;
	}
	if (sample->frame_cnt) {
		rec.stack_id = stack_id_of(sample);
		put_stack(s, rec.stack_id, sample);
	}
	tapir_rec__init(&rec.h, TAPIR_REC_SAMPLE, sizeof(rec), sample->time_ns);
	rec.h.cpu = (uint16_t)sample->cpu;
	post_sample_record(s, &rec.h);
}

static void post_losses(struct tapir_unprivileged_samples *s, uint64_t now_ns)
{
	struct tapir_rec_loss loss = {
		.cause = TAPIR_LOSS_SAMPLE_RING_FULL,
		.count = s->lost_cnt,
		.from_ns = s->drained_ns,
		.until_ns = now_ns,
	};

	if (!s->lost_cnt)
		return;
	s->lost_cnt = 0;
	tapir_rec__init(&loss.h, TAPIR_REC_LOSS, sizeof(loss), now_ns);
	tapir_queue__post(s->queue, &loss.h, -1);
}

void tapir_unprivileged_samples__drain(struct tapir_unprivileged_samples *s)
{
	uint64_t now_ns = tapir_clock__now_ns();

	if (!s)
		return;
	if (now_ns >= s->forget_ns) {
		tapir_map__clear(&s->seen);
		s->forget_ns = now_ns + AGAIN_NS;
	}
	s->lost_cnt += tapir_unprivileged_sampler__drain(s->sampler, unprivileged_on_sample, s);
	flush_samples(s);
	post_losses(s, now_ns);
	s->drained_ns = now_ns;
}

void tapir_unprivileged_samples__free(struct tapir_unprivileged_samples *s)
{
	if (!s)
		return;
	tapir_unprivileged_sampler__free(s->sampler);
	tapir_map__fini(&s->seen);
	tapir_recbuf__fini(&s->recbuf);
	free(s);
}
