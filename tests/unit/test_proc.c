// SPDX-License-Identifier: GPL-2.0-or-later
/* Processes in /proc, with this very process as the witness. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/proc.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"

#define CNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- processes -------------------------------------------------------------------------- */

static void facts_of_this_process_are_right(void **state)
{
	static const char odd[] = "a) R 1 (b\n";
	uint64_t now_ns = tapir_clock__now_ns();
	struct tapir_proc p;
	char exe[4096] = "", old[17];

	(void)state;
	prctl(PR_GET_NAME, old);
	prctl(PR_SET_NAME, odd);
	assert_int_equal(tapir_proc__read((uint32_t)getpid(), &p), 0);
	prctl(PR_SET_NAME, old);
	assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	assert_string_equal(p.comm, odd);
	assert_string_equal(p.exe, exe);
	assert_int_equal(p.tgid, getpid());
	assert_int_equal(p.parent_tgid, getppid());
	assert_int_equal(p.uid, geteuid());
	assert_int_equal(p.ns_tgid, getpid());
	assert_false(p.is_kernel_thread);
	assert_true(p.start_ns <= now_ns && now_ns - p.start_ns < 600 * TAPIR_NS_PER_SEC);
	assert_true(p.cmdline_len > 0 && strstr(p.cmdline, "test_proc"));
	assert_int_equal(p.cgroup[0] == '/' || !p.cgroup[0], 1);
	tapir_proc__fini(&p);
}

static void kernel_thread_is_known_when_there_is_one(void **state)
{
	struct tapir_proc p;

	(void)state;
	if (tapir_proc__read(2, &p))
		skip(); /* in a pid namespace of its own */
	if (strcmp(p.comm, "kthreadd") != 0) {
		tapir_proc__fini(&p);
		skip();
	}
	assert_true(p.is_kernel_thread);
	assert_null(p.exe);
	assert_int_equal(p.cmdline_len, 0);
	tapir_proc__fini(&p);
}

static uint32_t dead_pid(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return (uint32_t)pid;
}

static int stop_at_once(const struct tapir_mapping_line *m, void *ctx)
{
	(void)m;
	(void)ctx;
	return 42; /* it is not called */
}

static void dead_process_is_said_to_be_none(void **state)
{
	struct tapir_proc p = {.tgid = 77};
	uint32_t pid = dead_pid();
	char line[64];

	(void)state;
	snprintf(line, sizeof(line), "process %u does not exist", pid);
	tapir_diag__clear();
	assert_int_equal(tapir_proc__read(pid, &p), -ESRCH);
	assert_non_null(strstr(tapir_diag__line(0), line));
	assert_int_equal(tapir_proc__each_mapping(pid, stop_at_once, NULL), -ESRCH);
	assert_int_equal(p.tgid, 77);
}

static void start_in_ticks_is_the_same_at_each_reading(void **state)
{
	uint64_t ticks = tapir_proc__start_ticks((uint32_t)getpid());
	pid_t child;

	(void)state;
	assert_int_not_equal(ticks, UINT64_MAX);
	for (unsigned i = 0; i < 1000; i++)
		assert_int_equal(tapir_proc__start_ticks((uint32_t)getpid()), ticks);
	assert_int_equal(tapir_proc__start_ticks(dead_pid()), UINT64_MAX);
	child = fork();
	if (!child)
		_exit(0);
	assert_true(child > 0);
	assert_int_equal(waitid(P_PID, (id_t)child, &(siginfo_t){}, WEXITED | WNOWAIT), 0);
	assert_int_equal(tapir_proc__start_ticks((uint32_t)child), UINT64_MAX); /* a zombie */
	assert_int_equal(waitpid(child, NULL, 0), child);
}

static void *tell_tid(void *arg)
{
	int *pipes = arg; /* [0..1] to the test, [2..3] from it */
	uint32_t tid = (uint32_t)gettid();
	char end;

	pthread_setname_np(pthread_self(), "a worker");
	if (write(pipes[1], &tid, sizeof(tid)) != sizeof(tid) || read(pipes[2], &end, 1) < 0)
		return arg;
	return NULL;
}

