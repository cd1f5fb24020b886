// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Only complete lines are consumed: what follows the last newline is read again with its rest. The
 * bytes before the position where reading continues are remembered, so that a file that was
 * rewritten in place between two reads is noticed.
 */
#include "symbol/perf_map.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"
#include "base/foreign/foreign_file.h"
#include "symbol/jit_file.h"

#define CHUNK_BYTES	  (64u << 10) /* a longer line is not a line of a perf map */
#define BATCH_LINES	  8
#define SEEN_BYTES	  64
#define REREAD_AFTER_NS	  TAPIR_NS_PER_SEC /* whether it is still the file of this name */
#define STALE_SLACK_NS	  TAPIR_NS_PER_SEC /* clocks of files and processes are coarse */
#define MAX_JUNK_BYTES	  (16ull << 20)	   /* without one good line */
#define MAX_BYTES	  (1ull << 30)
#define MAX_BYTES_PER_SEC (8ull << 20) /* more may be read as time goes by */

struct tapir_perf_map {
	struct tapir_perf_map_opts opts;
	char path[256];
	int fd; /* -1: may not be read */
	dev_t dev;
	ino_t ino;
	uint64_t size, mtime_ns; /* when all was read */
	uint64_t off;		 /* of the first line that is not passed */
	char seen[SEEN_BYTES];	 /* the bytes before off */
	size_t seen_len;
	bool is_in_long_line; /* its rest is skipped */
	bool is_given_up;     /* until it is another file */
	bool was_read;	      /* to its end, at read_ns */
	uint64_t read_ns;
	uint64_t first_ns, reread_ns;
	uint64_t junk_bytes;
	struct tapir_perf_map_stats stats;
	char problem[512];
};

/* ---- lines ------------------------------------------------------------------------------ */

