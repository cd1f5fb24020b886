/* SPDX-License-Identifier: MIT */
/*
 * coreclr_quiescence.c - the proof that no thread is entering or leaving this library. A flag of
 * the library cannot prove it, because it is not set before the first and after the last
 * instruction of a callback. When no new call can arrive, a thread that then sleeps in the kernel,
 * or has run for another millisecond, has left those few instructions. One that is stopped, or does
 * not get a processor, has not: wait for it.
 *
 * That no new call comes is the runtime's part: StopSession waits until its threads have left
 * their writes to the session.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "../ring/ring_sys.h"
#include "coreclr_impl.h"

#define THREAD_MAX 65536u
#define RUN_NS	   1000000ull

struct thread {
	uint32_t tid, is_out;
	uint64_t ran_ns;
};

struct coreclr_quiescence {
	uint32_t cnt, self;
	struct thread threads[THREAD_MAX];
};

struct dirent64 {
	uint64_t ino;
	int64_t off;
	uint16_t bytes;
	uint8_t type;
	char name[];
};

static uint64_t number(const char *text)
{
	uint64_t value = 0;

	for (; *text >= '0' && *text <= '9'; text++)
		value = value * 10 + (uint64_t)(*text - '0');
	return value;
}

/* The file's first bytes, ended; -errno. */
static int read_of(uint32_t tid, const char *file, char *out, uint32_t room)
{
	char path[64] = "/proc/self/task/", digits[12];
	size_t at = strlen(path), n = 0;
	long fd, len;

	do
		digits[n++] = (char)('0' + tid % 10);
	while (tid /= 10);
	while (n)
		path[at++] = digits[--n];
	memcpy(path + at, file, strlen(file) + 1);
	fd = ring_sys4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return (int)fd;
	len = ring_sys3(SYS_read, fd, out, room - 1);
	ring_sys3(SYS_close, fd, 0, 0);
	out[len > 0 ? len : 0] = 0;
	return len < 0 ? (int)len : 0;
}

static uint64_t ran_ns(uint32_t tid)
{
	char text[96];

	return read_of(tid, "/schedstat", text, sizeof(text)) ? 0 : number(text);
}

/* In state S it waits in its own system call; a name may hold any character but its end. */
static int is_asleep_or_gone(uint32_t tid)
{
	char text[128];
	const char *state;

	if (read_of(tid, "/stat", text, sizeof(text)))
		return 1;
	state = strrchr(text, ')');
	return state && state[1] == ' ' && strchr("SZX", state[2]) && state[2];
}

static void note_thread(struct coreclr_quiescence *q, uint32_t tid)
{
	if (tid == q->self || q->cnt == THREAD_MAX)
		return;
	q->threads[q->cnt].tid = tid;
	q->threads[q->cnt].is_out = 0;
	q->threads[q->cnt++].ran_ns = ran_ns(tid);
}

static int note_all(struct coreclr_quiescence *q)
{
	char entries[4096] __attribute__((aligned(8)));
	long fd = ring_sys4(SYS_openat, AT_FDCWD, "/proc/self/task",
			    O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	long len;

	if (fd < 0)
		return (int)fd;
	while ((len = ring_sys3(SYS_getdents64, fd, entries, sizeof(entries))) > 0)
		for (long at = 0; at < len;) {
			const struct dirent64 *entry = (const void *)(entries + at);

			if (entry->name[0] != '.')
				note_thread(q, (uint32_t)number(entry->name));
			at += entry->bytes;
		}
	ring_sys3(SYS_close, fd, 0, 0);
	return (int)len;
}

struct coreclr_quiescence *coreclr_quiescence__note(void)
{
	long va = ring_sys6(SYS_mmap, 0, sizeof(struct coreclr_quiescence), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct coreclr_quiescence *q = (struct coreclr_quiescence *)va;

	if (ring_sys_failed(va))
		return NULL;
	q->self = (uint32_t)ring_sys3(SYS_gettid, 0, 0, 0);
	if (!note_all(q) && q->cnt < THREAD_MAX)
		return q;
	coreclr_quiescence__free(q);
	return NULL;
}

int coreclr_quiescence__is_proven(struct coreclr_quiescence *q)
{
	int is_proven = 1;

	for (uint32_t i = 0; i < q->cnt; i++) {
		struct thread *t = &q->threads[i];

		if (!t->is_out)
			t->is_out =
				is_asleep_or_gone(t->tid) || ran_ns(t->tid) >= t->ran_ns + RUN_NS;
		is_proven &= (int)t->is_out;
	}
	return is_proven;
}

void coreclr_quiescence__free(struct coreclr_quiescence *q)
{
	if (q)
		ring_sys3(SYS_munmap, q, sizeof(*q), 0);
}
