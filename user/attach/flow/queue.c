// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two lists of blocks and one of notes, under one lock, which is taken once per block, not per
 * record. The block that was returned last is used next: it is in the cache, and on a quiet machine
 * the others are never touched.
 */
#include "attach/flow/queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

#define BATCH_MAX 64 /* notes: a batch of more is handled while it is made */

struct block_list {
	struct tapir_block *head, **tail;
};

struct tapir_queue {
	pthread_mutex_t lock;
	pthread_cond_t to_session, to_drain;
	struct block_list empty, full;
	struct tapir_note *notes, **notes_tail;
	size_t note_cnt;
	struct tapir_queue_refused refused;
	pthread_t batch_of;
	bool has_batch, has_pending_wakeup; /* notes whose arrival was not signalled */
	bool is_closed;
};

static void push(struct block_list *list, struct tapir_block *block)
{
	block->next = NULL;
	*list->tail = block;
	list->tail = &block->next;
}

/* The block given back last is taken next: it is in the cache, and few are ever touched. */
static void push_first(struct block_list *list, struct tapir_block *block)
{
	block->next = list->head;
	if (!list->head)
		list->tail = &block->next;
	list->head = block;
}

static struct tapir_block *pop(struct block_list *list)
{
	struct tapir_block *block = list->head;

	if (!block)
		return NULL;
	list->head = block->next;
	if (!list->head)
		list->tail = &list->head;
	return block;
}

static void free_blocks(struct block_list *list)
{
	struct tapir_block *block;

	while ((block = pop(list)))
		free(block);
}

