// SPDX-License-Identifier: GPL-2.0-or-later
/* System calls as text, owners of futexes, sockets by the kernel's lists; also from hostile memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <arpa/inet.h>
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "record/threads/sockets.h"
#include "record/threads/system_call.h"

/* Memory of a process: one block at a time, so that what lies beyond it is not there. */
struct memory {
	uint64_t va;
	const void *data;
	size_t bytes;
};

static size_t read_memory(void *ctx, uint64_t va, void *out, size_t bytes)
{
	const struct memory *m = ctx;
	size_t off = va - m->va;

	if (va < m->va || off >= m->bytes)
		return 0;
	bytes = bytes < m->bytes - off ? bytes : m->bytes - off;
	memcpy(out, (const char *)m->data + off, bytes);
	return bytes;
}

static size_t read_link(void *ctx, int fd, char *out, size_t bytes)
{
	int n = snprintf(out, bytes, "file-%d", fd);

	(void)ctx;
	return fd > 99 ? 0 : (size_t)n;
}

static void assert_call(int nr, const uint64_t args[4], struct memory m, const char *expected)
{
	const struct tapir_call_source source = {read_memory, read_link, &m, 0};
	struct tapir_thread_seen seen = {.syscall = nr};
	struct tapir_call call = {};

	memcpy(seen.args, args, sizeof(seen.args));
	tapir_call__read(&source, &seen, &call);
	assert_string_equal(call.text.data ? call.text.data : "", expected);
	tapir_call__fini(&call);
}

#define ARGS(...) ((const uint64_t[4]){__VA_ARGS__})
#define NONE	  ((struct memory){})

static void arguments_are_written_as_people_read_them(void **state)
{
	static const int64_t second_and_half[] = {1, 500000000}, hostile[] = {-1, INT64_MAX};
	static const struct pollfd polled[] = {{3, POLLIN, 0}, {200, POLLIN, 0}};
	struct memory time = {0x1000, second_and_half, 16}, bad = {0x1000, hostile, 16},
		      fds = {0x1000, polled, sizeof(polled)};

	(void)state;
	assert_call(SYS_read, ARGS(3, 0x1000, 4096), NONE, "read(fd 3 file-3, 4096)");
	assert_call(SYS_read, ARGS(-1ull, 0, 1), NONE, "read(fd -1, 1)");
	assert_call(SYS_epoll_wait, ARGS(4, 0, 10, -1ull), NONE,
		    "epoll_wait(fd 4 file-4, no timeout)");
	assert_call(SYS_epoll_wait, ARGS(4, 0, 10, 2500), NONE,
		    "epoll_wait(fd 4 file-4, timeout 2.5 s)");
	assert_call(SYS_poll, ARGS(0x1000, 2, 100), fds,
		    "poll(fd 3 file-3, fd 200, timeout 0.1 s)");
	assert_call(SYS_poll, ARGS(0x1000, 0xffffffff, 0), fds,
		    "poll(fd 3 file-3, fd 200, 4294967291 more, timeout 0 s)");
	assert_call(SYS_nanosleep, ARGS(0x1000), time, "nanosleep(1.5 s)");
	assert_call(SYS_nanosleep, ARGS(0x1000), bad, "nanosleep()");
	assert_call(SYS_nanosleep, ARGS(0x1008), time, "nanosleep()");
	assert_call(SYS_clock_nanosleep, ARGS(0, 0, 0x1000), time, "clock_nanosleep(1.5 s)");
	assert_call(SYS_wait4, ARGS(-1ull), NONE, "wait4(process -1)");
	assert_call(SYS_futex, ARGS(0x2000, FUTEX_WAIT_PRIVATE, 7, 0x1000), time,
		    "futex(wait 0x2000, timeout 1.5 s)");
	assert_call(SYS_getpid, ARGS(1), NONE, "");
	assert_call(-1, ARGS(1), NONE, "");
	assert_call(INT32_MAX, ARGS(1), NONE, "");
}

static void deadline_is_what_is_left_of_it(void **state)
{
	int64_t deadline[2] = {(int64_t)(tapir_clock__now_ns() / 1000000000) + 1000, 0};
	struct memory m = {0x1000, deadline, 16};
	const struct tapir_call_source source = {read_memory, read_link, &m, 500 * 1000000000ll};
	struct tapir_thread_seen seen = {.syscall = SYS_futex,
					 .args = {0x2000, FUTEX_WAIT_BITSET_PRIVATE, 0, 0x1000}};
	struct tapir_call call = {};
	double left = 0;

	(void)state;
	tapir_call__read(&source, &seen, &call); /* its clock is 500 s ahead */
	assert_int_equal(sscanf(call.text.data, "futex(wait 0x2000, timeout in %lf s)", &left), 1);
	assert_true(left > 400 && left < 501);
	tapir_call__fini(&call);
}

