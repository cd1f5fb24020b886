// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lists of processes are made once for all who ask. The tapir that a task runs is this program: it
 * prints a list, and notes that it was run, and whether another one ran at the same time.
 */
#include <setjmp.h>
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
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <jansson.h>

#include "agent/task.h"
#include "agent/wire.h"

#define CLIENT_CNT 16

static char dir[] = "/tmp/tapir-test-XXXXXX";
static struct tapir_shared_lists *lists;

static int fake_ps(void)
{
	int fd = open("runs", O_WRONLY | O_CREAT | O_APPEND, 0600);
	bool is_alone = mkdir("running", 0700) == 0;

	if (fd < 0 || write(fd, is_alone ? "." : "!", 1) != 1)
		return 1;
	printf("{\"pid\":%d,\"started\":1,\"name\":\"a\",\"runtime\":\".NET\",\"cpu_ns\":5}\n"
	       "{\"pid\":2147483646,\"started\":2,\"name\":\"b\",\"cpu_ns\":1}\n",
	       (int)getppid());
	for (int i = 0; i < 100; i++) /* lets another one run, if there is one */
		sched_yield();
	if (!access("slow", F_OK)) /* as on a busy machine: longer than a list is fresh */
		usleep(1100000);
	if (is_alone)
		rmdir("running");
	return 0;
}

/* '.' for each list that was made; '!' if another one was being made. */
static size_t runs(char *out, size_t size)
{
	int fd = open("runs", O_RDONLY);
	ssize_t n = fd < 0 ? 0 : read(fd, out, size);

	if (fd >= 0)
		close(fd);
	return n < 0 ? 0 : (size_t)n;
}

/* Starts a task that answers to a socket. */
static pid_t begin(struct tapir_request_params *ask, int *client_fd)
{
	int pair[2];
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	pid = fork();
	if (!pid) {
		struct tapir_task task = {.params = ask, .path_arg = "", .lists = lists};

		_exit(tapir_task__processes(&task, pair[1]) ? 1 : 0);
	}
	close(pair[1]);
	*client_fd = pair[0];
	return pid;
}

static json_t *answer_of(int fd)
{
	static _Alignas(8) char message[TAPIR_WIRE_DATA_BYTES + 1024];
	struct tapir_wire_reply reply;
	struct tapir_str text = {};
	json_t *json = NULL;
	ssize_t n;

	while ((n = recv(fd, message, sizeof(message), 0)) > 0 &&
	       !tapir_wire__reply(message, (size_t)n, &reply))
		if (reply.type == TAPIR_WIRE_DATA)
			tapir_str__add(&text, reply.data, reply.len);
	json = json_loadb(text.data ? text.data : "", text.len, 0, NULL);
	tapir_str__fini(&text);
	close(fd);
	return json_object_get(json, "processes");
}

static size_t ask_once(struct tapir_request_params *ask)
{
	int fd, status;
	pid_t pid = begin(ask, &fd);
	size_t cnt = json_array_size(answer_of(fd));

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	return cnt;
}

/* All clients ask at once, and each gets the complete list. */
static void ask_at_once(struct tapir_request_params *ask)
{
	int fds[CLIENT_CNT], status;

	for (size_t i = 0; i < CLIENT_CNT; i++)
		(void)begin(ask, &fds[i]);
	for (size_t i = 0; i < CLIENT_CNT; i++)
		assert_int_equal(json_array_size(answer_of(fds[i])), 2);
	for (size_t i = 0; i < CLIENT_CNT; i++)
		assert_true(wait(&status) > 0 && !status);
}

static void lists_are_made_one_at_a_time(void **state)
{
	struct tapir_request_params ask = {};
	char out[256];
	size_t cnt;

	(void)state;
	ask_at_once(&ask);
	cnt = runs(out, sizeof(out));
	assert_true(cnt > 0);
	assert_null(memchr(out, '!', cnt));
}

/* Requests that waited for a list take it, however long it took. */
static void list_that_took_long_is_made_once_for_those_who_waited(void **state)
{
	struct tapir_request_params ask = {.all = true};
	char out[256];
	size_t before;

	(void)state;
	before = runs(out, sizeof(out));
	assert_int_equal(mkdir("slow", 0700), 0);
	ask_at_once(&ask);
	rmdir("slow");
	assert_true(runs(out, sizeof(out)) - before < CLIENT_CNT / 2);
}

static void list_is_the_answer_for_a_while_and_each_gets_what_it_asked_for(void **state)
{
	struct tapir_request_params ask = {}, dotnet = {.runtime = ".net"}, named = {.name = "b*"},
				    nobody = {.container = "0123456789ab"};
	char out[256];
	bool is_reused = false;

	(void)state;
	for (int i = 0; i < 50 && !is_reused; i++) { /* a second may pass in between */
		size_t before;

		(void)ask_once(&ask);
		before = runs(out, sizeof(out));
		assert_int_equal(ask_once(&dotnet), 1);
		assert_int_equal(ask_once(&named), 1);
		assert_int_equal(ask_once(&nobody), 0);
		is_reused = runs(out, sizeof(out)) == before;
	}
	assert_true(is_reused);
}

/* A task ends when its client goes: the next one makes the list. */
static void task_that_is_killed_keeps_nobody_waiting(void **state)
{
	struct tapir_request_params all = {.all = true};

	(void)state;
	for (int i = 0; i < 20; i++) {
		int fd;
		pid_t pid = begin(&all, &fd);

		for (int k = 0; k < i; k++)
			sched_yield();
		kill(pid, SIGKILL);
		close(fd);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		assert_int_equal(ask_once(&all), 2);
		rmdir("running"); /* of one that was killed with its task */
	}
}

static int setup(void **state)
{
	(void)state;
	lists = tapir_shared_lists__new();
	return lists && mkdtemp(dir) && !chdir(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	tapir_shared_lists__free(lists);
	rmdir("running");
	rmdir("slow");
	unlink("runs");
	(void)!chdir("/");
	rmdir(dir);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_are_made_one_at_a_time),
		cmocka_unit_test(list_that_took_long_is_made_once_for_those_who_waited),
		cmocka_unit_test(list_is_the_answer_for_a_while_and_each_gets_what_it_asked_for),
		cmocka_unit_test(task_that_is_killed_keeps_nobody_waiting),
	};

	if (argc > 1 && !strcmp(argv[1], "ps"))
		return fake_ps();
	return cmocka_run_group_tests(tests, setup, teardown);
}
