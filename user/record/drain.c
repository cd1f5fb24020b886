// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Draining. Programs ask for a wake-up only when an eighth of a ring is full; otherwise the thread
 * polls every wait_ms. A wake-up per event would cost more than the event.
 */
#include "record/drain.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"
#include "base/vec.h"
#include "attach/bpf_ring.h"
#include "tapir/losses.h"
#include "trace/recbuf.h"

struct source {
	struct tapir_bpf_ring ring;
	unsigned pair;
	int own_fd; /* of a ring that was replaced; -1: the programs still own it */
};

struct tapir_drain {
	struct tapir_drain_opts opts;
	struct tapir_vec(struct source) sources;
	struct tapir_block *block; /* being filled */
	int epoll_fd, stop_fd;
	pthread_t thread;
	atomic_bool stop;
};

static int add_source(struct tapir_drain *d, int map_fd, unsigned pair)
{
	struct epoll_event event = {.events = EPOLLIN};
	struct source source = {.pair = pair, .own_fd = -1};
	int err = tapir_bpf_ring__open(map_fd, &source.ring);

	if (err)
		return err;
	if (epoll_ctl(d->epoll_fd, EPOLL_CTL_ADD, map_fd, &event))
		err = -errno;
	else if (!tapir_vec__push(&d->sources, source))
		err = -ENOMEM;
	if (err) /* closing map_fd takes it out of the epoll set */
		tapir_bpf_ring__close(&source.ring);
	return err;
}

/* Room for the largest record a BPF program sends (bpf/usdt.bpf.c: REC_BYTES) and more. */
#define WARM_WORKER_BYTES (64u * 1024u)

/* A block with room in it; NULL: there is no empty one. */
static struct tapir_block *block_with_room(struct tapir_drain *d, struct source *source)
{
	if (d->block && d->block->used_bytes + WARM_WORKER_BYTES > TAPIR_BLOCK_BYTES) {
		/* Copied: while reading continues, the programs may overwrite it. */
		tapir_bpf_ring__release(&source->ring);
		tapir_queue__give_full(d->opts.queue, d->block);
		d->block = NULL;
	}
	if (!d->block)
		d->block = tapir_queue__take_empty(d->opts.queue, 10);
	return d->block;
}

/* No program of ours sends one; if it did, the recording is to say what it lacks. */
static void post_too_large(struct tapir_drain *d)
{
	uint64_t now_ns = tapir_clock__now_ns();
	struct tapir_rec_loss loss = {
		.cause = TAPIR_LOSS_MALFORMED, .count = 1, .from_ns = now_ns, .until_ns = now_ns};

	tapir_rec__init(&loss.h, TAPIR_REC_LOSS, sizeof(loss), now_ns);
	tapir_queue__post(d->opts.queue, &loss.h, -1);
}

/* Records that are ready go into blocks. false: there was no empty block. */
static bool drain_source(struct tapir_drain *d, struct source *source, bool *any)
{
	struct tapir_block *block;
	const void *rec;
	uint32_t len;

	while ((block = block_with_room(d, source)) &&
	       (rec = tapir_bpf_ring__next(&source->ring, &len))) {
		*any = true;
		if (len > WARM_WORKER_BYTES) {
			post_too_large(d);
			continue;
		}
		memcpy((char *)block->data + block->used_bytes, rec, len);
		block->used_bytes += (len + 7) & ~7u;
	}
	tapir_bpf_ring__release(&source->ring);
	return block != NULL;
}

/* A ring of twice the size that is read before a program writes to it. */
static int grow_ring(struct tapir_drain *d, unsigned pair, size_t bytes, int *old_fd)
{
	int fd = tapir_bpf_ring__new(bytes), err = fd;

	if (fd < 0)
		return fd;
	err = add_source(d, fd, pair);
	if (err) {
		close(fd);
		return err;
	}
	err = tapir_programs__use_ring(d->opts.programs, pair, fd, old_fd);
	if (err) {
		tapir_bpf_ring__close(&d->sources.data[--d->sources.cnt].ring);
		close(fd);
	}
	return err;
}

