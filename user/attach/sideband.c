// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A perf event a CPU and its ring; perf_records.h reads what is in the rings. All users share a
 * limit of locked memory (perf_event_mlock_kb), so a ring may be smaller than wanted.
 */
#include "attach/sideband.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "attach/perf_records.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/vec.h"

/* Powers of two. perf_event_mlock_kb allows every user 512 KB per CPU. */
#define DATA_PAGES     128
#define MIN_DATA_PAGES 8

struct cpu_ring {
	int fd;
	struct perf_event_mmap_page *page;
	size_t data_bytes;
	uint64_t marked_head;
};

struct tapir_sideband {
	struct tapir_vec(struct cpu_ring) rings;
	int epoll_fd;
	uint64_t lost_cnt; /* by PERF_RECORD_LOST */
	size_t page_bytes;
	struct tapir_perf_scratch scratch;
};

static int open_event(int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.mmap = 1,
		.mmap2 = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1, /* wakeup_events would count samples only, and there are none */
		.wakeup_watermark = 1,
		.exclude_kernel = 1,
		.read_format = PERF_FORMAT_LOST,
	};
	long fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0 && errno == EINVAL) { /* not before 119a784c8127 "... number of lost samples" */
		attr.read_format = 0;
		fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	}
	return fd >= 0 ? (int)fd : -errno;
}

/* A user who has used up the memory that may be locked gets a smaller ring. */
static int map_ring(const struct tapir_sideband *s, struct cpu_ring *ring)
{
	for (size_t pages = DATA_PAGES; pages >= MIN_DATA_PAGES; pages /= 2) {
		void *at = mmap(NULL, (1 + pages) * s->page_bytes, PROT_READ | PROT_WRITE,
				MAP_SHARED, ring->fd, 0);

		if (at != MAP_FAILED) {
			ring->page = at;
			ring->data_bytes = pages * s->page_bytes;
			return 0;
		}
		if (errno != EPERM)
			break;
	}
	return tapir_diag__fail(-errno, "cannot map a perf ring: %s (raise RLIMIT_MEMLOCK)",
				tapir_errno__text(errno));
}

/* 0 also for a CPU that is offline: it has no ring. */
static int open_cpu(struct tapir_sideband *s, int cpu)
{
	struct epoll_event event = {.events = EPOLLIN};
	struct cpu_ring *ring;
	int fd = open_event(cpu), err;

	if (fd == -ENODEV)
		return 0;
	if (fd < 0)
		return tapir_diag__fail(
			fd, "cannot watch mapped files on CPU %d: %s (%s)", cpu,
			tapir_errno__text(fd),
			fd == -EACCES || fd == -EPERM
				? "requires CAP_PERFMON; on Debian's kernels CAP_SYS_ADMIN, or kernel.perf_event_paranoid of at most 2"
				: "perf_event_open");
	ring = tapir_vec__add(&s->rings);
	if (!ring) {
		close(fd);
		return -ENOMEM;
	}
	*ring = (struct cpu_ring){.fd = fd};
	err = map_ring(s, ring);
	if (err)
		return err;
	return epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

int tapir_sideband__open(struct tapir_sideband **out)
{
	struct tapir_sideband *s = calloc(1, sizeof(*s));
	int cpu_cnt = libbpf_num_possible_cpus(), err;

	if (!s)
		return -ENOMEM;
	s->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	err = s->epoll_fd < 0 ? -errno : 0;
	for (int cpu = 0; !err && cpu < cpu_cnt; cpu++)
		err = open_cpu(s, cpu);
	if (err) {
		tapir_sideband__close(s);
		return err;
	}
	*out = s;
	return 0;
}

void tapir_sideband__close(struct tapir_sideband *s)
{
	struct cpu_ring *ring;

	if (!s)
		return;
	tapir_vec_for_each (ring, &s->rings) {
		if (ring->page)
			munmap(ring->page, s->page_bytes + ring->data_bytes);
		close(ring->fd);
	}
	tapir_vec__fini(&s->rings);
	tapir_guard__fd(&s->epoll_fd);
	free(s);
}

int tapir_sideband__fd(const struct tapir_sideband *s)
{
	return s ? s->epoll_fd : -1;
}

/*
 * The kernel writes PERF_RECORD_LOST only before the next record that finds room: on a quiet
 * machine never (seen on 6.1 and 6.12). The event's own count is there at once.
 */
uint64_t tapir_sideband__lost(const struct tapir_sideband *s)
{
	const struct cpu_ring *ring;
	uint64_t sum = 0;

	if (!s)
		return 0;
	tapir_vec_for_each (ring, &s->rings) {
		struct {
			uint64_t value, lost_cnt;
		} now;

		if (read(ring->fd, &now, sizeof(now)) == sizeof(now))
			sum += now.lost_cnt;
	}
	return sum > s->lost_cnt ? sum : s->lost_cnt;
}

static void drain_ring(struct tapir_sideband *s, struct cpu_ring *ring, tapir_sideband_fn fn,
		       void *ctx)
{
	uint64_t head = ring->marked_head;
	struct tapir_perf_records span = {
		.ring = (const char *)ring->page + s->page_bytes,
		.ring_bytes = ring->data_bytes,
		.tail = ring->page->data_tail,
		.head = head,
	};

	s->lost_cnt += tapir_perf_records__each(&span, &s->scratch, fn, ctx);
	__atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
}

bool tapir_sideband__mark(struct tapir_sideband *s)
{
	struct cpu_ring *ring;
	bool has_unread = false;

	if (!s)
		return false;
	tapir_vec_for_each (ring, &s->rings) {
		ring->marked_head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
		has_unread |= ring->marked_head != ring->page->data_tail;
	}
	return has_unread;
}

void tapir_sideband__drain(struct tapir_sideband *s, tapir_sideband_fn fn, void *ctx)
{
	struct cpu_ring *ring;

	if (!s)
		return;
	tapir_vec_for_each (ring, &s->rings)
		drain_ring(s, ring, fn, ctx);
}
