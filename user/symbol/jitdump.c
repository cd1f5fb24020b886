// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A record is read when all of it is in the file: its fixed part and its name are read, its code is
 * skipped. An impossible size ends the reading: the start of the next record is unknown.
 */
#include "symbol/jitdump.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/log.h"
#include "decode/jitdump_format.h"
#include "base/foreign/foreign_file.h"
#include "symbol/dotnet_name.h"
#include "symbol/jit_file.h"

#define MAGIC_FOREIGN  0x4454694au
#define MAX_HEADER     (64u << 10)
#define TICKS	       1ull		/* a header's flag: times are the processor's ticks */
#define MAX_AHEAD_NS   TAPIR_NS_PER_SEC /* a time that much later than now is of another clock */
#define BUFFER_BYTES   (64u << 10)
#define MIN_NAME_BYTES 1 /* its NUL */

/* The part of a record that is read at most. */
#define MAX_HEAD_BYTES (sizeof(struct tapir_jitdump_load) + TAPIR_JIT_MAX_NAME_BYTES)

struct tapir_jitdump {
	struct tapir_jitdump_opts opts;
	uint64_t off; /* of the first record that is not passed; 0: the header */
	bool is_given_up;
	bool uses_ticks;
	bool uses_read_times; /* its own mean nothing to us */
	uint64_t read_ns;     /* when all was read; 0: not yet */
	struct tapir_jitdump_stats stats;
	char problem[256];
};

bool tapir_jitdump__is_path(const char *path, size_t path_len)
{
	const char *slash = path_len ? memrchr(path, '/', path_len) : NULL;
	const char *name = slash ? slash + 1 : path;
	size_t len = path_len - (size_t)(name - path);

	if (len <= 9 || memcmp(name, "jit-", 4) || memcmp(name + len - 5, ".dump", 5))
		return false;
	for (size_t i = 4; i < len - 5; i++)
		if (name[i] < '0' || name[i] > '9')
			return false;
	return true;
}

int tapir_jitdump__open(const struct tapir_jitdump_opts *opts, struct tapir_jitdump **out)
{
	struct tapir_jit_file_opts file = {
		.sz = sizeof(file), .tgid = opts->tgid, .uid = opts->uid, .path = "a jitdump"};
	struct tapir_jitdump *d;
	int err = tapir_jit_file__check(opts->fd, &file);

	if (err)
		return err;
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	d->opts = *opts;
	d->opts.fd = fcntl(opts->fd, F_DUPFD_CLOEXEC, 3);
	if (d->opts.fd < 0) {
		err = -errno;
		free(d);
		return tapir_diag__fail(err, "cannot keep a jitdump open: %s (raise ulimit -n)",
					tapir_errno__text(err));
	}
	*out = d;
	return 0;
}

void tapir_jitdump__close(struct tapir_jitdump *d)
{
	if (!d)
		return;
	close(d->opts.fd);
	free(d);
}

