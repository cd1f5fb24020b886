// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A segment is a file: of a directory, or of memory (memfd). A share is an eighth of the room and
 * of the time, so that discarding the oldest gives up an eighth of what is kept. Segments of less
 * than a second would consist of descriptions, which each of them repeats.
 *
 * Descriptors, not names, identify a segment: a person may remove or rename files of the directory
 * at any time.
 */
#include "trace/segments.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"

#define SHARES 8		/* of the room and of the time; a segment is one */
#define MARGIN (2u << 20)	/* what a writer may hold when its segment is full */
#define MIN_NS TAPIR_NS_PER_SEC /* each repeats what it uses */
#define MAX_NS (10 * TAPIR_NS_PER_SEC)

struct segment {
	int fd;
	uint64_t from_ns, until_ns; /* until: 0, it is being written */
	uint64_t bytes;
	char *name;
};

struct tapir_segments {
	int dir_fd; /* -1: memory */
	char *dir, *stem;
	uint64_t max_bytes, keep_ns;
	bool has_owner;
	uid_t uid;
	gid_t gid;
	uint64_t number, lost_until_ns;	      /* what was before is discarded */
	struct tapir_vec(struct segment) all; /* the oldest first */
	atomic_uint_least64_t kept_cnt, kept_bytes, discarded_cnt, discarded_bytes, early_cnt;
};

/* ---- lifecycle ------------------------------------------------------------------------------ */

