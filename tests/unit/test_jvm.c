// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is a JVM, and what its performance counters say. With arguments it attaches to a real
 * one, for tests/e2e/case_jvm.py:
 *	inspect PID | command PID TEXT | map PID COPY | keep PID COPY   [TIMEOUT in ms]
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "base/clock.h"
#include "fake_jvm.h"
#include "runtime/jvm/jvm.h"
#include "runtime/jvm/jvm_attach.h"
#include "runtime/jvm/jvm_perfdata.h"

#define MS TAPIR_NS_PER_MS

/* ---- finding out --------------------------------------------------------------------------------- */

static void a_path_is_libjvms_by_its_last_component(void **state)
{
	static const struct {
		const char *path;
		bool is_one;
	} cases[] = {{"/usr/lib/jvm/x/lib/server/libjvm.so", true},
		     {"/libjvm.so", true},
		     {"/a/libjvm.so (deleted)", true},
		     {"libjvm.so", false},
		     {"/a/mylibjvm.so", false},
		     {"/a/libjvm.so.1", false},
		     {"/a/libjvm.so/b", false},
		     {"", false}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(tapir_jvm__is_libjvm_path(cases[i].path, strlen(cases[i].path)),
				 cases[i].is_one);
}

static void a_jvm_is_described_by_its_library(void **state)
{
	struct fake_jvm *f = *state;
	struct tapir_jvm_info info;

	fake_jvm__start(f);
	assert_int_equal(tapir_jvm__inspect((uint32_t)f->pid, &info), 1);
	assert_string_equal(info.version, "1.2.3+4");
	assert_string_equal(info.path, f->lib);
	assert_int_equal(info.perfdata_va, 0);
	assert_int_equal(tapir_jvm__inspect((uint32_t)getpid(), &info), 0);
}

static size_t put_entry(uint8_t *at, const char *name, const char *value)
{
	uint32_t name_off = 20, data_off = name_off + (uint32_t)strlen(name) + 1;
	uint32_t len = (data_off + (uint32_t)strlen(value) + 1 + 7) & ~7u;

	memcpy(at, &len, 4);
	memcpy(at + 4, &name_off, 4);
	memcpy(at + 16, &data_off, 4);
	strcpy((char *)at + name_off, name);
	strcpy((char *)at + data_off, value);
	return len;
}

static size_t build_perfdata(uint8_t *data, const char *capabilities)
{
	static const uint8_t head[] = {0xca, 0xfe, 0xc0, 0xc0, 1, 2, 0, 1};
	uint32_t first = 32, cnt = 2;
	size_t len = first;

	memcpy(data, head, sizeof(head));
	memcpy(data + 24, &first, 4);
	memcpy(data + 28, &cnt, 4);
	len += put_entry(data + len, "sun.rt.jvmVersion", "1");
	return len + put_entry(data + len, "sun.rt.jvmCapabilities", capabilities);
}

static void counters_say_whether_attaching_is_disabled(void **state)
{
	uint8_t data[256] = {};
	size_t len = build_perfdata(data, "1100");

	(void)state;
	assert_int_equal(tapir_jvm_perfdata__may_attach(data, len), 1);
	for (size_t cut = 0; cut + 8 < len; cut++)
		assert_int_not_equal(tapir_jvm_perfdata__may_attach(data, cut), 0);
	len = build_perfdata(data, "0100");
	assert_int_equal(tapir_jvm_perfdata__may_attach(data, len), 0);
	data[4] = 0; /* big-endian */
	assert_int_equal(tapir_jvm_perfdata__may_attach(data, len), -ENODATA);
	data[4] = 1;
	memset(data + 32, 0, 4); /* an entry without length: no endless walk */
	assert_int_equal(tapir_jvm_perfdata__may_attach(data, len), -ENODATA);
	memset(data + 32, 0xff, 4);
	assert_int_equal(tapir_jvm_perfdata__may_attach(data, len), -ENODATA);
}

static uint32_t put_number(uint8_t *at, const char *name, uint64_t value)
{
	uint32_t len = put_entry(at, name, "1234567890123456"), data_off;

	memcpy(&data_off, at + 16, 4);
	at[12] = 'J';
	memcpy(at + data_off, &value, 8);
	return len;
}

static size_t build_gauges(uint8_t *data)
{
	static const uint8_t head[] = {0xca, 0xfe, 0xc0, 0xc0, 1, 2, 0, 1};
	uint32_t first = 32, cnt = 15;
	size_t len = first;

	memcpy(data, head, sizeof(head));
	memcpy(data + 24, &first, 4);
	memcpy(data + 28, &cnt, 4);
	len += put_number(data + len, "sun.gc.collector.0.invocations", 7);
	len += put_number(data + len, "sun.gc.collector.12.invocations", 3);
	len += put_number(data + len, "sun.gc.collector.12.time", 500);
	len += put_number(data + len, "sun.gc.collector.x.time", 77);
	len += put_number(data + len, "sun.os.hrt.frequency", 1000);
	len += put_number(data + len, "sun.gc.generation.1.space.0.used", 123456);
	len += put_number(data + len, "sun.gc.generation.0.space.2.used", 1000);
	len += put_number(data + len, "sun.gc.generation.0.space.2.usedMore", 5);
	len += put_number(data + len, "sun.gc.generation.0.capacity", 400000);
	len += put_number(data + len, "sun.gc.generation.1.capacity", 600000);
	len += put_number(data + len, "sun.gc.generation.1.space.0.capacity", 600000);
	len += put_number(data + len, "java.ci.totalTime", 250);
	len += put_number(data + len, "java.cls.loadedClasses", 4711);
	len += put_number(data + len, "java.cls.unloadedClasses", UINT64_MAX);
	return len + put_entry(data + len, "sun.gc.lastCause", "System.gc()");
}

static void counters_of_the_heap_are_read(void **state)
{
	uint8_t data[2048] = {};
	size_t len = build_gauges(data);
	struct tapir_jvm_gauges gauges;

	(void)state;
	assert_int_equal(tapir_jvm_perfdata__read(data, len, &gauges), 0);
	assert_true(gauges.has_gc);
	assert_int_equal(gauges.gc_cnt, 10);
	assert_int_equal(gauges.gc_ns, 500000000);
	assert_int_equal(gauges.old_used_bytes, 123456);
	assert_int_equal(gauges.heap_used_bytes, 124456);
	assert_int_equal(gauges.heap_committed_bytes, 1000000);
	assert_int_equal(gauges.jit_ns, 250000000);
	assert_int_equal(gauges.class_cnt, 4711);
	assert_int_equal(gauges.unloaded_cnt, 0); /* negative: not a count */
	assert_string_equal(gauges.gc_cause, "System.gc()");
}

/* While it collects: that collection counts, and the last cause is that of none. */
static void cause_is_that_of_the_collection_that_runs(void **state)
{
	static const uint8_t head[] = {0xca, 0xfe, 0xc0, 0xc0, 1, 2, 0, 1};
	uint8_t data[2048] = {};
	uint32_t first = 32, cnt = 9;
	size_t len = first;
	struct tapir_jvm_gauges gauges;

	(void)state;
	memcpy(data, head, sizeof(head));
	memcpy(data + 24, &first, 4);
	memcpy(data + 28, &cnt, 4);
	len += put_entry(data + len, "sun.gc.collector.0.name", "G1 young collection pauses");
	len += put_number(data + len, "sun.gc.collector.0.invocations", 7);
	len += put_number(data + len, "sun.gc.collector.0.lastExitTime", 1500);
	len += put_entry(data + len, "sun.gc.collector.2.name", "G1 concurrent cycle pauses");
	len += put_number(data + len, "sun.gc.collector.2.invocations", 4);
	len += put_number(data + len, "sun.gc.collector.2.lastExitTime", 1700);
	len += put_number(data + len, "sun.os.hrt.frequency", 1000);
	len += put_entry(data + len, "sun.gc.cause", "System.gc()");
	len += put_entry(data + len, "sun.gc.lastCause", "No GC");
	assert_int_equal(tapir_jvm_perfdata__read(data, len, &gauges), 0);
	assert_string_equal(gauges.gc_cause, "System.gc()");
	assert_int_equal(gauges.gc_cnt, 7); /* a cycle's pauses are no collections */
	assert_int_equal(gauges.gc_ended_ns, 1500000000);
}

static void broken_counters_are_read_as_far_as_they_go(void **state)
{
	uint8_t data[2048] = {};
	size_t len = build_gauges(data);
	struct tapir_jvm_gauges gauges;

	(void)state;
	for (size_t cut = 0; cut + 8 < len; cut++) {
		assert_int_equal(tapir_jvm_perfdata__read(data, cut, &gauges), -ENODATA);
		assert_string_equal(gauges.gc_cause, "");
	}
	memset(data + 32 + 4, 0xff, 4); /* a name beyond its entry: that one is left out */
	assert_int_equal(tapir_jvm_perfdata__read(data, len, &gauges), 0);
	assert_int_equal(gauges.gc_cnt, 3);
	memset(data + 28, 0xff, 4); /* more entries than there are */
	assert_int_equal(tapir_jvm_perfdata__read(data, len, &gauges), -ENODATA);
	assert_int_equal(gauges.gc_cnt, 3);
	memset(data + 24, 0xff, 4); /* the first one beyond the end */
	assert_int_equal(tapir_jvm_perfdata__read(data, len, &gauges), -ENODATA);
	assert_int_equal(gauges.gc_cnt, 0);
}

/* ---- for tests/e2e -------------------------------------------------------------------------------- */

static int copy_map(const struct tapir_jvm_perf_map *map, const char *copy)
{
	tapir_autofd int fd = openat(map->dir_fd, map->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	tapir_autofd int out = open(copy, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	tapir_autofree char *data = NULL;
	size_t len;
	int err = fd < 0 ? -errno : tapir_file__read_fd(fd, 64u << 20, &data, &len);

	return err ? err : tapir_file__write_all(out, data, len);
}

static int drive_map(const struct tapir_jvm_opts *opts, const char *copy, bool keeps)
{
	struct tapir_jvm_perf_map map;
	int err = tapir_jvm__dump_perf_map(opts, &map);

	if (err)
		return err;
	printf("%s existed=%d uid=%u\n", map.name, map.existed, map.uid);
	err = copy_map(&map, copy);
	if (keeps)
		tapir_peer_guard__dismiss(&map.guard);
	else if (!err)
		err = tapir_jvm__remove_perf_map(opts, &map);
	tapir_jvm_perf_map__fini(&map);
	return err;
}

static int drive_command(const struct tapir_jvm_opts *opts, const char *text)
{
	const char *const args[] = {text, NULL};
	struct tapir_str reply = {};
	int err = tapir_jvm__command(opts, "jcmd", args, &reply);

	fputs(reply.data ? reply.data : "", stdout);
	tapir_str__fini(&reply);
	return err;
}

static int drive(int argc, char **argv)
{
	struct tapir_jvm_opts opts = {.tgid = (uint32_t)atoi(argv[2]), .cancel_fd = -1};
	const char *what = argv[1], *arg = argc > 3 ? argv[3] : "";
	struct tapir_jvm_info info;
	int err;

	opts.timeout_ns = argc > 4 ? (uint64_t)atoi(argv[4]) * MS : 0;
	if (!strcmp(what, "inspect")) {
		err = tapir_jvm__inspect(opts.tgid, &info);
		if (err > 0)
			printf("%s %s %d\n", info.version, info.path, info.perfdata_va != 0);
		err = err > 0 ? 0 : err;
	} else if (!strcmp(what, "command")) {
		err = drive_command(&opts, arg);
	} else {
		err = drive_map(&opts, arg, !strcmp(what, "keep"));
	}
	if (err)
		printf("failed -%s\n", tapir_errno__name(err));
	for (int i = 0; i < tapir_diag__cnt(); i++)
		printf("line: %s\n", tapir_diag__line(i));
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_path_is_libjvms_by_its_last_component),
		cmocka_unit_test_setup_teardown(a_jvm_is_described_by_its_library, fake_jvm__setup,
						fake_jvm__teardown),
		cmocka_unit_test(counters_say_whether_attaching_is_disabled),
		cmocka_unit_test(counters_of_the_heap_are_read),
		cmocka_unit_test(cause_is_that_of_the_collection_that_runs),
		cmocka_unit_test(broken_counters_are_read_as_far_as_they_go),
	};

	if (argc > 2)
		return drive(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
