// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One ring a CPU, into which the events of all threads on it write: an event for each thread and
 * CPU, but rings are locked memory, of which a user has little.
 */
#include "attach/unprivileged_sampler.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "attach/perf_records.h"
#include "attach/proc.h"
#include "base/diag.h"
#include "base/vec.h"

#define DATA_PAGES 32 /* a power of two; a quarter of what every user may lock */
#define FRAMES_MAX 127

struct cpu_ring {
	int cpu, fd; /* of the event that owns the ring; -1: none yet */
	struct perf_event_mmap_page *page;
};

struct tapir_unprivileged_sampler {
	const struct tapir_sample_event *event;
	unsigned hz;
	size_t page_bytes;
	struct tapir_vec(struct cpu_ring) rings;
	struct tapir_vec(int) fds; /* all events */
	uint32_t adding;	   /* the process whose threads are added */
	struct tapir_perf_scratch scratch;
	/* while it is drained */
	tapir_unprivileged_sample_fn fn;
	void *ctx;
};

/* PERF_RECORD_SAMPLE of the sample_type below. */
struct sample_record {
	struct perf_event_header h;
	uint32_t tgid, tid;
	uint64_t time_ns;
	uint32_t cpu, pad;
	uint64_t period, frame_cnt;
	uint64_t frames[];
};

struct lost_record {
	struct perf_event_header h;
	uint64_t id, cnt;
};

int tapir_unprivileged_sampler__new(const struct tapir_sample_event *event, unsigned hz,
				    struct tapir_unprivileged_sampler **out)
{
	struct tapir_unprivileged_sampler *s = calloc(1, sizeof(*s));
	int cpu_cnt = libbpf_num_possible_cpus();

	if (!s)
		return -ENOMEM;
	s->event = event;
	s->hz = hz;
	s->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	for (int cpu = 0; cpu < cpu_cnt; cpu++) {
		const struct cpu_ring ring = {.cpu = cpu, .fd = -1};

		if (!tapir_vec__push(&s->rings, ring)) {
			tapir_unprivileged_sampler__free(s);
			return -ENOMEM;
		}
	}
	*out = s;
	return 0;
}

void tapir_unprivileged_sampler__free(struct tapir_unprivileged_sampler *s)
{
	struct cpu_ring *ring;
	int *fd;

	if (!s)
		return;
	tapir_vec_for_each (ring, &s->rings)
		if (ring->page)
			munmap(ring->page, (1 + DATA_PAGES) * s->page_bytes);
	tapir_vec_for_each (fd, &s->fds)
		close(*fd);
	tapir_vec__fini(&s->rings);
	tapir_vec__fini(&s->fds);
	free(s);
}

/* ---- events --------------------------------------------------------------------------------- */

static int open_event(const struct tapir_unprivileged_sampler *s, uint32_t tid, int cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = s->event->type,
		.config = s->event->config,
		.freq = 1,
		.sample_freq = s->hz,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
			       PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN,
		.sample_max_stack = FRAMES_MAX,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.exclude_callchain_kernel = 1,
		.inherit = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	long fd = syscall(SYS_perf_event_open, &attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd >= 0 ? (int)fd : -errno;
}

/* The first event of a CPU has the ring, the others write into it. */
static int join_ring(const struct tapir_unprivileged_sampler *s, struct cpu_ring *ring, int fd)
{
	void *at;

	if (ring->fd >= 0)
		return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) ? -errno : 0;
	at = mmap(NULL, (1 + DATA_PAGES) * s->page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		  0);
	if (at == MAP_FAILED)
		return -errno;
	ring->page = at;
	ring->fd = fd;
	return 0;
}

/* A CPU that is offline, and a thread that ends in the meantime, cannot be sampled. */
static int add_sampled_thread(struct tapir_unprivileged_sampler *s, struct cpu_ring *ring,
			      uint32_t tid)
{
	int fd = open_event(s, tid, ring->cpu), err;

	if (fd == -ENODEV || fd == -ESRCH)
		return 0;
	if (fd < 0)
		return fd;
	err = tapir_vec__push(&s->fds, fd) ? 0 : -ENOMEM;
	if (err) {
		close(fd);
		return err;
	}
	return join_ring(s, ring, fd);
}

static int add_thread(uint32_t tid, void *ctx)
{
	struct tapir_unprivileged_sampler *s = ctx;
	struct cpu_ring *ring;

	tapir_vec_for_each (ring, &s->rings) {
		int err = add_sampled_thread(s, ring, tid);

		if (err)
			return err;
	}
	return 0;
}

int tapir_unprivileged_sampler__add(struct tapir_unprivileged_sampler *s, uint32_t tgid)
{
	int err = tapir_proc__each_thread(tgid, add_thread, s);

	if (!err)
		return 0;
	return tapir_diag__fail(
		err, "cannot sample process %u: %s", tgid,
		err == -EACCES || err == -EPERM
			? "requires CAP_PERFMON, or perf_event_paranoid of at most 2"
		: err == -EMFILE ? "it has more threads than RLIMIT_NOFILE allows (raise ulimit -n)"
				 : tapir_errno__text(err));
}

/* ---- samples -------------------------------------------------------------------------------- */

/* A mark between the parts of a stack (PERF_CONTEXT_USER) is not an address. */
static uint32_t drop_contexts(uint64_t *frames, uint64_t cnt)
{
	uint32_t kept = 0;

	for (uint64_t i = 0; i < cnt; i++)
		if (frames[i] < (uint64_t)PERF_CONTEXT_MAX)
			frames[kept++] = frames[i];
	return kept;
}

static bool deliver_sample(const struct tapir_unprivileged_sampler *s, struct sample_record *rec)
{
	struct tapir_unprivileged_sample sample = {
		.time_ns = rec->time_ns,
		.period = rec->period,
		.tgid = rec->tgid,
		.tid = rec->tid,
		.cpu = rec->cpu,
		.frames = rec->frames,
	};

	if (rec->h.size < sizeof(*rec) ||
	    rec->frame_cnt > (rec->h.size - sizeof(*rec)) / sizeof(uint64_t))
		return false;
	sample.frame_cnt = drop_contexts(rec->frames, rec->frame_cnt);
	s->fn(s->ctx, &sample);
	return true;
}

static uint64_t take_sample_record(void *ctx, struct perf_event_header *h)
{
	const struct lost_record *lost = (const void *)h;

	if (h->type == PERF_RECORD_SAMPLE)
		return !deliver_sample(ctx, (void *)h);
	if (h->type == PERF_RECORD_LOST && h->size >= sizeof(*lost))
		return lost->cnt;
	return 0;
}

uint64_t tapir_unprivileged_sampler__drain(struct tapir_unprivileged_sampler *s,
					   tapir_unprivileged_sample_fn fn, void *ctx)
{
	struct cpu_ring *ring;
	uint64_t lost_cnt = 0;

	s->fn = fn;
	s->ctx = ctx;
	tapir_vec_for_each (ring, &s->rings) {
		struct tapir_perf_records span = {.ring_bytes = DATA_PAGES * s->page_bytes};

		if (!ring->page)
			continue;
		span.ring = (const char *)ring->page + s->page_bytes;
		span.head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
		span.tail = ring->page->data_tail;
		lost_cnt +=
			tapir_perf_records__each_record(&span, &s->scratch, take_sample_record, s);
		__atomic_store_n(&ring->page->data_tail, span.head, __ATOMIC_RELEASE);
	}
	return lost_cnt;
}
