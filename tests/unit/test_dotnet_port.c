// SPDX-License-Identifier: GPL-2.0-or-later
/* A port of the test, to which children connect as runtimes do, and as they do not. Real ones:
 * tests/e2e/case_dotnet_stream.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "runtime/dotnet/dotnet_port.h"

#define MS	 TAPIR_NS_PER_MS
#define PREFIX	 "DOTNET_DiagnosticPorts="
#define SUFFIX	 ",nosuspend"
#define KEPT_MAX 64

static const char advert[34] = "ADVR_V1\0cookie of sixteen";

static struct tapir_run_dir dir;
static struct tapir_dotnet_port *port;
static struct sockaddr_un addr;

static int make_port(void **state)
{
	struct tapir_str variable = {};
	size_t len;

	(void)state;
	dir = TAPIR_NO_RUN_DIR;
	if (tapir_run_dir__open(false, &dir)) {
		tapir_diag__clear();
		return 0; /* an ordinary user without XDG_RUNTIME_DIR: each test is skipped */
	}
	assert_int_equal(tapir_dotnet_port__new(&dir, &port), 0);
	assert_int_equal(tapir_dotnet_port__put_environment(port, &variable, NULL), 0);
	assert_int_equal(strncmp(variable.data, PREFIX, strlen(PREFIX)), 0);
	len = strlen(variable.data) - strlen(SUFFIX);
	assert_string_equal(variable.data + len, SUFFIX);
	assert_int_equal(variable.len, len + sizeof(SUFFIX));
	memset(&addr, 0, sizeof(addr));
	addr.sun_family = AF_UNIX;
	memcpy(addr.sun_path, variable.data + strlen(PREFIX), len - strlen(PREFIX));
	tapir_str__fini(&variable);
	return 0;
}

static void need_port(void)
{
	if (!port)
		skip();
}

static int drop_port(void **state)
{
	(void)state;
	tapir_dotnet_port__free(port);
	tapir_run_dir__close(&dir);
	port = NULL;
	return 0;
}

static int dial(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)&addr, sizeof(addr)))
		_exit(1);
	return fd;
}

/* Connects, sends and stays, if it is to. */
static pid_t start_peer(const char *bytes, size_t len, bool stays)
{
	pid_t pid = fork();
	char byte;
	int fd;

	if (pid) {
		assert_true(pid > 0);
		return pid;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fd = dial();
	if (write(fd, bytes, len) != (ssize_t)len)
		_exit(2);
	while (stays && read(fd, &byte, 1) == 1)
		if (write(fd, &byte, 1) != 1)
			_exit(3);
	_exit(0);
}

static void end_peer(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static int take(pid_t tgid, uint64_t ms, int *fd)
{
	const struct tapir_peer_helper job = {.tgid = (uint32_t)tgid, .cancel_fd = -1};

	*fd = -1;
	return tapir_dotnet_port__take(port, &job, tapir_clock__now_ns() + ms * MS, fd);
}

/* What is sent arrives at the peer, which sends it back. */
static void assert_talks(int fd)
{
	struct pollfd answer = {.fd = fd, .events = POLLIN};
	char byte = 'x';

	assert_int_equal(write(fd, &byte, 1), 1);
	byte = 0;
	assert_int_equal(poll(&answer, 1, 2000), 1);
	assert_int_equal(read(fd, &byte, 1), 1);
	assert_int_equal(byte, 'x');
}

static void a_runtime_that_connects_is_taken(void **state)
{
	pid_t pid = start_peer(advert, sizeof(advert), true);
	int fd;

	(void)state;
	need_port();
	assert_int_equal(take(pid, 2000, &fd), 0);
	assert_talks(fd);
	close(fd);
	end_peer(pid);
}

static void each_process_has_its_own(void **state)
{
	pid_t pids[3];
	int fd;

	(void)state;
	need_port();
	for (unsigned i = 0; i < 3; i++)
		pids[i] = start_peer(advert, sizeof(advert), true);
	for (unsigned i = 3; i-- > 0;) {
		assert_int_equal(take(pids[i], 2000, &fd), 0);
		assert_talks(fd);
		close(fd);
		assert_int_equal(take(pids[i], 0, &fd), -ETIMEDOUT);
	}
	for (unsigned i = 0; i < 3; i++)
		end_peer(pids[i]);
}

static void what_does_not_begin_as_a_runtime_is_not_taken(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		bool stays;
	} peers[] = {
		{"", 0, true},	     /* silent */
		{"", 0, false},	     /* gone */
		{advert, 33, true},  /* cut */
		{advert, 33, false}, /* and gone */
		{"DOTNET_IPC_V1 and so on, 34 bytes.", 34, true},
	};

	(void)state;
	need_port();
	for (unsigned i = 0; i < sizeof(peers) / sizeof(peers[0]); i++) {
		pid_t pid = start_peer(peers[i].bytes, peers[i].len, peers[i].stays);
		int fd;

		assert_int_equal(take(pid, 300, &fd), -ETIMEDOUT);
		assert_int_equal(fd, -1);
		end_peer(pid);
	}
}

/* A program whose connection waits executes another one, which connects anew. */
static void the_newest_connection_of_a_process_counts(void **state)
{
	pid_t pid = fork();
	int fd;

	(void)state;
	need_port();
	if (!pid) {
		char byte;
		int old = dial(), fresh = dial();

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (write(old, advert, sizeof(advert)) < 0 ||
		    write(fresh, advert, sizeof(advert)) < 0)
			_exit(2);
		close(old);
		while (read(fresh, &byte, 1) == 1)
			if (write(fresh, &byte, 1) != 1)
				_exit(3);
		_exit(0);
	}
	usleep(100000);
	assert_int_equal(take(pid, 2000, &fd), 0);
	assert_talks(fd);
	close(fd);
	end_peer(pid);
}

static void a_flood_of_connections_drops_the_oldest(void **state)
{
	pid_t pid = start_peer(advert, sizeof(advert), true);
	pid_t flood;
	int fd;

	(void)state;
	need_port();
	usleep(100000);
	assert_int_equal(take(getpid(), 0, &fd), -ETIMEDOUT); /* the first one is kept now */
	flood = fork();
	if (!flood) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (unsigned i = 0; i < KEPT_MAX; i++)
			dial();
		pause();
		_exit(0);
	}
	usleep(200000);
	assert_int_equal(take(pid, 100, &fd), -ETIMEDOUT);
	end_peer(flood);
	end_peer(pid);
	pid = start_peer(advert, sizeof(advert), true);
	assert_int_equal(take(pid, 2000, &fd), 0);
	close(fd);
	end_peer(pid);
}

