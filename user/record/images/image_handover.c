// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Probes whose events all arrive by rings: they are detached, so that the program no longer traps,
 * and attached again when a process may fire past a ring.
 *
 * An image may be handed over if each process that maps it has each of its events in a ring. That
 * is known by names, so an image stays attached whose event another image has, too, or of which a
 * process has two copies: a ring may carry one of them only.
 */
#include "record/images/images_impl.h"

#include "attach/proc.h"
#include "base/diag.h"
#include "base/log.h"

void tapir_image__note_event(struct tapir_images *images, struct tapir_image *image, uint64_t key)
{
	uint64_t *owner = tapir_map__put(&images->by_event, key, NULL);
	struct tapir_image *other = owner ? (void *)(uintptr_t)*owner : NULL;

	if (owner && (!other || other == image)) {
		*owner = (uintptr_t)image;
		return;
	}
	image->stays_on = true;
	if (other)
		other->stays_on = true;
}

static bool is_carried_in(const struct tapir_images *images, const struct tapir_image *image,
			  uint32_t tgid)
{
	for (size_t i = 0; i < image->site_cnt; i++)
		if (!image->cover_keys[i] ||
		    !tapir_lane_coverage__has(images->opts.cover, tgid, image->cover_keys[i],
					      TAPIR_LANE_COVERAGE_NOW))
			return false;
	return true;
}

static bool is_carried_somewhere(const struct tapir_images *images, const struct tapir_image *image,
				 const struct tapir_map *live)
{
	for (size_t i = 0; i < live->cap; i++)
		if (live->slots[i].used &&
		    is_carried_in(images, image, (uint32_t)live->slots[i].key))
			return true;
	return false;
}

struct copies {
	const struct tapir_image *image;
	unsigned cnt; /* mappings of one process that have sites of the image */
};

static bool has_site(const struct tapir_image *image, const struct tapir_mapping_line *line)
{
	for (size_t i = 0; i < image->site_cnt; i++)
		if (image->site_offs[i] - line->file_off < line->end_va - line->start_va)
			return true;
	return false;
}

/* Only the inode is compared: a file of another file system with its number counts as it. */
static int count_copy(const struct tapir_mapping_line *line, void *ctx)
{
	struct copies *c = ctx;

	c->cnt += line->is_executable && line->inode == c->image->inode && has_site(c->image, line);
	return 0;
}

/* Returns true if the process does not map the image, or has all of it in its ring. */
static bool may_lose_probes(const struct tapir_images *images, const struct tapir_image *image,
			    uint32_t tgid)
{
	struct copies copies = {.image = image};
	int mark = tapir_diag__cnt(), err = tapir_proc__each_mapping(tgid, count_copy, &copies);

	tapir_diag__rewind(mark);
	if (err)
		return tapir_proc__has_ended(tgid);
	return !copies.cnt || (copies.cnt == 1 && is_carried_in(images, image, tgid));
}

/* The cheap questions first: a process has thousands of mappings. */
static bool is_carried(const struct tapir_images *images, const struct tapir_image *image,
		       const struct tapir_map *live)
{
	if (!image->is_on_everywhere || image->stays_on || image->is_growing || image->fd < 0 ||
	    !is_carried_somewhere(images, image, live))
		return false;
	for (size_t i = 0; i < live->cap; i++)
		if (live->slots[i].used &&
		    !may_lose_probes(images, image, (uint32_t)live->slots[i].key))
			return false;
	return true;
}

bool tapir_images__may_hand_over(const struct tapir_images *images, const struct tapir_map *live)
{
	struct tapir_image **image;

	tapir_vec_for_each (image, &images->all)
		if (is_carried(images, *image, live))
			return true;
	return false;
}

/* A thread that maps the file is held again until its probes are attached. */
static void forget_file(const struct tapir_images *images, const struct tapir_image *image)
{
	struct tapir_file_key key;

	if (!tapir_programs__file_key(images->opts.programs, image->fd, &key))
		tapir_programs__forget_file(images->opts.programs, &key);
}

size_t tapir_images__hand_over(struct tapir_images *images, const struct tapir_map *live)
{
	struct tapir_image **image;
	size_t cnt = 0;

	tapir_vec_for_each (image, &images->all) {
		if (!is_carried(images, *image, live))
			continue;
		forget_file(images, *image);
		tapir_image__drop_links(images, *image);
		(*image)->is_handed_over = true;
		cnt++;
		tapir_debug("%s: its events arrive by rings, its probes are detached",
			    (*image)->path);
	}
	return cnt;
}

const struct tapir_image *tapir_images__find_uncarried(const struct tapir_images *images,
						       uint32_t tgid)
{
	struct tapir_image **image;

	tapir_vec_for_each (image, &images->all)
		if ((*image)->is_handed_over && !is_carried_in(images, *image, tgid) &&
		    !may_lose_probes(images, *image, tgid))
			return *image;
	return NULL;
}

int tapir_images__take_back(struct tapir_images *images)
{
	struct tapir_image **image;
	int err = 0;

	tapir_vec_for_each (image, &images->all) {
		int on = (*image)->is_handed_over ? tapir_images__attach(images, *image, 0, false)
						  : 0;

		err = on < 0 ? on : err;
	}
	return err;
}
