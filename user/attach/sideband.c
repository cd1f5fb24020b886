// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * perf's mmap ring: one control page, then 2^n data pages that are not mapped twice, so a
 * record may wrap and is put together first. Layouts: include/uapi/linux/perf_event.h.
 */
#include "attach/sideband.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/file.h"
#include "base/vec.h"

#define DATA_PAGES 32 /* a power of two; 128 KB a CPU */

/* The fixed part of PERF_RECORD_MMAP2; the path follows, then the sample id. */
struct mmap2_record {
	struct perf_event_header h;
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	uint32_t maj, min;
	uint64_t ino, ino_generation;
	uint32_t prot, flags;
};

/* What sample_id_all appends with PERF_SAMPLE_TID | PERF_SAMPLE_TIME. */
struct sample_id {
	uint32_t pid, tid;
	uint64_t time_ns;
};

struct cpu_ring {
	int fd;
	struct perf_event_mmap_page *page;
};

struct tapir_sideband {
	struct tapir_vec(struct cpu_ring) rings;
	int epoll_fd;
	uint64_t lost_cnt;
	size_t page_bytes;
	char record[UINT16_MAX + 1];
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
		.wakeup_events = 1,
		.exclude_kernel = 1,
	};
	long fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd >= 0 ? (int)fd : -errno;
}

/* 0 also for a CPU that is offline: it has no ring. */
static int open_cpu(struct tapir_sideband *s, int cpu)
{
	struct epoll_event event = {.events = EPOLLIN};
	size_t bytes = (1 + DATA_PAGES) * s->page_bytes;
	struct cpu_ring *ring;
	int fd = open_event(cpu);

	if (fd == -ENODEV)
		return 0;
	if (fd < 0)
		return tapir_diag__fail(
			fd, "Cannot watch mapped files: cpu=%d, err=-%s: needs CAP_PERFMON", cpu,
			tapir_errno__name(fd));
	ring = tapir_vec__add(&s->rings);
	if (!ring) {
		close(fd);
		return -ENOMEM;
	}
	ring->fd = fd;
	ring->page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring->page == MAP_FAILED) {
		ring->page = NULL;
		return tapir_diag__fail(-errno, "Cannot map a perf ring: err=-%s (RLIMIT_MEMLOCK)",
					tapir_errno__name(errno));
	}
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
			munmap(ring->page, (1 + DATA_PAGES) * s->page_bytes);
		close(ring->fd);
	}
	tapir_vec__fini(&s->rings);
	tapir_guard__fd(&s->epoll_fd);
	free(s);
}

int tapir_sideband__fd(const struct tapir_sideband *s)
{
	return s->epoll_fd;
}

uint64_t tapir_sideband__lost(const struct tapir_sideband *s)
{
	return s->lost_cnt;
}

/* len bytes of the ring from position pos on, unwrapped into s->record. */
static void copy_out(struct tapir_sideband *s, const struct cpu_ring *ring, uint64_t pos,
		     size_t len)
{
	size_t ring_bytes = DATA_PAGES * s->page_bytes, at = pos % ring_bytes;
	const char *data = (const char *)ring->page + s->page_bytes;
	size_t first = len < ring_bytes - at ? len : ring_bytes - at;

	memcpy(s->record, data + at, first);
	memcpy(s->record + first, data, len - first);
}

static void hand_out(const struct mmap2_record *rec, tapir_sideband_fn fn, void *ctx)
{
	struct sample_id id;
	const char *path = (const char *)(rec + 1);
	size_t path_room;

	if (rec->h.size < sizeof(*rec) + sizeof(id))
		return;
	path_room = rec->h.size - sizeof(*rec) - sizeof(id);
	memcpy(&id, path + path_room, sizeof(id));
	if (!memchr(path, '\0', path_room))
		return;
	fn(ctx, &(struct tapir_sideband_mmap){
			.time_ns = id.time_ns,
			.tgid = rec->pid,
			.tid = rec->tid,
			.start_va = rec->addr,
			.len_bytes = rec->len,
			.file_off = rec->pgoff,
			.inode = rec->ino,
			.dev_major = rec->maj,
			.dev_minor = rec->min,
			.path = path,
		});
}

static void drain_ring(struct tapir_sideband *s, struct cpu_ring *ring, tapir_sideband_fn fn,
		       void *ctx)
{
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail;

	while (tail < head) {
		struct perf_event_header h;

		copy_out(s, ring, tail, sizeof(h));
		memcpy(&h, s->record, sizeof(h));
		if (h.size < sizeof(h))
			break; /* never from a kernel; do not turn in place */
		copy_out(s, ring, tail, h.size);
		if (h.type == PERF_RECORD_MMAP2)
			hand_out((const void *)s->record, fn, ctx);
		else if (h.type == PERF_RECORD_LOST)
			s->lost_cnt += ((const uint64_t *)(const void *)s->record)[2];
		tail += h.size;
	}
	__atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
}

void tapir_sideband__drain(struct tapir_sideband *s, tapir_sideband_fn fn, void *ctx)
{
	struct cpu_ring *ring;

	tapir_vec_for_each (ring, &s->rings)
		drain_ring(s, ring, fn, ctx);
}
