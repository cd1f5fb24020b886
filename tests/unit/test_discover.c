// SPDX-License-Identifier: GPL-2.0-or-later
/* Which probes exist: this program has some, and finds them in itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/discover.h"
#include "base/diag.h"
#include "tapir/usdt.h"

/* Three sites of two probes; noinline, so that their number is known. */
static __attribute__((noinline)) void fire(int value)
{
	TAPIR_PROBE(tapir_self, one, value);
	TAPIR_PROBE(tapir_self, one, value);
	TAPIR_PROBE(tapir_self, two__end, value, "text");
}

static struct tapir_discovery d;

static int setup(void **state)
{
	(void)state;
	tapir_diag__clear();
	fire(1);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tapir_discovery__fini(&d);
	return 0;
}

static size_t own_sites(const char *name)
{
	const struct tapir_site_info *site;
	size_t cnt = 0;

	tapir_vec_for_each (site, &d.sites)
		cnt += !strcmp(site->note->provider, "tapir_self") &&
		       !strcmp(site->note->name, name);
	return cnt;
}

static void sites_are_found_in_a_file(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(tapir_discover__file("/proc/self/exe", &d), 0);
	assert_int_equal(own_sites("one"), 2);
	assert_int_equal(own_sites("two__end"), 1);
	assert_int_equal(d.files.cnt, 1);
	assert_int_equal(stat("/proc/self/exe", &st), 0);
	assert_int_equal(d.files.data[0]->inode, st.st_ino);
	assert_int_not_equal(d.files.data[0]->file_id, 0);
	assert_ptr_equal(d.sites.data[0].file, d.files.data[0]);
}

static void sites_are_found_once_when_a_process_is_asked_twice(void **state)
{
	char exe[4096] = "";
	size_t cnt;

	(void)state;
	assert_int_equal(tapir_discover__process((uint32_t)getpid(), &d), 0);
	assert_int_equal(own_sites("one"), 2);
	cnt = d.sites.cnt;
	assert_int_equal(tapir_discover__process((uint32_t)getpid(), &d), 0);
	assert_int_equal(d.sites.cnt, cnt);
	assert_int_equal(tapir_diag__cnt(), 0);
	assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	for (size_t i = 0; i < d.files.cnt; i++) {
		const struct tapir_probe_file *file = d.files.data[i];

		assert_int_equal(file->tgid, getpid());
		assert_int_equal(access(file->openable, R_OK), 0);
	}
	assert_int_equal(d.skipped_process_cnt, 0);
}

static void own_sites_are_among_those_of_all(void **state)
{
	(void)state;
	assert_int_equal(tapir_discover__all(&d), 0);
	assert_int_equal(own_sites("one"), 2);
	assert_int_equal(tapir_diag__cnt(), 0); /* what others do is not our failure */
}

static void nothing_is_added_when_there_is_no_such_thing(void **state)
{
	pid_t pid = fork();

	(void)state;
	if (!pid)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(tapir_discover__process((uint32_t)pid, &d), -ESRCH);
	assert_int_equal(tapir_diag__cnt(), 1);
	assert_int_equal(tapir_discover__file("/no/such/file", &d), -ENOENT);
	assert_int_equal(tapir_discover__file("/proc/self/status", &d), -ENOEXEC);
	assert_int_equal(d.sites.cnt + d.files.cnt + d.file_cnt, 0);
}

/* This program's file, but for a line feed in the name of its two__end. */
static void write_odd_file(const char *path)
{
	static const char name[] = "tapir_self\0two__end"; /* as in its note, and here */
	FILE *from = fopen("/proc/self/exe", "re"), *to = fopen(path, "we");
	char *bytes = malloc(64u << 20), *at = bytes;
	size_t len = fread(bytes, 1, 64u << 20, from);

	while ((at = memmem(at, (size_t)(bytes + len - at), name, sizeof(name))))
		at[14] = '\n';
	assert_int_equal(fwrite(bytes, 1, len, to), len);
	free(bytes);
	fclose(from);
	fclose(to);
}

static void notes_without_a_name_are_counted(void **state)
{
	char path[] = "/tmp/tapir-discover-XXXXXX";

	(void)state;
	close(mkstemp(path));
	write_odd_file(path);
	assert_int_equal(tapir_discover__file(path, &d), 0);
	unlink(path);
	assert_int_equal(own_sites("one"), 2);
	assert_int_equal(own_sites("two__end"), 0);
	assert_int_equal(d.bad_probe_cnt, 1);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(sites_are_found_in_a_file),
		CASE(sites_are_found_once_when_a_process_is_asked_twice),
		CASE(own_sites_are_among_those_of_all),
		CASE(notes_without_a_name_are_counted),
		CASE(nothing_is_added_when_there_is_no_such_thing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
