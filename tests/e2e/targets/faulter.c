// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * faulter - touches pages, in its own code and in a system call, and waits for locks of the kernel.
 *
 *	faulter [--wait] PAGES ROUNDS
 *
 * touch_pages() touches PAGES new pages; read(2) fills as many. Then four threads map, touch and
 * unmap a page ROUNDS times each, for which a process has one lock. The last line is how many page
 * faults the kernel counted meanwhile, and since the program began (getrusage), as JSON.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "target.h"

#define PAGE_BYTES 4096u
#define THREADS	   4

static uint64_t round_cnt;

__attribute__((noinline)) void touch_pages(volatile char *at, size_t page_cnt);

void touch_pages(volatile char *at, size_t page_cnt)
{
	for (size_t i = 0; i < page_cnt; i++)
		at[i * PAGE_BYTES] = 1;
}

static char *map_pages(size_t page_cnt)
{
	char *at = mmap(NULL, page_cnt * PAGE_BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	/* One fault for each page. */
	if (at == MAP_FAILED || madvise(at, page_cnt * PAGE_BYTES, MADV_NOHUGEPAGE))
		target__die("mmap");
	return at;
}

static void *contend(void *arg)
{
	(void)arg;
	for (uint64_t i = 0; i < round_cnt; i++) {
		char *at = map_pages(1);

		*(volatile char *)at = 1;
		munmap(at, PAGE_BYTES);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	struct rusage before, after;
	size_t page_cnt;
	int fd;

	target__start(&argc, argv);
	page_cnt = (size_t)target__number(argc, argv, 1, 1024);
	round_cnt = (uint64_t)target__number(argc, argv, 2, 0);
	getrusage(RUSAGE_SELF, &before);
	fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	touch_pages(map_pages(page_cnt), page_cnt);
	if (fd < 0 || read(fd, map_pages(page_cnt), page_cnt * PAGE_BYTES) < 0)
		target__die("/dev/zero");
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, contend, NULL))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	getrusage(RUSAGE_SELF, &after);
	printf("{\"faults\": %ld, \"all\": %ld}\n",
	       after.ru_minflt + after.ru_majflt - before.ru_minflt - before.ru_majflt,
	       after.ru_minflt + after.ru_majflt);
	return 0;
}
