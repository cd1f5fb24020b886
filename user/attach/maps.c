// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * "start-end perms offset major:minor inode   path". The path goes to the end of the line,
 * spaces and all; a newline in it is written \012 (fs/proc/task_mmu.c, seq_file_path).
 */
#include "attach/maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/file.h"

/* A path of PATH_MAX bytes that are all newlines, four characters each, and the rest. */
#define LINE_MAX_BYTES 20480
#define BUFFER_BYTES   65536

struct cursor {
	const char *at, *end;
};

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A number of this base, followed by the character `behind`. false: not so, or it does not fit. */
static bool take_number(struct cursor *c, unsigned base, char terminator, uint64_t max,
			uint64_t *out)
{
	const char *start = c->at;
	uint64_t value = 0;

	for (; c->at < c->end; c->at++) {
		int d = digit(*c->at);

		if (d < 0 || (unsigned)d >= base)
			break;
		if (__builtin_mul_overflow(value, (uint64_t)base, &value) ||
		    __builtin_add_overflow(value, (uint64_t)d, &value))
			return false;
	}
	if (c->at == start || c->at == c->end || *c->at != terminator || value > max)
		return false;
	c->at++;
	*out = value;
	return true;
}

static bool take_perms(struct cursor *c, struct tapir_mapping_line *out)
{
	static const char yes[] = "rwx";

	if (c->end - c->at < 5 || c->at[4] != ' ')
		return false;
	for (int i = 0; i < 3; i++)
		if (c->at[i] != yes[i] && c->at[i] != '-')
			return false;
	if (c->at[3] != 'p' && c->at[3] != 's')
		return false;
	out->is_readable = c->at[0] == 'r';
	out->is_writable = c->at[1] == 'w';
	out->is_executable = c->at[2] == 'x';
	out->is_shared = c->at[3] == 's';
	c->at += 5;
	return true;
}

/* "\012" -> newline, in place. Returns the new length. */
static size_t unescape(char *path, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		if (len - i >= 4 && !memcmp(path + i, "\\012", 4)) {
			path[n++] = '\n';
			i += 3;
		} else {
			path[n++] = path[i];
		}
	}
	return n;
}

/* Without the " (deleted)" that may follow it. */
static size_t len_of_path(const char *path, size_t len)
{
	static const char deleted[] = " (deleted)";
	size_t suffix = sizeof(deleted) - 1;

	return len > suffix && !memcmp(path + len - suffix, deleted, suffix) ? len - suffix : len;
}

bool tapir_mapping_path__is_called(const char *path, size_t len, const char *name)
{
	size_t name_len = strlen(name);

	len = len_of_path(path, len);
	return len > name_len && path[len - name_len - 1] == '/' &&
	       !memcmp(path + len - name_len, name, name_len);
}

static void take_path(struct cursor *c, char *path, struct tapir_mapping_line *out)
{
	size_t all = (size_t)(c->end - c->at);
	size_t len = all && path[0] == '/' ? len_of_path(path, all) : all;

	out->is_deleted = len < all;
	out->path_len = unescape(path, len);
	path[out->path_len] = '\0';
	out->path = path;
}

uint32_t tapir_mapping_line__dev(dev_t dev)
{
	return major(dev) << 20 | minor(dev);
}

bool tapir_mapping_line__parse(char *line, size_t len, struct tapir_mapping_line *out)
{
	struct cursor c = {line, line + len};
	struct tapir_mapping_line m = {};
	uint64_t major, minor;

	/* The inode's number ends with a space even where no path follows. */
	if (memchr(line, '\0', len) || !take_number(&c, 16, '-', UINT64_MAX, &m.start_va) ||
	    !take_number(&c, 16, ' ', UINT64_MAX, &m.end_va) || m.end_va <= m.start_va ||
	    !take_perms(&c, &m) || !take_number(&c, 16, ' ', UINT64_MAX, &m.file_off) ||
	    !take_number(&c, 16, ':', 0xfff, &major) ||
	    !take_number(&c, 16, ' ', 0xfffff, &minor) ||
	    !take_number(&c, 10, ' ', UINT64_MAX, &m.inode))
		return false;
	m.dev = tapir_mapping_line__dev(makedev(major, minor));
	while (c.at < c.end && *c.at == ' ')
		c.at++;
	take_path(&c, line + (c.at - line), &m);
	*out = m;
	return true;
}

