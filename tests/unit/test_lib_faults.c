// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libtapir where a program is not at its best: each case is a process of its own, whose exit status
 * says what failed.
 */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tapir/counter.h"
#include "tapir/listener.h"
#include "tapir/logger.h"

TAPIR_EVENT(Fault, "Unit-Faults", "Fault", 1, 0, TAPIR_INFORMATIONAL, 0, (U32, Number));

static struct tapir_event *const events[] = {&Fault};
static const struct tapir_selection all = {"Unit-Faults", NULL, NULL, 0, 0, {0}};
static const struct tapir_listener_opts polled = {.size = sizeof(polled),
						  .flags = TAPIR_LISTENER_POLLED};
static struct tapir_provider *provider;
static struct tapir_listener *listener;
static uint32_t seen_cnt, early_cnt;

#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "line %d: %s\n", __LINE__, #cond);                         \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

static void see(const struct tapir_event_record *record, void *ctx)
{
	(void)record, (void)ctx;
	seen_cnt++;
}

/* Before main, before other constructors have run. */
static __attribute__((constructor(101))) void fire_before_main(void)
{
	struct tapir_provider *p;
	struct tapir_listener *l;

	if (tapir_provider__new("Unit-Faults", NULL, events, 1, NULL, &p) ||
	    tapir_listener__open(&all, 1, see, NULL, &polled, &l))
		return;
	TAPIR_FIRE(Fault, 0);
	early_cnt = (uint32_t)tapir_listener__poll(l);
	tapir_listener__close(l);
	tapir_provider__free(p);
	tapir_library__fini();
}

static void begin(void)
{
	CHECK(!tapir_provider__new("Unit-Faults", NULL, events, 1, NULL, &provider));
	CHECK(!tapir_listener__open(&all, 1, see, NULL, &polled, &listener));
	seen_cnt = 0;
}

/* Events still arrive, and all of it can be taken down. */
static void expect_working(void)
{
	int before = (int)seen_cnt;

	TAPIR_FIRE(Fault, 7);
	CHECK(tapir_listener__poll(listener) == 1 && (int)seen_cnt == before + 1);
	CHECK(!tapir_listener__close(listener));
	tapir_provider__free(provider);
	CHECK(!tapir_library__fini());
}

static void in_child(void (*body)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		alarm(30);
		body();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* ---- what the system refuses ------------------------------------------------------------------ */

/* These calls do this from now on: SECCOMP_RET_*. */
static void answer(const int *calls, unsigned cnt, uint32_t what)
{
	struct sock_filter code[32] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0)};
	struct sock_fprog program = {.filter = code};
	unsigned at = 1;

	for (unsigned i = 0; i < cnt; i++) {
		code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							  (uint32_t)calls[i], 0, 1);
		code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, what);
	}
	code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = (unsigned short)at;
	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

/* These calls fail from now on. */
static void refuse(const int *calls, unsigned cnt)
{
	answer(calls, cnt, SECCOMP_RET_ERRNO | EPERM);
}

static void where_tracing_calls_kill(void)
{
	const int calls[] = {SYS_bpf, SYS_perf_event_open, SYS_ptrace, SYS_process_vm_readv};
	struct tapir_user_events *kernel;

	answer(calls, sizeof(calls) / sizeof(calls[0]), SECCOMP_RET_KILL_PROCESS);
	begin();
	CHECK(!tapir_user_events__open(&all, 1, &kernel) && !tapir_user_events__close(kernel));
	expect_working();
}

static void without_memfd(void)
{
	const int calls[] = {SYS_memfd_create};

	refuse(calls, 1);
	begin();
	CHECK(tapir_provider__ring_error(provider) < 0);
	expect_working();
}

static void without_files(void)
{
	const int calls[] = {
		SYS_openat, SYS_bpf,	  SYS_readlinkat,
#ifdef SYS_open
		SYS_open,   SYS_readlink, /* only older machines have them */
#endif
	};

	refuse(calls, sizeof(calls) / sizeof(calls[0]));
	begin();
	expect_working();
}

static void without_threads(void)
{
	const int calls[] = {SYS_clone, SYS_clone3};
	struct tapir_listener *threaded;

	refuse(calls, 2);
	begin();
	/* Nobody follows the lane: each event looks for itself. */
	CHECK(TAPIR_EVENT_ENABLED(Fault));
	CHECK(tapir_provider__poll() < 0);
	CHECK(tapir_listener__open(&all, 1, see, NULL, NULL, &threaded) == -EAGAIN);
	expect_working();
	CHECK(!TAPIR_EVENT_ENABLED(Fault));
}

