// SPDX-License-Identifier: GPL-2.0-or-later
/* Cgroups by the paths people give, in both hierarchies; made and removed here, so root. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/cgroup.h"
#include "attach/cpu_quota.h"
#include "base/diag.h"

static char root[4096], name[64], top[4200], below[4300];
static pid_t members[2];

/* Where the first hierarchy of that type is mounted; "" if it is not. */
static void find_root(const char *type)
{
	FILE *mounts = fopen("/proc/self/mounts", "re");
	char line[8192], at[4096], kind[64];

	root[0] = '\0';
	while (!root[0] && mounts && fgets(line, sizeof(line), mounts))
		if (sscanf(line, "%*s %4095s %63s", at, kind) == 2 && !strcmp(kind, type))
			strcpy(root, at);
	if (mounts)
		fclose(mounts);
}

static int setup(void **state)
{
	(void)state;
	tapir_diag__clear();
	top[0] = below[0] = '\0';
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		if (members[i] > 0) {
			kill(members[i], SIGKILL);
			waitpid(members[i], NULL, 0);
		}
		members[i] = 0;
	}
	if (below[0])
		rmdir(below);
	if (top[0])
		rmdir(top);
	return 0;
}

static void make_groups(const char *type)
{
	find_root(type);
	if (!root[0]) {
		print_message("skipped: no %s hierarchy is mounted\n", type);
		skip();
	}
	snprintf(name, sizeof(name), "tapir_test_%d", (int)getpid());
	snprintf(top, sizeof(top), "%s/%s", root, name);
	snprintf(below, sizeof(below), "%s/inner", top);
	if (mkdir(top, 0755) || mkdir(below, 0755)) {
		print_message("skipped: cannot make a cgroup: %s\n", strerror(errno));
		skip();
	}
}

static void level_is(const char *path, uint32_t level, const char *dir)
{
	struct tapir_cgroup cgroup;
	struct stat st;

	if (tapir_cgroup__find(path, &cgroup))
		fail_msg("%s: not found", path);
	assert_true(cgroup.is_v2);
	assert_string_equal(cgroup.dir, dir);
	assert_int_equal(cgroup.level, level);
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(cgroup.id, st.st_ino);
}

#define FORMAT(...) (snprintf(path, sizeof(path), __VA_ARGS__), path)

static void group_is_found_by_each_way_to_say_it(void **state)
{
	char path[9000];

	(void)state;
	make_groups("cgroup2");
	level_is(top, 1, top);
	level_is(below, 2, below);
	level_is(name, 1, top); /* as in /proc/PID/cgroup, with and without '/' */
	level_is(FORMAT("/%s", name), 1, top);
	level_is(FORMAT("/%s/inner", name), 2, below);
	level_is(root, 0, root);
}

/* The level is what the kernel compares at: a wrong one matches nothing, silently. */
static void level_is_right_when_the_path_is_not_plain(void **state)
{
	char path[9000];

	(void)state;
	make_groups("cgroup2");
	level_is(FORMAT("%s/", top), 1, top);
	level_is(FORMAT("%s//inner//", top), 2, below);
	level_is(FORMAT("%s/./inner", top), 2, below);
	level_is(FORMAT("%s/inner/..", top), 1, top);
	level_is(FORMAT("/%s/inner/../inner/.", name), 2, below);
}

static void group_is_of_version_one_when_only_there(void **state)
{
	struct tapir_cgroup cgroup;

	(void)state;
	make_groups("cgroup");
	assert_int_equal(tapir_cgroup__find(top, &cgroup), 0);
	assert_false(cgroup.is_v2);
	assert_string_equal(cgroup.dir, top);
	assert_int_equal(tapir_cgroup__find(name, &cgroup), 0);
	assert_false(cgroup.is_v2);
}

static void nothing_is_found_when_it_is_no_cgroup(void **state)
{
	static const char *const bad[] = {"/no/such/cgroup", "no-such-cgroup", "/tmp", "/proc",
					  "/sys/fs/cgroup/no-such"};
	struct tapir_cgroup cgroup, before;
	char path[9000];

	(void)state;
	memset(&before, 0xee, sizeof(before));
	cgroup = before;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		tapir_diag__clear();
		assert_int_equal(tapir_cgroup__find(bad[i], &cgroup), -ENOENT);
		assert_int_equal(tapir_diag__cnt(), 1);
		assert_non_null(strstr(tapir_diag__line(0), bad[i]));
	}
	find_root("cgroup2");
	if (root[0]) {
		/* A file in it, and a way out of it. */
		assert_int_equal(tapir_cgroup__find(FORMAT("%s/cgroup.procs", root), &cgroup),
				 -ENOENT);
		assert_int_equal(tapir_cgroup__find("../../../../../../tmp", &cgroup), -ENOENT);
		assert_int_equal(tapir_cgroup__find(FORMAT("%sX", root), &cgroup), -ENOENT);
	}
	assert_memory_equal(&cgroup, &before, sizeof(cgroup)); /* untouched */
}

static pid_t start_member(const char *dir)
{
	char path[4400];
	FILE *file;
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			pause();
	snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	file = fopen(path, "we");
	assert_non_null(file);
	fprintf(file, "%d", (int)pid);
	if (fclose(file)) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		print_message("skipped: cannot move a process: %s\n", strerror(errno));
		skip();
	}
	return pid;
}

static unsigned seen_mask, seen_cnt;

static int remember(uint32_t tgid, void *ctx)
{
	seen_cnt++;
	for (unsigned i = 0; i < 2; i++)
		if (tgid == (uint32_t)members[i])
			seen_mask |= 1u << i;
	return *(int *)ctx;
}

