/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * machine_load - what bench-machine records: system calls that succeed, that have a descriptor,
 *that fail, requests and answers of one byte over a TCP connection to itself, page faults.
 *
 *	machine_load calls|files|failing|requests|faults ROUNDS CALLS
 *
 * It prints a line when it is ready, waits for a line on stdin (the tracer attaches meanwhile),
 * runs, and prints JSON: calls, and CPU time of the process in ns for each, least and median of the
 * rounds. CPU time leaves out what other programs of the machine take.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAX_ROUNDS 10000

static double round_ns[MAX_ROUNDS];
static int client_fd, server_fd; /* of one connection */

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int connect_to_self(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	client_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(listener, (struct sockaddr *)&at, len) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&at, &len) ||
	    connect(client_fd, (struct sockaddr *)&at, len))
		return -1;
	server_fd = accept(listener, NULL, NULL);
	return server_fd < 0 || setsockopt(client_fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) ||
	       setsockopt(server_fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static int call_once(void)
{
	return syscall(SYS_getppid) > 0 ? 0 : -1;
}

static int own_file_fd;

static int open_own_file(void)
{
	own_file_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	return own_file_fd < 0;
}

static int seek_once(void)
{
	return lseek(own_file_fd, 0, SEEK_CUR) >= 0 ? 0 : -1;
}

static int fail_once(void)
{
	return syscall(SYS_close, -1) < 0 ? 0 : -1;
}

/* Four transfers: a request, and its answer. */
static int request_once(void)
{
	char byte = 0;

	return send(client_fd, &byte, 1, 0) == 1 && recv(server_fd, &byte, 1, 0) == 1 &&
			       send(server_fd, &byte, 1, 0) == 1 &&
			       recv(client_fd, &byte, 1, 0) == 1
		       ? 0
		       : -1;
}

#define PAGE_BYTES 4096u
#define PAGES	   64u

static char *pages;

static int map_pages(void)
{
	pages = mmap(NULL, PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
	return pages == MAP_FAILED || madvise(pages, PAGES * PAGE_BYTES, MADV_NOHUGEPAGE);
}

static int fault_once(void)
{
	for (unsigned i = 0; i < PAGES; i++)
		((volatile char *)pages)[i * PAGE_BYTES] = 1;
	return madvise(pages, PAGES * PAGE_BYTES, MADV_DONTNEED);
}

static const struct {
	const char *name;
	int (*prepare)(void);
	int (*once)(void);
	unsigned counts_for; /* how many of what is measured */
} loads[] = {
	{"calls", NULL, call_once, 1},
	{"files", open_own_file, seek_once, 1},
	{"failing", NULL, fail_once, 1},
	{"requests", connect_to_self, request_once, 4},
	{"faults", map_pages, fault_once, PAGES},
	{},
};

static int by_value(const void *left, const void *right)
{
	double l = *(const double *)left, r = *(const double *)right;

	return (l > r) - (l < r);
}

int main(int argc, char **argv)
{
	unsigned round_cnt = argc == 4 ? (unsigned)strtoul(argv[2], NULL, 10) : 0, i = 0;
	long call_cnt = argc == 4 ? strtol(argv[3], NULL, 10) : 0;
	char line[16];

	while (argc == 4 && loads[i].name && strcmp(loads[i].name, argv[1]) != 0)
		i++;
	if (!round_cnt || round_cnt > MAX_ROUNDS || call_cnt <= 0 || !loads[i].name) {
		fprintf(stderr, "usage: machine_load calls|failing|requests|faults ROUNDS CALLS\n");
		return 2;
	}
	if (loads[i].prepare && loads[i].prepare())
		return 1;
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	for (unsigned round = 0; round < round_cnt; round++) {
		double start_ns = now_ns();

		for (long n = 0; n < call_cnt; n++)
			if (loads[i].once())
				return 1;
		round_ns[round] =
			(now_ns() - start_ns) / (double)call_cnt / (double)loads[i].counts_for;
	}
	qsort(round_ns, round_cnt, sizeof(*round_ns), by_value);
	printf("{\"calls\": %lu, \"ns_min\": %.1f, \"ns_median\": %.1f}\n",
	       (unsigned long)round_cnt * (unsigned long)call_cnt * loads[i].counts_for,
	       round_ns[0], round_ns[round_cnt / 2]);
	return 0;
}
