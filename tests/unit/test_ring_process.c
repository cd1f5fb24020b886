/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ring lane where its process's surroundings are hard: little memory, system calls refused,
 * another time, exec, fork while all fire. Each case is a process of its own (ring_case.h).
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <cmocka.h>

#include "ring_case.h"

/* ---- little memory ------------------------------------------------------------------------------ */

#define GROUP_BYTES (64ull << 20)

static int write_text(const char *dir, const char *file, const char *text)
{
	char path[300];
	int fd, ret;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ret = write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
	close(fd);
	return ret;
}

/* Of v1 or v2, limited; -1 where none can be made. */
static int make_group(char *dir, size_t room)
{
	static const char *const places[][2] = {
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
		{"/sys/fs/cgroup", "memory.max"},
	};
	char limit[32];

	snprintf(limit, sizeof(limit), "%llu", GROUP_BYTES);
	for (unsigned i = 0; i < 2; i++) {
		snprintf(dir, room, "%s/tapir-ring-test-%d", places[i][0], getpid());
		if (mkdir(dir, 0755))
			continue;
		if (!write_text(dir, places[i][1], limit))
			return 0;
		rmdir(dir);
	}
	return -1;
}

static char group[128];
static pthread_barrier_t turn;

static void *fire_much(void *arg)
{
	(void)arg;
	pthread_barrier_wait(&turn);
	for (unsigned i = 0; i < 3000; i++)
		fire();
	pthread_barrier_wait(&turn);
	return NULL;
}

static void little_memory(void)
{
	pthread_t threads[200];
	const struct tapir_ring_data *data;
	struct taker t;

	if (write_text(group, "cgroup.procs", "0"))
		_exit(CASE_SKIP);
	pthread_barrier_init(&turn, NULL, 201);
	start(&t);
	for (unsigned i = 0; i < 200; i++)
		CHECK(!pthread_create(&threads[i], NULL, fire_much, NULL));
	pthread_barrier_wait(&turn); /* without a reader: each wants some 300 KB */
	pthread_barrier_wait(&turn);
	for (unsigned i = 0; i < 200; i++)
		pthread_join(threads[i], NULL);
	fired = 200 * 3000;
	data = taker_arena(&t, 0);
	CHECK(data->budget_bytes > 0 && data->budget_bytes <= GROUP_BYTES / 16);
	CHECK(data->charged_bytes <= data->budget_bytes);
	finish(&t);
	CHECK(t.read[0] > 10000 && taker_missed(&t, 0) > 100000);
}

static void a_small_group_gives_a_sixteenth_and_is_not_killed(void **state)
{
	(void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	skip(); /* they need more than that themselves */
#endif
	if (make_group(group, sizeof(group)))
		skip(); /* no memory cgroup to be had here */
	in_child(little_memory);
}

static int remove_group(void **state)
{
	(void)state;
	rmdir(group);
	return 0;
}

/* ---- system calls refused ----------------------------------------------------------------------- */

static void refuse(int nr, int err)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)err),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {.len = 4, .filter = code};

	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

static void refused(int nr, int err, const int *ready, const int *go)
{
	int ret;
	char byte;

	refuse(nr, err);
	ret = tapir_ring__init();
	if (!ret)
		ret = tapir_ring__register(&event, &about);
	else
		CHECK(tapir_ring__register(&event, &about) == -ENODEV);
	CHECK(write(ready[1], &ret, sizeof(ret)) == sizeof(ret));
	CHECK(read(go[0], &byte, 1) == 1);
	for (unsigned i = 0; i < 1000; i++)
		fire();
	CHECK(tapir_ring__wanted(&event) == (ret == 0));
}

/* What init() said; when there is a lane, every event of it has arrived or is counted. */
static int lane_with(int nr, int err)
{
	int ready[2], go[2], status, ret = 1;
	struct taker t;
	pid_t pid;

	CHECK(!pipe(ready) && !pipe(go));
	pid = fork();
	if (!pid) {
		alarm(30);
		refused(nr, err, ready, go);
		_exit(0);
	}
	close(ready[1]);
	CHECK(read(ready[0], &ret, sizeof(ret)) == sizeof(ret));
	if (!ret) {
		CHECK(!taker_init(&t, pid, 0));
		CHECK(!taker_open(&t, 0, 1, 1));
	}
	CHECK(write(go[1], "g", 1) == 1);
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(status == 0);
	if (!ret) {
		taker_take(&t);
		CHECK(t.read[0] == 1000 && !t.bad && !t.unnamed);
		taker_fini(&t);
	}
	close(ready[0]);
	close(go[0]);
	close(go[1]);
	return ret;
}