static void members_are_those_of_the_group_and_below(const char *type)
{
	struct tapir_cgroup cgroup;
	int go_on = 0, stop = -EINTR;

	make_groups(type);
	members[0] = start_member(top);
	members[1] = start_member(below);
	assert_int_equal(tapir_cgroup__find(top, &cgroup), 0);
	seen_mask = seen_cnt = 0;
	assert_int_equal(tapir_cgroup__each_process(&cgroup, remember, &go_on), 0);
	assert_int_equal(seen_mask, 3);
	assert_int_equal(seen_cnt, 2);
	seen_cnt = 0; /* what fn returns ends the walk */
	assert_int_equal(tapir_cgroup__each_process(&cgroup, remember, &stop), -EINTR);
	assert_int_equal(seen_cnt, 1);
	assert_int_equal(tapir_cgroup__find(below, &cgroup), 0);
	seen_mask = seen_cnt = 0;
	assert_int_equal(tapir_cgroup__each_process(&cgroup, remember, &go_on), 0);
	assert_int_equal(seen_mask, 2);
	assert_int_equal(seen_cnt, 1);
	teardown(NULL); /* it is gone: then nobody is in it */
	assert_int_equal(tapir_cgroup__each_process(&cgroup, remember, &go_on), 0);
	assert_int_equal(seen_cnt, 1);
}

static void members_come_when_version_two(void **state)
{
	(void)state;
	members_are_those_of_the_group_and_below("cgroup2");
}

static void members_come_when_version_one(void **state)
{
	(void)state;
	members_are_those_of_the_group_and_below("cgroup");
}

static void write_to(const char *dir, const char *file, const char *text)
{
	char path[4400];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	f = fopen(path, "we");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static bool becomes(uint32_t tgid, bool is_frozen)
{
	for (int i = 0; i < 10000 && tapir_cgroup__is_frozen(tgid) != is_frozen; i++)
		usleep(1000);
	return tapir_cgroup__is_frozen(tgid) == is_frozen;
}

static void frozen_process_is_known_in_the_group_and_below(void **state)
{
	(void)state;
	make_groups("cgroup2");
	members[0] = start_member(top);
	members[1] = start_member(below);
	assert_false(tapir_cgroup__is_frozen((uint32_t)members[0]));
	write_to(top, "cgroup.freeze", "1");
	assert_true(becomes((uint32_t)members[0], true));
	assert_true(becomes((uint32_t)members[1], true));
	assert_false(tapir_cgroup__is_frozen((uint32_t)getpid()));
	write_to(top, "cgroup.freeze", "0");
	assert_true(becomes((uint32_t)members[1], false));
}

static void container_is_known_by_its_cgroup(void **state)
{
#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	static const struct {
		const char *path, *id;
	} cases[] = {
		{"", ""},
		{"/", ""},
		{"/user.slice/user-1000.slice/session-3.scope", ""},
		{"/docker/" ID, "0123456789ab"},
		{"/system.slice/docker-" ID ".scope", "0123456789ab"},
		{"/kubepods.slice/kubepods-pod12.slice/cri-containerd-" ID ".scope",
		 "0123456789ab"},
		{"/machine.slice/libpod-" ID ".scope/container", "0123456789ab"},
		{"/docker/" ID "/docker/fedcba98" ID, "0123456789ab"}, /* 72 digits: no id */
		{"/docker/f" ID, ""},
		{"/a/0123456789abcdef", ""},
	};
	char id[TAPIR_CONTAINER_ID_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		tapir_container__id(cases[i].path, id);
		assert_string_equal(id, cases[i].id);
	}
}

/* A number, or that there is none; never one for a process that does not exist. */
static void memory_limit_is_one_or_none(void **state)
{
	uint64_t bytes = 0;

	(void)state;
	if (tapir_cgroup__memory_limit((uint32_t)getpid(), &bytes))
		assert_true(bytes >= 1 << 20);
	assert_false(tapir_cgroup__memory_limit(INT32_MAX, &bytes));
}

static void quota_that_leaves_nothing_is_known_in_the_group_and_below(void **state)
{
	char quota[4400];

	(void)state;
	make_groups("cgroup");
	snprintf(quota, sizeof(quota), "%s/cpu.cfs_quota_us", top);
	if (access(quota, F_OK)) {
		print_message("skipped: the first hierarchy is not the one of CPU time\n");
		skip();
	}
	members[0] = start_member(top);
	members[1] = start_member(below);
	assert_false(tapir_cpu_quota__is_starving((uint32_t)members[0]));
	write_to(top, "cpu.cfs_period_us", "1000000");
	write_to(top, "cpu.cfs_quota_us", "500000");
	assert_false(tapir_cpu_quota__is_starving((uint32_t)members[0]));
	write_to(top, "cpu.cfs_quota_us", "1000");
	assert_true(tapir_cpu_quota__is_starving((uint32_t)members[0]));
	assert_true(tapir_cpu_quota__is_starving((uint32_t)members[1]));
	assert_false(tapir_cpu_quota__is_starving((uint32_t)getpid()));
	assert_false(tapir_cpu_quota__is_starving(INT32_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		CASE(group_is_found_by_each_way_to_say_it),
		CASE(level_is_right_when_the_path_is_not_plain),
		CASE(group_is_of_version_one_when_only_there),
		CASE(nothing_is_found_when_it_is_no_cgroup),
		CASE(members_come_when_version_two),
		CASE(members_come_when_version_one),
		CASE(frozen_process_is_known_in_the_group_and_below),
		CASE(quota_that_leaves_nothing_is_known_in_the_group_and_below),
		cmocka_unit_test(container_is_known_by_its_cgroup),
		cmocka_unit_test(memory_limit_is_one_or_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
