// SPDX-License-Identifier: GPL-2.0-or-later
/* The perf map that a JVM is asked for: made before, removed after, whoever is killed meanwhile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <poll.h>
#include <errno.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "fake_jvm.h"
#include "runtime/jvm/jvm.h"
#include "runtime/jvm/jvm_attach.h"

#define MS     TAPIR_NS_PER_MS
#define NOBODY 65534

static int dump(const struct fake_jvm *f, struct tapir_jvm_perf_map *map)
{
	struct tapir_jvm_opts opts = {.tgid = (uint32_t)f->pid, .cancel_fd = -1};

	return tapir_jvm__dump_perf_map(&opts, map);
}

static void map_path(const struct fake_jvm *f, char *out, size_t out_bytes)
{
	snprintf(out, out_bytes, "/tmp/perf-%d.map", f->pid);
}

static void a_map_that_was_not_there_is_removed(void **state)
{
	struct fake_jvm *f = *state;
	struct tapir_jvm_opts opts = {.cancel_fd = -1};
	struct tapir_jvm_perf_map map;
	char path[64];

	f->writes_map = true;
	fake_jvm__start(f);
	map_path(f, path, sizeof(path));
	assert_int_equal(dump(f, &map), 0);
	assert_false(map.existed);
	assert_string_equal(map.name, path + strlen("/tmp/"));
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(tapir_jvm__remove_perf_map(&opts, &map), 0);
	assert_int_not_equal(access(path, F_OK), 0);
	assert_int_equal(tapir_jvm__remove_perf_map(&opts, &map), 0);
	tapir_jvm_perf_map__fini(&map);
	tapir_jvm_perf_map__fini(&map);
}

static void no_link_can_take_the_maps_place_once_it_is_asked_for(void **state)
{
	struct fake_jvm *f = *state;
	struct tapir_jvm_perf_map map;
	char path[64], aim[64];
	struct stat st;

	if (geteuid())
		skip();
	f->writes_map = f->is_attacked = true;
	fake_jvm__start(f);
	map_path(f, path, sizeof(path));
	fake_jvm__aim(f->pid, aim, sizeof(aim));
	assert_int_equal(dump(f, &map), 0);
	assert_int_equal(lstat(aim, &st), -1);
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	tapir_jvm_perf_map__fini(&map); /* without __remove: it goes all the same */
	assert_int_equal(lstat(path, &st), -1);
}

static void a_map_keeps_its_name_while_the_jvm_may_write_it(void **state)
{
	struct fake_jvm *f = *state;
	struct tapir_jvm_opts opts = {.cancel_fd = -1, .timeout_ns = 700 * MS};
	struct tapir_jvm_perf_map map;
	char path[64];

	f->reply = NULL; /* it has the request, and hangs */
	fake_jvm__start(f);
	opts.tgid = (uint32_t)f->pid;
	map_path(f, path, sizeof(path));
	assert_int_equal(tapir_jvm__dump_perf_map(&opts, &map), -ETIMEDOUT);
	assert_int_equal(access(path, F_OK), 0);
	kill(f->pid, SIGKILL);
	assert_int_equal(waitpid(f->pid, NULL, 0), f->pid);
	for (int i = 0; i < 5000 && !access(path, F_OK); i++)
		usleep(10000);
	assert_int_not_equal(access(path, F_OK), 0);
}

static void a_map_goes_when_we_are_killed_before_its_removal(void **state)
{
	struct fake_jvm *f = *state;
	char path[64], byte;
	int ends[2];
	pid_t pid;

	f->writes_map = true;
	fake_jvm__start(f);
	map_path(f, path, sizeof(path));
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		struct tapir_jvm_perf_map map;

		if (dump(f, &map) || write(ends[1], "", 1) != 1)
			_exit(1);
		pause();
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	close(ends[0]);
	assert_int_equal(access(path, F_OK), 0);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	for (int i = 0; i < 3000 && !access(path, F_OK); i++)
		usleep(10000);
	assert_int_not_equal(access(path, F_OK), 0);
}

/* Asks for the map, says so, and lives until it is killed. */
static pid_t start_asker(const struct fake_jvm *f, int ready_fd)
{
	struct tapir_jvm_perf_map map;
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (dump(f, &map) || write(ready_fd, "", 1) != 1)
		_exit(1);
	pause();
	_exit(1);
}

static void a_second_one_waits_until_the_first_has_removed_its_map(void **state)
{
	struct fake_jvm *f = *state;
	struct tapir_jvm_opts opts = {.cancel_fd = -1, .timeout_ns = 700 * MS};
	struct tapir_jvm_perf_map first, second;
	char path[64];

	f->writes_map = true;
	fake_jvm__start(f);
	map_path(f, path, sizeof(path));
	assert_int_equal(dump(f, &first), 0);
	opts.tgid = (uint32_t)f->pid;
	assert_int_equal(tapir_jvm__dump_perf_map(&opts, &second), -EBUSY);
	assert_non_null(strstr(tapir_diag__line(0), "another tapir"));
	tapir_diag__clear();
	assert_int_equal(kill(f->pid, SIGSTOP), 0);
	assert_int_equal(waitid(P_PID, (id_t)f->pid, &(siginfo_t){}, WSTOPPED | WNOWAIT), 0);
	assert_int_equal(tapir_jvm__dump_perf_map(&opts, &second), -EAGAIN);
	assert_non_null(strstr(tapir_diag__line(0), "it is stopped"));
	tapir_diag__clear();
	assert_int_equal(kill(f->pid, SIGCONT), 0);
	assert_int_equal(access(path, F_OK), 0); /* the first one's still */
	tapir_jvm_perf_map__fini(&first);
	assert_int_equal(dump(f, &second), 0);
	assert_false(second.existed);
	tapir_jvm_perf_map__fini(&second);
	assert_int_not_equal(access(path, F_OK), 0);
}