static void refusing(void)
{
	static const struct {
		int nr;
		int has_lane;
	} rows[] = {
		{SYS_memfd_create, 0}, {SYS_ftruncate, 0}, {SYS_mmap, 0},   {SYS_fcntl, 0},
		{SYS_madvise, 0},      {SYS_openat, 1},	   {SYS_ioctl, 1},  {SYS_getrandom, 1},
		{SYS_sigaltstack, 1},  {SYS_prctl, 1},	   {SYS_tgkill, 1}, {SYS_newfstatat, 1},
		{SYS_sched_yield, 1},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int eperm = lane_with(rows[i].nr, EPERM), enosys = lane_with(rows[i].nr, ENOSYS);

		int as_said = (eperm == 0) == rows[i].has_lane && (enosys == 0) == rows[i].has_lane;

		if (!as_said)
			fprintf(stderr, "system call %d: %d %d\n", rows[i].nr, eperm, enosys);
		CHECK(as_said);
	}
	CHECK(lane_with(SYS_memfd_create, EPERM) == -EPERM);
}

static void refused_system_calls_cost_the_lane_or_nothing(void **state)
{
	(void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	skip(); /* they need those calls themselves */
#endif
	in_child(refusing);
}

/* ---- another time, another program ---------------------------------------------------------------- */

#define OFFSET_S 86400

static uint64_t event_ns;

static void keep_time(const struct tapir_rec_event *rec, const uint8_t *payload)
{
	(void)payload;
	event_ns = rec->h.time_ns;
}

static void fire_one_when_told(int ready, int go)
{
	char byte;

	CHECK(!tapir_ring__init_private(TAKER_KEY) && !tapir_ring__register(&event, &about));
	CHECK(write(ready, "r", 1) == 1 && read(go, &byte, 1) == 1);
	fire();
	CHECK(write(ready, "d", 1) == 1 && read(go, &byte, 1) == 1);
}

static void time_namespace(void)
{
	int ready[2], go[2], status;
	struct timespec now;
	struct taker t;
	uint64_t now_ns;
	char byte;
	pid_t pid;

	if (unshare(CLONE_NEWTIME) ||
	    write_text("/proc/self", "timens_offsets", "monotonic 86400 0"))
		_exit(CASE_SKIP);
	CHECK(!pipe(ready) && !pipe(go));
	pid = fork(); /* it is in the new one, we are not */
	if (!pid) {
		fire_one_when_told(ready[1], go[0]);
		_exit(0);
	}
	CHECK(read(ready[0], &byte, 1) == 1);
	CHECK(!taker_init(&t, pid, 0) && !taker_open(&t, 0, 1, 1));
	t.on_event = keep_time;
	CHECK(write(go[1], "g", 1) == 1 && read(ready[0], &byte, 1) == 1);
	taker_take(&t);
	clock_gettime(CLOCK_MONOTONIC, &now);
	now_ns = (uint64_t)(now.tv_sec + OFFSET_S) * 1000000000ull + (uint64_t)now.tv_nsec;
	CHECK(t.read[0] == 1 && event_ns <= now_ns && now_ns - event_ns < 5000000000ull);
	CHECK(write(go[1], "e", 1) == 1 && waitpid(pid, &status, 0) == pid && !status);
}

static void events_have_the_clock_of_the_process(void **state)
{
	(void)state;
	in_child(time_namespace);
}

static void executing(void)
{
	int ready[2], go[2], status;
	struct taker t, of_next;
	char byte;
	pid_t pid;

	CHECK(!pipe2(ready, O_CLOEXEC) && !pipe2(go, O_CLOEXEC));
	pid = fork();
	if (!pid) {
		close(ready[0]);
		fire_one_when_told(ready[1], go[0]);
		execlp("sleep", "sleep", "20", NULL);
		_exit(9);
	}
	close(ready[1]);
	CHECK(read(ready[0], &byte, 1) == 1);
	CHECK(!taker_init(&t, pid, 0) && !taker_open(&t, 0, 1, 1));
	CHECK(write(go[1], "g", 1) == 1 && read(ready[0], &byte, 1) == 1);
	CHECK(write(go[1], "x", 1) == 1 && read(ready[0], &byte, 1) == 0); /* closed by exec */
	CHECK(taker_init(&of_next, pid, 0) <
	      0); /* the new program has no lane, and no file of it */
	taker_take(&t);
	CHECK(t.read[0] == 1 && !t.bad && !t.unnamed);
	kill(pid, SIGKILL);
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
}

static void exec_ends_the_lane_and_its_events_stay(void **state)
{
	(void)state;
	in_child(executing);
}

/* ---- fork while all fire --------------------------------------------------------------------------- */

static void *fire_thousand(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < 1000; i++)
		fire();
	return NULL;
}

