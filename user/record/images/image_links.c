// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Attaches the probes of a file, in one process or in every one that maps it. With uprobe_multi all
 * sites of a file are one link; without it each site is one and takes its time, so progress is
 * reported in between.
 */
#include "record/images/images_impl.h"

#include <errno.h>

#include "attach/links.h"
#include "attach/unkillable_call.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"

/* Without uprobe_multi a link is a site, and each takes its time; else all go in one. */
void tapir_image__detach(struct tapir_images *images, struct tapir_image *image,
			 tapir_detach_fn on_progress, void *ctx)
{
	tapir_image_links__drop(&image->native.links, 0);
	while (image->links.fds.cnt) {
		size_t keep_cnt = images->opts.use_multi ? 0 : image->links.fds.cnt - 1;

		tapir_image_links__drop(&image->links, keep_cnt);
		images->attached_cnt -= images->opts.use_multi ? image->counted_cnt : 1;
		image->counted_cnt -= images->opts.use_multi ? image->counted_cnt : 1;
		if (on_progress)
			on_progress(ctx, images->attached_cnt);
	}
}

void tapir_image__drop_links(struct tapir_images *images, struct tapir_image *image)
{
	images->attached_cnt -= image->counted_cnt;
	image->counted_cnt = 0;
	tapir_image_links__drop(&image->links, 0);
	image->is_on_everywhere = false;
	image->attached_tgids.cnt = 0;
	image->attached_ns = 0;
}

/*
 * The same file, overwritten: the places of the old content's probes hold other code now, and the
 * kernel inserts the probes there in every process that maps it.
 */
void tapir_image__give_up(struct tapir_images *images, struct tapir_image *old)
{
	old->is_handed_over = false;
	tapir_image_links__drop(&old->native.links, 0);
	if (!old->links.fds.cnt)
		return;
	tapir_debug("%s was overwritten: its old probes are detached", old->path);
	tapir_image__drop_links(images, old);
}

static int attach_site_by_perf(struct tapir_images *images, struct tapir_image *image,
			       const struct tapir_link_sites *sites, size_t idx, uint32_t tgid)
{
	int fd = tapir_programs__usdt_fd(images->opts.programs);

	if (fd >= 0)
		fd = tapir_link__perf(fd, sites, idx, tgid);
	return tapir_image_links__keep(&image->links, fd);
}

static int attach_by_perf(struct tapir_images *images, struct tapir_image *image,
			  const struct tapir_link_sites *sites, uint32_t tgid)
{
	size_t had_cnt = image->links.fds.cnt;
	int err = 0;

	if (images->opts.perf_limit && images->attached_cnt + sites->cnt > images->opts.perf_limit)
		return tapir_diag__fail(
			-E2BIG,
			"%zu probes match, and this kernel (no uprobe_multi, Linux 6.6) takes 0.1 s per probe to detach: select at most %u, or use --force",
			sites->cnt, images->opts.perf_limit);
	for (size_t i = 0; i < sites->cnt && !err; i++)
		err = attach_site_by_perf(images, image, sites, i, tgid);
	if (err)
		tapir_image_links__drop(
			&image->links,
			had_cnt); /* or the next attempt puts the first ones on twice */
	return err;
}

bool tapir_image__is_on(const struct tapir_image *image, uint32_t tgid)
{
	const uint32_t *on;

	if (image->is_on_everywhere)
		return true;
	tapir_vec_for_each (on, &image->attached_tgids)
		if (*on == tgid)
			return true;
	return false;
}

static bool is_covered(const struct tapir_images *images, const struct tapir_image *image,
		       size_t idx, uint32_t tgid)
{
	return tgid && image->cover_keys[idx] &&
	       tapir_lane_coverage__has(images->opts.cover, tgid, image->cover_keys[idx],
					TAPIR_LANE_COVERAGE_NOW);
}

/* All sites, of functions that return or the others, but those that a process's ring makes
 * needless; *offs: the three arrays, to free. */