static void init_cond(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

int tapir_queue__new(unsigned block_cnt, struct tapir_queue **out)
{
	struct tapir_queue *q = calloc(1, sizeof(*q));

	if (!q)
		return -ENOMEM;
	pthread_mutex_init(&q->lock, NULL);
	init_cond(&q->to_session);
	init_cond(&q->to_drain);
	q->empty.tail = &q->empty.head;
	q->full.tail = &q->full.head;
	q->notes_tail = &q->notes;
	for (unsigned i = 0; i < block_cnt; i++) {
		struct tapir_block *block = malloc(sizeof(*block));

		if (!block) {
			tapir_queue__free(q);
			return -ENOMEM;
		}
		push(&q->empty, block);
	}
	*out = q;
	return 0;
}

void tapir_queue__free(struct tapir_queue *q)
{
	if (!q)
		return;
	free_blocks(&q->empty);
	free_blocks(&q->full);
	while (q->notes) {
		struct tapir_note *note = q->notes;

		q->notes = note->next;
		tapir_note__free(note);
	}
	pthread_cond_destroy(&q->to_session);
	pthread_cond_destroy(&q->to_drain);
	pthread_mutex_destroy(&q->lock);
	free(q);
}

void tapir_note__free(struct tapir_note *note)
{
	if (!note)
		return;
	tapir_guard__fd(&note->fd);
	free(note);
}

/* false: the time has come. */
static bool wait_until(struct tapir_queue *q, pthread_cond_t *cond, uint64_t until_ns)
{
	struct timespec ts = tapir_clock__timespec(until_ns);

	return pthread_cond_timedwait(cond, &q->lock, &ts) != ETIMEDOUT;
}

struct tapir_block *tapir_queue__take_empty(struct tapir_queue *q, int wait_ms)
{
	uint64_t until_ns = tapir_clock__now_ns() + (uint64_t)wait_ms * TAPIR_NS_PER_MS;
	struct tapir_block *block;

	pthread_mutex_lock(&q->lock);
	while (!(block = pop(&q->empty)) && wait_until(q, &q->to_drain, until_ns))
		;
	pthread_mutex_unlock(&q->lock);
	if (block)
		block->used_bytes = 0;
	return block;
}

void tapir_queue__give_full(struct tapir_queue *q, struct tapir_block *block)
{
	pthread_mutex_lock(&q->lock);
	push(&q->full, block);
	pthread_cond_signal(&q->to_session);
	pthread_mutex_unlock(&q->lock);
}

static void count_refused(struct tapir_queue *q, const struct tapir_rec *rec)
{
	pthread_mutex_lock(&q->lock);
	if (rec->type == TAPIR_REC_EVENT)
		q->refused.event_cnt++;
	else
		q->refused.other_cnt++;
	pthread_mutex_unlock(&q->lock);
}

struct tapir_queue_refused tapir_queue__refused(struct tapir_queue *q)
{
	struct tapir_queue_refused refused;

	pthread_mutex_lock(&q->lock);
	refused = q->refused;
	pthread_mutex_unlock(&q->lock);
	return refused;
}

static int post_record(struct tapir_queue *q, const struct tapir_rec *rec, int fd, bool can_wait)
{
	struct tapir_note *note = malloc(sizeof(*note) + rec->size);

	fd = tapir_file__keep_unless_scarce(fd); /* its names are missing without, and counted */
	if (!note) {
		tapir_guard__fd(&fd);
		count_refused(q, rec);
		return -ENOMEM;
	}
	note->next = NULL;
	note->fd = fd;
	memcpy(note->rec, rec, rec->size);
	pthread_mutex_lock(&q->lock);
	*q->notes_tail = note;
	q->notes_tail = &note->next;
	q->note_cnt++;
	if (q->note_cnt < BATCH_MAX &&
	    (can_wait || (q->has_batch && pthread_equal(q->batch_of, pthread_self()))))
		q->has_pending_wakeup |= !can_wait;
	else
		pthread_cond_signal(&q->to_session);
	pthread_mutex_unlock(&q->lock);
	return 0;
}

int tapir_queue__post(struct tapir_queue *q, const struct tapir_rec *rec, int fd)
{
	return post_record(q, rec, fd, false);
}

int tapir_queue__post_coalesced(struct tapir_queue *q, const struct tapir_rec *rec)
{
	return post_record(q, rec, -1, true);
}

void tapir_queue__begin_batch(struct tapir_queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->batch_of = pthread_self();
	q->has_batch = true;
	pthread_mutex_unlock(&q->lock);
}

void tapir_queue__end_batch(struct tapir_queue *q)
{
	pthread_mutex_lock(&q->lock);
	if (q->has_pending_wakeup && q->notes)
		pthread_cond_signal(&q->to_session);
	q->has_batch = q->has_pending_wakeup = false;
	pthread_mutex_unlock(&q->lock);
}

size_t tapir_queue__backlog(struct tapir_queue *q)
{
	size_t cnt;

	pthread_mutex_lock(&q->lock);
	cnt = q->note_cnt;
	pthread_mutex_unlock(&q->lock);
	return cnt;
}

bool tapir_queue__wait(struct tapir_queue *q, uint64_t until_ns, struct tapir_note **notes,
		       struct tapir_block **block)
{
	bool is_open;

	pthread_mutex_lock(&q->lock);
	while (!q->notes && !q->full.head && !q->is_closed &&
	       wait_until(q, &q->to_session, until_ns))
		;
	*notes = q->notes;
	q->notes = NULL;
	q->notes_tail = &q->notes;
	q->note_cnt = 0;
	*block = pop(&q->full);
	is_open = !q->is_closed || *notes || *block;
	pthread_mutex_unlock(&q->lock);
	return is_open;
}

void tapir_queue__give_empty(struct tapir_queue *q, struct tapir_block *block)
{
	pthread_mutex_lock(&q->lock);
	push_first(&q->empty, block);
	pthread_cond_signal(&q->to_drain);
	pthread_mutex_unlock(&q->lock);
}

void tapir_queue__close(struct tapir_queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->is_closed = true;
	pthread_cond_broadcast(&q->to_session);
	pthread_mutex_unlock(&q->lock);
}
