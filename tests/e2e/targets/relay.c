// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * relay [--wait] ROUNDS - processes that wait for each other: the probes relay:ask__start and
 * relay:ask__done are around a question that "asker" writes into a pipe. "proxy" passes it to
 * "backend" by a UNIX socket, which sleeps for 20 ms before it answers. Around
 * relay:collect__start and relay:collect__done "asker" waits for its child "locker", which waits
 * for the lock of a file that "keeper" has and releases after 30 ms. The last line is JSON: how
 * often either was done, and the ids of the processes.
 */
#include <fcntl.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "target.h"

#define ANSWER_NS 20000000u
#define LOCK_NS	  30000000u

static int ask_pipe[2], answer_pipe[2], backend[2];
static char lock_path[64];

static void pass(int from, int to)
{
	char byte;

	if (read(from, &byte, 1) != 1)
		_exit(0); /* the asker has ended */
	if (write(to, &byte, 1) != 1)
		_exit(1);
}

static void close_all(void)
{
	close(ask_pipe[1]);
	close(answer_pipe[0]);
}

static pid_t start_backend(void)
{
	pid_t pid = fork();
	char byte;

	if (pid)
		return pid;
	prctl(PR_SET_NAME, "backend");
	close_all();
	close(backend[0]);
	while (read(backend[1], &byte, 1) == 1) {
		target__sleep_ns(ANSWER_NS);
		if (write(backend[1], &byte, 1) != 1)
			break;
	}
	_exit(0);
}

static pid_t start_proxy(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_NAME, "proxy");
	close_all();
	close(backend[1]);
	for (;;) {
		pass(ask_pipe[0], backend[0]);
		pass(backend[0], answer_pipe[1]);
	}
}

/* Has the lock when its parent knows, and releases it after a while. */
static void keep(int ready)
{
	int file = open(lock_path, O_RDWR | O_CLOEXEC);

	prctl(PR_SET_NAME, "keeper");
	if (file < 0 || flock(file, LOCK_EX) || write(ready, "", 1) != 1)
		_exit(1);
	target__sleep_ns(LOCK_NS);
	flock(file, LOCK_UN);
	_exit(0);
}

static void wait_for_lock(void)
{
	int file = open(lock_path, O_RDWR | O_CLOEXEC);

	prctl(PR_SET_NAME, "locker");
	_exit(file < 0 || flock(file, LOCK_EX));
}

static void collect(uint64_t round)
{
	int ready[2], status;
	pid_t keeper, locker;
	char byte;

	if (pipe(ready))
		target__die("pipe");
	keeper = fork();
	if (!keeper)
		keep(ready[1]);
	if (keeper < 0 || read(ready[0], &byte, 1) != 1)
		target__die("keeper");
	TAPIR_PROBE(relay, collect__start, round);
	locker = fork();
	if (!locker)
		wait_for_lock();
	if (locker < 0 || waitpid(locker, &status, 0) != locker || status)
		target__die("locker");
	TAPIR_PROBE(relay, collect__done, round);
	waitpid(keeper, &status, 0);
	close(ready[0]);
	close(ready[1]);
}

static void ask(uint64_t round)
{
	char byte = 'x';

	TAPIR_PROBE(relay, ask__start, round);
	if (write(ask_pipe[1], &byte, 1) != 1 || read(answer_pipe[0], &byte, 1) != 1)
		target__die("ask");
	TAPIR_PROBE(relay, ask__done, round);
}

int main(int argc, char **argv)
{
	pid_t proxy, server;
	uint64_t rounds;
	int file;

	snprintf(lock_path, sizeof(lock_path), "/tmp/relay-lock-XXXXXX");
	file = mkstemp(lock_path);
	if (file < 0 || pipe(ask_pipe) || pipe(answer_pipe) ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, backend))
		target__die("relay");
	close(file);
	server = start_backend();
	proxy = start_proxy();
	close(ask_pipe[0]);
	close(answer_pipe[1]);
	close(backend[0]);
	close(backend[1]);
	prctl(PR_SET_NAME, "asker");
	target__start(&argc, argv);
	rounds = (uint64_t)target__number(argc, argv, 1, 10);
	for (uint64_t i = 0; i < rounds; i++) {
		ask(i);
		collect(i);
	}
	unlink(lock_path);
	printf("{\"rounds\": %" PRIu64 ", \"asker\": %d, \"proxy\": %d, \"backend\": %d}\n", rounds,
	       getpid(), proxy, server);
	return 0;
}
