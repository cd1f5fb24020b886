// SPDX-License-Identifier: GPL-2.0-or-later
/* Which lanes a process offers: this program is the process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "attach/ring_find.h"
#include "base/diag.h"
#include "may_trace.h"
#include "ring_maker.h"

static struct ring_maker maker, second;
static struct tapir_ring_lanes lanes;

static int teardown(void **state)
{
	(void)state;
	tapir_ring_lanes__fini(&lanes);
	lanes = (struct tapir_ring_lanes){};
	maker_close(&maker);
	maker_close(&second);
	return 0;
}

static void find(void)
{
	tapir_ring_lanes__fini(&lanes);
	assert_int_equal(tapir_ring_lanes__find((uint32_t)getpid(), &lanes), 0);
	assert_int_equal(tapir_diag__cnt(), 0);
}

static void nothing_is_found_where_nothing_is(void **state)
{
	(void)state;
	find();
	assert_int_equal(lanes.all.cnt, 0);
	assert_null(lanes.refused);
	assert_int_equal(tapir_ring_lanes__find(0x3ffffff, &lanes), -ESRCH);
}

static void ctl_and_data_are_joined_by_key(void **state)
{
	(void)state;
	assert_true(maker_open(&maker, 0x1111));
	assert_true(maker_open(&second, 0x2222));
	assert_true(maker_add_arena(&second, 3));
	find();
	assert_int_equal(lanes.all.cnt, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct tapir_ring_lane *lane = &lanes.all.data[i];
		bool is_second = lane->key == 0x2222;

		assert_true(lane->ctl_fd >= 0 && lane->data_fds[0] >= 0);
		assert_int_equal(lane->data_fds[3] >= 0, is_second);
		assert_int_equal(lane->data[0].key, lane->key);
		assert_int_equal(fcntl(lane->ctl_fd, F_GETFL) & O_ACCMODE, O_RDWR);
		assert_int_equal(fcntl(lane->data_fds[0], F_GETFL) & O_ACCMODE, O_RDONLY);
		assert_int_equal(fcntl(lane->ctl_fd, F_GETFD), FD_CLOEXEC);
	}
	assert_null(lanes.refused);
}

static void mappings_lead_to_files_whose_descriptors_are_closed(void **state)
{
	(void)state;
	if (!may_trace()) {
		print_message("skipped: /proc/PID/map_files needs privileges\n");
		skip();
	}
	assert_true(maker_open(&maker, 7));
	maker_close_fds(&maker);
	find();
	assert_int_equal(lanes.all.cnt, 1);
	assert_int_equal(lanes.all.data[0].key, 7);
}

static void later_arenas_are_added(void **state)
{
	(void)state;
	assert_true(maker_open(&maker, 7));
	find();
	assert_int_equal(tapir_ring_lane__find_arenas((uint32_t)getpid(), &lanes.all.data[0]), 0);
	assert_true(maker_add_arena(&maker, 1));
	assert_true(maker_add_arena(&maker, 15));
	assert_int_equal(tapir_ring_lane__find_arenas((uint32_t)getpid(), &lanes.all.data[0]), 2);
	assert_true(lanes.all.data[0].data_fds[1] >= 0 && lanes.all.data[0].data_fds[15] >= 0);
	assert_int_equal(lanes.all.data[0].data[15].arena_idx, 15);
}

static void a_file_without_seals_is_refused(void **state)
{
	void *map = NULL;
	int fd;

	(void)state;
	fd = maker_memfd(TAPIR_RING_CTL_NAME, sizeof(struct tapir_ring_ctl), &map);
	assert_true(fd >= 0);
	find();
	assert_int_equal(lanes.all.cnt, 0);
	assert_string_equal(lanes.refused, "a file without its seals");
	munmap(map, sizeof(struct tapir_ring_ctl));
	close(fd);
}

static void a_control_file_alone_is_no_lane(void **state)
{
	(void)state;
	assert_true(maker_open(&maker, 7));
	munmap(maker.data[0], maker.file_bytes);
	close(maker.data_fds[0]);
	maker.data[0] = NULL;
	maker.data_fds[0] = -1;
	find();
	assert_int_equal(lanes.all.cnt, 0);
	assert_string_equal(lanes.refused, "a control file without its data");
}

static void ordinary_files_and_fifos_of_the_name_are_not_opened(void **state)
{
	char dir[] = "/dev/shm/tapir-test-XXXXXX", fifo[64];
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(fifo, sizeof(fifo), "%s/memfd:tapir-ctl", dir);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	fd = open(fifo, O_RDWR | O_CLOEXEC);
	find();
	assert_int_equal(lanes.all.cnt, 0);
	assert_null(lanes.refused);
	close(fd);
	unlink(fifo);
	rmdir(dir);
}

/* A child that forked sees its parent's files: they are not its own lane. */
static void a_parents_files_are_no_lane_of_the_child(void **state)
{
	pid_t child;
	int err;

	(void)state;
	assert_true(maker_open(&maker, 7));
	child = fork();
	if (!child) {
		pause();
		_exit(0);
	}
	err = tapir_ring_lanes__find((uint32_t)child, &lanes);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_int_equal(err, 0);
	assert_int_equal(lanes.all.cnt, 0);
	assert_string_equal(lanes.refused, "of another process");
}