struct line {
	uint64_t start_va, size;
	const char *name;
	size_t name_len;
};

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Returns what follows the number and its 0x; NULL: there is no number, or it is too large. */
static const char *parse_hex(const char *p, const char *end, uint64_t *out)
{
	const char *first;
	uint64_t value = 0;
	int d;

	if (end - p >= 2 && p[0] == '0' && (p[1] | 0x20) == 'x')
		p += 2;
	first = p;
	for (; p < end && (d = digit(*p)) >= 0; p++) {
		if (value >> 60)
			return NULL;
		value = value << 4 | (uint64_t)d;
	}
	if (p == first)
		return NULL;
	*out = value;
	return p;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static const char *skip_blanks(const char *p, const char *end)
{
	while (p < end && is_blank(*p))
		p++;
	return p;
}

/* One blank ends the size; the name is everything after it, blanks included, and may be empty. */
static bool parse_line(const char *p, const char *end, struct line *out)
{
	const char *at;

	if (end > p && end[-1] == '\r')
		end--;
	at = parse_hex(skip_blanks(p, end), end, &out->start_va);
	if (!at || at == end || !is_blank(*at))
		return false;
	at = parse_hex(skip_blanks(at, end), end, &out->size);
	if (!at || (at < end && !is_blank(*at)))
		return false;
	out->name = at < end ? at + 1 : end;
	out->name_len = (size_t)(end - out->name);
	return true;
}

/* Lines on their way into a table: each is announced some time before it is added. */
struct batch {
	struct tapir_jit_table *table;
	uint64_t from_ns;
	struct line lines[BATCH_LINES];
	unsigned cnt;
};

static void add_batch(struct tapir_perf_map *m, struct batch *batch)
{
	for (unsigned i = 0; i < batch->cnt; i++) {
		const struct line *line = &batch->lines[i];
		struct tapir_jit_name name = {.start_va = line->start_va,
					      .size = line->size,
					      .from_ns = batch->from_ns,
					      .name = line->name,
					      .name_len = line->name_len,
					      .source = TAPIR_JIT_PERF_MAP};
		int err = tapir_jit_table__add(batch->table, &name);

		m->stats.names += err > 0;
		m->stats.refused += err < 0;
	}
	batch->cnt = 0;
}

static void take_line(struct tapir_perf_map *m, const char *p, const char *end, struct batch *batch)
{
	struct line *line = &batch->lines[batch->cnt];

	if (!parse_line(p, end, line)) {
		m->stats.bad_lines++;
		m->junk_bytes += (uint64_t)(end - p) + 1;
		return;
	}
	m->stats.lines++;
	m->junk_bytes = 0;
	tapir_jit_table__expect(batch->table, line->start_va, line->size);
	if (++batch->cnt == BATCH_LINES)
		add_batch(m, batch);
}

/* Passes the whole lines of a chunk; how many bytes they were. */
static size_t take_lines(struct tapir_perf_map *m, const char *chunk, size_t len,
			 struct tapir_jit_table *table)
{
	const char *p = chunk, *end = chunk + len, *newline;
	struct batch batch;

	batch.table = table;
	/* In the first reading the start of validity is unknown. */
	batch.from_ns = m->was_read ? m->read_ns : 0;
	batch.cnt = 0;
	while ((newline = memchr(p, '\n', (size_t)(end - p)))) {
		if (!m->is_in_long_line)
			take_line(m, p, newline, &batch);
		m->is_in_long_line = false;
		p = newline + 1;
	}
	add_batch(m, &batch);
	if (m->is_in_long_line || (p == chunk && len == CHUNK_BYTES)) {
		m->stats.bad_lines += !m->is_in_long_line;
		m->is_in_long_line = true;
		m->junk_bytes += (uint64_t)(end - p);
		p = end;
	}
	return (size_t)(p - chunk);
}

/* ---- the file --------------------------------------------------------------------------- */

/* Said once; what is known stays. */
static void abandon_map(struct tapir_perf_map *m, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static void abandon_map(struct tapir_perf_map *m, const char *fmt, ...)
{
	va_list args;

	m->is_given_up = true;
	if (*m->problem)
		return;
	va_start(args, fmt);
	vsnprintf(m->problem, sizeof(m->problem), fmt, args);
	va_end(args);
	tapir_warn("%s", m->problem);
}

static void begin_again(struct tapir_perf_map *m)
{
	m->off = 0;
	m->seen_len = 0;
	m->is_in_long_line = false;
	m->is_given_up = false;
	m->junk_bytes = 0;
	m->size = m->mtime_ns = 0;
}

static uint64_t mtime_ns(const struct stat *st)
{
	return (uint64_t)st->st_mtim.tv_sec * TAPIR_NS_PER_SEC + (uint64_t)st->st_mtim.tv_nsec;
}

/* A process that had this number before left it. */
static bool is_stale(const struct tapir_perf_map *m, const struct stat *st)
{
	uint64_t age_ns, now_ns = tapir_clock__now_ns(), lived_ns;
	uint64_t wall_ns = tapir_clock__ns(CLOCK_REALTIME);

	if (!m->opts.start_ns || m->opts.start_ns > now_ns || mtime_ns(st) > wall_ns)
		return false;
	age_ns = wall_ns - mtime_ns(st);
	lived_ns = now_ns - m->opts.start_ns;
	return age_ns > lived_ns + STALE_SLACK_NS;
}

/* An fd of the file that has the name now, and its stat. -ENOENT: none, or of another user. */
static int open_perf_map(const struct tapir_perf_map *m, struct stat *st)
{
	struct tapir_jit_file_opts opts = {
		.sz = sizeof(opts), .tgid = m->opts.tgid, .uid = m->opts.uid, .path = m->path};
	int fd = tapir_jit_file__open(&opts);

	if (fd < 0)
		return fd;
	if (!tapir_foreign__stat(fd, st) && !is_stale(m, st))
		return fd;
	tapir_debug("%s of process %u is older than the process", m->path, m->opts.tgid);
	close(fd);
	return -ENOENT;
}

/* Opens the file of this name, or finds that it is the one that is open. */
static int reopen_map(struct tapir_perf_map *m)
{
	int mark = tapir_diag__cnt();
	struct stat st;
	int fd = open_perf_map(m, &st);

	if (fd == -ENOENT || fd == -ESRCH)
		return fd; /* what is open is read on */
	if (fd < 0) {
		if (m->fd < 0)
			abandon_map(m, "%s",
				    tapir_diag__cnt() > mark ? tapir_diag__line(mark) : m->path);
		tapir_diag__rewind(mark);
		return 0;
	}
	if (m->fd >= 0 && m->dev == st.st_dev && m->ino == st.st_ino) {
		close(fd);
		return 0;
	}
	if (m->fd >= 0)
		close(m->fd);
	m->fd = fd;
	m->dev = st.st_dev;
	m->ino = st.st_ino;
	begin_again(m);
	return 0;
}

int tapir_perf_map__open(const struct tapir_perf_map_opts *opts, struct tapir_perf_map **out)
{
	struct tapir_perf_map *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return -ENOMEM;
	m->opts = *opts;
	m->fd = -1;
	if (opts->path)
		snprintf(m->path, sizeof(m->path), "%s", opts->path);
	else
		snprintf(m->path, sizeof(m->path), "/tmp/perf-%u.map", opts->ns_tgid);
	err = reopen_map(m);
	if (err) {
		tapir_perf_map__close(m);
		return err;
	}
	*out = m;
	return 0;
}

void tapir_perf_map__close(struct tapir_perf_map *m)
{
	if (!m)
		return;
	if (m->fd >= 0)
		close(m->fd);
	free(m);
}

/* ---- reading ---------------------------------------------------------------------------- */

static bool is_rewritten(const struct tapir_perf_map *m, const struct stat *st)
{
	char now[SEEN_BYTES];

	if ((uint64_t)st->st_size < m->off)
		return true;
	return tapir_foreign__pread(m->fd, now, m->seen_len, m->off - m->seen_len) !=
		       (ssize_t)m->seen_len ||
	       memcmp(now, m->seen, m->seen_len) != 0;
}

static void pass(struct tapir_perf_map *m, const char *chunk, size_t len)
{
	size_t keep = len < SEEN_BYTES ? len : SEEN_BYTES;

	if (!len)
		return;
	/* If the piece is short, the bytes before it were seen then. */
	if (keep < SEEN_BYTES && m->seen_len) {
		size_t old = m->seen_len < SEEN_BYTES - keep ? m->seen_len : SEEN_BYTES - keep;

		memmove(m->seen, m->seen + m->seen_len - old, old);
		m->seen_len = old;
	} else {
		m->seen_len = 0;
	}
	memcpy(m->seen + m->seen_len, chunk + len - keep, keep);
	m->seen_len += keep;
	m->off += len;
	m->stats.bytes += len;
}

static bool is_within_limits(struct tapir_perf_map *m, uint64_t now_ns)
{
	uint64_t allowed =
		MAX_BYTES + (now_ns - m->first_ns) / TAPIR_NS_PER_SEC * MAX_BYTES_PER_SEC;

	if (m->junk_bytes > MAX_JUNK_BYTES)
		abandon_map(
			m,
			"%s of process %u is not read further: %llu MB hold no line of a perf map",
			m->path, m->opts.tgid, MAX_JUNK_BYTES >> 20);
	else if (m->stats.bytes > allowed)
		abandon_map(m, "%s of process %u is not read further: it has more than %llu MB",
			    m->path, m->opts.tgid, (unsigned long long)(m->stats.bytes >> 20));
	return !m->is_given_up;
}

/* 1: there is more. */
static int read_on(struct tapir_perf_map *m, uint64_t now_ns, size_t max_bytes,
		   struct tapir_jit_table *table)
{
	char chunk[CHUNK_BYTES];

	for (size_t done = 0; done < max_bytes;) {
		ssize_t got = tapir_foreign__pread(m->fd, chunk, sizeof(chunk), m->off);
		size_t passed;

		if (got <= 0)
			return 0;
		passed = take_lines(m, chunk, (size_t)got, table);
		pass(m, chunk, passed);
		if (!is_within_limits(m, now_ns) || (size_t)got < sizeof(chunk))
			return 0;
		done += passed;
	}
	return 1;
}

int tapir_perf_map__read(struct tapir_perf_map *m, uint64_t now_ns, size_t max_bytes,
			 struct tapir_jit_table *table)
{
	struct stat st;

	if (!m->first_ns)
		m->first_ns = m->reread_ns = now_ns;
	if (now_ns - m->reread_ns >= REREAD_AFTER_NS) {
		m->reread_ns = now_ns;
		(void)reopen_map(m);
	}
	if (m->fd < 0 || tapir_foreign__stat(m->fd, &st))
		return 0;
	if ((uint64_t)st.st_size != m->size || mtime_ns(&st) != m->mtime_ns) {
		if (is_rewritten(m, &st))
			begin_again(m);
		if (!m->is_given_up && read_on(m, now_ns, max_bytes, table))
			return 1;
		m->size = (uint64_t)st.st_size;
		m->mtime_ns = mtime_ns(&st);
	}
	m->was_read = true;
	m->read_ns = now_ns;
	return 0;
}

const struct tapir_perf_map_stats *tapir_perf_map__stats(const struct tapir_perf_map *m)
{
	return &m->stats;
}

const char *tapir_perf_map__problem(const struct tapir_perf_map *m)
{
	return *m->problem ? m->problem : NULL;
}
