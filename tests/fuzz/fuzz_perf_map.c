// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as a perf map that grows in two steps: every whole line is good or bad, as when it is
 * read at once; whatever is found covers the address and the time it was asked for.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SEC 1000000000ull

static void read_all(struct tapir_perf_map *m, uint64_t now_ns, struct tapir_jit_table *t)
{
	while (tapir_perf_map__read(m, now_ns, 4096, t))
		;
}

static void ask(struct tapir_jit_table *t, uint64_t va, uint64_t time_ns)
{
	struct tapir_jit_name n;

	if (!tapir_jit_table__find(t, va, time_ns, &n))
		return;
	if (va - n.start_va >= n.size || n.from_ns > time_ns ||
	    (n.until_ns && n.until_ns <= time_ns) || n.name_len > TAPIR_JIT_MAX_NAME_BYTES)
		abort();
}

/* 1 byte: where it is cut, in 255ths; then the file. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char path[64];
	struct tapir_perf_map_opts opts = {
		.sz = sizeof(opts), .tgid = (uint32_t)getpid(), .uid = getuid(), .path = path};
	const struct tapir_perf_map_stats *stats;
	struct tapir_perf_map *m = NULL;
	struct tapir_jit_table *t;
	struct tapir_jit_name n;
	size_t cut, line_cnt = 0;
	int fd;

	if (!size || tapir_jit_table__new(&t))
		return 0;
	if (!*path) {
		strcpy(path, "/tmp/tapir-fuzz-XXXXXX");
		close(mkstemp(path));
	}
	cut = (size - 1) * data[0] / 255;
	data++, size--;
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (write(fd, data, cut) != (ssize_t)cut || tapir_perf_map__open(&opts, &m))
		abort();
	read_all(m, 5 * SEC, t);
	for (uint64_t va = 0; va < 256; va++)
		ask(t, va, 5 * SEC);
	if (write(fd, data + cut, size - cut) != (ssize_t)(size - cut))
		abort();
	read_all(m, 5 * SEC + SEC / 20, t);
	stats = tapir_perf_map__stats(m);
	for (size_t i = 0; i < size; i++)
		line_cnt += data[i] == '\n';
	if (stats->lines + stats->bad_lines < line_cnt ||
	    stats->lines + stats->bad_lines > line_cnt + 1) /* a long one that has no end yet */
		abort();
	while (tapir_jit_table__next_changed(t, &n))
		ask(t, n.start_va, n.from_ns);
	for (uint64_t va = 0; va < 256; va++)
		ask(t, va, SEC);
	tapir_perf_map__close(m);
	tapir_jit_table__free(t);
	close(fd);
	unlink(path);
	return 0;
}
