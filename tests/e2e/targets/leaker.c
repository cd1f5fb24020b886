// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * leaker - allocates in functions of its own, some of which never free, and counts what it does.
 *
 *	leaker [--wait] [--fork] THREADS ROUNDS
 *
 * Each thread calls each function ROUNDS times. leak_malloc, leak_calloc, leak_aligned and
 * leak_realloc keep their blocks; churn frees its block, hand_over has it freed by another thread,
 * fail asks for more than there can be. With --fork a child frees all that it inherited before the
 * rest. At the end it maps 16 MB, of which 6 MB are unmapped, and makes 3 of 8 MB that it had
 * reserved accessible. The last line is what all threads did, as JSON: bytes that are in use.
 */
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "target.h"

#define MALLOC_BYTES  65536
#define CALLOC_CNT    16
#define CALLOC_BYTES  512
#define ALIGNED_BYTES 32768
#define FIRST_BYTES   16384
#define SECOND_BYTES  49152
#define CHURN_BYTES   100000
#define MAPPED_BYTES  (16u << 20)
#define UNMAP_BYTES   (6u << 20)
#define RESERVE_BYTES (8u << 20)
#define COMMIT_BYTES  (3u << 20)

#define OWN	      __attribute__((noinline))

static uint64_t round_cnt;
static void *_Atomic handed; /* a block that the next thread frees */
static void **kept;	     /* all that leak */
static atomic_size_t kept_cnt;

static void keep(void *block)
{
	if (!block)
		abort();
	kept[atomic_fetch_add(&kept_cnt, 1)] = block;
}

OWN void leak_malloc(void);
OWN void leak_calloc(void);
OWN void leak_aligned(void);
OWN void leak_realloc(void);
OWN void churn(void);
OWN void hand_over(void);
OWN void fail(void);
OWN void *map_some(void);
OWN void commit_some(void);

void leak_malloc(void)
{
	keep(malloc(MALLOC_BYTES));
}

void leak_calloc(void)
{
	keep(calloc(CALLOC_CNT, CALLOC_BYTES));
}

void leak_aligned(void)
{
	void *block = NULL;

	if (posix_memalign(&block, 4096, ALIGNED_BYTES))
		abort();
	keep(block);
}

void leak_realloc(void)
{
	void *volatile none = NULL; /* or the compiler calls malloc */
	void *block = realloc(none, FIRST_BYTES);

	keep(realloc(block, SECOND_BYTES));
}

void churn(void)
{
	char *block = malloc(CHURN_BYTES);

	if (!block)
		abort();
	*(volatile char *)block = 1;
	free(block);
}

void hand_over(void)
{
	free(atomic_exchange(&handed, malloc(CHURN_BYTES)));
}

void fail(void)
{
	volatile size_t too_much = SIZE_MAX / 4;
	void *block = malloc(FIRST_BYTES), *other = realloc(block, too_much);

	if (other)
		abort();
	free(block);
}

void *map_some(void)
{
	void *at = mmap(NULL, MAPPED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);

	__asm__ volatile("" : "+r"(at)); /* or mmap returns to the caller */
	return at;
}

void commit_some(void)
{
	char *at = mmap(NULL, RESERVE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED || mprotect(at + 4096, COMMIT_BYTES, PROT_READ | PROT_WRITE))
		abort();
}

static void *run(void *arg)
{
	(void)arg;
	for (uint64_t i = 0; i < round_cnt; i++) {
		leak_malloc();
		leak_calloc();
		leak_aligned();
		leak_realloc();
		churn();
		hand_over();
		fail();
	}
	return NULL;
}

/* What the child frees is still the parent's. */
static void fork_and_free(void)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		for (size_t i = 0; i < kept_cnt; i++)
			free(kept[i]);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		abort();
}

static void print(const char *function, uint64_t cnt, uint64_t bytes, const char *end)
{
	printf("\"%s\": {\"count\": %" PRIu64 ", \"bytes\": %" PRIu64 "}%s", function, cnt, bytes,
	       end);
}

int main(int argc, char **argv)
{
	bool forks = target__option(&argc, argv, "--fork");
	uint64_t thread_cnt, cnt;
	char *at;

	target__start(&argc, argv);
	thread_cnt = (uint64_t)target__number(argc, argv, 1, 1);
	round_cnt = (uint64_t)target__number(argc, argv, 2, 100);
	kept = mmap(NULL, (4 * thread_cnt * round_cnt + 1) * sizeof(*kept), PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!target__run_threads(run, NULL, 0, (long)thread_cnt))
		return 2;
	if (forks)
		fork_and_free();
	at = map_some();
	munmap(at + (1u << 20), UNMAP_BYTES);
	commit_some();
	cnt = thread_cnt * round_cnt;
	printf("{");
	print("leak_malloc", cnt, cnt * MALLOC_BYTES, ", ");
	print("leak_calloc", cnt, cnt * CALLOC_CNT * CALLOC_BYTES, ", ");
	print("leak_aligned", cnt, cnt * ALIGNED_BYTES, ", ");
	print("leak_realloc", cnt, cnt * SECOND_BYTES, ", ");
	print("map_some", 2, MAPPED_BYTES - UNMAP_BYTES, ", ");
	print("commit_some", 1, COMMIT_BYTES, "}\n");
	return 0;
}