/* ---- text that was moved ------------------------------------------------------------------------ */

static bool may_be_moved(const struct tapir_mapping_line *m)
{
	return m->is_executable && !m->is_shared && !m->inode && !m->path_len;
}

/* Returns true if held is all that is between two parts of one file's code, in its order. */
static bool is_hole(const struct tapir_mapping_line *before, const struct tapir_mapping_line *held,
		    const struct tapir_mapping_line *after)
{
	return before->inode && before->is_executable && after->is_executable &&
	       before->inode == after->inode && before->dev == after->dev &&
	       before->end_va == held->start_va && held->end_va == after->start_va &&
	       after->start_va - before->start_va == after->file_off - before->file_off;
}

static void fill_hole(const struct tapir_mapping_line *before, struct tapir_mapping_line *held)
{
	held->file_off = before->file_off + (held->start_va - before->start_va);
	held->inode = before->inode;
	held->dev = before->dev;
	held->path = before->path;
	held->path_len = before->path_len;
	held->is_deleted = before->is_deleted;
	held->is_moved = true;
}

/* ---- lines --------------------------------------------------------------------------------------- */

struct walk {
	tapir_mapping_fn fn;
	void *ctx;
	size_t bad_cnt;
	bool in_long_line; /* its beginning is missing: the rest is not a line */
	bool is_held;
	struct tapir_mapping_line before, held; /* code of a file, and what follows it */
	char path[TAPIR_MAPPING_PATH_BYTES];	/* of before */
};

static void note_code(struct walk *w, const struct tapir_mapping_line *m)
{
	w->before = *m;
	if (!m->is_executable || !tapir_mapping_line__is_file(m) || m->path_len >= sizeof(w->path))
		w->before.inode = 0;
	else
		memcpy(w->path, m->path, m->path_len + 1);
	w->before.path = w->path;
}

/* Hands out what was held back: after is the line that follows it, or NULL. */
static int hand_out_held(struct walk *w, const struct tapir_mapping_line *after)
{
	if (!w->is_held)
		return 0;
	w->is_held = false;
	if (after && is_hole(&w->before, &w->held, after))
		fill_hole(&w->before, &w->held);
	return w->fn(&w->held, w->ctx);
}

/* A line that may be moved text is held back until the next one shows whether it is. */
static int hand_out(struct walk *w, const struct tapir_mapping_line *m)
{
	int err = hand_out_held(w, m);

	if (err)
		return err;
	if (may_be_moved(m) && w->before.inode && w->before.end_va == m->start_va) {
		w->held = *m;
		w->held.path = "";
		w->is_held = true;
		return 0;
	}
	note_code(w, m);
	return w->fn(m, w->ctx);
}

/* Hands out the whole lines of buf; returns fn's result, and in *used what they took. */
static int walk_lines(struct walk *w, char *buf, size_t len, size_t *used)
{
	struct tapir_mapping_line m;
	char *line = buf, *newline;
	int err = 0;

	while (!err && (newline = memchr(line, '\n', len - (size_t)(line - buf)))) {
		size_t line_len = (size_t)(newline - line);

		*newline = '\0';
		if (w->in_long_line || !tapir_mapping_line__parse(line, line_len, &m))
			w->bad_cnt++;
		else
			err = hand_out(w, &m);
		w->in_long_line = false;
		line = newline + 1;
	}
	*used = (size_t)(line - buf);
	return err;
}

int tapir_maps__each(int fd, tapir_mapping_fn fn, void *ctx, size_t *bad_cnt)
{
	tapir_autofree char *buf = malloc(BUFFER_BYTES);
	tapir_autofree struct walk *w = calloc(1, sizeof(*w));
	size_t have = 0, used;
	int err = buf && w ? 0 : -ENOMEM;

	if (!err)
		*w = (struct walk){.fn = fn, .ctx = ctx};
	while (!err) {
		ssize_t n = read(fd, buf + have, BUFFER_BYTES - have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			err = n < 0 ? -errno : 0;
			break;
		}
		have += (size_t)n;
		err = walk_lines(w, buf, have, &used);
		have -= used;
		memmove(buf, buf + used, have);
		if (have >= LINE_MAX_BYTES) {
			w->in_long_line = true;
			have = 0;
		}
	}
	if (!err)
		err = hand_out_held(w, NULL);
	if (bad_cnt && w)
		*bad_cnt = w->bad_cnt + (have || w->in_long_line); /* what was cut off is no line */
	return err;
}

