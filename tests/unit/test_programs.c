// SPDX-License-Identifier: GPL-2.0-or-later
/* What the BPF programs must keep to, as the kernel's verifier sees them. Needs root. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/programs.h"
#include "attach/tracepoints.h"
#include "base/log.h"
#include "base/str.h"
#include "may_trace.h"
#include "tapir.skel.h"

/* From here on a function's stack is one a CPU: verifier.c, BPF_PRIV_STACK_MIN_SIZE, since 6.13. */
#define PRIVATE_STACK_BYTES 64
#define STACK_UNIT_BYTES    16 /* what the verifier rounds to */
#define LOG_BYTES	    (1u << 20)

static void need_root(void)
{
	if (!may_trace()) {
		print_message("skipped: loading BPF programs needs root\n");
		skip();
	}
}

static int ignore_log(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	(void)level;
	(void)fmt;
	(void)ap;
	return 0;
}

/* The verifier's statistics for a program, in which "stack depth 32+8+..." names each function. */
enum asked { OF_NOTHING, OF_QUESTIONS, OF_SUMS, OF_HISTOGRAM, OF_NUMBERS };

static char *log_of(const char *name, enum asked asked)
{
	struct tapir_bpf *skel = tapir_bpf__open();
	struct bpf_program *prog;
	char *log = calloc(1, LOG_BYTES);

	assert_non_null(skel);
	assert_non_null(log);
	skel->rodata->has_questions = asked >= OF_QUESTIONS;
	skel->rodata->has_sums = asked >= OF_SUMS;
	if (asked == OF_SUMS) {
		skel->rodata->sums_column_cnt = TAPIR_SUMS_COLUMNS;
		skel->rodata->sums_key_cnt = TAPIR_SUMS_KEYS;
	}
	if (asked == OF_HISTOGRAM) {
		skel->rodata->sums_column_cnt = 1;
		bpf_map__set_value_size(skel->maps.sums_steps, TAPIR_STEP_CNT * sizeof(uint64_t));
	}
	if (asked == OF_NUMBERS) {
		skel->rodata->sums_key_cnt = 1;
		bpf_map__set_key_size(skel->maps.sums_rows, TAPIR_SUMS_KEY_BYTES(1));
	}
	bpf_object__for_each_program(prog, skel->obj)
	{
		bool is_it = !strcmp(bpf_program__name(prog), name);

		bpf_program__set_autoload(prog, is_it);
		if (!is_it)
			continue;
		bpf_program__set_log_level(prog, 4);
		assert_int_equal(bpf_program__set_log_buf(prog, log, LOG_BYTES), 0);
	}
	assert_int_equal(tapir_bpf__load(skel), 0);
	tapir_bpf__destroy(skel);
	return log;
}

static void check_stack(const char *name, enum asked asked)
{
	const char *at;
	char *log, *end;
	unsigned function_cnt = 0;

	need_root();
	libbpf_set_print(ignore_log);
	log = log_of(name, asked);
	at = strstr(log, "stack depth ");
	assert_non_null(at);
	for (at += strlen("stack depth "); *at >= '0' && *at <= '9'; at = end + (*end == '+')) {
		unsigned long bytes = strtoul(at, &end, 10);

		bytes = (bytes + STACK_UNIT_BYTES - 1) / STACK_UNIT_BYTES * STACK_UNIT_BYTES;
		assert_in_range(bytes, 0, PRIVATE_STACK_BYTES - 1);
		function_cnt++;
	}
	assert_true(function_cnt > 1);
	free(log);
}

static void stack_is_the_threads_own_when_probe_sleeps(void **state)
{
	(void)state;
	check_stack("tapir_usdt", OF_NOTHING);
	check_stack("tapir_usdt", OF_QUESTIONS);
	check_stack("tapir_usdt", OF_SUMS);
	check_stack("tapir_usdt", OF_HISTOGRAM);
	check_stack("tapir_usdt", OF_NUMBERS);
	check_stack("tapir_mem_call", OF_NOTHING); /* it may be preempted */
}

/*
 * Loading is most of what starting a recording takes. A binary search in which the compiler had
 * found a branch again was looked at once for each of its 2,048 ways: 40,000 instructions more.
 */
static void loading_stays_quick(void **state)
{
	static const struct {
		const char *name;
		unsigned long most;
	} programs[] = {{"tapir_sample", 26500}, {"tapir_switch", 41500}, {"tapir_usdt", 33000}};
	const char *at;
	char *log;

	(void)state;
	need_root();
	libbpf_set_print(ignore_log);
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		log = log_of(programs[i].name, OF_NOTHING);
		at = strstr(log, "processed ");
		assert_non_null(at);
		assert_in_range(strtoul(at + strlen("processed "), NULL, 10), 100,
				programs[i].most);
		free(log);
	}
}

static uint32_t code_bytes(int fd, char name[BPF_OBJ_NAME_LEN])
{
	struct bpf_prog_info info = {};
	uint32_t len = sizeof(info);

	assert_int_equal(bpf_obj_get_info_by_fd(fd, &info, &len), 0);
	memcpy(name, info.name, BPF_OBJ_NAME_LEN);
	return info.xlated_prog_len;
}

