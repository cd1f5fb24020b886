// SPDX-License-Identifier: GPL-2.0-or-later
/* Records of a perf ring that is built here, whole, wrapped and malformed; then a real mmap. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "attach/perf_records.h"
#include "base/clock.h"
#include "base/diag.h"
#include "may_trace.h"

#define RING_BYTES  4096u
#define FIXED_BYTES 72u /* PERF_RECORD_MMAP2 up to its path, by perf_event_open(2) */
#define ID_BYTES    16u

static char ring[RING_BYTES];
static struct tapir_perf_records span;
static struct tapir_perf_scratch scratch;
static struct tapir_sideband_mmap seen[64];
static char seen_paths[64][4200];
static unsigned seen_cnt;
static uint16_t misc; /* of the next record */

static int setup(void **state)
{
	(void)state;
	tapir_diag__clear();
	memset(ring, 0xee, sizeof(ring));
	span = (struct tapir_perf_records){.ring = ring, .ring_bytes = sizeof(ring)};
	seen_cnt = 0;
	misc = 0;
	return 0;
}

static void remember(void *ctx, const struct tapir_sideband_mmap *mmap)
{
	assert_ptr_equal(ctx, &seen_cnt);
	assert_in_range(seen_cnt, 0, 63);
	seen[seen_cnt] = *mmap;
	snprintf(seen_paths[seen_cnt], sizeof(seen_paths[0]), "%s", mmap->path);
	seen_cnt++;
}

static uint64_t each(void)
{
	return tapir_perf_records__each(&span, &scratch, remember, &seen_cnt);
}

static void write_ring(const void *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		ring[span.head++ % RING_BYTES] = ((const char *)data)[i];
}

static void put_header(uint32_t type, size_t size)
{
	struct perf_event_header h = {.type = type, .misc = misc, .size = (uint16_t)size};

	write_ring(&h, sizeof(h));
}

/* As the kernel writes it: the path padded to 8 bytes, then pid, tid and time. */
static void put_mmap2(uint32_t pid, uint64_t va, const char *path, size_t path_room)
{
	char body[4200] = "", fixed[FIXED_BYTES - 8] = "";
	uint32_t ids[2] = {pid, pid + 1}, dev[2] = {8, 1};
	uint64_t place[3] = {va, 0x1000, 0x3000}, inode = 4711, time_ns = va * 2;

	memcpy(fixed, ids, 8);
	memcpy(fixed + 8, place, 24);
	memcpy(fixed + 32, dev, 8);
	memcpy(fixed + 40, &inode, 8);
	memcpy(body, path, strlen(path));
	put_header(PERF_RECORD_MMAP2, FIXED_BYTES + path_room + ID_BYTES);
	write_ring(fixed, sizeof(fixed));
	write_ring(body, path_room);
	write_ring(ids, 8);
	write_ring(&time_ns, 8);
}

static void is_mmap2(unsigned idx, uint32_t pid, uint64_t va, const char *path)
{
	assert_in_range(idx, 0, seen_cnt - 1);
	assert_int_equal(seen[idx].tgid, pid);
	assert_int_equal(seen[idx].tid, pid + 1);
	assert_int_equal(seen[idx].start_va, va);
	assert_int_equal(seen[idx].len_bytes, 0x1000);
	assert_int_equal(seen[idx].file_off, 0x3000);
	assert_int_equal(seen[idx].inode, 4711);
	assert_int_equal(seen[idx].dev_major, 8);
	assert_int_equal(seen[idx].dev_minor, 1);
	assert_int_equal(seen[idx].time_ns, va * 2);
	assert_string_equal(seen_paths[idx], path);
}

static void mappings_come_with_all_their_facts(void **state)
{
	(void)state;
	put_mmap2(100, 0x7f0000001000, "/usr/lib/x.so", 16);
	put_mmap2(200, 0x7f0000002000, "//anon", 8);
	put_mmap2(300, 0x7f0000003000, "", 8);
	assert_int_equal(each(), 0);
	assert_int_equal(seen_cnt, 3);
	is_mmap2(0, 100, 0x7f0000001000, "/usr/lib/x.so");
	is_mmap2(1, 200, 0x7f0000002000, "//anon");
	is_mmap2(2, 300, 0x7f0000003000, "");
}