static void every_number_of_a_data_header_is_checked(void **state)
{
	struct tapir_ring_data good, h;
	uint64_t bytes;

	(void)state;
	assert_true(maker_open(&maker, 7));
	good = *maker.data[0];
	bytes = good.file_bytes;
	assert_null(tapir_ring_data__fault(&good, bytes, (uint32_t)getpid()));
	assert_non_null(tapir_ring_data__fault(&good, bytes - 8, (uint32_t)getpid()));
	assert_non_null(tapir_ring_data__fault(&good, bytes, (uint32_t)getpid() + 1));
#define BAD(field, value)                                                                          \
	do {                                                                                       \
		h = good;                                                                          \
		h.field = value;                                                                   \
		assert_non_null(tapir_ring_data__fault(&h, bytes, (uint32_t)getpid()));            \
	} while (0)
	BAD(magic, 0);
	BAD(version, TAPIR_RING_VERSION + 1);
	BAD(header_bytes, 135);
	BAD(arena_idx, TAPIR_RING_ARENAS);
	BAD(slot_cnt, 255);
	BAD(slot_bytes, 0);
	BAD(slots_off, 0);
	BAD(slots_off, bytes);
	BAD(slots_off, 4097);
	BAD(slots_off, UINT64_MAX - 7);
	BAD(rings_off, good.rings_off + 8);
	BAD(ring_bytes, 0);
	BAD(ring_bytes, UINT64_MAX & ~0xffffull);
	BAD(ring_bytes, good.ring_bytes + 8);
	BAD(ring_bytes, TAPIR_RING_MAX_BYTES);
	BAD(entries_off, 0);
	BAD(losses_off, bytes - 8);
	BAD(catalog_bytes, UINT64_MAX - 4096);
	BAD(event_max, 1);
#undef BAD
}

static void every_number_of_a_control_header_is_checked(void **state)
{
	const uint64_t bytes = sizeof(struct tapir_ring_ctl);
	struct tapir_ring_ctl_head head, *h = &head;
	uint32_t pid = (uint32_t)getpid();

	(void)state;
	assert_true(maker_open(&maker, 7));
	memcpy(&head, maker.ctl, sizeof(head));
	assert_null(tapir_ring_ctl__fault(h, bytes, pid));
	assert_non_null(tapir_ring_ctl__fault(h, bytes - 8, pid));
	assert_non_null(tapir_ring_ctl__fault(h, bytes, pid + 1));
#define BAD(field)                                                                                 \
	do {                                                                                       \
		h->field++;                                                                        \
		assert_non_null(tapir_ring_ctl__fault(h, bytes, pid));                             \
		h->field--;                                                                        \
	} while (0)
	BAD(magic);
	BAD(version);
	BAD(header_bytes);
	BAD(file_bytes);
	BAD(slot_cnt);
	BAD(session_cnt);
	BAD(event_max);
#undef BAD
}

static void a_lane_of_another_version_is_refused_by_its_number(void **state)
{
	(void)state;
	assert_true(maker_open(&maker, 0x1111));
	find();
	assert_int_equal(lanes.other_version, 0);
	maker.ctl->version = TAPIR_RING_VERSION - 1;
	find();
	assert_int_equal(lanes.all.cnt, 0);
	assert_int_equal(lanes.other_version, TAPIR_RING_VERSION - 1);
}

/* Hundreds of files of the name cost a bounded number of descriptors and no line. */
static void many_files_of_the_name_are_bounded(void **state)
{
	void *map = NULL;
	int fds[400];

	(void)state;
	fds[0] = maker_memfd(TAPIR_RING_CTL_NAME, 4096, &map);
	for (size_t i = 1; i < 400; i++)
		fds[i] = memfd_create(TAPIR_RING_CTL_NAME, MFD_CLOEXEC);
	find();
	assert_int_equal(lanes.all.cnt, 0);
	assert_non_null(lanes.refused);
	for (size_t i = 0; i < 400; i++)
		close(fds[i]);
	munmap(map, 4096);
}

/* Shared memory of other kinds is on the same device: it is not mistaken, and hides nothing. */
static void a_lane_is_found_beside_other_shared_memory(void **state)
{
	size_t bytes = 4096, cnt = 0;
	void *maps[8];

	(void)state;
	for (; cnt < 8; cnt++)
		maps[cnt] = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
				 -1, 0);
	find();
	assert_int_equal(lanes.all.cnt, 0);
	assert_null(lanes.refused);
	assert_true(maker_open(&maker, 9));
	find();
	assert_int_equal(lanes.all.cnt, 1);
	while (cnt--)
		munmap(maps[cnt], bytes);
}

static void the_name_is_distinguished_from_its_likes(void **state)
{
	(void)state;
	assert_true(tapir_ring_name__is_ctl("/memfd:tapir-ctl (deleted)"));
	assert_true(tapir_ring_name__is_ctl("/memfd:tapir-ctl"));
	assert_false(tapir_ring_name__is_ctl("/memfd:tapir-ctl2 (deleted)"));
	assert_false(tapir_ring_name__is_ctl("memfd:tapir-ctl"));
}

#define T(name) cmocka_unit_test_teardown(name, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(nothing_is_found_where_nothing_is),
		T(ctl_and_data_are_joined_by_key),
		T(mappings_lead_to_files_whose_descriptors_are_closed),
		T(later_arenas_are_added),
		T(a_file_without_seals_is_refused),
		T(a_control_file_alone_is_no_lane),
		T(ordinary_files_and_fifos_of_the_name_are_not_opened),
		T(a_parents_files_are_no_lane_of_the_child),
		T(every_number_of_a_data_header_is_checked),
		T(every_number_of_a_control_header_is_checked),
		T(a_lane_of_another_version_is_refused_by_its_number),
		T(many_files_of_the_name_are_bounded),
		T(a_lane_is_found_beside_other_shared_memory),
		T(the_name_is_distinguished_from_its_likes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