static int find_tid(uint32_t tid, void *ctx)
{
	return tid == *(uint32_t *)ctx;
}

static void thread_is_no_process_and_its_process_is_named(void **state)
{
	struct tapir_thread thread = {};
	struct tapir_proc p;
	pthread_t handle;
	int pipes[4];
	uint32_t tid = 0;
	char leader[64];

	(void)state;
	assert_int_equal(pipe(pipes) | pipe(pipes + 2), 0);
	assert_int_equal(pthread_create(&handle, NULL, tell_tid, pipes), 0);
	assert_int_equal(read(pipes[0], &tid, sizeof(tid)), sizeof(tid));
	tapir_diag__clear();
	assert_int_equal(tapir_proc__read(tid, &p), -EINVAL);
	snprintf(leader, sizeof(leader), "is a thread of process %d", getpid());
	assert_int_equal(tapir_diag__cnt(), 1);
	assert_non_null(strstr(tapir_diag__line(0), leader));
	assert_int_equal(tapir_thread__read((uint32_t)getpid(), tid, &thread), 0);
	assert_string_equal(thread.comm, "a worker");
	assert_int_equal(thread.ns_tid, tid);
	assert_int_equal(tapir_proc__each_thread((uint32_t)getpid(), find_tid, &tid), 1);
	assert_int_equal(tapir_proc__each(find_tid, &tid), 0); /* not among the processes */
	for (int i = 0; i < 4; i++)
		close(pipes[i == 0 ? 3 : i == 3 ? 0 : i]);
	pthread_join(handle, NULL);
}

/* ---- files that are mapped --------------------------------------------------------------- */

static char dir[] = "/tmp/tapir-test-proc-XXXXXX";
static char path[128];