/* As the kernel writes it while another tracer gets build IDs: this one gets none. */
static void inode_is_read_when_the_record_is_marked_as_another_tracers(void **state)
{
	(void)state;
	misc = PERF_RECORD_MISC_MMAP_BUILD_ID;
	put_mmap2(100, 0x7f0000001000, "/usr/lib/x.so", 16);
	assert_int_equal(each(), 0);
	assert_int_equal(seen_cnt, 1);
	is_mmap2(0, 100, 0x7f0000001000, "/usr/lib/x.so");
}

static void nothing_comes_when_the_ring_is_empty(void **state)
{
	(void)state;
	span.tail = span.head = 123456;
	assert_int_equal(each(), 0);
	assert_int_equal(seen_cnt, 0);
}

/* Each 8-byte position a record can start at, so that every part of it wraps once. */
static void mapping_is_complete_when_it_wraps(void **state)
{
	(void)state;
	for (uint64_t at = RING_BYTES - 128; at <= RING_BYTES; at += 8) {
		setup(NULL);
		span.tail = span.head = 5 * (uint64_t)RING_BYTES + at;
		put_mmap2(7, at, "/a/path/that/wraps", 24);
		put_mmap2(8, at, "/next", 8);
		assert_int_equal(each(), 0);
		assert_int_equal(seen_cnt, 2);
		is_mmap2(0, 7, at, "/a/path/that/wraps");
		is_mmap2(1, 8, at, "/next");
	}
}

static void other_records_are_passed_over(void **state)
{
	static const uint32_t types[] = {PERF_RECORD_MMAP, PERF_RECORD_COMM,   PERF_RECORD_EXIT,
					 PERF_RECORD_FORK, PERF_RECORD_SAMPLE, 9999};
	char body[56] = "/no/mapping";

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		put_header(types[i], 8 + sizeof(body));
		write_ring(body, sizeof(body));
		put_header(types[i], 8); /* nothing but a header */
	}
	put_mmap2(1, 0x1000, "/mapping", 16);
	assert_int_equal(each(), 0);
	assert_int_equal(seen_cnt, 1);
	is_mmap2(0, 1, 0x1000, "/mapping");
}

static void put_lost(uint64_t cnt)
{
	uint64_t body[4] = {1, cnt, 0, 0}; /* id, lost, sample id */

	put_header(PERF_RECORD_LOST, 8 + sizeof(body));
	write_ring(body, sizeof(body));
}

static void losses_add_up_when_the_kernel_says_so(void **state)
{
	(void)state;
	put_lost(3);
	put_mmap2(1, 0x1000, "/mapping", 16);
	put_lost(1000000);
	assert_int_equal(each(), 1000003);
	assert_int_equal(seen_cnt, 1);
}

/* Counted, passed over, and the next one is found. */
static void mapping_is_a_loss_when_malformed(void **state)
{
	char zeros[FIXED_BYTES + ID_BYTES] = "";

	(void)state;
	put_header(PERF_RECORD_MMAP2, 8); /* no body */
	put_header(PERF_RECORD_MMAP2, FIXED_BYTES);
	write_ring(zeros, FIXED_BYTES - 8);
	put_header(PERF_RECORD_MMAP2, FIXED_BYTES + ID_BYTES); /* no path */
	write_ring(zeros, FIXED_BYTES + ID_BYTES - 8);
	put_mmap2(1, 0x1000, "12345678", 8); /* a path without its end */
	put_header(PERF_RECORD_LOST, 16);    /* without its count */
	write_ring(zeros, 8);
	put_mmap2(2, 0x2000, "/good", 8);
	assert_int_equal(each(), 5);
	assert_int_equal(seen_cnt, 1);
	is_mmap2(0, 2, 0x2000, "/good");
}

static void nothing_more_comes_when_a_size_cannot_be(void **state)
{
	static const size_t bad[] = {0, 1, 7, 97, 4096, UINT16_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		setup(NULL);
		put_mmap2(1, 0x1000, "/before", 8);
		put_header(PERF_RECORD_COMM, bad[i]); /* 96 bytes are left, header included */
		put_mmap2(2, 0x2000, "", 0);
		assert_int_equal(each(), 1);
		assert_int_equal(seen_cnt, 1);
		is_mmap2(0, 1, 0x1000, "/before");
	}
}

