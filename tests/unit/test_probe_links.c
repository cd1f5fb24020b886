// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Links for other tools, in a /run of our own (a mount namespace): names that a traced process
 * chose, two tapirs, what dead ones left, and directories that somebody else has made.
 */
#include <setjmp.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/diag.h"
#include "runtime/peer/probe_links.h"

#define PAGE 4096ull

static bool has_run;

static int own_run(void **state)
{
	(void)state;
	has_run = !geteuid() && !unshare(CLONE_NEWNS) &&
		  !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
		  !mount("tmpfs", "/run", "tmpfs", 0, "mode=755");
	return 0;
}

static int need_run(void **state)
{
	(void)state;
	tapir_diag__clear();
	if (!has_run)
		return 0;
	umount("/run");
	return mount("tmpfs", "/run", "tmpfs", 0, "mode=755");
}

/* A mapping whose file has a name like tapir's. */
static uint64_t map_one(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC);
	void *va;

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, PAGE), 0);
	va = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	assert_true(va != MAP_FAILED);
	return (uint64_t)(uintptr_t)va;
}

static int add(int dir, uint64_t va, const char *name, char out[TAPIR_PROBE_LINK_BYTES])
{
	return tapir_probe_links__add(dir, (uint32_t)getpid(), va, va + PAGE, name, out);
}

static bool is_there(const char *name)
{
	char path[300];
	struct stat st;

	snprintf(path, sizeof(path), "/run/tapir/%d/%s", getpid(), name);
	return !lstat(path, &st);
}

static void names_are_plain_whatever_the_process_called_them(void **state)
{
	static const struct {
		const char *name, *link;
	} cases[] = {{"My-Shop", "My-Shop"},
		     {"../../etc/passwd", "_._.._etc_passwd"},
		     {"..", "_."},
		     {"", "_"},
		     {"a b'\"\n\xc3\xa9z", "a_b____z"}};
	char out[TAPIR_PROBE_LINK_BYTES], longest[400];
	uint64_t va = has_run ? map_one("tapir-usdt.x") : 0;
	int dir;

	(void)state;
	if (!has_run)
		skip();
	dir = tapir_probe_links__open();
	assert_true(dir >= 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(add(dir, va, cases[i].name, out), 0);
		assert_string_equal(out, cases[i].link);
		assert_true(is_there(out));
		tapir_probe_links__remove(dir, (uint32_t)getpid(), out);
		assert_false(is_there("."));
	}
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = 0;
	assert_int_equal(add(dir, va, longest, out), 0);
	assert_true(strlen(out) < TAPIR_PROBE_LINK_BYTES && is_there(out));
	close(dir);
}

static void a_second_tapir_gets_a_name_of_its_own(void **state)
{
	char one[TAPIR_PROBE_LINK_BYTES], two[TAPIR_PROBE_LINK_BYTES], path[64], target[96] = "";
	char *found;
	int dir;

	(void)state;
	if (!has_run)
		skip();
	dir = tapir_probe_links__open();
	assert_int_equal(add(dir, map_one("tapir-usdt.x"), "My-Shop", one), 0);
	assert_int_equal(add(dir, map_one("tapir-usdt.x"), "My-Shop", two), 0);
	assert_string_equal(one, "My-Shop");
	assert_string_equal(two, "My-Shop.2");
	snprintf(path, sizeof(path), "/run/tapir/%d/My-Shop.2", getpid());
	target[readlink(path, target, sizeof(target) - 1)] = '\0';
	found = tapir_probe_links__find((uint32_t)getpid(), target);
	assert_non_null(found);
	assert_string_equal(found, path);
	free(found);
	target[strlen(target) - 1] = '\0';
	assert_null(tapir_probe_links__find((uint32_t)getpid(), target));
	assert_null(tapir_probe_links__find(1, path));
	tapir_probe_links__remove(dir, (uint32_t)getpid(), one);
	assert_true(is_there(two));
	tapir_probe_links__remove(dir, (uint32_t)getpid(), two);
	assert_false(is_there("."));
	close(dir);
}