/* More than half full when it was polled: the next burst should find more room. */
static void grow_if_half_full(struct tapir_drain *d, size_t idx, size_t used_bytes)
{
	const struct source *source = &d->sources.data[idx];
	size_t bytes = source->ring.bytes;
	unsigned pair = source->pair;
	int old_fd;

	if (source->own_fd >= 0 || used_bytes * 2 < bytes || bytes * 2 > d->opts.max_ring_bytes)
		return;
	if (grow_ring(d, pair, bytes * 2, &old_fd)) {
		tapir_diag__clear();
		d->opts.max_ring_bytes = bytes; /* no memory for more: stay with what there is */
		return;
	}
	d->sources.data[idx].own_fd = old_fd; /* the sources may have moved */
	tapir_debug("ring buffer %u grows to %zu MB", pair, bytes * 2 >> 20);
}

/* The result of one pass over all rings. */
struct drain_result {
	bool any;	 /* records */
	bool is_lagging; /* no empty block for what is there */
};

static struct drain_result drain_all(struct tapir_drain *d)
{
	struct drain_result result = {};
	size_t cnt = d->sources.cnt;

	for (size_t i = 0; i < cnt && !result.is_lagging; i++) {
		size_t used = tapir_bpf_ring__used_bytes(&d->sources.data[i].ring);

		if (!used)
			continue;
		result.is_lagging = !drain_source(d, &d->sources.data[i], &result.any);
		if (!result.is_lagging)
			grow_if_half_full(d, i, used);
	}
	if (d->block && d->block->used_bytes) {
		tapir_queue__give_full(d->opts.queue, d->block);
		d->block = NULL;
	}
	return result;
}

static void *run_drain(void *arg)
{
	struct tapir_drain *d = arg;
	struct epoll_event events[8];

	/* Losing events to our own lateness is worse than a moment's delay of others. */
	setpriority(PRIO_PROCESS, (id_t)gettid(), -15);
	for (;;) {
		bool stop = atomic_load(&d->stop);
		struct drain_result result = drain_all(d);

		if (stop && !result.any && !result.is_lagging)
			break; /* nothing new is coming: the programs are switched off */
		if (!stop && epoll_wait(d->epoll_fd, events, 8, (int)d->opts.wait_ms) > 0 &&
		    d->opts.on_woken)
			d->opts.on_woken(d->opts.ctx);
	}
	return NULL;
}

static void free_drain(struct tapir_drain *d)
{
	struct source *source;

	tapir_vec_for_each (source, &d->sources) {
		tapir_bpf_ring__close(&source->ring);
		tapir_guard__fd(&source->own_fd);
	}
	tapir_vec__fini(&d->sources);
	free(d->block);
	tapir_guard__fd(&d->epoll_fd);
	tapir_guard__fd(&d->stop_fd);
	free(d);
}

static int start_thread(struct tapir_drain *d)
{
	struct epoll_event event = {.events = EPOLLIN};
	int err;

	d->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	d->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (d->epoll_fd < 0 || d->stop_fd < 0 ||
	    epoll_ctl(d->epoll_fd, EPOLL_CTL_ADD, d->stop_fd, &event))
		return -errno;
	for (unsigned pair = 0; pair < tapir_programs__ring_cnt(d->opts.programs); pair++) {
		err = add_source(d, tapir_programs__ring_fd(d->opts.programs, pair), pair);
		if (err)
			return err;
	}
	return -pthread_create(&d->thread, NULL, run_drain, d);
}

int tapir_drain__start(const struct tapir_drain_opts *opts, struct tapir_drain **out)
{
	struct tapir_drain *d = calloc(1, sizeof(*d));
	int err;

	if (!d)
		return -ENOMEM;
	d->opts = *opts;
	d->epoll_fd = d->stop_fd = -1;
	err = start_thread(d);
	if (err) {
		free_drain(d);
		return err;
	}
	*out = d;
	return 0;
}

void tapir_drain__stop(struct tapir_drain *d)
{
	if (!d)
		return;
	atomic_store(&d->stop, true);
	eventfd_write(d->stop_fd, 1);
	pthread_join(d->thread, NULL);
	free_drain(d);
}