static void as_child(void)
{
#if defined(__SANITIZE_THREAD__)
	const unsigned thread_cnt = 0; /* it cannot follow threads made after such a fork */
#else
	const unsigned thread_cnt = 2;
#endif
	pthread_t threads[2];
	struct taker t;

	while (tapir_ring__wanted(&event))
		fire(); /* the parent's session: counted nowhere, written nowhere */
	CHECK(!taker_init(&t, getpid(), 0));
	CHECK(t.data[0].owner_tgid == (uint32_t)getpid());
	CHECK(!taker_open(&t, 0, 1, 1));
	for (unsigned i = 0; i < thread_cnt; i++)
		CHECK(!pthread_create(&threads[i], NULL, fire_thousand, NULL));
	for (unsigned i = thread_cnt; i < 3; i++)
		fire_thousand(NULL);
	for (unsigned i = 0; i < thread_cnt; i++)
		pthread_join(threads[i], NULL);
	fired = 3000;
	finish(&t);
	CHECK(t.read[0] == 3000);
}

static void forking_under_load(void)
{
	uint64_t own[4] = {0};
	pthread_t threads[4];
	struct taker t;
	int status;

	start(&t);
	for (unsigned i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, fire_until_stopped, &own[i]);
	for (unsigned i = 0; i < CASE_PART(12); i++) {
		pid_t pid = fork();

		if (!pid) {
			alarm(30);
			as_child();
			_exit(0);
		}
		for (unsigned n = 0; n < 100; n++)
			fire();
		taker_take(&t);
		CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	fired = CASE_PART(12) * 100;
	for (unsigned i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		fired += own[i];
	}
	finish(&t);
}

static void forked_children_and_their_parent_both_fire(void **state)
{
	(void)state;
	in_child(forking_under_load);
}

/* ---- events of a thread that exits ------------------------------------------------------------------ */

static pthread_key_t early, late;

static void fire_three(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < 3; i++)
		fire();
}

static void *fire_and_exit(void *arg)
{
	pthread_setspecific(early, arg);
	pthread_setspecific(late, arg);
	fire_three(NULL);
	return NULL;
}

static void exiting(void)
{
	pthread_t thread;
	struct taker t;

	pthread_key_create(&early, fire_three);
	start(&t);
	pthread_key_create(&late, fire_three);
	for (unsigned i = 0; i < 300; i++) {
		CHECK(!pthread_create(&thread, NULL, fire_and_exit, &t));
		pthread_join(thread, NULL);
	}
	fired = 300 * 9;
	finish(&t);
	CHECK(t.read[0] == fired);
	CHECK(taker_arena(&t, 0)->slots_used <= 2); /* each gave back what it had */
}

static void destructors_of_a_thread_fire_and_its_slot_is_given_back(void **state)
{
	(void)state;
	in_child(exiting);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_small_group_gives_a_sixteenth_and_is_not_killed,
					  remove_group),
		cmocka_unit_test(refused_system_calls_cost_the_lane_or_nothing),
		cmocka_unit_test(events_have_the_clock_of_the_process),
		cmocka_unit_test(exec_ends_the_lane_and_its_events_stay),
		cmocka_unit_test(forked_children_and_their_parent_both_fire),
		cmocka_unit_test(destructors_of_a_thread_fire_and_its_slot_is_given_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
