// SPDX-License-Identifier: GPL-2.0-or-later
/* A page of watched runtimes: what is written is read, nothing else, whatever is in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tapir/abi.h"
#include "agent/watch/usage_report.h"
#include "agent/watch/watch_report.h"

static void put(struct tapir_watch_slot *slot, const char *name, uint32_t kind, double value,
		uint64_t utc_ms)
{
	const struct tapir_watch_value v = {.provider = tapir_sv__of("System.Runtime"),
					    .name = tapir_sv__of(name),
					    .kind = kind,
					    .value = value,
					    .added = value * 2,
					    .utc_ms = utc_ms};

	tapir_watch_slot__put(slot, &v);
}

static void newest_values_are_kept(void **state)
{
	struct tapir_watch_shm *page = tapir_watch_shm__new();
	struct tapir_watch_slot *slot = tapir_watch_shm__add(page, 7, 70, "shop");
	static struct tapir_watch_head head;
	struct tapir_watch_point points[TAPIR_WATCH_MAX_POINTS];

	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		put(slot, "gc-heap-size", TAPIR_COUNTER_GAUGE, (double)i, i);
	assert_true(tapir_watch_shm__copy(page, 0, &head));
	assert_int_equal(head.counter_cnt, 1);
	assert_true(head.counters[0].last.value == 999);
	assert_int_equal(tapir_watch_shm__points(page, 0, &head, 0, 0, points),
			 TAPIR_WATCH_MAX_POINTS);
	assert_int_equal(points[0].utc_ms, 1000 - TAPIR_WATCH_MAX_POINTS);
	assert_true(points[TAPIR_WATCH_MAX_POINTS - 1].value == 999);
	assert_int_equal(tapir_watch_shm__points(page, 0, &head, 0, 990, points), 10);
	tapir_watch_slot__release(slot);
	assert_false(tapir_watch_shm__copy(page, 0, &head));
	slot = tapir_watch_shm__add(page, 7, 71, "next");
	assert_int_equal(tapir_watch_shm__points(page, 0, &head, 0, 0, points), 0);
	tapir_watch_shm__free(page);
}

static void what_finds_no_room_is_counted(void **state)
{
	struct tapir_watch_shm *page = tapir_watch_shm__new();
	struct tapir_watch_slot *slot = NULL;
	char name[16];

	(void)state;
	for (uint32_t i = 0; i < TAPIR_WATCH_MAX_PROCESSES; i++)
		slot = tapir_watch_shm__add(page, i + 1, 1, "x");
	assert_non_null(slot);
	assert_null(tapir_watch_shm__add(page, 1000, 1, "x"));
	assert_int_equal(page->more_processes, 1);
	for (int i = 0; i < TAPIR_WATCH_MAX_COUNTERS + 3; i++) {
		snprintf(name, sizeof(name), "c%d", i);
		put(slot, name, TAPIR_COUNTER_GAUGE, 1, 1);
	}
	put(slot, "c0", TAPIR_COUNTER_GAUGE, 0.0 / 0.0, 2); /* no number */
	assert_int_equal(slot->head.counter_cnt, TAPIR_WATCH_MAX_COUNTERS);
	assert_int_equal(slot->head.more_counters, 3);
	assert_int_equal(slot->head.counters[0].point_cnt, 1);
	tapir_watch_shm__clear(page);
	assert_null(tapir_watch_shm__find(page, 1));
	tapir_watch_shm__free(page);
}

/* The writer decodes what processes send: its memory may hold anything. */
static void page_with_anything_in_it_is_read(void **state)
{
	struct tapir_watch_shm *page = tapir_watch_shm__new();
	struct tapir_watch_query query = {
		.pids = &(struct tapir_pids){}, .history_ms = 1000, .now_utc_ms = 1u << 30};
	struct tapir_str out = {};

	(void)state;
	memset(&page->slots[3], 0xff, sizeof(page->slots[3]));
	page->slots[3].version = 2;
	tapir_watch_report__metrics(page, &out);
	assert_false(out.failed);
	tapir_str__clear(&out);
	tapir_watch_report__counters(page, &query, &out);
	assert_false(out.failed);
	page->slots[3].version = 3; /* its writer was killed within */
	tapir_str__clear(&out);
	tapir_watch_report__counters(page, &query, &out);
	assert_string_equal(out.data, "{\"watched\":true,\"processes\":[],\"counters\":[]}");
	tapir_watch_shm__clear(page);
	assert_non_null(tapir_watch_shm__add(page, 1, 1, "x"));
	tapir_str__fini(&out);
	tapir_watch_shm__free(page);
}