static void without_address_space(void)
{
	const struct rlimit none = {1u << 20, 1u << 20};
	struct tapir_provider *p = NULL;
	struct tapir_listener *l = NULL;

	CHECK(!setrlimit(RLIMIT_AS, &none));
	for (int i = 0; i < 100; i++) {
		int err = tapir_provider__new("Unit-Faults", NULL, events, 1, NULL, &p);

		CHECK(!err || err == -ENOMEM);
		if (tapir_listener__open(&all, 1, see, NULL, NULL, &l))
			l = NULL;
		TAPIR_FIRE(Fault, 1);
		Fault_fire(2);
		tapir_listener__close(l);
		if (!err)
			tapir_provider__free(p);
	}
}

/* A file that grows beyond this is SIGXFSZ, which ends a program. */
static void with_small_files(void)
{
	const struct rlimit small = {65536, RLIM_INFINITY};

	CHECK(!setrlimit(RLIMIT_FSIZE, &small));
	begin();
	CHECK(tapir_provider__ring_error(provider) < 0);
	expect_working();
}

/* Room for rings of some KB each. */
static void with_files_of_64_mb(void)
{
	const struct rlimit small = {64u << 20, RLIM_INFINITY};

	CHECK(!setrlimit(RLIMIT_FSIZE, &small));
	begin();
	CHECK(!tapir_provider__ring_error(provider));
	expect_working();
}

static long resident_kib(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	char line[128];
	long kib = 0;

	while (status && fgets(line, sizeof(line), status))
		if (sscanf(line, "VmRSS: %ld", &kib) == 1)
			break;
	if (status)
		fclose(status);
	return kib;
}

/* What is mapped later is resident at once, but for what the lane has mapped in advance. */
static void with_all_memory_locked(void)
{
	long before;

	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		return; /* not permitted: what fails then is with_small_files */
	before = resident_kib();
	begin();
	CHECK(!tapir_provider__ring_error(provider));
	CHECK(resident_kib() - before < 8192);
	CHECK(!mlockall(MCL_CURRENT)); /* again: what is mapped by now */
	CHECK(resident_kib() - before < 128 << 10);
	expect_working();
	begin(); /* the lane is made anew, from memory that is locked */
	CHECK(!tapir_provider__ring_error(provider));
	expect_working();
}

/* ---- moments ------------------------------------------------------------------------------------ */

static void fire_late(void)
{
	TAPIR_FIRE(Fault, 99);
	if (tapir_listener__poll(listener) != 1)
		_exit(1);
}

static void after_exit_began(void)
{
	begin();
	atexit(fire_late);
	exit(0); // NOLINT
}

static void in_a_child_of_vfork(void)
{
	int status;
	pid_t pid;

	begin();
	pid = vfork(); // NOLINT
	if (!pid) {
		TAPIR_FIRE(Fault, 1); /* the parent's memory: it is the parent's event */
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status);
	CHECK(tapir_listener__poll(listener) == 1);
	expect_working();
}

static void *fire_and_end(void *arg)
{
	for (uint32_t i = 0; i < 50; i++)
		TAPIR_FIRE(Fault, i);
	return arg;
}

static void while_threads_end(void)
{
	uint32_t delivered = 0;

	begin();
	for (int i = 0; i < 200; i++) {
		pthread_t threads[4];

		for (int k = 0; k < 4; k++)
			CHECK(!pthread_create(&threads[k], NULL, fire_and_end, NULL));
		for (int k = 0; k < 4; k++)
			CHECK(!pthread_join(threads[k], NULL));
		delivered += (uint32_t)tapir_listener__poll(listener);
	}
	CHECK(delivered == 200 * 4 * 50 && !tapir_listener__lost(listener, NULL));
	expect_working();
}

/* ---- a library that comes and goes -------------------------------------------------------------- */

static uint32_t (*plug_fire)(uint32_t);
static uint32_t turn, done_cnt;