static int make_dir(void **state)
{
	(void)state;
	strcpy(dir + strlen(dir) - 6, "XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/with space", dir);
	tapir_diag__clear();
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

/* Maps a new file that holds `text`; the mapping's address. */
static void *map_new_file(const char *text)
{
	tapir_autofd int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	void *at;

	assert_true(fd >= 0);
	assert_int_equal(tapir_file__write_all(fd, text, strlen(text)), 0);
	at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	return at;
}

struct wanted {
	uint64_t va;
	struct tapir_mapping_line found;
	char path[4096];
};

static int find_va(const struct tapir_mapping_line *m, void *ctx)
{
	struct wanted *w = ctx;

	if (m->start_va != w->va)
		return 0;
	w->found = *m;
	strcpy(w->path, m->path);
	w->found.path = w->path;
	return 1;
}

static void assert_opens(int fd, const char *text)
{
	char buf[64] = "";

	if (fd < 0)
		fail_msg("%s", tapir_diag__line(0));
	assert_int_equal(read(fd, buf, sizeof(buf) - 1), strlen(text));
	assert_string_equal(buf, text);
	close(fd);
}

static void mapped_file_is_opened(void **state)
{
	void *at = map_new_file("mapped");
	struct wanted w = {.va = (uint64_t)(uintptr_t)at};
	char openable[TAPIR_PROC_OPENABLE_BYTES];

	(void)state;
	assert_int_equal(tapir_proc__each_mapping((uint32_t)getpid(), find_va, &w), 1);
	assert_string_equal(w.found.path, path);
	assert_true(w.found.is_executable && !w.found.is_deleted);
	assert_opens(tapir_proc__open_mapped((uint32_t)getpid(), &w.found, openable), "mapped");
	assert_opens(open(openable, O_RDONLY), "mapped");
	munmap(at, 4096);
}

/* ---- one mapping, asked for by its address ----------------------------------------------- */

struct compared {
	const struct tapir_mapping_line *text; /* as /proc/PID/maps has it */
	unsigned seen_cnt, all_cnt;
};

static int compare(const struct tapir_mapping_line *m, void *ctx)
{
	struct compared *c = ctx;
	const struct tapir_mapping_line *text = c->text;

	c->seen_cnt++;
	assert_true(m->start_va == text->start_va && m->end_va == text->end_va);
	assert_true(m->file_off == text->file_off && m->inode == text->inode);
	assert_int_equal(m->dev, text->dev);
	assert_true(m->is_readable == text->is_readable && m->is_writable == text->is_writable);
	assert_true(m->is_executable == text->is_executable && m->is_shared == text->is_shared);
	assert_int_equal(m->is_deleted, text->is_deleted);
	assert_int_equal(m->path_len, text->path_len);
	assert_string_equal(m->path, text->path);
	return 0;
}

static int ask_for_the_same(const struct tapir_mapping_line *text, void *ctx)
{
	uint32_t tgid = (uint32_t)getpid();
	struct compared *c = ctx;

	if (!strcmp(text->path, "[vsyscall]") || !strcmp(text->path, "[stack]") ||
	    !strcmp(text->path, "[heap]")) /* not a mapping; those that grow */
		return 0;
	c->text = text;
	c->all_cnt++;
	assert_int_equal(tapir_proc__mapping_at(tgid, text->start_va, compare, c), 0);
	assert_int_equal(c->seen_cnt, c->all_cnt);
	if (text->end_va - text->start_va > 4096) /* it begins elsewhere */
		assert_int_equal(tapir_proc__mapping_at(tgid, text->start_va + 4096, compare, c),
				 0);
	assert_int_equal(c->seen_cnt, c->all_cnt);
	return 0;
}

static void a_mapping_asked_for_is_the_one_of_the_text(void **state)
{
	struct compared c = {};
	void *at;

	(void)state;
	snprintf(path, sizeof(path), "%s/two\nlines", dir);
	at = map_new_file("mapped");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(tapir_proc__each_mapping((uint32_t)getpid(), ask_for_the_same, &c), 0);
	assert_true(c.all_cnt > 5);
	munmap(at, 4096);
}

/* With map_files the old file, without it a refusal; never the new one. */
static void replaced_file_is_never_mistaken_for_the_mapped_one(void **state)
{
	void *at = map_new_file("old");
	struct wanted w = {.va = (uint64_t)(uintptr_t)at};
	int fd;

	(void)state;
	assert_int_equal(unlink(path), 0);
	munmap(map_new_file("new"), 4096);
	assert_int_equal(tapir_proc__each_mapping((uint32_t)getpid(), find_va, &w), 1);
	assert_true(w.found.is_deleted);
	fd = tapir_proc__open_mapped((uint32_t)getpid(), &w.found, NULL);
	if (fd >= 0)
		assert_opens(fd, "old");
	else
		assert_int_equal(fd, -ESTALE);
	w.found.start_va = 1; /* as if map_files were not ours to use */
	assert_int_equal(tapir_proc__open_mapped((uint32_t)getpid(), &w.found, NULL), -ESTALE);
	munmap(at, 4096);
}

static void fifo_is_refused_without_waiting(void **state)
{
	struct tapir_mapping_line m = {.start_va = 1, .end_va = 2, .path = path};
	struct stat st;

	(void)state;
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(stat(path, &st), 0);
	m.inode = st.st_ino;
	m.dev = major(st.st_dev) << 20 | minor(st.st_dev);
	assert_int_equal(tapir_proc__open_mapped((uint32_t)getpid(), &m, NULL), -EINVAL);
	assert_non_null(strstr(tapir_diag__line(0), "not a regular file"));
}

static void magic_links_are_not_followed(void **state)
{
	char link[64];
	struct tapir_mapping_line m = {.start_va = 1, .end_va = 2, .path = path};
	struct stat st;

	(void)state;
	snprintf(link, sizeof(link), "/proc/%d/exe", getpid());
	assert_int_equal(symlink(link, path), 0);
	assert_int_equal(stat(path, &st), 0);
	m.inode = st.st_ino;
	m.dev = major(st.st_dev) << 20 | minor(st.st_dev);
	assert_int_equal(tapir_proc__open_mapped((uint32_t)getpid(), &m, NULL),
			 -EINVAL); /* nothing in /proc is a file to read */
}

/* A process a day ahead of us; it waits for the end of its input. */
static void clock_offset_is_that_of_the_time_namespace(void **state)
{
	static const char command[] = "exec unshare --time --monotonic 86400 --fork --kill-child "
				      "sh -c 'echo $$; exec cat' 2>/dev/null";
	int64_t offset_ns = -1;
	int in[2], out[2];
	char line[32] = "";
	pid_t pid;

	(void)state;
	assert_int_equal(tapir_proc__clock_offset((uint32_t)getpid(), &offset_ns), 0);
	assert_int_equal(offset_ns, 0);
	assert_int_equal(tapir_proc__clock_offset(UINT32_MAX, &offset_ns), 0); /* gone: as ours */
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		execl("/bin/sh", "sh", "-c", command, NULL);
		_exit(1);
	}
	close(in[0]);
	close(out[1]);
	if (read(out[0], line, sizeof(line) - 1) > 0)
		assert_int_equal(
			tapir_proc__clock_offset((uint32_t)strtoul(line, NULL, 10), &offset_ns), 0);
	close(in[1]);
	close(out[0]);
	waitpid(pid, NULL, 0);
	if (!line[0]) {
		print_message("skipped: no time namespace can be made here\n");
		skip();
	}
	assert_int_equal(offset_ns, 86400 * 1000000000ll);
}

