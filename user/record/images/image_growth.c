// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Files that get more probes while they are mapped: the images in which libtapir makes a probe of
 * each event that a program defines while it runs. The kernel reports a mapping when it is made,
 * and an image is mapped before its first event: so what has changed is read in a file that is kept
 * open, by its section headers, which are at its beginning and give the size of its notes.
 *
 * Bounded: GROWING_MAX files are watched, all of them together each GROW_NS.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/foreign/foreign_file.h"
#include "record/images/images_impl.h"
#include "tapir/dynamic.h"

#define GROWING_MAX 1024
#define GROW_NS	    (50ull * TAPIR_NS_PER_MS)
#define HEAD_BYTES  4096
#define MEMFD	    "/memfd:" TAPIR_DYNAMIC_IMAGE_NAME

/* Any user may give a file that name: it must also be one that no other file system answers for. */
static bool may_grow(const struct tapir_image *image, int fd)
{
	struct statfs fs;

	return !strncmp(image->path, MEMFD, strlen(MEMFD)) && !tapir_foreign__statfs(fd, &fs) &&
	       fs.f_type == TMPFS_MAGIC;
}

/* 0: it cannot be read. */
static uint64_t head_hash(int fd)
{
	char head[HEAD_BYTES];
	ssize_t len = tapir_foreign__pread(fd, head, sizeof(head), 0);

	return len > 0 ? tapir_hash__bytes(1, head, (size_t)len) | 1 : 0;
}

void tapir_image__watch(struct tapir_images *images, struct tapir_image *image, int fd)
{
	struct tapir_growing g = {.image = image, .note_cnt = image->note_cnt};

	if (image->is_growing || !may_grow(image, fd))
		return;
	g.fd = images->growing.cnt < GROWING_MAX ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
	g.checked_ns = tapir_clock__now_ns();
	image->is_growing = g.fd >= 0 && tapir_vec__push(&images->growing, g);
	if (image->is_growing)
		return;
	if (g.fd >= 0)
		close(g.fd);
	if (!images->has_growing_left)
		tapir_warn("%s: too many files of events that are defined at run time: later "
			   "events of this one are not found by --lane probe",
			   image->path);
	images->has_growing_left = true;
}

static void unwatch(struct tapir_images *images, size_t idx)
{
	struct tapir_growing *g = &images->growing.data[idx];

	g->image->is_growing = false;
	close(g->fd);
	tapir_vec__fini(&g->tgids);
	*g = images->growing.data[--images->growing.cnt];
}

void tapir_images__unwatch_all(struct tapir_images *images)
{
	while (images->growing.cnt)
		unwatch(images, images->growing.cnt - 1);
	tapir_vec__fini(&images->growing);
}

void tapir_image__mapped_in(struct tapir_images *images, const struct tapir_image *image,
			    uint32_t tgid)
{
	struct tapir_growing *g;

	tapir_image__report_conditions(images, image, tgid);
	if (!image->is_growing)
		return;
	tapir_vec_for_each (g, &images->growing) {
		const uint32_t *known;
		bool is_known = false;

		tapir_vec_for_each (known, &g->tgids)
			is_known |= *known == tgid;
		if (g->image == image && !is_known)
			(void)tapir_vec__push(&g->tgids, tgid);
	}
}

/* The number of processes that are left. */
static size_t forget_ended(struct tapir_growing *g)
{
	size_t cnt = 0;

	for (size_t i = 0; i < g->tgids.cnt; i++)
		if (!kill((pid_t)g->tgids.data[i], 0) || errno != ESRCH)
			g->tgids.data[cnt++] = g->tgids.data[i];
	return g->tgids.cnt = cnt;
}

/* An image of the probes that came after those which were known; NULL with *err = 0: none did. */
static struct tapir_image *read_more(struct tapir_images *images, struct tapir_growing *g, int *err)
{
	struct tapir_image *more;
	struct stat st;

	*err = tapir_foreign__stat(g->fd, &st);
	more = *err ? NULL : tapir_image__new(images, &st, g->image->path);
	if (!more) {
		*err = *err ? *err : -ENOMEM;
		return NULL;
	}
	*err = tapir_image__read(images, more, g->fd, g->note_cnt);
	if (more->note_cnt > g->note_cnt)
		g->note_cnt = more->note_cnt;
	if (more->site_cnt)
		return more;
	tapir_image__free_last(images);
	return NULL;
}

static void attach_more(struct tapir_images *images, const struct tapir_growing *g, bool by_pid,
			struct tapir_image *more, int read_err, tapir_grown_fn fn, void *ctx)
{
	const uint32_t *tgid;

	tapir_vec_for_each (tgid, &g->tgids) {
		int err = read_err || !more
				  ? read_err
				  : tapir_images__attach(images, more, by_pid ? *tgid : 0, false);

		if (err < 0 || (more && more->attached_ns))
			fn(ctx, *tgid, g->image, g->checked_ns, err < 0 ? err : 0);
	}
	if (more &&
	    more->fd >= 0) { /* no process maps it later: those that inherit it have the probes */
		close(more->fd);
		more->fd = -1;
	}
}

/*
 * If an event may also arrive by the process's ring, the ring's coverage must be known before the
 * probe is attached: so the change is read one scan later.
 */
static bool is_due(struct tapir_images *images, struct tapir_growing *g, uint64_t now_ns)
{
	uint64_t hash = head_hash(g->fd);

	if (hash == g->head_hash) {
		g->checked_ns = now_ns;
		return false;
	}
	if (images->opts.cover && !g->has_deferred) {
		g->has_deferred = true;
		return false;
	}
	g->has_deferred = false;
	g->head_hash = hash;
	return true;
}

void tapir_images__grow(struct tapir_images *images, bool by_pid, tapir_grown_fn fn, void *ctx)
{
	uint64_t now_ns = tapir_clock__now_ns();

	if (now_ns < tapir_images__next_grow_ns(images))
		return;
	images->grown_ns = now_ns;
	for (size_t i = images->growing.cnt; i-- > 0;) {
		struct tapir_growing *g = &images->growing.data[i];
		struct tapir_image *more;
		int err;

		if (!forget_ended(g)) {
			unwatch(images, i);
			continue;
		}
		if (!is_due(images, g, now_ns))
			continue;
		more = read_more(images, g, &err);
		attach_more(images, g, by_pid, more, err, fn, ctx);
		g->checked_ns = now_ns;
	}
}

uint64_t tapir_images__next_grow_ns(const struct tapir_images *images)
{
	return images->growing.cnt ? images->grown_ns + GROW_NS : UINT64_MAX;
}