static void what_dead_tapirs_left_is_cleared(void **state)
{
	char name[TAPIR_PROBE_LINK_BYTES], other[TAPIR_PROBE_LINK_BYTES];
	uint64_t va, not_ours;
	int dir;

	(void)state;
	if (!has_run)
		skip();
	va = map_one("tapir-usdt.x");
	not_ours = map_one("of-tapir");
	dir = tapir_probe_links__open();
	assert_int_equal(add(dir, va, "Gone", name), 0);
	assert_int_equal(add(dir, not_ours, "Reused", other), 0);
	assert_int_equal(add(dir, map_one("tapir-usdt.y"), "Alive", other), 0);
	assert_int_equal(munmap((void *)(uintptr_t)va, PAGE), 0);
	close(dir);
	dir = tapir_probe_links__open();
	assert_false(is_there("Gone"));
	assert_false(is_there("Reused"));
	assert_true(is_there("Alive"));
	/* Between two looks: the name is free again. */
	assert_int_equal(add(dir, not_ours, "Again", name), 0);
	assert_int_equal(add(dir, map_one("tapir-usdt.z"), "Again", name), 0);
	assert_string_equal(name, "Again");
	close(dir);
}

static void assert_refused(const char *words)
{
	assert_int_equal(tapir_probe_links__open(), -EPERM);
	assert_non_null(strstr(tapir_diag__line(0), words));
	tapir_diag__clear();
}

static void directories_of_others_are_not_entered(void **state)
{
	char name[TAPIR_PROBE_LINK_BYTES], path[64];
	uint64_t va;
	int dir;

	(void)state;
	if (!has_run)
		skip();
	va = map_one("tapir-usdt.x");
	assert_int_equal(mkdir("/run/elsewhere", 0755), 0);
	assert_int_equal(symlink("/run/elsewhere", "/run/tapir"), 0);
	assert_refused("it is a symbolic link;");
	assert_int_equal(unlink("/run/tapir"), 0);
	close(open("/run/tapir", O_CREAT | O_WRONLY, 0644));
	assert_refused("it is not a directory;");
	assert_int_equal(unlink("/run/tapir"), 0);
	assert_int_equal(mkdir("/run/tapir", 0755), 0);
	assert_int_equal(chmod("/run/tapir", 0777), 0);
	assert_refused("it is writable by others (mode 777);");
	assert_int_equal(chmod("/run/tapir", 0755), 0);
	assert_int_equal(chown("/run/tapir", 65534, 65534), 0);
	assert_refused("it belongs to user 65534;");
	assert_int_equal(chown("/run/tapir", 0, 0), 0);
	assert_int_equal(chmod("/run", 0777), 0);
	assert_refused("it is in a directory where other users can replace files;");
	assert_int_equal(chmod("/run", 0755), 0);
	dir = tapir_probe_links__open();
	assert_true(dir >= 0);
	snprintf(path, sizeof(path), "/run/tapir/%d", getpid());
	assert_int_equal(symlink("/run/elsewhere", path), 0);
	assert_int_equal(add(dir, va, "My-Shop", name), -EPERM);
	assert_int_not_equal(access("/run/elsewhere/My-Shop", F_OK), 0);
	assert_non_null(strstr(tapir_diag__line(0), "/My-Shop: /run/tapir/"));
	assert_non_null(strstr(tapir_diag__line(0), " is a symbolic link"));
	close(dir);
}

static void links_go_when_we_are_killed(void **state)
{
	char path[64], byte;
	struct stat st;
	int ends[2];
	pid_t pid;

	(void)state;
	if (!has_run)
		skip();
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		struct tapir_peer_guard guard = TAPIR_PEER_NO_GUARD;
		char name[TAPIR_PROBE_LINK_BYTES];
		int dir = tapir_probe_links__open();

		tapir_probe_links__guard(dir, &guard);
		if (guard.pidfd < 0 || add(dir, map_one("tapir-usdt.x"), "My-Shop", name) ||
		    write(ends[1], "", 1) != 1)
			_exit(1);
		pause();
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	close(ends[0]);
	snprintf(path, sizeof(path), "/run/tapir/%d", pid);
	assert_int_equal(lstat(path, &st), 0);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	for (int i = 0; i < 5000 && !lstat(path, &st); i++)
		usleep(10000);
	assert_int_equal(lstat(path, &st), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(names_are_plain_whatever_the_process_called_them, need_run),
		cmocka_unit_test_setup(a_second_tapir_gets_a_name_of_its_own, need_run),
		cmocka_unit_test_setup(what_dead_tapirs_left_is_cleared, need_run),
		cmocka_unit_test_setup(directories_of_others_are_not_entered, need_run),
		cmocka_unit_test_setup(links_go_when_we_are_killed, need_run),
	};

	return cmocka_run_group_tests(tests, own_run, NULL);
}
