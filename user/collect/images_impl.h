/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * images_impl.h - the table of files; for images.c (which files there are), image_sites.c (what is
 * in one) and image_links.c (where its probes are attached) only.
 */
#ifndef TAPIR_USER_IMAGES_IMPL_H
#define TAPIR_USER_IMAGES_IMPL_H

#include "base/map.h"
#include "collect/images.h"
#include "trace/recbuf.h"

struct tapir_images {
	struct tapir_images_opts opts;
	struct tapir_vec(struct tapir_image *) all;
	struct tapir_map by_file;     /* tapir_file__key_of_fd -> index in all + 1 */
	struct tapir_map by_inode;    /* device and inode -> index in all + 1 of the latest */
	struct tapir_map by_build_id; /* a hash of it -> index in all + 1 */
	struct tapir_recbuf recbuf;
	uint32_t next_probe_id;
	size_t for_names_cnt; /* sites that were not requested */
	size_t attached_cnt;
	struct tapir_seen_names seen;
	bool *spec_matched;	 /* for each of opts.specs */
	struct tapir_image none; /* any file that is no program, or past IMAGE_MAX */
	bool is_full;
	const char *conditions[8]; /* that were reported; see tapir_lore__needs */
};

/* ---- image_sites.c -------------------------------------------------------------------------- */

/* Fills its build ID and file_id, without looking for probes. */
void tapir_image__name(struct tapir_image *image, int fd);

/* Plans the probes that were requested. A file that is not readable ELF has none: 0. */
int tapir_image__read(struct tapir_images *images, struct tapir_image *image, int fd);

/* ---- image_links.c -------------------------------------------------------------------------- */

/* Without uprobe_multi one by one, each with a call of on_progress. */
void tapir_image__detach(struct tapir_images *images, struct tapir_image *image,
			 tapir_detach_fn on_progress, void *ctx);

/* Its file was overwritten: detaches the probes of its old content. */
void tapir_image__give_up(struct tapir_images *images, struct tapir_image *old);

#endif
