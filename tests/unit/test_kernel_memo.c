// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kernel stacks that keep the id of an earlier walk: with each match walked anyway, over switches
 * of many kinds, not one is another. Needs root.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bpf/control.h"
#include "bpf/memo_logic.bpf.h"
#include "may_trace.h"
#include "tapir.skel.h"

#define RING_BYTES (1u << 20)
#define RINGS	   64
#define TURNS	   2000
#define KINDS	   8

static int ignore_log(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	(void)level;
	(void)fmt;
	(void)ap;
	return 0;
}

/* The switch program, on; what it sends is not read: there need be no space for it. */
static struct tapir_bpf *load(uint32_t check_every)
{
	const struct tapir_live live = {
		.epoch = 1, .enabled = 1, .wake_bytes = UINT64_MAX, .ask_bytes = UINT64_MAX};
	const struct tapir_filter filter = {.self_tgid = (uint32_t)getppid()};
	struct tapir_bpf *skel = tapir_bpf__open();
	struct bpf_program *prog;
	uint32_t zero = 0;

	assert_non_null(skel);
	skel->rodata->kernel_memo_check = check_every;
	bpf_object__for_each_program(prog, skel->obj)
		bpf_program__set_autoload(prog, prog == skel->progs.tapir_switch);
	bpf_map__set_max_entries(skel->maps.rings, RINGS);
	assert_int_equal(tapir_bpf__load(skel), 0);
	for (uint32_t pair = 0; pair < (uint32_t)(sysconf(_SC_NPROCESSORS_CONF) + 1) / 2; pair++) {
		int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "memo", 0, 0, RING_BYTES, NULL);

		assert_true(fd >= 0);
		assert_int_equal(
			bpf_map_update_elem(bpf_map__fd(skel->maps.rings), &pair, &fd, BPF_ANY), 0);
		close(fd);
	}
	bpf_map_update_elem(bpf_map__fd(skel->maps.filter), &zero, &filter, BPF_ANY);
	bpf_map_update_elem(bpf_map__fd(skel->maps.live), &zero, &live, BPF_ANY);
	skel->links.tapir_switch = bpf_program__attach(skel->progs.tapir_switch);
	assert_non_null(skel->links.tapir_switch);
	return skel;
}

/* ---- ways to leave a CPU ------------------------------------------------------------------- */

static int pipes[2], sockets[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void nap(long ns)
{
	nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

static void wait_in_poll(void)
{
	struct pollfd fd = {.fd = pipes[0], .events = POLLIN};

	(void)poll(&fd, 1, 0);
	(void)poll(NULL, 0, 1);
}

static void wait_in_epoll(int epoll_fd)
{
	struct epoll_event event;

	(void)epoll_wait(epoll_fd, &event, 1, 1);
}

static void fault(void)
{
	char *page =
		mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t at = 0; page != MAP_FAILED && at < 1 << 20; at += 4096)
		page[at] = 1;
	if (page != MAP_FAILED)
		munmap(page, 1 << 20);
}

static void leave(unsigned kind, int epoll_fd)
{
	static const char byte = 1;
	char got;
	pid_t child;

	switch (kind) {
	case 0:
		sched_yield();
		break;
	case 1:
		nap(1000);
		break;
	case 2:
		pthread_mutex_lock(&lock);
		nap(1000);
		pthread_mutex_unlock(&lock);
		break;
	case 3:
		wait_in_poll();
		break;
	case 4:
		wait_in_epoll(epoll_fd);
		break;
	case 5:
		if (write(pipes[1], &byte, 1) == 1)
			(void)!read(pipes[0], &got, 1);
		(void)send(sockets[1], &byte, 1, MSG_DONTWAIT);
		(void)recv(sockets[0], &got, 1, MSG_DONTWAIT);
		break;
	case 6:
		fault();
		break;
	default:
		child = fork();
		if (!child)
			_exit(0);
		if (child > 0)
			waitpid(child, NULL, 0);
	}
}

static void *work(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg, rare;
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);

	for (int i = 0; i < TURNS; i++) {
		rare = (unsigned)rand_r(&seed) % 100;
		leave(rare == 99 ? KINDS - 1 : rare % (KINDS - 1), epoll_fd);
	}
	close(epoll_fd);
	return NULL;
}

static void leave_often(void)
{
	pthread_t threads[4];

	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
	for (uintptr_t i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, work, (void *)(i + 1)), 0);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < 2; i++) {
		close(pipes[i]);
		close(sockets[i]);
	}
}

/* ---- results ----------------------------------------------------------------------- */

static uint64_t matches_of(struct tapir_bpf *skel)
{
	uint32_t cpu_cnt = (uint32_t)libbpf_num_possible_cpus();
	size_t size = (sizeof(struct tapir_memo) + 7) / 8 * 8;
	char *values = calloc(cpu_cnt, size);
	uint64_t sum = 0;

	assert_non_null(values);
	for (uint32_t i = 0; i < bpf_map__max_entries(skel->maps.kernel_memos); i++) {
		if (bpf_map_lookup_elem(bpf_map__fd(skel->maps.kernel_memos), &i, values))
			break;
		for (uint32_t cpu = 0; cpu < cpu_cnt; cpu++)
			sum += ((const struct tapir_memo *)(const void *)(values + cpu * size))
				       ->match_cnt;
	}
	free(values);
	return sum;
}

static uint64_t stale_of(struct tapir_bpf *skel)
{
	struct tapir_losses losses;
	uint32_t zero = 0;

	assert_int_equal(bpf_map_lookup_elem(bpf_map__fd(skel->maps.losses), &zero, &losses), 0);
	return losses.cnt[TAPIR_LOSS_KERNEL_STACK_STALE];
}

static void stack_that_matches_is_the_one_that_was_walked(void **state)
{
	struct tapir_bpf *skel;

	(void)state;
	if (!may_trace()) {
		print_message("skipped: loading BPF programs needs root\n");
		skip();
	}
	libbpf_set_print(ignore_log);
	skel = load(1);
	leave_often();
	assert_int_equal(stale_of(skel), 0);
	assert_true(matches_of(skel) > 1000);
	tapir_bpf__destroy(skel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stack_that_matches_is_the_one_that_was_walked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
