// SPDX-License-Identifier: GPL-2.0-or-later
/* What waits is bounded, and which URLs are taken; servers of all kinds: tests/e2e/case_push.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/fd_message.h"
#include "agent/push/push.h"
#include "output/render/parca.h"

#define MEGABYTE (1u << 20)

static const struct tapir_push_target targets[] = {
	/* Nobody listens there. */
	{.kind = TAPIR_PUSH_PUT, .url = "http://127.0.0.1:1/a", .timeout = 5},
	{.kind = TAPIR_PUSH_PUT, .url = "http://127.0.0.1:1/b", .timeout = 5},
};

struct job {
	int fd;
	struct tapir_push_shm *page;
	int result;
};

static void *run(void *arg)
{
	static const struct tapir_push_files files[2] = {{NULL, -1}, {NULL, -1}};
	struct job *job = arg;

	job->result = tapir_push__run(targets, 2, files, job->fd, job->page);
	return NULL;
}

static void send_body(int socket_fd, uint32_t target, size_t bytes)
{
	struct tapir_push_message message = {.target = target, .name = "x"};
	int fd = memfd_create("body", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
	assert_int_equal(tapir_fd_message__send(socket_fd, &message, sizeof(message), &fd, 1, 0),
			 0);
	close(fd);
}

static uint64_t seen_cnt(const struct tapir_push_shm *page)
{
	uint64_t cnt = 0;

	for (unsigned i = 0; i < 2; i++)
		cnt += *(const volatile uint64_t *)&page->of[i].waiting_cnt +
		       __atomic_load_n(&page->of[i].dropped_cnt, __ATOMIC_RELAXED);
	return cnt;
}

static void oldest_are_dropped_when_there_is_no_room(void **state)
{
	struct job job = {.page = tapir_push_shm__new()};
	pthread_t thread;
	int pair[2];

	(void)state;
	if (tapir_push__check()) {
		tapir_diag__clear();
		skip();
	}
	assert_non_null(job.page);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	job.fd = pair[0];
	assert_int_equal(pthread_create(&thread, NULL, run, &job), 0);
	send_body(pair[1], 7, MEGABYTE); /* no such target */
	assert_int_equal(send(pair[1], "x", 1, 0), 1);
	for (unsigned i = 0; i < 100; i++)
		send_body(pair[1], i % 2, MEGABYTE);
	send_body(pair[1], 0, 0); /* has nothing */
	for (unsigned i = 0; i < 1000 && seen_cnt(job.page) < 101; i++)
		usleep(10000);
	close(pair[1]);
	pthread_join(thread, NULL);
	close(pair[0]);
	assert_int_equal(job.result, 0);
	assert_int_equal(job.page->of[0].dropped_cnt + job.page->of[1].dropped_cnt,
			 100 - TAPIR_PUSH_SPOOL_BYTES / MEGABYTE + 1);
	/* Of both alike. */
	assert_in_range(job.page->of[0].dropped_cnt, 17, 21);
	assert_int_equal(job.page->of[0].sent_cnt + job.page->of[1].sent_cnt, 0);
	assert_true(*job.page->of[0].error);
	tapir_push_shm__free(job.page);
}

static void names_for_parca_are_labels(void **state)
{
	static const struct {
		const char *name;
		bool is_right;
	} cases[] = {
		{NULL, true},
		{"shop", true},
		{"shop{node=node1}", true},
		{"shop{a=b,_c9=d e}", true},
		{"", false},
		{"{a=b}", false},
		{"shop{", false},
		{"shop{}", false},
		{"shop{a}", false},
		{"shop{a=}", false},
		{"shop{=b}", false},
		{"shop{9a=b}", false},
		{"shop{a-b=c}", false},
		{"shop{a=b,}", false},
		{"shop{a=b,a=c}", false},
		{"shop{job=x}", false},
		{"shop{__name__=x}", false},
		{"shop\xff", false},
		{"shop{a=\xff}", false},
		{"shop{a=b}x", false},
	};
	char many[1024] = "shop{";

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct tapir_str out = {};

		assert_int_equal(!tapir_parca__check_name(cases[i].name), cases[i].is_right);
		assert_int_equal(tapir_parca__write(cases[i].name, "pprof", 5, &out),
				 cases[i].is_right ? 0 : -EINVAL);
		tapir_str__fini(&out);
	}
	for (int i = 0; i < 33; i++)
		sprintf(many + strlen(many), "%sl%d=v", i ? "," : "", i);
	strcat(many, "}");
	assert_non_null(tapir_parca__check_name(many));
}

static void head_of_a_call_has_its_length(void **state)
{
	static const char body[300] = {1, 2, 3};
	struct tapir_str out = {};

	(void)state;
	tapir_str__adds(&out, "before");
	assert_int_equal(tapir_parca__write("shop", body, sizeof(body), &out), 0);
	assert_memory_equal(out.data + 6, "\0\0\0\1", 4);
	assert_int_equal((unsigned char)out.data[10] + 256, out.len - 11);
	assert_non_null(memmem(out.data, out.len, body, sizeof(body)));
	tapir_str__fini(&out);
}

static void urls_are_of_servers(void **state)
{
	static const struct {
		const char *url;
		int is_taken;
	} cases[] = {
		{"http://127.0.0.1:4040/ingest", 1},
		{"https://h/p?q=a@b", 1},
		{"http://[::1]:1/", 1},
		{"", 0},
		{"http://", 0},
		{"http:///x", 0},
		{"ftp://h/", 0},
		{"file:///etc/passwd", 0},
		{"HTTP://h/", 0},
		{"http://u:p@h/", 0},
		{"http://h/a b", 0},
		{"http://h/\n", 0},
		{"http://h/#x", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(!tapir_push__check_url(cases[i].url), cases[i].is_taken);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(oldest_are_dropped_when_there_is_no_room),
		cmocka_unit_test(urls_are_of_servers),
		cmocka_unit_test(names_for_parca_are_labels),
		cmocka_unit_test(head_of_a_call_has_its_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
