// SPDX-License-Identifier: GPL-2.0-or-later
/* An output file's name, while somebody else works on the same directory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/file.h"
#include "base/atomic_file.h"

static char dir[64], away[80], path[96], victim[96], part[128];

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/tapir-test-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(away, sizeof(away), "%s.away", dir);
	snprintf(path, sizeof(path), "%s/out", dir);
	snprintf(victim, sizeof(victim), "%s/victim", dir);
	snprintf(part, sizeof(part), "%s.part-%d", path, (int)getpid());
	tapir_diag__clear();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(path);
	unlink(victim);
	unlink(part);
	return rmdir(dir);
}

static void write_file(const char *name, const char *text)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(tapir_file__write_all(fd, text, strlen(text)), 0);
	close(fd);
}

static void assert_holds(const char *name, const char *text)
{
	tapir_autofree char *data = NULL;

	assert_int_equal(tapir_file__read(name, 4096, &data, NULL), 0);
	assert_string_equal(data, text);
}

static struct tapir_atomic_file_opts opts(bool force)
{
	return (struct tapir_atomic_file_opts){.path = path, .mode = 0600, .force = force};
}

static int open_file(bool force, struct tapir_atomic_file *file)
{
	struct tapir_atomic_file_opts o = opts(force);

	return tapir_atomic_file__open(&o, file);
}

static void old_file_has_its_name_until_the_new_one_is_placed(void **state)
{
	struct tapir_atomic_file file;

	(void)state;
	write_file(path, "old");
	assert_int_equal(open_file(true, &file), 0);
	assert_int_equal(tapir_file__write_all(file.fd, "new", 3), 0);
	assert_holds(path, "old");
	assert_int_equal(tapir_atomic_file__commit(&file), 0);
	assert_holds(path, "new");
	assert_int_equal(tapir_atomic_file__check(&file), 0);
	assert_int_equal(tapir_atomic_file__close(&file), 0);
	assert_int_equal(access(part, F_OK), -1);
}

static void nothing_changes_when_the_file_is_discarded(void **state)
{
	struct tapir_atomic_file file;

	(void)state;
	write_file(path, "old");
	assert_int_equal(open_file(true, &file), 0);
	tapir_atomic_file__discard(&file);
	assert_holds(path, "old");
	assert_int_equal(access(part, F_OK), -1);
}

static void file_that_came_meanwhile_is_kept_unless_forced(void **state)
{
	struct tapir_atomic_file file;

	(void)state;
	assert_int_equal(open_file(false, &file), 0);
	write_file(path, "came");
	assert_int_equal(tapir_atomic_file__commit(&file), -EEXIST);
	assert_int_equal(tapir_atomic_file__close(&file), 0);
	assert_holds(path, "came");
	assert_int_equal(access(part, F_OK), -1);
}

/* The temporary name can be guessed: a link in its place leads nowhere. */
static void link_at_the_temporary_name_is_refused(void **state)
{
	struct tapir_atomic_file file;

	(void)state;
	write_file(victim, "precious");
	assert_int_equal(symlink(victim, part), 0);
	assert_int_equal(open_file(false, &file), -EEXIST);
	assert_holds(victim, "precious");
	assert_int_equal(access(part, F_OK), 0);
}

static void link_at_the_name_is_replaced_not_followed(void **state)
{
	struct tapir_atomic_file file;
	struct stat st;

	(void)state;
	write_file(victim, "precious");
	assert_int_equal(symlink(victim, path), 0);
	assert_int_equal(open_file(false, &file), -EEXIST);
	assert_int_equal(open_file(true, &file), 0);
	assert_int_equal(tapir_atomic_file__commit(&file), 0);
	assert_int_equal(tapir_atomic_file__close(&file), 0);
	assert_holds(victim, "precious");
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISREG(st.st_mode));
}