static void nothing_comes_when_positions_cannot_be(void **state)
{
	(void)state;
	put_mmap2(1, 0x1000, "/path", 8);
	span.tail = span.head - 4; /* less than a header */
	assert_int_equal(each(), 1);
	span.tail = span.head + 8; /* read before it was written */
	assert_int_equal(each(), 1);
	span.tail = span.head - RING_BYTES - 8; /* overwritten */
	assert_int_equal(each(), 1);
	assert_int_equal(seen_cnt, 0);
}

/* ---- the real one ----------------------------------------------------------------------- */

struct wanted {
	uint64_t va;
	struct tapir_sideband_mmap mmap;
	char path[4200];
	unsigned cnt;
};

static void look(void *ctx, const struct tapir_sideband_mmap *mmap)
{
	struct wanted *w = ctx;

	if (mmap->tgid != (uint32_t)getpid() || mmap->start_va != w->va)
		return;
	w->mmap = *mmap;
	snprintf(w->path, sizeof(w->path), "%s", mmap->path);
	w->cnt++;
}

/* Maps the second page of a file, and says what the side-band has of it. */
static struct wanted map_and_look(int fd)
{
	uint64_t from_ns = tapir_clock__now_ns();
	struct tapir_sideband *sideband;
	struct wanted w = {};
	struct pollfd pollfd;
	void *at;

	if (!may_trace()) {
		print_message("skipped: perf events of all processes need root\n");
		skip();
	}
	assert_int_equal(tapir_sideband__open(&sideband), 0);
	at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 4096);
	assert_ptr_not_equal(at, MAP_FAILED);
	pollfd = (struct pollfd){tapir_sideband__fd(sideband), POLLIN, 0};
	assert_int_equal(poll(&pollfd, 1, 3000), 1);
	w.va = (uintptr_t)at;
	tapir_sideband__mark(sideband);
	tapir_sideband__drain(sideband, look, &w);
	assert_int_equal(w.cnt, 1);
	assert_int_equal(w.mmap.tid, gettid());
	assert_int_equal(w.mmap.len_bytes, 4096);
	assert_int_equal(w.mmap.file_off, 4096);
	assert_in_range(w.mmap.time_ns, from_ns, tapir_clock__now_ns());
	tapir_sideband__mark(sideband);
	tapir_sideband__drain(sideband, look, &w); /* it comes once */
	assert_int_equal(w.cnt, 1);
	assert_int_equal(tapir_sideband__lost(sideband), 0);
	tapir_sideband__close(sideband);
	tapir_sideband__close(NULL);
	munmap(at, 4096);
	return w;
}

static void mapping_is_seen_when_it_happens(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct wanted w = map_and_look(fd);
	char exe[4096] = "";

	(void)state;
	assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	assert_string_equal(w.path, exe);
	close(fd);
}

/* Of a tmpfs: of an overlay, stat(2) shows another device. */
static void mapping_has_the_inode_of_its_file(void **state)
{
	char path[] = "/dev/shm/test_sideband-XXXXXX";
	int fd = mkstemp(path);
	struct wanted w;
	struct stat st;

	(void)state;
	assert_int_equal(ftruncate(fd, 8192), 0);
	w = map_and_look(fd);
	assert_int_equal(fstat(fd, &st), 0);
	unlink(path);
	close(fd);
	assert_string_equal(w.path, path);
	assert_int_equal(w.mmap.inode, st.st_ino);
	assert_int_equal(w.mmap.dev_major, major(st.st_dev));
	assert_int_equal(w.mmap.dev_minor, minor(st.st_dev));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup(name, setup)
		CASE(mappings_come_with_all_their_facts),
		CASE(inode_is_read_when_the_record_is_marked_as_another_tracers),
		CASE(nothing_comes_when_the_ring_is_empty),
		CASE(mapping_is_complete_when_it_wraps),
		CASE(other_records_are_passed_over),
		CASE(losses_add_up_when_the_kernel_says_so),
		CASE(mapping_is_a_loss_when_malformed),
		CASE(nothing_more_comes_when_a_size_cannot_be),
		CASE(nothing_comes_when_positions_cannot_be),
		CASE(mapping_is_seen_when_it_happens),
		CASE(mapping_has_the_inode_of_its_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