/* Loaded by a thread, or when it is asked for, it is the program it would be otherwise. */
static void program_for_probes_is_the_same_when_it_comes_later(void **state)
{
	struct tapir_programs_opts opts = {
		.sz = sizeof(opts), .site_cap = 16, .ring_bytes = 1 << 18};
	uint32_t bytes[3];

	(void)state;
	need_root();
	for (int later = 0; later < 3; later++) {
		struct tapir_programs *p;
		char name[BPF_OBJ_NAME_LEN];

		opts.probes_later = later;
		opts.probes_unlikely = later == 2;
		assert_int_equal(tapir_programs__load(&opts, &p), 0);
		bytes[later] = code_bytes(tapir_programs__usdt_fd(p), name);
		assert_string_equal(name, "tapir_usdt");
		assert_int_equal(tapir_programs__misses(p, TAPIR_LOSS_RECURSION), 0);
		tapir_programs__free(p);
	}
	assert_true(bytes[0] > 1000);
	assert_int_equal(bytes[1], bytes[0]);
	assert_int_equal(bytes[2], bytes[0]);
}

/* Whoever needs no probe ends without it. */
static void nothing_is_waited_for_when_it_is_not_asked_for(void **state)
{
	struct tapir_programs_opts opts = {
		.sz = sizeof(opts), .site_cap = 16, .ring_bytes = 1 << 18, .probes_later = true};
	struct tapir_programs *p;

	(void)state;
	need_root();
	for (int i = 0; i < 4; i++) {
		opts.probes_unlikely = i % 2;
		assert_int_equal(tapir_programs__load(&opts, &p), 0);
		assert_int_equal(tapir_programs__misses(p, TAPIR_LOSS_RECURSION), 0);
		tapir_programs__free(p);
	}
}

/* With and without stacks and conditions, and of a tracepoint of each kind of text. */
static void sources_of_the_machine_are_attached(void **state)
{
	struct tapir_programs_opts opts = {.sz = sizeof(opts),
					   .site_cap = 16,
					   .ring_bytes = 1 << 18,
					   .no_processes = true,
					   .machine_cap = 2,
					   .with_tracepoints = true,
					   .with_calls = true};
	const struct tapir_machine_site site = {.probe_id = 1};
	const struct tapir_tracepoint rename = {.category = "task", .name = "task_rename"};
	struct tapir_programs *p;

	(void)state;
	need_root();
	for (int i = 0; i < 3; i++) {
		opts.with_machine_stacks = i;
		opts.with_questions = i == 2;
		assert_int_equal(tapir_programs__load(&opts, &p), 0);
		assert_int_equal(tapir_programs__set_machine_site(p, 1, &site), 0);
		assert_int_equal(tapir_programs__set_call(p, 1, 1), 0);
		assert_int_equal(tapir_programs__attach_calls(p), 0);
		assert_int_equal(tapir_programs__attach_tracepoint(p, &rename, 1), 0);
		tapir_programs__free(p);
	}
}

static struct tapir_str logged;

static void keep(enum tapir_log_level level, const char *line)
{
	(void)level;
	tapir_str__addf(&logged, "%s|", line);
}

static void print(libbpf_print_fn_t fn, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fn(LIBBPF_WARN, fmt, ap);
	va_end(ap);
}

/* libbpf passes on the verifier's log in one text: its reason is in the last lines. */
static void verifiers_reason_is_logged_when_its_log_is_long(void **state)
{
	const struct tapir_programs_opts opts = {
		.sz = sizeof(opts), .site_cap = 16, .ring_bytes = 1 << 18};
	struct tapir_str text = {};
	struct tapir_programs *p;

	(void)state;
	need_root();
	assert_int_equal(tapir_programs__load(&opts, &p), 0);
	for (int i = 0; i < 5000; i++)
		tapir_str__addf(&text, "%d: (b7) r0 = 0\n", i);
	tapir_log__set(keep, TAPIR_LOG_DEBUG);
	print(libbpf_set_print(ignore_log), "-- BEGIN --\n%sR2 type=mem expected=fp\n-- END --\n",
	      text.data);
	tapir_log__set(NULL, TAPIR_LOG_WARN);
	assert_non_null(strstr(logged.data, "|R2 type=mem expected=fp|-- END --|"));
	assert_int_equal(strncmp(logged.data, "4972: ", strlen("4972: ")), 0);
	tapir_programs__free(p);
	tapir_str__fini(&text);
	tapir_str__fini(&logged);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stack_is_the_threads_own_when_probe_sleeps),
		cmocka_unit_test(loading_stays_quick),
		cmocka_unit_test(program_for_probes_is_the_same_when_it_comes_later),
		cmocka_unit_test(nothing_is_waited_for_when_it_is_not_asked_for),
		cmocka_unit_test(sources_of_the_machine_are_attached),
		cmocka_unit_test(verifiers_reason_is_logged_when_its_log_is_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
