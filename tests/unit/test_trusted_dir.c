// SPDX-License-Identifier: GPL-2.0-or-later
/* Directories whose path another user could redirect are refused, whatever part of it that is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/trusted_dir.h"

#define OTHER  4711u
#define STICKY 01777
#define US_ONLY                                                                                    \
	{                                                                                          \
		.owners = { geteuid(), geteuid(), geteuid() }                                      \
	}

static char base[] = "/tmp/tapir-trusted-XXXXXX";
static int base_fd;

static int set_up(void **state)
{
	(void)state;
	strcpy(base + strlen(base) - 6, "XXXXXX");
	assert_non_null(mkdtemp(base));
	base_fd = open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(base_fd >= 0);
	return 0;
}

static int clean_up(void **state)
{
	char command[64];

	(void)state;
	close(base_fd);
	snprintf(command, sizeof(command), "rm -rf %s", base);
	return system(command);
}

static void make(const char *path, mode_t mode)
{
	assert_int_equal(mkdirat(base_fd, path, 0700), 0);
	assert_int_equal(fchmodat(base_fd, path, mode, 0), 0);
}

/* The inode of what is opened; or the error. */
static long opened(const char *path, bool allows_sticky)
{
	struct tapir_trust trust = US_ONLY;
	struct stat st;
	int fd;

	trust.allows_sticky = allows_sticky;
	fd = tapir_trusted_dir__open(base_fd, path, &trust);
	if (fd < 0)
		return fd;
	assert_int_equal(fstat(fd, &st), 0);
	close(fd);
	return (long)st.st_ino;
}

static long inode(const char *path)
{
	struct stat st;

	assert_int_equal(fstatat(base_fd, path, &st, 0), 0);
	return (long)st.st_ino;
}

static void modes_and_owners_decide(void **state)
{
	static const struct {
		mode_t mode;
		uid_t uid;
		bool plain, sticky;
	} dirs[] = {
		{S_IFDIR | 0700, 0, true, true},	 {S_IFDIR | 0755, 0, true, true},
		{S_IFDIR | 0755, 1000, true, true},	 {S_IFDIR | 0755, OTHER, false, false},
		{S_IFDIR | STICKY, 0, false, true},	 {S_IFDIR | STICKY, 1000, false, true},
		{S_IFDIR | STICKY, OTHER, false, false}, {S_IFDIR | 0777, 0, false, false},
		{S_IFDIR | 0775, 0, false, false},	 {S_IFDIR | 01775, 0, false, true},
		{S_IFREG | 0700, 0, false, false},	 {S_IFLNK | 0777, 0, false, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		const struct stat st = {.st_mode = dirs[i].mode, .st_uid = dirs[i].uid};
		struct tapir_trust trust = {.owners = {0, 1000, 1000}};

		assert_int_equal(tapir_trust__covers(&trust, &st), dirs[i].plain);
		trust.allows_sticky = true;
		assert_int_equal(tapir_trust__covers(&trust, &st), dirs[i].sticky);
	}
}

static void each_part_of_the_path_counts(void **state)
{
	(void)state;
	make("a", 0755);
	make("a/b", 0700);
	assert_int_equal(opened("/a/b", false), inode("a/b"));
	assert_int_equal(opened("a//./b/", false), inode("a/b"));
	assert_int_equal(opened("/", false), inode("."));
	assert_int_equal(fchmodat(base_fd, "a", 0777, 0), 0);
	assert_int_equal(opened("/a/b", true), -EPERM);
	assert_int_equal(fchmodat(base_fd, "a", STICKY, 0), 0);
	assert_int_equal(opened("/a/b", false), -EPERM);
	assert_int_equal(opened("/a/b", true), inode("a/b"));
	if (!geteuid()) {
		assert_int_equal(fchownat(base_fd, "a/b", OTHER, OTHER, 0), 0);
		assert_int_equal(opened("/a/b", true), -EPERM);
	}
}

static void links_are_followed_where_a_trusted_user_made_them(void **state)
{
	(void)state;
	make("a", 0755);
	make("a/b", 0700);
	assert_int_equal(symlinkat("/a", base_fd, "absolute"), 0);
	assert_int_equal(symlinkat("b", base_fd, "a/relative"), 0);
	assert_int_equal(symlinkat("loop", base_fd, "loop"), 0);
	assert_int_equal(symlinkat("../a", base_fd, "a/up"), 0);
	assert_int_equal(opened("/absolute/relative", false), inode("a/b"));
	assert_int_equal(opened("/loop", false), -ELOOP);
	assert_int_equal(opened("/a/up", false), -ELOOP);
	if (!geteuid()) {
		assert_int_equal(fchownat(base_fd, "absolute", OTHER, OTHER, AT_SYMLINK_NOFOLLOW),
				 0);
		assert_int_equal(opened("/absolute/relative", true), -EPERM);
	}
}

static void what_is_no_path_to_a_directory_is_refused(void **state)
{
	char *path = calloc(1, 2 * PATH_MAX);
	int fd;

	(void)state;
	fd = openat(base_fd, "file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(opened("/file", false), -ENOTDIR);
	assert_int_equal(opened("/none", false), -ENOENT);
	assert_int_equal(opened("/../etc", false), -ELOOP);
	memset(path, 'a', NAME_MAX + 1);
	assert_int_equal(opened(path, false), -ENAMETOOLONG);
	memset(path, 'a', 2 * PATH_MAX - 1);
	assert_int_equal(opened(path, false), -ENAMETOOLONG);
	free(path);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, clean_up)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(modes_and_owners_decide),
		CASE(each_part_of_the_path_counts),
		CASE(links_are_followed_where_a_trusted_user_made_them),
		CASE(what_is_no_path_to_a_directory_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