/* ---- owners ------------------------------------------------------------------------------- */

/* The witness is the C library itself: what it writes while a thread holds its mutex. */
static void assert_owner_of(pthread_mutex_t *mutex, uint32_t op, bool is_waited_for)
{
	uint32_t words[TAPIR_FUTEX_WORDS];

	pthread_mutex_lock(mutex);
	memcpy(words, mutex, sizeof(words));
	if (is_waited_for && op == FUTEX_WAIT_PRIVATE && words[0] == 1)
		words[0] = 2; /* as a second thread sets it before it waits */
	if (is_waited_for && words[0] == (uint32_t)gettid())
		words[0] |= FUTEX_WAITERS;
	assert_int_equal(tapir_futex__owner(op, words[0], words),
			 is_waited_for ? (uint32_t)gettid() : 0);
	pthread_mutex_unlock(mutex);
	memcpy(words, mutex, sizeof(words));
	assert_int_equal(tapir_futex__owner(op, words[0], words), 0);
}

static void owner_is_the_one_that_the_c_library_writes(void **state)
{
	static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
				    PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP};
	pthread_mutexattr_t attr;
	pthread_mutex_t mutex;

	(void)state;
	for (unsigned kind = 0; kind < 12; kind++) {
		pthread_mutexattr_init(&attr);
		pthread_mutexattr_settype(&attr, types[kind % 4]);
		if (kind / 4 == 1)
			pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
		if (kind / 4 == 2)
			pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
		assert_int_equal(pthread_mutex_init(&mutex, &attr), 0);
		assert_owner_of(&mutex, kind / 4 == 2 ? FUTEX_LOCK_PI : FUTEX_WAIT_PRIVATE, true);
		pthread_mutex_destroy(&mutex);
	}
	pthread_mutex_init(&mutex, NULL);
	assert_owner_of(&mutex, FUTEX_WAIT_PRIVATE, false); /* nobody waits: the lock is 1 */
}

static void futex_that_is_no_lock_has_no_owner(void **state)
{
	static const uint32_t mutex[] = {2, 1, 4711, 1, 0}, unlocked[] = {1, 1, 4711, 1, 0},
			      no_user[] = {2, 1, 4711, 0, 0}, no_kind[] = {2, 1, 4711, 1, 0x4000},
			      no_tid[] = {2, 1, 0x80001267, 1, 0}, zeros[5] = {};

	(void)state;
	assert_int_equal(tapir_futex__owner(FUTEX_WAIT_PRIVATE, 2, mutex), 4711);
	assert_int_equal(tapir_futex__owner(FUTEX_WAIT_BITSET_PRIVATE, 2, mutex), 4711);
	assert_int_equal(tapir_futex__owner(FUTEX_WAIT_PRIVATE, 0, mutex), 0);
	assert_int_equal(tapir_futex__owner(FUTEX_WAIT_PRIVATE, 1, mutex), 0);
	assert_int_equal(tapir_futex__owner(FUTEX_WAIT_REQUEUE_PI, 2, mutex), 0);
	assert_int_equal(tapir_futex__owner(FUTEX_WAKE, 2, mutex), 0);
	assert_int_equal(tapir_futex__owner(FUTEX_WAIT_PRIVATE, 2, unlocked), 0);
	assert_int_equal(tapir_futex__owner(FUTEX_WAIT_PRIVATE, 2, no_user), 0);
	assert_int_equal(tapir_futex__owner(FUTEX_WAIT_PRIVATE, 2, no_kind), 0);
	assert_int_equal(tapir_futex__owner(FUTEX_WAIT_PRIVATE, 2, no_tid), 0);
	assert_int_equal(tapir_futex__owner(FUTEX_LOCK_PI, 0, zeros), 0);
	assert_int_equal(tapir_futex__owner(FUTEX_WAIT, FUTEX_WAITERS | 5, mutex), 0);
}

/* ---- sockets ------------------------------------------------------------------------------ */