/* ---- a copy of mappings ----------------------------------------------------------------------- */

struct lines {
	size_t cnt;
	struct tapir_str text;
};

static int write_line(const struct tapir_mapping_line *m, void *ctx)
{
	struct lines *lines = ctx;

	tapir_str__addf(&lines->text, "%llx-%llx %llu %d%d%d %s\n", (unsigned long long)m->start_va,
			(unsigned long long)m->end_va, (unsigned long long)m->inode,
			m->is_executable, m->is_shared, m->is_deleted, m->path);
	lines->cnt++;
	return 0;
}

/* A child that does nothing, with that many more mappings of a page. */
static pid_t start_with_mappings(int cnt)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	for (int i = 0; i < cnt; i++)
		mmap(NULL, 4096, i % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	raise(SIGSTOP);
	_exit(0);
}

static void copy_of_mappings_has_the_lines_of_the_text(void **state)
{
	struct tapir_mappings mappings = {};

	(void)state;
	for (int i = 0; i < 3; i++) { /* the last one replaces a copy that was cut */
		struct lines copied = {}, read = {};
		pid_t pid = start_with_mappings(i == 1 ? TAPIR_MAPPINGS_MAX : 0);

		assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
		assert_int_equal(tapir_mappings__read((uint32_t)pid, &mappings), 0);
		assert_int_equal(mappings.is_truncated, i == 1);
		assert_int_equal(tapir_mappings__each(&mappings, write_line, &copied), 0);
		assert_int_equal(tapir_proc__each_mapping((uint32_t)pid, write_line, &read), 0);
		assert_true(copied.cnt > (i == 1 ? TAPIR_MAPPINGS_MAX : 5));
		assert_string_equal(copied.text.data, read.text.data);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		tapir_str__fini(&copied.text);
		tapir_str__fini(&read.text);
	}
	assert_int_equal(tapir_mappings__read(INT32_MAX, &mappings), -ESRCH);
	assert_int_equal(tapir_mappings__each(&mappings, write_line, NULL), 0);
	tapir_mappings__fini(&mappings);
}

#define IN_DIR(f) cmocka_unit_test_setup_teardown(f, make_dir, remove_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(facts_of_this_process_are_right),
		cmocka_unit_test(kernel_thread_is_known_when_there_is_one),
		cmocka_unit_test(dead_process_is_said_to_be_none),
		cmocka_unit_test(start_in_ticks_is_the_same_at_each_reading),
		cmocka_unit_test(thread_is_no_process_and_its_process_is_named),
		cmocka_unit_test(clock_offset_is_that_of_the_time_namespace),
		cmocka_unit_test(copy_of_mappings_has_the_lines_of_the_text),
		IN_DIR(mapped_file_is_opened),
		IN_DIR(a_mapping_asked_for_is_the_one_of_the_text),
		IN_DIR(replaced_file_is_never_mistaken_for_the_mapped_one),
		IN_DIR(fifo_is_refused_without_waiting),
		IN_DIR(magic_links_are_not_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