/* Lives through all of it; fires only while the library is there. */
static void *fire_plugged(void *arg)
{
	for (uint32_t seen = 0; seen < 2 * 20;) {
		if (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) == seen) {
			usleep(100);
			continue;
		}
		seen = __atomic_load_n(&turn, __ATOMIC_ACQUIRE);
		for (uint32_t i = 0; i < 100 && seen % 2; i++)
			plug_fire(i);
		__atomic_fetch_add(&done_cnt, 1, __ATOMIC_RELEASE);
	}
	return arg;
}

static void next_turn(void)
{
	__atomic_store_n(&done_cnt, 0, __ATOMIC_RELEASE);
	__atomic_fetch_add(&turn, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&done_cnt, __ATOMIC_ACQUIRE) < 2)
		usleep(100);
}

static void in_a_library_that_is_unloaded(void)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		CHECK(!pthread_create(&threads[i], NULL, fire_plugged, NULL));
	for (int i = 0; i < 20; i++) {
		void *plug = dlopen(TAPIR_BUILD "/tests/targets/libplug", RTLD_NOW | RTLD_LOCAL);
		int (*stop)(void);

		CHECK(plug);
		plug_fire = (uint32_t(*)(uint32_t))dlsym(plug, "plug_fire");
		stop = (int (*)(void))dlsym(plug, "plug_stop");
		CHECK(plug_fire && stop);
		next_turn();
		CHECK(!stop());
		CHECK(!dlclose(plug));
		CHECK(!dlopen(TAPIR_BUILD "/tests/targets/libplug", RTLD_NOLOAD | RTLD_NOW));
		next_turn(); /* threads that have fired live on */
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static void with_all_output_closed(void)
{
	int fds[2];
	char byte;

	CHECK(!pipe(fds) && dup2(fds[1], 1) == 1 && dup2(fds[1], 2) == 2);
	begin();
	for (uint32_t i = 0; i < 100000; i++)
		TAPIR_FIRE(Fault, i); /* most of them are lost */
	tapir_listener__poll(listener);
	expect_working();
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	if (read(fds[0], &byte, 1) != -1 || errno != EAGAIN)
		_exit(1); /* something was printed */
}

#define CASE(name)                                                                                 \
	static void name##_it_works(void **state)                                                  \
	{                                                                                          \
		(void)state;                                                                       \
		in_child(name);                                                                    \
	}

#define CASE_TO_SKIP(name)                                                                         \
	static void name##_it_works(void **state)                                                  \
	{                                                                                          \
		(void)state, (void)name;                                                           \
		skip();                                                                            \
	}

/* qemu-user has no seccomp, and its vfork() is a fork(). */
#ifdef TAPIR_UNDER_QEMU
#define CASE_ON_LINUX CASE_TO_SKIP
#else
#define CASE_ON_LINUX CASE
#endif

CASE_ON_LINUX(where_tracing_calls_kill)
CASE_ON_LINUX(without_memfd)
CASE_ON_LINUX(without_files)
CASE_ON_LINUX(without_threads)
CASE(without_address_space)
CASE_ON_LINUX(with_small_files)
CASE_ON_LINUX(with_files_of_64_mb)
CASE_ON_LINUX(with_all_memory_locked)
CASE(after_exit_began)
CASE_ON_LINUX(in_a_child_of_vfork)
CASE(while_threads_end)
CASE(with_all_output_closed)
#ifdef __GLIBC__
CASE(in_a_library_that_is_unloaded)
#else /* musl unloads no library, nor runs its constructors again */
CASE_TO_SKIP(in_a_library_that_is_unloaded)
#endif

static void before_main_it_works(void **state)
{
	(void)state;
	assert_int_equal(early_cnt, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(before_main_it_works),
		cmocka_unit_test(where_tracing_calls_kill_it_works),
		cmocka_unit_test(without_memfd_it_works),
		cmocka_unit_test(without_files_it_works),
		cmocka_unit_test(without_threads_it_works),
		cmocka_unit_test(without_address_space_it_works),
		cmocka_unit_test(with_small_files_it_works),
		cmocka_unit_test(with_files_of_64_mb_it_works),
		cmocka_unit_test(with_all_memory_locked_it_works),
		cmocka_unit_test(after_exit_began_it_works),
		cmocka_unit_test(in_a_child_of_vfork_it_works),
		cmocka_unit_test(while_threads_end_it_works),
		cmocka_unit_test(with_all_output_closed_it_works),
		cmocka_unit_test(in_a_library_that_is_unloaded_it_works),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
