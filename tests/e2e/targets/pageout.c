/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pageout [--wait] FILE COUNT - fires pageout:hit(i, text) COUNT times; text lies on page i
 * of FILE (made here, removed at the end; on a disk, not on tmpfs), which was dropped from
 * memory just before by MADV_PAGEOUT. "absent" counts the pages that really were away.
 *
 * pageout --slow MS COUNT THREADS - one thread fires pageout:slow(text) on a page that
 * answers after MS milliseconds (userfaultfd), while the others fire pageout:other(thread, i)
 * COUNT times each, flat out.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "target.h"

#define PAGE_BYTES  4096ul
#define MAX_THREADS 64

/* ---- pages of a file ----------------------------------------------------------------- */

static char *map_pages(const char *path, long cnt)
{
	char page[PAGE_BYTES] = {0};
	int fd = open(path, O_CREAT | O_TRUNC | O_RDWR, 0600);
	char *pages;

	if (fd < 0)
		target__die(path);
	for (long i = 0; i < cnt; i++) {
		snprintf(page, sizeof(page), "text on page %06ld", i);
		if (write(fd, page, sizeof(page)) != (ssize_t)sizeof(page))
			target__die("write");
	}
	if (fsync(fd) != 0) /* a dirty page is not dropped */
		target__die("fsync");
	pages = mmap(NULL, (size_t)cnt * PAGE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	if (pages == MAP_FAILED)
		target__die("mmap");
	close(fd);
	return pages;
}

static int drop_and_fire(const char *path, long cnt)
{
	char *pages = map_pages(path, cnt);
	long absent_cnt = 0;

	for (long i = 0; i < cnt; i++) {
		char *text = pages + (size_t)i * PAGE_BYTES;
		unsigned char resident = (unsigned char)*(volatile char *)text; /* map it first */

		if (madvise(text, PAGE_BYTES, MADV_PAGEOUT) != 0)
			target__die("madvise");
		if (mincore(text, PAGE_BYTES, &resident) != 0)
			target__die("mincore");
		absent_cnt += !(resident & 1);
		TAPIR_PROBE(pageout, hit, i, text);
	}
	munmap(pages, (size_t)cnt * PAGE_BYTES);
	unlink(path);
	printf("{\"fired\": %ld, \"absent\": %ld}\n", cnt, absent_cnt);
	return 0;
}

/* ---- a page that takes its time -------------------------------------------------------- */

struct slow_page {
	int uffd;
	char *page;
	uint64_t delay_ns;
	uint64_t fire_ns; /* how long firing the probe took */
};

static void open_slow_page(struct slow_page *slow)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {.mode = UFFDIO_REGISTER_MODE_MISSING};

	slow->page =
		mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	slow->uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (slow->page == MAP_FAILED || slow->uffd < 0)
		target__die("userfaultfd");
	range.range.start = (uintptr_t)slow->page;
	range.range.len = PAGE_BYTES;
	if (ioctl(slow->uffd, UFFDIO_API, &api) != 0 ||
	    ioctl(slow->uffd, UFFDIO_REGISTER, &range) != 0)
		target__die("UFFDIO_REGISTER");
}

/* Gives the page its content, late; gives up where nobody asks for it. */
static void *answer(void *argument)
{
	struct slow_page *slow = argument;
	static char content[PAGE_BYTES] __attribute__((aligned(4096))) = "late text";
	struct pollfd waiter = {.fd = slow->uffd, .events = POLLIN};
	struct uffdio_copy copy = {
		.dst = (uintptr_t)slow->page, .src = (uintptr_t)content, .len = PAGE_BYTES};
	struct uffd_msg message;

	if (poll(&waiter, 1, 5000) == 1 &&
	    read(slow->uffd, &message, sizeof(message)) == (ssize_t)sizeof(message)) {
		target__sleep_ns(slow->delay_ns);
		ioctl(slow->uffd, UFFDIO_COPY, &copy);
	}
	return NULL;
}

static void *fire_slow(void *argument)
{
	struct slow_page *slow = argument;
	uint64_t start_ns = target__now_ns();

	TAPIR_PROBE(pageout, slow, slow->page);
	slow->fire_ns = target__now_ns() - start_ns;
	return NULL;
}

static long other_hits;

static void *fire_other(void *argument)
{
	for (long i = 0; i < other_hits; i++)
		TAPIR_PROBE(pageout, other, (int)(intptr_t)argument, i);
	return NULL;
}

static int fire_beside_slow(long delay_ms, long thread_cnt)
{
	struct slow_page slow = {.delay_ns = (uint64_t)delay_ms * 1000000u};
	pthread_t answerer, slow_thread, others[MAX_THREADS];

	open_slow_page(&slow);
	if (pthread_create(&answerer, NULL, answer, &slow) != 0 ||
	    pthread_create(&slow_thread, NULL, fire_slow, &slow) != 0)
		target__die("pthread_create");
	for (long t = 0; t < thread_cnt; t++)
		if (pthread_create(&others[t], NULL, fire_other, (void *)t) != 0)
			target__die("pthread_create");
	for (long t = 0; t < thread_cnt; t++)
		pthread_join(others[t], NULL);
	pthread_join(slow_thread, NULL);
	pthread_join(answerer, NULL);
	printf("{\"slow\": 1, \"slow_ms\": %" PRIu64 ", \"other\": %ld}\n", slow.fire_ns / 1000000u,
	       other_hits * thread_cnt);
	return 0;
}

int main(int argc, char **argv)
{
	bool slow = target__option(&argc, argv, "--slow");
	long thread_cnt;

	target__start(&argc, argv);
	thread_cnt = target__number(argc, argv, 3, 1);
	if (argc < 2 || thread_cnt < 1 || thread_cnt > MAX_THREADS)
		return 2;
	if (!slow)
		return drop_and_fire(argv[1], target__number(argc, argv, 2, 1000));
	other_hits = target__number(argc, argv, 2, 1000);
	return fire_beside_slow(target__number(argc, argv, 1, 500), thread_cnt);
}
