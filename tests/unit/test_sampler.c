// SPDX-License-Identifier: GPL-2.0-or-later
/* Which CPUs are sampled while they come and go. No CPU is switched off: the list is the test's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <bpf/bpf.h>
#include <dirent.h>
#include <string.h>
#include <unistd.h>

#include "attach/bpf_insn.h"
#include "attach/sampler.h"
#include "base/diag.h"
#include "may_trace.h"

static int prog_fd = -1;
static struct tapir_sampler *sampler;

static int setup(void **state)
{
	const struct bpf_insn insns[] = {TAPIR_INSN_MOV(BPF_REG_0, 0), TAPIR_INSN_EXIT()};
	const struct tapir_sampler_plan plan = {.event = &tapir_sample_events[0], .hz = 99};

	(void)state;
	tapir_diag__clear();
	if (!may_trace())
		return 0;
	prog_fd = bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "tapir_try", "GPL", insns, 2, NULL);
	if (prog_fd < 0)
		return -1;
	return tapir_sampler__start(prog_fd, &plan, &sampler);
}

static int teardown(void **state)
{
	(void)state;
	tapir_sampler__stop(sampler);
	sampler = NULL;
	if (prog_fd >= 0)
		close(prog_fd);
	prog_fd = -1;
	return 0;
}

/* Perf events this process has open. */
static unsigned event_cnt(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	unsigned cnt = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		char target[64] = "";

		if (readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1) > 0)
			cnt += !strcmp(target, "anon_inode:[perf_event]");
	}
	closedir(dir);
	return cnt;
}

static void cpus_are_sampled_while_they_are_online(void **state)
{
	unsigned all = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);

	(void)state;
	if (!sampler)
		skip();
	assert_int_equal(event_cnt(), all);
	tapir_sampler__poll(sampler);
	assert_int_equal(event_cnt(), all);
	tapir_sampler__follow(sampler, "0\n");
	assert_int_equal(event_cnt(), 1);
	tapir_sampler__follow(sampler, "");
	assert_int_equal(event_cnt(), 0);
	tapir_sampler__follow(sampler, "0-8191\n"); /* those that are not there are none */
	assert_int_equal(event_cnt(), all);
	tapir_sampler__follow(sampler, "1");
	assert_int_equal(event_cnt(), all > 1);
	tapir_sampler__poll(sampler);
	assert_int_equal(event_cnt(), all);
	assert_int_equal(tapir_diag__cnt(), 0);
}

static void nonsense_is_no_cpu(void **state)
{
	static const char *const lists[] = {
		"x",	 "-",	       ",",	  "-1",	    "0-99999999999999999999",
		"7-0,x", "4294967295", "0-,,-3,", "1,1,1-1"};

	(void)state;
	if (!sampler)
		skip();
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		tapir_sampler__follow(sampler, lists[i]);
		assert_true(event_cnt() <= (unsigned)sysconf(_SC_NPROCESSORS_ONLN));
	}
	tapir_sampler__poll(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(cpus_are_sampled_while_they_are_online, setup,
						teardown),
		cmocka_unit_test_setup_teardown(nonsense_is_no_cpu, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