/* Between opening and placing, the directory's name comes to mean another directory. */
static void file_stays_in_its_directory_when_that_is_moved(void **state)
{
	struct tapir_atomic_file file;
	char moved[128];

	(void)state;
	assert_int_equal(open_file(true, &file), 0);
	assert_int_equal(rename(dir, away), 0);
	assert_int_equal(mkdir(dir, 0755), 0);
	write_file(path, "precious");
	assert_int_equal(tapir_atomic_file__commit(&file), 0);
	assert_int_equal(tapir_atomic_file__close(&file), 0);
	assert_holds(path, "precious");
	snprintf(moved, sizeof(moved), "%s/out", away);
	assert_int_equal(unlink(moved), 0);
	assert_int_equal(rmdir(away), 0);
}

static void link_of_another_user_to_a_device_is_refused(void **state)
{
	struct tapir_atomic_file file;

	(void)state;
	if (geteuid())
		skip();
	assert_int_equal(symlink("/dev/null", path), 0);
	assert_int_equal(open_file(false, &file), 0);
	assert_false(file.is_regular);
	assert_int_equal(tapir_atomic_file__close(&file), 0);
	assert_int_equal(lchown(path, 65534, 65534), 0);
	assert_int_equal(open_file(true, &file), -ELOOP);
}

/* Bash's >(COMMAND) is such a link, whose text is no path. */
static void pipe_is_opened_by_its_descriptor(void **state)
{
	struct tapir_atomic_file file;
	struct tapir_atomic_file_opts o = opts(false);
	char name[64], byte = 0;
	int fds[2];

	(void)state;
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	snprintf(name, sizeof(name), "/dev/fd/%d", fds[1]);
	o.path = name;
	assert_int_equal(tapir_atomic_file__open(&o, &file), 0);
	assert_int_equal(write(file.fd, "x", 1), 1);
	assert_int_equal(read(fds[0], &byte, 1), 1);
	assert_int_equal(byte, 'x');
	assert_int_equal(tapir_atomic_file__close(&file), 0);
	close(fds[0]);
	close(fds[1]);
}

static void lost_name_is_noticed(void **state)
{
	struct tapir_atomic_file_opts o = opts(false);
	struct tapir_atomic_file file;

	(void)state;
	o.at_once = true;
	assert_int_equal(tapir_atomic_file__open(&o, &file), 0);
	assert_int_equal(tapir_atomic_file__check(&file), 0);
	assert_int_equal(rename(path, victim), 0);
	assert_int_equal(tapir_atomic_file__check(&file), -ESTALE);
	write_file(path, "another");
	assert_int_equal(tapir_atomic_file__check(&file), -ESTALE);
	assert_int_equal(unlink(victim), 0);
	assert_int_equal(tapir_atomic_file__check(&file), -ENOENT);
	tapir_atomic_file__discard(&file);
	assert_holds(path, "another");
}

static void long_name_has_a_temporary_one_that_fits(void **state)
{
	struct tapir_atomic_file_opts o = opts(false);
	struct tapir_atomic_file file;
	char longest[400];

	(void)state;
	snprintf(longest, sizeof(longest), "%s/%0255d", dir, 7);
	o.path = longest;
	assert_int_equal(tapir_atomic_file__open(&o, &file), 0);
	assert_int_equal(tapir_atomic_file__commit(&file), 0);
	assert_int_equal(tapir_atomic_file__close(&file), 0);
	assert_int_equal(unlink(longest), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(old_file_has_its_name_until_the_new_one_is_placed),
		TEST(nothing_changes_when_the_file_is_discarded),
		TEST(file_that_came_meanwhile_is_kept_unless_forced),
		TEST(link_at_the_temporary_name_is_refused),
		TEST(link_at_the_name_is_replaced_not_followed),
		TEST(file_stays_in_its_directory_when_that_is_moved),
		TEST(link_of_another_user_to_a_device_is_refused),
		TEST(pipe_is_opened_by_its_descriptor),
		TEST(lost_name_is_noticed),
		TEST(long_name_has_a_temporary_one_that_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
