// SPDX-License-Identifier: GPL-2.0-or-later
/* The other program of a build: where it is looked for, whom it may belong to, what it must be. */
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
#include <sys/stat.h>
#include <unistd.h>

#include "base/child/sibling.h"
#include "base/diag.h"
#include "base/str.h"
#include "elf_builder.h"

#define OTHER_UID 54321

/* The last case reads what this macro writes. */
TAPIR_SIBLING_NOTE("test_sibling");

static char dir[] = "/tmp/tapir-sibling-XXXXXX", path[PATH_MAX];

static void add_note(struct tapir_str *s, const char *owner, uint32_t type, const void *desc,
		     size_t len)
{
	const Elf64_Nhdr head = {(uint32_t)strlen(owner) + 1, (uint32_t)len, type};

	tapir_str__add(s, (const char *)&head, sizeof(head));
	tapir_str__add(s, owner, strlen(owner) + 1);
	while (s->len % 4)
		tapir_str__addc(s, '\0');
	tapir_str__add(s, desc, len);
	while (s->len % 4)
		tapir_str__addc(s, '\0');
}

/* The file "tapir-agent" with these bytes as its notes. */
static void write_program(const struct tapir_str *notes)
{
	struct elf_builder b;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	elf_builder__init(&b, ET_EXEC);
	if (notes)
		elf_builder__add_section(&b, TAPIR_SIBLING_SECTION, SHT_NOTE, notes->data,
					 notes->len);
	elf_builder__finish(&b);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, b.bytes, b.len), b.len);
	close(fd);
	assert_int_equal(chmod(path, 0755), 0);
	elf_builder__fini(&b);
}

static void write_note(const char *owner, uint32_t type, const void *desc, size_t len)
{
	struct tapir_str notes = {};

	add_note(&notes, owner, type, desc, len);
	write_program(&notes);
	tapir_str__fini(&notes);
}

static void write_version(const char *text)
{
	write_note(TAPIR_SIBLING_OWNER, TAPIR_SIBLING_TYPE, text, strlen(text) + 1);
}

static int setup(void **state)
{
	(void)state;
	strcpy(dir + strlen(dir) - 6, "XXXXXX");
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chmod(dir, 0711), 0); /* a case is another user */
	snprintf(path, sizeof(path), "%s/tapir-agent", dir);
	tapir_diag__clear();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

/* The result of opening it for an executable of own_uid; a refusal has one line with this part. */
static int open_it(uid_t own_uid, const char *part)
{
	int fd = -1, err;

	tapir_diag__clear();
	err = tapir_sibling__open_in(dir, "tapir-agent", own_uid, &fd);
	if (!err) {
		assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
		close(fd);
		return 0;
	}
	assert_int_equal(fd, -1);
	assert_int_equal(tapir_diag__cnt(), 1);
	if (!strstr(tapir_diag__line(0), part))
		fail_msg("'%s' is not in '%s'", part, tapir_diag__line(0));
	return err;
}

static void program_of_this_version_is_opened(void **state)
{
	struct tapir_str notes = {};

	(void)state;
	write_version("tapir-agent " TAPIR_VERSION);
	assert_int_equal(open_it(0, ""), 0);
	/* Behind notes of others, and of another program that it also is. */
	add_note(&notes, "GNU", 3, "abc", 3);
	add_note(&notes, TAPIR_SIBLING_OWNER, 1, "tapir " TAPIR_VERSION,
		 sizeof("tapir " TAPIR_VERSION));
	add_note(&notes, TAPIR_SIBLING_OWNER, 1, "tapir-agent " TAPIR_VERSION,
		 sizeof("tapir-agent " TAPIR_VERSION));
	write_program(&notes);
	assert_int_equal(open_it(0, ""), 0);
	tapir_str__fini(&notes);
}

static void missing_program_is_named_with_its_package(void **state)
{
	(void)state;
	assert_int_equal(open_it(0, "there is no tapir-agent in /tmp/"), -EOPNOTSUPP);
	assert_non_null(strstr(tapir_diag__line(0), "(Debian package tapir-agent)"));
}

static void other_version_is_named_with_both(void **state)
{
	(void)state;
	write_version("tapir-agent 0.0.9");
	assert_int_equal(open_it(0, "it is version 0.0.9, this is version " TAPIR_VERSION),
			 -ENOEXEC);
	write_version("tapir-agent " TAPIR_VERSION "1");
	assert_int_equal(open_it(0, "version"), -ENOEXEC);
}