static void metrics_are_those_of_the_runtime(void **state)
{
	struct tapir_watch_shm *page = tapir_watch_shm__new();
	struct tapir_watch_slot *slot = tapir_watch_shm__add(page, 7, 70, "a\"b\\c\n");
	struct tapir_str out = {};

	(void)state;
	put(slot, "gen-0-gc-count", TAPIR_COUNTER_RATE, 5, 1); /* 10 in its interval */
	put(slot, "gen-1-gc-count", TAPIR_COUNTER_RATE, 2, 1);
	put(slot, "gc-heap-size", TAPIR_COUNTER_GAUGE, 1.5, 1);
	tapir_watch_slot__put_pause(slot, 1, 2000000);
	tapir_watch_slot__put_pause(slot, 2, 60ull * 1000000000);
	tapir_watch_report__metrics(page, &out);
	assert_non_null(strstr(out.data, "tapir_runtime_heap_bytes{pid=\"7\",process=\"a\\\"b\\"));
	assert_non_null(strstr(out.data, "generation=\"0\"} 6\n"));
	assert_non_null(strstr(out.data, "generation=\"1\"} 4\n"));
	assert_null(strstr(out.data, "generation=\"2\"}"));
	assert_non_null(strstr(out.data, ",le=\"0.0025\"} 1\n"));
	assert_non_null(strstr(out.data, ",le=\"1\"} 1\n"));
	assert_non_null(strstr(out.data, ",le=\"+Inf\"} 2\n"));
	assert_non_null(strstr(out.data, "} 60.002\n"));
	tapir_str__fini(&out);
	tapir_watch_shm__free(page);
}

static size_t count(const char *text, const char *what)
{
	size_t cnt = 0;

	for (; (text = strstr(text, what)); text++)
		cnt++;
	return cnt;
}

/* Of all processes, this one among them or not; of this one alone; of one that does not exist. */
static void usage_is_that_of_at_most_eighty_processes(void **state)
{
	char labels[TAPIR_USAGE_LABELS_BYTES], own[32];
	struct tapir_str out = {};
	size_t cnt;

	(void)state;
	tapir_usage_report__metrics(0, &out);
	assert_false(out.failed);
	cnt = count(out.data, "tapir_process_cpu_seconds_total{");
	assert_in_range(cnt, 1, 2 * TAPIR_USAGE_TOP);
	assert_int_equal(count(out.data, "tapir_process_resident_memory_bytes{"), cnt);
	assert_null(strstr(out.data, "process=\"kthreadd\""));
	assert_int_equal(count(out.data, "\ntapir_machine_cpu_seconds_total "), 1);
	tapir_str__clear(&out);
	tapir_usage_report__metrics((uint32_t)getpid(), &out);
	snprintf(own, sizeof(own), "{pid=\"%d\",", getpid());
	assert_int_equal(count(out.data, own), 2);
	assert_int_equal(count(out.data, "{"), 2);
	tapir_str__clear(&out);
	tapir_usage_report__metrics(INT32_MAX, &out);
	assert_int_equal(count(out.data, "{"), 0);
	tapir_str__fini(&out);
	/* Whatever is in a name: one line, closed. */
	tapir_usage_report__labels(1, "\x01\x01\x01\x01\x01\x01\x01\"\n}\xff\xe2\x80\xae", labels);
	assert_null(strchr(labels, '\n'));
	assert_null(strchr(labels, (char)0xff));
	assert_int_equal(labels[strlen(labels) - 1], '"');
}

static void processes_are_found_by_their_number(void **state)
{
	struct tapir_watch_shm *page = tapir_watch_shm__new();
	uint32_t pid = 7;
	struct tapir_pids pids = {.data = &pid, .cnt = 1};
	struct tapir_watch_query query = {.pids = &pids};

	(void)state;
	assert_int_equal(tapir_watch_report__has(page, &query), 0);
	(void)tapir_watch_shm__add(page, 7, 70, "shop");
	assert_int_equal(tapir_watch_report__has(page, &query), 1);
	query.started_ms = 74; /* as another reading has it */
	assert_int_equal(tapir_watch_report__has(page, &query), 1);
	query.started_ms = 80;
	assert_int_equal(tapir_watch_report__has(page, &query), -EEXIST);
	tapir_watch_shm__free(page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(newest_values_are_kept),
		cmocka_unit_test(what_finds_no_room_is_counted),
		cmocka_unit_test(page_with_anything_in_it_is_read),
		cmocka_unit_test(metrics_are_those_of_the_runtime),
		cmocka_unit_test(usage_is_that_of_at_most_eighty_processes),
		cmocka_unit_test(processes_are_found_by_their_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