static int choose_sites(const struct tapir_images *images, const struct tapir_image *image,
			uint32_t tgid, bool is_late, bool is_return, struct tapir_link_sites *out,
			uint64_t **offs)
{
	size_t cnt = 0, all = image->site_cnt;
	uint64_t *a = calloc(3 * all, sizeof(*a));

	if (!a)
		return -ENOMEM;
	for (size_t i = 0; i < all; i++) {
		if (image->returns[i] != is_return)
			continue;
		if (!(is_late && image->tells_taken) && is_covered(images, image, i, tgid))
			continue;
		a[cnt] = image->site_offs[i];
		a[all + cnt] = image->semaphore_offs[i];
		a[2 * all + cnt++] = image->cookies[i];
	}
	*out = (struct tapir_link_sites){
		.file_fd = image->fd,
		.cnt = cnt,
		.offs = a,
		.semaphore_offs = a + all,
		.cookies = a + 2 * all,
		.is_return = is_return,
	};
	*offs = a;
	return 0;
}

static int attach_sites(struct tapir_images *images, struct tapir_image *image,
			const struct tapir_link_sites *sites, uint32_t tgid)
{
	int fd;

	if (!images->opts.use_multi)
		return attach_by_perf(images, image, sites, tgid);
	fd = tapir_programs__usdt_fd(images->opts.programs);
	if (fd >= 0)
		fd = tapir_link__multi(fd, sites, tgid);
	return tapir_image_links__keep(&image->links, fd);
}

/* Attaches the sites of one kind; returns how many there are, or -errno. */
static int attach_some(struct tapir_images *images, struct tapir_image *image, uint32_t tgid,
		       bool is_late, bool is_return)
{
	struct tapir_link_sites sites;
	tapir_autofree uint64_t *offs = NULL;
	int err = choose_sites(images, image, tgid, is_late, is_return, &sites, &offs);

	if (!err && sites.cnt)
		err = attach_sites(images, image, &sites, tgid);
	return err ? err : (int)sites.cnt;
}

/*
 * All sites of an image for a process or none: an event whose other half is not attached would make
 * intervals without an end. Returns how many there are, or -errno.
 */
static int attach_all_or_none(struct tapir_images *images, struct tapir_image *image, uint32_t tgid,
			      bool is_late)
{
	size_t had_cnt = image->links.fds.cnt, had_native_cnt = image->native.links.fds.cnt;
	int cnt, return_cnt = 0;
	/* Handing over leaves these on: no ring has their events. */
	int err = image->is_handed_over ? 0 : tapir_image__attach_native(images, image, tgid);

	if (err)
		return err;
	cnt = attach_some(images, image, tgid, is_late, false);
	if (cnt >= 0 && image->has_returns)
		return_cnt = attach_some(images, image, tgid, is_late, true);
	if (cnt >= 0 && return_cnt >= 0)
		return cnt + return_cnt;
	tapir_image_links__drop(&image->links, had_cnt);
	tapir_image_links__drop(&image->native.links, had_native_cnt);
	return cnt < 0 ? cnt : return_cnt;
}

int tapir_images__attach(struct tapir_images *images, struct tapir_image *image, uint32_t tgid,
			 bool is_late)
{
	bool is_first = !image->is_on_everywhere && !image->attached_tgids.cnt;
	int cnt;

	if (!tapir_image__has_probes(image) || tapir_image__is_on(image, tgid))
		return 0;
	cnt = attach_all_or_none(images, image, tgid, is_late);
	if (cnt < 0)
		return cnt;
	if (!cnt && !image->native.cnt)
		return 0;
	if (tgid && !tapir_vec__push(&image->attached_tgids, tgid))
		return -ENOMEM;
	image->is_on_everywhere |= !tgid;
	image->is_handed_over &= !image->is_on_everywhere;
	for (size_t i = 0; image->tells_taken && i < image->site_cnt; i++)
		if (image->cover_keys[i])
			tapir_lane_coverage__set_probed(images->opts.cover, image->cover_keys[i]);
	image->attached_ns = tapir_clock__now_ns();
	/* A file is counted once, however many processes map it. */
	image->counted_cnt += is_first ? (size_t)cnt : 0;
	images->attached_cnt += is_first ? (size_t)cnt : 0;
	tapir_debug("%d probes attached: %s%s", cnt, image->path,
		    tgid ? "" : " (in every process that maps it)");
	return 1;
}