static void a_wait_is_cancelled(void **state)
{
	struct tapir_peer_helper job = {.tgid = (uint32_t)getpid(),
					.cancel_fd = eventfd(1, EFD_CLOEXEC)};
	uint64_t now = tapir_clock__now_ns();
	int fd = -1;

	(void)state;
	need_port();
	assert_int_equal(tapir_dotnet_port__take(port, &job, now + 5000 * MS, &fd), -ECANCELED);
	assert_true(tapir_clock__now_ns() - now < 4500 * MS);
	close(job.cancel_fd);
}

static void the_socket_is_of_its_user_alone_and_ends_with_us(void **state)
{
	struct stat st;
	int fd;

	(void)state;
	need_port();
	assert_int_equal(lstat(addr.sun_path, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(st.st_uid, geteuid());
	tapir_dotnet_port__free(port);
	tapir_run_dir__close(&dir);
	port = NULL;
	assert_int_equal(lstat(addr.sun_path, &st), -1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&addr, sizeof(addr)), -1);
	close(fd);
}

static void ports_of_others_stay_in_the_environment(void **state)
{
	struct tapir_str variable = {}, expected = {};

	(void)state;
	need_port();
	assert_int_equal(tapir_dotnet_port__put_environment(port, &variable, "/tmp/a,suspend"), 0);
	tapir_str__addf(&expected, PREFIX "/tmp/a,suspend;%s" SUFFIX, addr.sun_path);
	assert_string_equal(variable.data, expected.data);
	tapir_str__fini(&variable);
	tapir_str__fini(&expected);
	assert_int_equal(tapir_dotnet_port__put_environment(port, &variable, ""), 0);
	assert_int_equal(strncmp(variable.data, PREFIX "/", strlen(PREFIX) + 1), 0);
	tapir_str__fini(&variable);
}

int main(void)
{
#define WITH_PORT(test) cmocka_unit_test_setup_teardown(test, make_port, drop_port)
	const struct CMUnitTest tests[] = {
		WITH_PORT(a_runtime_that_connects_is_taken),
		WITH_PORT(each_process_has_its_own),
		WITH_PORT(what_does_not_begin_as_a_runtime_is_not_taken),
		WITH_PORT(the_newest_connection_of_a_process_counts),
		WITH_PORT(a_flood_of_connections_drops_the_oldest),
		WITH_PORT(a_wait_is_cancelled),
		WITH_PORT(the_socket_is_of_its_user_alone_and_ends_with_us),
		WITH_PORT(ports_of_others_stay_in_the_environment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
