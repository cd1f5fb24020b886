// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kernel and user stacks that keep the id of an earlier walk: with each match walked anyway, over
 * switches of many kinds, not one is another. Needs root.
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
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach/maps.h"
#include "attach/unwind_maps.h"
#include "bpf/control.h"
#include "bpf/memo_logic.bpf.h"
#include "elf/image.h"
#include "may_trace.h"
#include "tapir.skel.h"
#include "attach/unwind/unwind_table.h"

#define RING_BYTES	  (1u << 20)
#define RINGS		  64
#define TURNS		  4000
#define KINDS		  8

/* In an element of walk_cache (bpf/walk_cache.bpf.h). */
#define CACHED_MATCHES_AT 48

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
	skel->rodata->kernel_memo_check = skel->rodata->walk_cache_check = check_every;
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

/* ---- the code of this program ---------------------------------------------------------------- */

struct own_code {
	struct tapir_bpf *skel;
	struct tapir_unwind_space space;
};

static void put_table(struct tapir_bpf *skel, uint32_t idx, const struct tapir_unwind_table *table)
{
	const struct tapir_unwind_file file = {.first_pc = table->shape.first_pc,
					       .granule_cnt = table->shape.granule_cnt,
					       .state = TAPIR_UNWIND_READY};
	int fd = tapir_unwind_maps__make_table(table->blocks, table->shape.block_cnt);

	assert_true(fd >= 0);
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.unwind_tables), &idx, &fd, 0),
			 0);
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.unwind_files), &idx, &file, 0),
			 0);
	close(fd);
}

static int add_code(const struct tapir_mapping_line *line, void *ctx)
{
	struct own_code *own = ctx;
	struct tapir_unwind_table *table = NULL;
	uint32_t idx = own->space.cnt;
	struct tapir_elf *elf;

	if (!line->is_executable || !tapir_mapping_line__is_file(line) ||
	    idx == TAPIR_UNWIND_SPACE_MAPPINGS || tapir_elf__open(line->path, &elf))
		return 0;
	if (!tapir_unwind_table__build(elf, &table)) {
		put_table(own->skel, idx, table);
		own->space.mappings[own->space.cnt++] =
			(struct tapir_unwind_mapping){.start_va = line->start_va,
						      .end_va = line->end_va,
						      .bias = line->start_va - line->file_off,
						      .file_idx = idx,
						      .kind = TAPIR_UNWIND_KIND_FILE};
	}
	tapir_unwind_table__free(table);
	tapir_elf__free(elf);
	return 0;
}

static void describe_own_code(struct tapir_bpf *skel)
{
	struct tapir_unwind_space_key key = {.tgid = (uint32_t)getpid()};
	struct own_code own = {.skel = skel};
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	memset(own.space.first_va, 0xff, sizeof(own.space.first_va));
	own.space.first_va[0] = 0;
	own.space.block_cnt = own.space.generation = 1;
	assert_int_equal(tapir_maps__each(fd, add_code, &own, NULL), 0);
	close(fd);
	assert_in_range(own.space.cnt, 2, TAPIR_UNWIND_SPACE_MAPPINGS);
	assert_int_equal(bpf_map_update_elem(bpf_map__fd(skel->maps.unwind_spaces), &key,
					     &own.space, BPF_ANY),
			 0);
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

/* Two callers whose stacks differ in one return address alone. */
static __attribute__((noinline)) void leave_here(unsigned kind, int epoll_fd)
{
	leave(kind, epoll_fd);
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void leave_there(unsigned kind, int epoll_fd)
{
	leave(kind, epoll_fd);
	__asm__ volatile("nop" ::: "memory");
}

static void *work(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg, rare;
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);

	for (int i = 0; i < TURNS; i++) {
		rare = (unsigned)rand_r(&seed) % 100;
		(i & 1 ? leave_here : leave_there)(rare == 99 ? KINDS - 1 : rare % (KINDS - 1),
						   epoll_fd);
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

/* The sum of a counter at `at` in the elements of a map that has them for each CPU. */
static uint64_t sum_of(const struct bpf_map *map, size_t at)
{
	uint32_t cpu_cnt = (uint32_t)libbpf_num_possible_cpus(), cnt;
	size_t size = (bpf_map__value_size(map) + 7) / 8 * 8;
	char *values = calloc(cpu_cnt, size);
	uint64_t sum = 0;

	assert_non_null(values);
	for (uint32_t i = 0; i < bpf_map__max_entries(map); i++) {
		if (bpf_map_lookup_elem(bpf_map__fd(map), &i, values))
			break;
		for (uint32_t cpu = 0; cpu < cpu_cnt; cpu++) {
			memcpy(&cnt, values + cpu * size + at, sizeof(cnt));
			sum += cnt;
		}
	}
	free(values);
	return sum;
}

static void assert_none_is_stale(struct tapir_bpf *skel)
{
	struct tapir_losses losses;
	uint32_t zero = 0;

	assert_int_equal(bpf_map_lookup_elem(bpf_map__fd(skel->maps.losses), &zero, &losses), 0);
	assert_int_equal(losses.cnt[TAPIR_LOSS_KERNEL_STACK_STALE], 0);
	assert_int_equal(losses.cnt[TAPIR_LOSS_USER_STACK_STALE], 0);
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
	describe_own_code(skel);
	leave_often();
	assert_none_is_stale(skel);
	assert_true(sum_of(skel->maps.kernel_memos, offsetof(struct tapir_memo, match_cnt)) > 1000);
	assert_true(sum_of(skel->maps.walk_cache, CACHED_MATCHES_AT) > 1000);
	tapir_bpf__destroy(skel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stack_that_matches_is_the_one_that_was_walked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
