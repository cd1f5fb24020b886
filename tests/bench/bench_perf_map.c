// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What following a perf map costs: a file of a million lines read whole, in the order of
 * addresses and in none, with the memory it takes; and one that grows by 100,000 lines a second,
 * half of them at addresses that were used, read and looked up every 50 ms. One JSON line each.
 *
 *	bench_perf_map [LINES [SECONDS]]
 */
#include <fcntl.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "symbol/perf_map.h"

#define READ_BYTES  (1u << 20) /* a call, as the recorder does */
#define PER_SEC	    100000
#define POLL_MS	    50
#define LOOKUPS	    250 /* a poll: frames of stacks that were not seen before */
#define FIRST_VA    0x7f5c00000000ull
#define LINES_ALIVE 200000 /* of the growing one */

static char path[] = "/tmp/tapir-bench-map-XXXXXX";
static int fd;

static uint64_t scattered(uint64_t n, uint64_t cnt)
{
	return n * 0x9e3779b97f4a7c15ull % cnt;
}

/* About 60 bytes a line, as Node's. */
static int line_of(char *out, uint64_t slot, uint64_t n)
{
	return sprintf(out, "%llx %x LazyCompile:*handler%llu /srv/app/lib/f%llu.js:%llu\n",
		       (unsigned long long)(FIRST_VA + slot * 512), (unsigned)(16 + n * 37 % 480),
		       (unsigned long long)n, (unsigned long long)(n % 997),
		       (unsigned long long)(n % 1009));
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void append(uint64_t first, uint64_t cnt, uint64_t slots, bool in_order)
{
	char *text = malloc(cnt * 80 + 1), *at = text;

	if (!text)
		die("malloc");
	for (uint64_t n = first; n < first + cnt; n++)
		at += line_of(at, in_order ? n % slots : scattered(n, slots), n);
	if (write(fd, text, (size_t)(at - text)) != at - text)
		die(path);
	free(text);
}

static uint64_t resident_kib(void)
{
	unsigned long long kib = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	if (!file || fscanf(file, "%*s %llu", &kib) != 1)
		die("/proc/self/statm");
	fclose(file);
	return kib * (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
}

static struct tapir_perf_map *open_map(void)
{
	struct tapir_perf_map_opts opts = {
		.sz = sizeof(opts), .tgid = (uint32_t)getpid(), .uid = getuid(), .path = path};
	struct tapir_perf_map *map;

	if (tapir_perf_map__open(&opts, &map))
		die(path);
	return map;
}

static void read_all(struct tapir_perf_map *map, uint64_t now_ns, struct tapir_jit_table *table)
{
	while (tapir_perf_map__read(map, now_ns, READ_BYTES, table))
		;
}

static uint64_t look_up(const struct tapir_jit_table *table, uint64_t cnt, uint64_t slots,
			uint64_t seed, uint64_t time_ns)
{
	struct tapir_jit_name name;
	uint64_t found = 0;

	for (uint64_t i = 0; i < cnt; i++)
		found += tapir_jit_table__find((struct tapir_jit_table *)table,
					       FIRST_VA + scattered(seed + i, slots) * 512 + 8,
					       time_ns, &name);
	return found;
}

static void bench_whole(uint64_t cnt, bool in_order)
{
	uint64_t before_kib, start, read_ns, find_ns, found;
	struct tapir_jit_table *table;
	struct tapir_perf_map *map;

	if (ftruncate(fd, 0) || lseek(fd, 0, SEEK_SET))
		die(path);
	append(0, cnt, in_order ? cnt : cnt * 2, in_order);
	malloc_trim(0);
	before_kib = resident_kib();
	if (tapir_jit_table__new(&table))
		die("table");
	start = tapir_clock__ns(CLOCK_THREAD_CPUTIME_ID);
	map = open_map();
	read_all(map, 1, table);
	read_ns = tapir_clock__ns(CLOCK_THREAD_CPUTIME_ID) - start;
	start = tapir_clock__ns(CLOCK_THREAD_CPUTIME_ID);
	found = look_up(table, cnt, in_order ? cnt : cnt * 2, 0, 2);
	find_ns = tapir_clock__ns(CLOCK_THREAD_CPUTIME_ID) - start;
	printf("{\"bench\":\"perf_map\",\"order\":\"%s\",\"lines\":%llu,\"bad_lines\":%llu,"
	       "\"bytes\":%llu,\"names\":%zu,\"read_seconds\":%.3f,\"resident_mib\":%.1f,"
	       "\"table_mib\":%.1f,\"found\":%llu,\"find_ns\":%.0f}\n",
	       in_order ? "addresses" : "none",
	       (unsigned long long)tapir_perf_map__stats(map)->lines,
	       (unsigned long long)tapir_perf_map__stats(map)->bad_lines,
	       (unsigned long long)tapir_perf_map__stats(map)->bytes, tapir_jit_table__cnt(table),
	       (double)read_ns / 1e9, (double)(resident_kib() - before_kib) / 1024,
	       (double)tapir_jit_table__bytes(table) / (1 << 20), (unsigned long long)found,
	       (double)find_ns / (double)cnt);
	tapir_perf_map__close(map);
	tapir_jit_table__free(table);
}

/* Time passes as fast as it can; what is counted is our CPU time a second of the file's. */
static void bench_growing(unsigned seconds)
{
	const uint64_t a_poll = PER_SEC * POLL_MS / 1000;
	uint64_t now_ns = TAPIR_NS_PER_SEC, busy_ns = 0, read_ns = 0, find_ns = 0, start, line = 0,
		 found = 0, changed = 0;
	unsigned polls = seconds * 1000 / POLL_MS;
	struct tapir_jit_table *table;
	struct tapir_jit_name name;
	struct tapir_perf_map *map;

	if (ftruncate(fd, 0) || lseek(fd, 0, SEEK_SET) || tapir_jit_table__new(&table))
		die(path);
	map = open_map();
	for (unsigned poll = 0; poll < polls; poll++, line += a_poll) {
		append(line, a_poll, LINES_ALIVE, false);
		now_ns += POLL_MS * TAPIR_NS_PER_MS;
		start = tapir_clock__ns(CLOCK_THREAD_CPUTIME_ID);
		read_all(map, now_ns, table);
		read_ns += tapir_clock__ns(CLOCK_THREAD_CPUTIME_ID) - start;
		/* stacks of the last second */
		start = tapir_clock__ns(CLOCK_THREAD_CPUTIME_ID);
		found += look_up(table, LOOKUPS, LINES_ALIVE, line,
				 now_ns - poll % 20 * POLL_MS * TAPIR_NS_PER_MS);
		find_ns += tapir_clock__ns(CLOCK_THREAD_CPUTIME_ID) - start;
		start = tapir_clock__ns(CLOCK_THREAD_CPUTIME_ID);
		while (tapir_jit_table__next_changed(table, &name))
			changed++;
		busy_ns += tapir_clock__ns(CLOCK_THREAD_CPUTIME_ID) - start;
	}
	printf("{\"bench\":\"perf_map_growing\",\"lines\":%llu,\"bad_lines\":%llu,\"names\":%zu,"
	       "\"refused\":%llu,\"found\":%llu,\"changed\":%llu,\"table_mib\":%.1f,"
	       "\"read_percent\":%.2f,\"find_percent\":%.2f,\"core_percent\":%.2f}\n",
	       (unsigned long long)tapir_perf_map__stats(map)->lines,
	       (unsigned long long)tapir_perf_map__stats(map)->bad_lines,
	       tapir_jit_table__cnt(table), (unsigned long long)tapir_jit_table__refused(table),
	       (unsigned long long)found, (unsigned long long)changed,
	       (double)tapir_jit_table__bytes(table) / (1 << 20), (double)read_ns / seconds / 1e7,
	       (double)find_ns / seconds / 1e7,
	       (double)(busy_ns + read_ns + find_ns) / seconds / 1e7);
	tapir_perf_map__close(map);
	tapir_jit_table__free(table);
}

int main(int argc, char **argv)
{
	uint64_t cnt = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	unsigned seconds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 20;

	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		die(path);
	bench_whole(cnt, true);
	bench_whole(cnt, false);
	bench_growing(seconds);
	close(fd);
	unlink(path);
	return 0;
}