/* ---- one question, without the text -------------------------------------------------------- */

/*
 * PROCMAP_QUERY of <linux/fs.h>, which is younger than the headers that tapir is built with
 * (kernel commit ed5d583a88a9, Linux 6.11).
 */
struct query {
	uint64_t size, flags, at_va;
	uint64_t start_va, end_va, vma_flags, page_bytes, file_off, inode;
	uint32_t dev_major, dev_minor;
	uint32_t name_bytes, build_id_bytes;
	uint64_t name_va, build_id_va;
};
_Static_assert(sizeof(struct query) == 104, "struct procmap_query");

#define QUERY	   _IOWR('f', 17, struct query)
#define READABLE   0x01u
#define WRITABLE   0x02u
#define EXECUTABLE 0x04u
#define SHARED	   0x08u
#define OR_NEXT	   0x10u
#define WITH_FILE  0x20u

/* 1 and *q: the first mapping at va or, with OR_NEXT, after it; 0: none. name may be NULL. */
static int query(int fd, uint64_t va, unsigned flags, char *name, uint32_t bytes, struct query *q)
{
	int res;

	*q = (struct query){.size = sizeof(*q),
			    .flags = flags,
			    .at_va = va,
			    .name_bytes = bytes,
			    .name_va = (uintptr_t)name};
	do
		res = ioctl(fd, QUERY, q);
	while (res && errno == EINTR);
	if (!res)
		return 1;
	return errno == ENOENT ? 0 : -errno;
}

static uint32_t dev_of(const struct query *q)
{
	return tapir_mapping_line__dev(makedev(q->dev_major, q->dev_minor));
}

int tapir_maps__has_shared(int fd, uint32_t dev, const char *path_start)
{
	const unsigned flags = SHARED | WITH_FILE;
	char name[64];
	uint64_t va = 0;

	for (;;) {
		struct query q;
		int found = query(fd, va, flags | OR_NEXT, NULL, 0, &q);

		if (found <= 0)
			return found;
		va = q.end_va;
		if (dev_of(&q) != dev)
			continue;
		found = query(fd, q.start_va, flags, name, sizeof(name), &q);
		if (found > 0 && !strncmp(name, path_start, strlen(path_start)))
			return 1;
		if (found < 0 && found != -ENAMETOOLONG) /* which is a longer one */
			return found;
	}
}

static void put_line(const struct query *q, char *path, struct tapir_mapping_line *out)
{
	size_t all, len;

	all = q->name_bytes ? strnlen(path, TAPIR_MAPPING_PATH_BYTES - 1) : 0;
	len = all && path[0] == '/' ? len_of_path(path, all) : all;
	path[len] = '\0';
	*out = (struct tapir_mapping_line){
		.start_va = q->start_va,
		.end_va = q->end_va,
		.file_off = q->file_off,
		.inode = q->inode,
		.dev = dev_of(q),
		.is_readable = q->vma_flags & READABLE,
		.is_writable = q->vma_flags & WRITABLE,
		.is_executable = q->vma_flags & EXECUTABLE,
		.is_shared = q->vma_flags & SHARED,
		.is_deleted = len < all,
		.path = path,
		.path_len = len,
	};
}

/* Reads its neighbors, if it may be moved text; path becomes their file's, if it is. */
static void look_around(int fd, char *path, struct tapir_mapping_line *line)
{
	struct tapir_mapping_line before, after;
	struct query q;

	if (!may_be_moved(line) || query(fd, line->end_va, 0, NULL, 0, &q) <= 0)
		return;
	put_line(&q, path, &after);
	if (query(fd, line->start_va - 1, 0, path, TAPIR_MAPPING_PATH_BYTES, &q) <= 0)
		return;
	put_line(&q, path, &before);
	if (is_hole(&before, line, &after) && tapir_mapping_line__is_file(&before))
		fill_hole(&before, line);
	else
		path[line->path_len] = '\0';
}

int tapir_maps__at(int fd, uint64_t va, char *path, struct tapir_mapping_line *out)
{
	struct query q;
	int found = query(fd, va, 0, path, TAPIR_MAPPING_PATH_BYTES, &q);

	if (found <= 0 || q.start_va != va)
		return found < 0 ? found : 0;
	put_line(&q, path, out);
	look_around(fd, path, out);
	return 1;
}