static void file_that_others_may_write_is_refused(void **state)
{
	static const mode_t modes[] = {0775, 0757, 0777, 02775, 01777};

	(void)state;
	write_version("tapir-agent " TAPIR_VERSION);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		assert_int_equal(chmod(path, modes[i]), 0);
		assert_int_equal(open_it(0, "others may write to it"), -EPERM);
	}
	assert_int_equal(chmod(path, 0711), 0);
	assert_int_equal(open_it(0, ""), 0);
}

static void file_of_another_user_is_refused_unless_tapir_is_that_user_s(void **state)
{
	(void)state;
	write_version("tapir-agent " TAPIR_VERSION);
	if (geteuid() || chown(path, OTHER_UID, OTHER_UID))
		skip();
	assert_int_equal(open_it(0, "it belongs to uid 54321"), -EPERM);
	assert_int_equal(open_it(OTHER_UID + 1, "it belongs to uid 54321"), -EPERM);
	assert_int_equal(open_it(OTHER_UID, ""), 0);
	assert_int_equal(seteuid(OTHER_UID), 0); /* as this user, of a tapir that is root's */
	assert_int_equal(open_it(0, ""), 0);
	assert_int_equal(seteuid(0), 0);
}

static void what_is_no_such_program_is_refused(void **state)
{
	static const char version[] = "tapir-agent " TAPIR_VERSION;
	char many[200];

	(void)state;
	write_program(NULL);
	assert_int_equal(open_it(0, "it is another program"), -ENOEXEC);
	write_version("tapir " TAPIR_VERSION);
	assert_int_equal(open_it(0, "it is another program"), -ENOEXEC);
	write_note("tapir", 1, version, sizeof(version));
	assert_int_equal(open_it(0, "it is another program"), -ENOEXEC);
	write_note(TAPIR_SIBLING_OWNER, 2, version, sizeof(version));
	assert_int_equal(open_it(0, "it is another program"), -ENOEXEC);
	write_note(TAPIR_SIBLING_OWNER, 1, version, sizeof(version) - 1); /* not terminated */
	assert_int_equal(open_it(0, "it is another program"), -ENOEXEC);
	write_note(TAPIR_SIBLING_OWNER, 1, "tapir-agent", sizeof("tapir-agent"));
	assert_int_equal(open_it(0, "it is another program"), -ENOEXEC);
	write_note(TAPIR_SIBLING_OWNER, 1, "", 0);
	assert_int_equal(open_it(0, "it is another program"), -ENOEXEC);
	memset(many, 'x', sizeof(many) - 1);
	many[sizeof(many) - 1] = '\0';
	memcpy(many, "tapir-agent ", strlen("tapir-agent "));
	write_version(many);
	assert_int_equal(open_it(0, "it is another program"), -ENOEXEC);
}

static void what_is_no_program_at_all_is_refused(void **state)
{
	FILE *file = fopen(path, "we");

	(void)state;
	assert_non_null(file);
	fputs("#!/bin/sh\necho executed\n", file);
	fclose(file);
	assert_int_equal(chmod(path, 0755), 0);
	assert_int_equal(open_it(0, "it is another program"), -ENOEXEC);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/bin/true", path), 0);
	assert_true(open_it(0, "it is a symbolic link") < 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0644), 0); /* it has no writer: it must not block */
	assert_int_equal(open_it(0, "it is not a regular file"), -ENOEXEC);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(open_it(0, "it is not a regular file"), -ENOEXEC);
	assert_int_equal(rmdir(path), 0);
}

/* In the directory of this executable, whatever the working directory and PATH are. */
static void program_is_looked_for_beside_the_running_one(void **state)
{
	struct stat st;
	int fd = -1;

	(void)state;
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(setenv("PATH", dir, 1), 0);
	write_version("tapir-agent " TAPIR_VERSION);
	assert_int_equal(tapir_sibling__open("no-such-program", &fd), -EOPNOTSUPP);
	tapir_diag__clear();
	if (stat("/proc/self/exe", &st) || st.st_mode & 022) /* the build's umask */
		skip();
	assert_int_equal(tapir_sibling__open("test_sibling", &fd), 0);
	close(fd);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(program_of_this_version_is_opened),
		CASE(missing_program_is_named_with_its_package),
		CASE(other_version_is_named_with_both),
		CASE(file_that_others_may_write_is_refused),
		CASE(file_of_another_user_is_refused_unless_tapir_is_that_user_s),
		CASE(what_is_no_such_program_is_refused),
		CASE(what_is_no_program_at_all_is_refused),
		CASE(program_is_looked_for_beside_the_running_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