static void complain(struct tapir_jitdump *d, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static void complain(struct tapir_jitdump *d, const char *fmt, ...)
{
	va_list args;
	int len;

	if (*d->problem)
		return;
	len = snprintf(d->problem, sizeof(d->problem), "jitdump of process %u: ", d->opts.tgid);
	va_start(args, fmt);
	vsnprintf(d->problem + len, sizeof(d->problem) - (size_t)len, fmt, args);
	va_end(args);
	tapir_warn("%s", d->problem);
}

/* ---- times ------------------------------------------------------------------------------ */

static bool has_ticks(const struct tapir_jitdump_ticks *t)
{
	return t->ticks[1] > t->ticks[0] && t->ns[1] > t->ns[0];
}

static uint64_t ns_of_ticks(const struct tapir_jitdump_ticks *t, uint64_t ticks)
{
	unsigned __int128 ns_span = t->ns[1] - t->ns[0], ticks_span = t->ticks[1] - t->ticks[0];
	uint64_t ns;

	if (ticks >= t->ticks[0])
		return t->ns[0] + (uint64_t)((ticks - t->ticks[0]) * ns_span / ticks_span);
	ns = (uint64_t)((t->ticks[0] - ticks) * ns_span / ticks_span);
	return ns < t->ns[0] ? t->ns[0] - ns : 0;
}

/* The time of a record on our clock: never later than now. */
static uint64_t time_of(const struct tapir_jitdump *d, uint64_t time, uint64_t now_ns)
{
	uint64_t ns;

	if (d->uses_read_times)
		return d->read_ns;
	ns = d->uses_ticks ? ns_of_ticks(&d->opts.ticks, time)
			   : time - (uint64_t)d->opts.clock_offset_ns;
	return ns < now_ns ? ns : now_ns;
}

/* ---- records ---------------------------------------------------------------------------- */

/*
 * The time from which the name of a picture is valid. False: it is a block of stubs around known
 * names; stubs are reported with the pages they are in (up to 64 KB observed). Or the method is
 * known from an event, which has the time of its compilation and spells its name slightly
 * differently.
 */
static bool picture_time(const struct tapir_jitdump *d, struct tapir_jit_table *table,
			 const struct tapir_jitdump_load *load, const char *name, size_t len,
			 uint64_t *from_ns)
{
	bool is_held = tapir_jit_table__is_held(table, load->code_va, load->code_bytes);
	struct tapir_jit_name known;

	if (is_held && tapir_jit_table__at(table, load->code_va, &known) &&
	    known.source == TAPIR_JIT_METHOD_EVENT &&
	    tapir_dotnet_name__are_one((struct tapir_sv){known.name, known.name_len},
				       (struct tapir_sv){name, len}))
		return false;
	*from_ns = is_held ? d->opts.at_ns : d->opts.since_ns;
	return !is_held || len < 4 || memcmp(name, "stub", 4);
}

/* False: not a record as it should be. */
static bool take_load(struct tapir_jitdump *d, const char *bytes, size_t len, uint64_t now_ns,
		      struct tapir_jit_table *table)
{
	const char *name = bytes + sizeof(struct tapir_jitdump_load);
	struct tapir_jitdump_load load;
	uint64_t from_ns;
	size_t name_len;
	int err;

	if (len < sizeof(load) + MIN_NAME_BYTES)
		return false;
	memcpy(&load, bytes, sizeof(load));
	name_len = strnlen(name, len - sizeof(load));
	/* The end of a fixed-size record is not part of its name. */
	if (name_len == len - sizeof(load) && len < MAX_HEAD_BYTES)
		return false;
	if (load.code_bytes > load.p.total_bytes)
		return false;
	if (!load.code_bytes)
		return true;
	from_ns = time_of(d, load.p.time, now_ns);
	if (d->opts.is_picture && !picture_time(d, table, &load, name, name_len, &from_ns))
		return true;
	err = tapir_jit_table__add(table, &(struct tapir_jit_name){.start_va = load.code_va,
								   .size = load.code_bytes,
								   .from_ns = from_ns,
								   .name = name,
								   .name_len = name_len,
								   .source = TAPIR_JIT_JITDUMP});
	d->stats.names += err > 0;
	d->stats.refused += err < 0;
	return true;
}

static bool take_move(struct tapir_jitdump *d, const char *bytes, size_t len, uint64_t now_ns,
		      struct tapir_jit_table *table)
{
	struct tapir_jitdump_move move;
	int err;

	if (len < sizeof(move))
		return false;
	memcpy(&move, bytes, sizeof(move));
	err = tapir_jit_table__move(table, move.old_va, move.new_va, move.code_bytes,
				    time_of(d, move.p.time, now_ns));
	d->stats.names += err > 0;
	d->stats.refused += err < 0 && err != -ENOENT;
	return err != -ENOENT;
}

/* The beginning of a whole record. */
static void take_record(struct tapir_jitdump *d, const char *bytes, size_t len, uint64_t now_ns,
			struct tapir_jit_table *table)
{
	struct tapir_jitdump_prefix prefix;
	bool is_good;

	memcpy(&prefix, bytes, sizeof(prefix));
	if (prefix.kind == TAPIR_JITDUMP_LOAD)
		is_good = take_load(d, bytes, len, now_ns, table);
	else if (prefix.kind == TAPIR_JITDUMP_MOVE)
		is_good = take_move(d, bytes, len, now_ns, table);
	else
		is_good = prefix.kind < TAPIR_JITDUMP_KIND_CNT;
	d->stats.records++;
	d->stats.bad_records += !is_good;
}

/* ---- the file --------------------------------------------------------------------------- */

static void check_clock(struct tapir_jitdump *d, const struct tapir_jitdump_header *h,
			uint64_t now_ns)
{
	d->uses_ticks = h->flags & TICKS;
	d->uses_read_times = false;
	if (d->opts.is_picture)
		return;
	if (d->uses_ticks && !has_ticks(&d->opts.ticks)) {
		d->uses_read_times = true;
		complain(d,
			 "its times are processor ticks: names are valid from when they were read");
	} else if (!d->uses_ticks &&
		   h->time - (uint64_t)d->opts.clock_offset_ns > now_ns + MAX_AHEAD_NS &&
		   h->time > now_ns) {
		d->uses_read_times = true;
		complain(
			d,
			"its times are of another clock: names are valid from when they were read");
	}
}

/* True: the records can be read now. */
static bool read_header(struct tapir_jitdump *d, uint64_t size, uint64_t now_ns)
{
	struct tapir_jitdump_header h;

	if (size < sizeof(h) ||
	    tapir_foreign__pread(d->opts.fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h))
		return false;
	d->is_given_up = true;
	if (h.magic == MAGIC_FOREIGN)
		complain(d, "its byte order is not this machine's");
	else if (h.magic != TAPIR_JITDUMP_MAGIC)
		complain(d, "not a jitdump (magic 0x%x)", h.magic);
	else if (h.version != 1)
		complain(d, "unknown version %u (only 1 is known)", h.version);
	else if (h.total_bytes < sizeof(h) || h.total_bytes > MAX_HEADER || h.flags & ~TICKS)
		complain(d, "a header of %u bytes, flags 0x%llx, cannot be read", h.total_bytes,
			 (unsigned long long)h.flags);
	else
		d->is_given_up = false;
	if (d->is_given_up)
		return false;
	check_clock(d, &h, now_ns);
	d->off = h.total_bytes;
	return true;
}

/* A piece of the file, to read records one after another. */
struct window {
	char bytes[BUFFER_BYTES];
	uint64_t off;
	size_t len;
};

/* want bytes at off, which the file has; NULL: the file no longer has them. */
static const char *window_at(struct window *w, int fd, uint64_t off, size_t want)
{
	ssize_t got;

	if (off < w->off || off + want > w->off + w->len) {
		got = tapir_foreign__pread(fd, w->bytes, sizeof(w->bytes), off);
		w->off = off;
		w->len = got > 0 ? (size_t)got : 0;
		if (w->len < want)
			return NULL;
	}
	return w->bytes + (off - w->off);
}

/* 1: read, 0: incomplete. */
static int next_record(struct tapir_jitdump *d, struct window *w, uint64_t size, uint64_t now_ns,
		       struct tapir_jit_table *table)
{
	struct tapir_jitdump_prefix prefix;
	const char *at;
	size_t len;

	if (size < d->off || size - d->off < sizeof(prefix))
		return 0;
	at = window_at(w, d->opts.fd, d->off, sizeof(prefix));
	if (!at)
		return 0;
	memcpy(&prefix, at, sizeof(prefix));
	if (prefix.total_bytes < sizeof(prefix)) {
		d->is_given_up = true;
		complain(d, "a record of %u bytes at %llu: the rest is not read",
			 prefix.total_bytes, (unsigned long long)d->off);
		return 0;
	}
	/* The process is still writing this record: it is read when the file has grown. */
	if (size - d->off < prefix.total_bytes)
		return 0;
	len = prefix.total_bytes < MAX_HEAD_BYTES ? prefix.total_bytes : MAX_HEAD_BYTES;
	at = window_at(w, d->opts.fd, d->off, len);
	if (!at)
		return 0;
	take_record(d, at, len, now_ns, table);
	d->off += prefix.total_bytes;
	d->stats.bytes += prefix.total_bytes;
	return 1;
}

static int read_on(struct tapir_jitdump *d, uint64_t size, uint64_t now_ns, size_t max_bytes,
		   struct tapir_jit_table *table)
{
	uint64_t begin = d->off;
	struct window w;

	w.off = w.len = 0;
	while (d->off - begin < max_bytes)
		if (!next_record(d, &w, size, now_ns, table))
			return 0;
	return 1;
}

int tapir_jitdump__read(struct tapir_jitdump *d, uint64_t now_ns, size_t max_bytes,
			struct tapir_jit_table *table)
{
	struct stat st;

	if (tapir_foreign__stat(d->opts.fd, &st))
		return 0;
	if ((uint64_t)st.st_size < d->off) {
		d->off = 0; /* cut: written anew */
		d->is_given_up = false;
	}
	if (d->is_given_up || (!d->off && !read_header(d, (uint64_t)st.st_size, now_ns)))
		return 0;
	if (read_on(d, (uint64_t)st.st_size, now_ns, max_bytes, table))
		return 1;
	d->read_ns = now_ns;
	return 0;
}

const struct tapir_jitdump_stats *tapir_jitdump__stats(const struct tapir_jitdump *d)
{
	return &d->stats;
}

const char *tapir_jitdump__problem(const struct tapir_jitdump *d)
{
	return *d->problem ? d->problem : NULL;
}