static int open_dir(struct tapir_segments *s, const char *dir)
{
	s->dir = strdup(dir);
	if (!s->dir)
		return -ENOMEM;
	s->dir_fd = open(dir, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	return s->dir_fd >= 0 ? 0
			      : tapir_diag__fail(-errno, "cannot keep segments in %s: %s", dir,
						 tapir_errno__text(errno));
}

int tapir_segments__new(const struct tapir_segments_opts *opts, struct tapir_segments **out)
{
	struct tapir_segments *s = calloc(1, sizeof(*s));
	int err = 0;

	if (!s)
		return -ENOMEM;
	s->dir_fd = -1;
	s->max_bytes = opts->max_bytes;
	s->keep_ns = opts->keep_ns;
	s->has_owner = opts->has_owner;
	s->uid = opts->uid;
	s->gid = opts->gid;
	s->stem = strdup(opts->stem);
	if (!s->stem)
		err = -ENOMEM;
	if (!err && opts->dir)
		err = open_dir(s, opts->dir);
	if (err) {
		tapir_segments__free(s, false);
		return err;
	}
	*out = s;
	return 0;
}

static void release_segment(struct tapir_segments *s, struct segment *segment, bool is_kept)
{
	if (s->dir_fd >= 0 && !is_kept && segment->name)
		unlinkat(s->dir_fd, strrchr(segment->name, '/') + 1, 0);
	if (segment->fd >= 0)
		close(segment->fd);
	free(segment->name);
}

void tapir_segments__free(struct tapir_segments *s, bool is_kept)
{
	struct segment *segment;

	if (!s)
		return;
	tapir_vec_for_each (segment, &s->all)
		release_segment(s, segment, is_kept);
	tapir_vec__fini(&s->all);
	if (s->dir_fd >= 0)
		close(s->dir_fd);
	free(s->dir);
	free(s->stem);
	free(s);
}

/* ---- room ----------------------------------------------------------------------------------- */

static uint64_t share_bytes(const struct tapir_segments *s)
{
	return s->max_bytes / SHARES;
}

static uint64_t share_ns(const struct tapir_segments *s)
{
	uint64_t ns = s->keep_ns / SHARES;

	/*
	 * Shorter ones would be descriptions for the most part; longer ones would keep too little.
	 */
	return ns < MIN_NS ? MIN_NS : ns > MAX_NS ? MAX_NS : ns;
}

static void discard_oldest(struct tapir_segments *s, uint64_t now_ns)
{
	struct segment *oldest = &s->all.data[0];

	s->lost_until_ns = oldest->until_ns;
	atomic_fetch_add(&s->discarded_cnt, 1);
	atomic_fetch_add(&s->discarded_bytes, oldest->bytes);
	if (oldest->until_ns + s->keep_ns > now_ns)
		atomic_fetch_add(&s->early_cnt, 1);
	release_segment(s, oldest, false);
	memmove(s->all.data, s->all.data + 1, (s->all.cnt - 1) * sizeof(*s->all.data));
	s->all.cnt--;
}

static uint64_t sum_bytes(const struct tapir_segments *s)
{
	const struct segment *segment;
	uint64_t sum = 0;

	tapir_vec_for_each (segment, &s->all)
		sum += segment->bytes;
	return sum;
}

/* The newest is about to be written: it may grow to its share, and the margin. */
static void drop_old_segments(struct tapir_segments *s, uint64_t now_ns)
{
	uint64_t room = s->max_bytes - share_bytes(s) - MARGIN;

	while (s->all.cnt && (sum_bytes(s) > room || s->all.data[0].until_ns + s->keep_ns < now_ns))
		discard_oldest(s, now_ns);
}

static void note_kept(struct tapir_segments *s)
{
	atomic_store(&s->kept_cnt, s->all.cnt);
	atomic_store(&s->kept_bytes, sum_bytes(s));
}

/* ---- segments ------------------------------------------------------------------------------- */

static int open_one(const struct tapir_segments *s, const char *name)
{
	int fd;

	if (s->dir_fd < 0)
		return memfd_create("tapir-segment", MFD_CLOEXEC);
	fd = openat(s->dir_fd, strrchr(name, '/') + 1, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0 && s->has_owner && fchown(fd, s->uid, s->gid)) {
		close(fd);
		return -1;
	}
	return fd;
}

int tapir_segments__begin(struct tapir_segments *s, uint64_t now_ns, int *fd, const char **name)
{
	struct segment segment = {.fd = -1, .from_ns = now_ns};
	int err = 0;

	drop_old_segments(s, now_ns);
	if (asprintf(&segment.name, "%s/%s.%06llu.tapir", s->dir ? s->dir : "memory", s->stem,
		     (unsigned long long)++s->number) < 0)
		return -ENOMEM;
	segment.fd = open_one(s, segment.name);
	if (segment.fd < 0)
		err = tapir_diag__fail(-errno, "cannot create %s: %s", segment.name,
				       tapir_errno__text(errno));
	else if (!tapir_vec__push(&s->all, segment))
		err = -ENOMEM;
	if (err) {
		release_segment(s, &segment, segment.fd < 0);
		return err;
	}
	note_kept(s);
	*fd = segment.fd;
	*name = segment.name;
	return 0;
}

void tapir_segments__end(struct tapir_segments *s, uint64_t bytes, uint64_t now_ns)
{
	struct segment *newest = s->all.cnt ? &s->all.data[s->all.cnt - 1] : NULL;

	if (!newest || newest->until_ns)
		return;
	newest->bytes = bytes;
	newest->until_ns = now_ns;
	(void)!ftruncate(newest->fd, (off_t)bytes); /* else a reader skips what is after them */
	note_kept(s);
}

bool tapir_segments__is_full(const struct tapir_segments *s, uint64_t bytes)
{
	return bytes >= share_bytes(s);
}

bool tapir_segments__is_due(const struct tapir_segments *s, uint64_t bytes, uint64_t now_ns)
{
	const struct segment *newest = s->all.cnt ? &s->all.data[s->all.cnt - 1] : NULL;

	return !newest || tapir_segments__is_full(s, bytes) ||
	       (now_ns > newest->from_ns && now_ns - newest->from_ns >= share_ns(s));
}

/* ---- reading -------------------------------------------------------------------------------- */

int tapir_segments__list(const struct tapir_segments *s, uint64_t from_ns,
			 struct tapir_segment_fds *out)
{
	const struct segment *segment;

	*out = (struct tapir_segment_fds){.from_ns = from_ns > s->lost_until_ns ? from_ns
										: s->lost_until_ns};
	tapir_vec_for_each (segment, &s->all) {
		int fd;

		if (!segment->until_ns || segment->until_ns < from_ns)
			continue;
		fd = fcntl(segment->fd, F_DUPFD_CLOEXEC, 3);
		if (fd >= 0 && tapir_vec__push(&out->fds, fd))
			continue;
		tapir_segment_fds__fini(out);
		return fd < 0 ? -errno : -ENOMEM;
	}
	return 0;
}

void tapir_segment_fds__fini(struct tapir_segment_fds *fds)
{
	int *fd;

	tapir_vec_for_each (fd, &fds->fds)
		close(*fd);
	tapir_vec__fini(&fds->fds);
}

void tapir_segments__stats(const struct tapir_segments *s, struct tapir_segments_stats *out)
{
	*out = (struct tapir_segments_stats){
		.kept_cnt = atomic_load(&s->kept_cnt),
		.kept_bytes = atomic_load(&s->kept_bytes),
		.discarded_cnt = atomic_load(&s->discarded_cnt),
		.discarded_bytes = atomic_load(&s->discarded_bytes),
		.early_cnt = atomic_load(&s->early_cnt),
	};
}