static char *explained(int fd)
{
	struct tapir_sockets sockets = {};
	struct tapir_str out = {};
	char text[64];
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	snprintf(text, sizeof(text), "read(fd %d socket:[%lu], 1)", fd, (unsigned long)st.st_ino);
	tapir_sockets__explain(&sockets, (uint32_t)getpid(), text, &out);
	tapir_sockets__fini(&sockets);
	return out.data;
}

static int listening(int family, void *addr, socklen_t bytes)
{
	int fd = socket(family, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, addr, bytes), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, addr, &bytes), 0);
	return fd;
}

static void socket_is_named_by_its_ends(void **state)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)},
			   own = {};
	socklen_t bytes = sizeof(own);
	int server = listening(AF_INET, &addr, sizeof(addr)),
	    client = socket(AF_INET, SOCK_STREAM, 0);
	char expected[96], *text;

	(void)state;
	snprintf(expected, sizeof(expected), "read(fd %d tcp 127.0.0.1:%u, 1)", server,
		 ntohs(addr.sin_port));
	text = explained(server);
	assert_string_equal(text, expected);
	free(text);
	assert_int_equal(connect(client, (void *)&addr, sizeof(addr)), 0);
	assert_int_equal(getsockname(client, (void *)&own, &bytes), 0);
	snprintf(expected, sizeof(expected), "read(fd %d tcp 127.0.0.1:%u to 127.0.0.1:%u, 1)",
		 client, ntohs(own.sin_port), ntohs(addr.sin_port));
	text = explained(client);
	assert_string_equal(text, expected);
	free(text);
	close(client);
	close(server);
}

static void socket_of_unix_has_its_path(void **state)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX, .sun_path = "\0tapir test of sockets"};
	int server = socket(AF_UNIX, SOCK_STREAM, 0);
	char *text;

	(void)state;
	assert_int_equal(bind(server, (void *)&addr, sizeof(addr.sun_family) + 22), 0);
	text = explained(server);
	assert_non_null(strstr(text, " unix @tapir test of sockets, 1)"));
	free(text);
	close(server);
}

static void list_that_is_cut_or_garbled_is_skipped(void **state)
{
	static const char *const lines[] = {
		"",
		"\n\n",
		"sl local_address rem_address",
		"0: 0100007F:1F90 00000000:0000 0A 0 0 0 0 0",
		"0: 0100007F 00000000:0000 0A 0 0 0 0 0 77",
		"0: 0100007G:1F90 00000000:0000 0A 0 0 0 0 0 77",
		"0: 0100007F:1F90 00000000:0000 0A 0 0 0 0 0 99999999999999999999999999",
		"0: 0100007F:1F90 00000000:0000 0A 0 0 0 0 0 -1",
		"a b c d e f 0 g"};
	struct tapir_sockets s = {};
	struct tapir_str out = {};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		for (int list = 0; list < TAPIR_SOCKETS_CNT; list++)
			tapir_sockets__parse(&s, list, lines[i], strlen(lines[i]));
	s.are_read = true;
	tapir_sockets__explain(&s, 1, "x(fd 1 socket:[77], fd 2 socket:[, socket:[7", &out);
	assert_string_equal(out.data, "x(fd 1 socket:[77], fd 2 socket:[, socket:[7");
	tapir_sockets__parse(
		&s, TAPIR_SOCKETS_TCP6,
		"0: 00000000000000000000000001000000:0050 "
		"0000000000000000FFFF00000100007F:0051 01 0 0 0 0 0 77\n",
		strlen("0: 00000000000000000000000001000000:0050 ") +
			strlen("0000000000000000FFFF00000100007F:0051 01 0 0 0 0 0 77\n"));
	tapir_str__clear(&out);
	tapir_sockets__explain(&s, 1, "socket:[77]socket:[77]", &out);
	assert_string_equal(out.data, "tcp6 [::1]:80 to [::ffff:127.0.0.1]:81"
				      "tcp6 [::1]:80 to [::ffff:127.0.0.1]:81");
	tapir_str__fini(&out);
	tapir_sockets__fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_are_written_as_people_read_them),
		cmocka_unit_test(deadline_is_what_is_left_of_it),
		cmocka_unit_test(owner_is_the_one_that_the_c_library_writes),
		cmocka_unit_test(futex_that_is_no_lock_has_no_owner),
		cmocka_unit_test(socket_is_named_by_its_ends),
		cmocka_unit_test(socket_of_unix_has_its_path),
		cmocka_unit_test(list_that_is_cut_or_garbled_is_skipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
