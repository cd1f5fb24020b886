// SPDX-License-Identifier: GPL-2.0-or-later
/* Processes that are watched for what they publish: all that run, and none that has ended. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "runtime/otel/otel_watch.h"
#include "tapir/abi.h"
#include "tapir/otel_context.h"
#include "trace/record.h"

#define WATCHED_MAX 65536u
#define ABOVE_PIDS  (1u << 24)

static const char payload[] = "what this process is";
static struct tapir_queue *queue;
static struct tapir_otel_watch *watch;

static int setup(void **state)
{
	(void)state;
	assert_int_equal(tapir_queue__new(1, &queue), 0);
	watch = tapir_otel_watch__new(queue);
	assert_non_null(watch);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tapir_otel_watch__free(watch);
	tapir_queue__free(queue);
	return 0;
}

/* By a mapping with the name that tells it. */
static struct tapir_otel_process_header *publish(void)
{
	int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
	struct tapir_otel_process_header *header;

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, sysconf(_SC_PAGESIZE)), 0);
	header = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_PRIVATE, fd,
		      0);
	assert_ptr_not_equal(header, MAP_FAILED);
	close(fd);
	header->version = TAPIR_OTEL_PROCESS_VERSION;
	header->payload_bytes = sizeof(payload);
	header->payload_va = (uintptr_t)payload;
	header->published_at_ns = tapir_clock__ns(CLOCK_BOOTTIME);
	memcpy(header->signature, TAPIR_OTEL_PROCESS_SIGNATURE, sizeof(header->signature));
	return header;
}

/* Of this process, since the last call. */
static unsigned published_cnt(void)
{
	struct tapir_block *block;
	struct tapir_note *notes;
	unsigned cnt = 0;

	tapir_queue__wait(queue, 0, &notes, &block);
	while (notes) {
		struct tapir_note *note = notes;
		struct tapir_resource_view view;

		notes = note->next;
		if (((struct tapir_rec *)note->rec)->type == TAPIR_REC_RESOURCE) {
			tapir_resource_view__of((const void *)note->rec, &view);
			assert_int_equal(view.rec->tgid, getpid());
			assert_int_equal(view.payload.len, sizeof(payload));
			assert_memory_equal(view.payload.data, payload, sizeof(payload));
			cnt++;
		}
		tapir_note__free(note);
	}
	return cnt;
}

static void look_at(uint32_t first_tgid, unsigned cnt, uint64_t now_ns)
{
	struct tapir_pids live = {};

	for (unsigned i = 0; i < cnt; i++)
		assert_true(tapir_vec__push(&live, first_tgid + i));
	tapir_otel_watch__poll(watch, &live, now_ns, false);
	tapir_vec__fini(&live);
}

static void process_is_found_after_more_have_ended_than_are_watched_at_a_time(void **state)
{
	struct tapir_otel_process_header *header = publish();
	uint64_t now_ns = tapir_clock__now_ns();

	(void)state;
	look_at(ABOVE_PIDS, WATCHED_MAX, now_ns);
	look_at(ABOVE_PIDS, WATCHED_MAX + 1, now_ns); /* one has no place */
	assert_int_equal(published_cnt(), 0);
	look_at((uint32_t)getpid(), 1, now_ns);
	assert_int_equal(published_cnt(), 1);
	munmap(header, (size_t)sysconf(_SC_PAGESIZE));
}

static void process_with_the_number_of_one_that_ended_is_looked_at_at_once(void **state)
{
	struct tapir_otel_process_header *header = publish();
	uint64_t now_ns = tapir_clock__now_ns();

	(void)state;
	look_at((uint32_t)getpid(), 1, now_ns);
	assert_int_equal(published_cnt(), 1);
	look_at((uint32_t)getpid(), 1, now_ns);
	assert_int_equal(published_cnt(), 0); /* known, and its time has not come */
	look_at(ABOVE_PIDS, 3, now_ns);
	look_at((uint32_t)getpid(), 1, now_ns);
	assert_int_equal(published_cnt(), 1);
	munmap(header, (size_t)sysconf(_SC_PAGESIZE));
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(process_is_found_after_more_have_ended_than_are_watched_at_a_time),
		T(process_with_the_number_of_one_that_ended_is_looked_at_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