/* The lock is its guard's, too: else the JVM writes for the next one what the guard then removes.
 */
static void nothing_is_left_when_those_who_ask_are_killed_in_turn(void **state)
{
	struct fake_jvm *f = *state;
	char path[64], byte;
	struct pollfd asked = {.events = POLLIN};
	int ends[2];

	f->writes_map = true;
	fake_jvm__start(f);
	map_path(f, path, sizeof(path));
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	asked.fd = ends[0];
	for (unsigned i = 0; i < 20; i++) {
		pid_t pid = start_asker(f, ends[1]);

		if (i % 2)
			usleep(i * 500);
		else
			(void)poll(&asked, 1, 2000); /* or it waits for its turn */
		while (poll(&asked, 1, 0) == 1)
			assert_int_equal(read(ends[0], &byte, 1), 1);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
	}
	close(ends[0]);
	close(ends[1]);
	/* The guards of those that were killed take turns. */
	for (int i = 0; i < 20000 && !access(path, F_OK); i++)
		usleep(10000);
	assert_int_not_equal(access(path, F_OK), 0);
}

/* JDK 17 refuses another name than its own, and writes nothing: the guard sees that it closed the
 * connection. */
static void a_map_that_is_not_written_goes_when_we_are_killed_meanwhile(void **state)
{
	struct fake_jvm *f = *state;
	char path[64];
	pid_t pid;
	int ends[2];

	f->reply_after_ms = 300;
	fake_jvm__start(f);
	map_path(f, path, sizeof(path));
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = start_asker(f, ends[1]);
	for (int i = 0; i < 5000 && access(f->request_path, F_OK); i++)
		usleep(1000);
	assert_int_equal(access(path, F_OK), 0);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(ends[0]);
	close(ends[1]);
	for (int i = 0; i < 2000 && !access(path, F_OK); i++)
		usleep(10000);
	assert_int_not_equal(access(path, F_OK), 0);
}

static void a_map_is_not_removed_when_it_was_swapped(void **state)
{
	struct fake_jvm *f = *state;
	struct tapir_jvm_opts opts = {.cancel_fd = -1};
	struct tapir_jvm_perf_map map;
	char path[64], other[80];

	f->writes_map = true;
	fake_jvm__start(f);
	map_path(f, path, sizeof(path));
	assert_int_equal(dump(f, &map), 0);
	snprintf(other, sizeof(other), "%s.other", path);
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(symlink(other, path), 0);
	assert_true(tapir_jvm__remove_perf_map(&opts, &map) < 0);
	assert_int_equal(access(other, F_OK), 0);
	unlink(path);
	unlink(other);
	tapir_jvm_perf_map__fini(&map);
}

/* The fake does not know the file name argument and answers like JDK 17's: with an error. */
static void a_map_that_was_there_stays(void **state)
{
	struct fake_jvm *f = *state;
	struct tapir_jvm_perf_map map;
	char path[64];
	int fd;

	f->reply = "1\nThe argument list of this diagnostic command should be empty.\n";
	fake_jvm__start(f);
	map_path(f, path, sizeof(path));
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(dump(f, &map), -EREMOTEIO);
	close(fd);
	kill(f->pid, SIGKILL);
	waitpid(f->pid, NULL, 0);
	fake_jvm__unlink(f, ".java_pid", "");
	unlink(f->lib);
	unlink(path);
	f->reply = "0\n";
	f->writes_map = true;
	fake_jvm__start(f);
	map_path(f, path, sizeof(path));
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	close(fd);
	/* it says yes to another name and does not write there: that is reported */
	assert_int_equal(dump(f, &map), -EIO);
	assert_int_equal(access(path, F_OK), 0);
}

static void a_map_that_is_a_link_is_refused_before_anything_is_asked(void **state)
{
	struct fake_jvm *f = *state;
	struct tapir_jvm_perf_map map;
	char path[64];

	f->writes_map = true;
	fake_jvm__start(f);
	map_path(f, path, sizeof(path));
	assert_int_equal(symlink("/tmp/tapir-jvm-nothing", path), 0);
	assert_int_not_equal(dump(f, &map), 0);
	line_has("perf map is not a plain file of its user");
	assert_true(access(f->request_path, F_OK));
}

static void a_map_that_was_not_written_is_reported(void **state)
{
	struct fake_jvm *f = *state;
	struct tapir_jvm_perf_map map;

	fake_jvm__start(f);
	assert_int_equal(dump(f, &map), -EIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKE_TEST(a_map_that_was_not_there_is_removed),
		FAKE_TEST(no_link_can_take_the_maps_place_once_it_is_asked_for),
		FAKE_TEST(a_map_keeps_its_name_while_the_jvm_may_write_it),
		FAKE_TEST(a_map_goes_when_we_are_killed_before_its_removal),
		FAKE_TEST(a_second_one_waits_until_the_first_has_removed_its_map),
		FAKE_TEST(nothing_is_left_when_those_who_ask_are_killed_in_turn),
		FAKE_TEST(a_map_that_is_not_written_goes_when_we_are_killed_meanwhile),
		FAKE_TEST(a_map_is_not_removed_when_it_was_swapped),
		FAKE_TEST(a_map_that_was_there_stays),
		FAKE_TEST(a_map_that_is_a_link_is_refused_before_anything_is_asked),
		FAKE_TEST(a_map_that_was_not_written_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
