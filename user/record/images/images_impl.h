/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * images_impl.h - the table of files; for images.c (which files there are), image_sites.c (what is
 * in one), image_entry.c (its memory), image_links.c (where its probes are attached),
 * image_handover.c (where they need not be) and image_growth.c (what comes to be in one) only. One
 * thread, that of the targets.
 */
#ifndef TAPIR_USER_IMAGES_IMPL_H
#define TAPIR_USER_IMAGES_IMPL_H

#include <sys/stat.h>

#include "base/map.h"
#include "record/images/images.h"
#include "spec/runtime_db/lore.h"
#include "trace/recbuf.h"

/* A file that may get more probes. */
struct tapir_growing {
	struct tapir_image *image;
	int fd;
	bool has_deferred;  /* it has more, which are read at the next look */
	uint64_t head_hash; /* of its section headers as they were read */
	size_t note_cnt;
	uint64_t checked_ns;		  /* it had no more then */
	struct tapir_vec(uint32_t) tgids; /* that map it */
};

#define TAPIR_IMAGE_CONDITIONS 16u

/* A probe may be attached and never fire, in processes that were not started with what it needs. */
struct tapir_image_condition {
	const struct tapir_lore_condition *condition; /* NULL: none */
	const struct tapir_image *image;
	char event[64]; /* of the first such probe */
	bool is_reported;
};

struct tapir_images {
	struct tapir_images_opts opts;
	struct tapir_vec(struct tapir_image *) all;
	struct tapir_map by_file;  /* tapir_file__key_of_fd -> index in all + 1 */
	struct tapir_map by_inode; /* device and inode -> index in all + 1 of the latest */
	struct tapir_map by_event; /* lane_coverage.h: key -> the image that has it */
	struct tapir_recbuf recbuf;
	uint32_t first_probe_id, next_probe_id;
	size_t for_names_cnt; /* sites that were not requested */
	size_t attached_cnt;
	struct tapir_seen_names seen;
	uint8_t *functions_seen; /* enum tapir_function_seen, for each of opts.functions */
	bool *spec_matched;	 /* for each of opts.specs */
	struct tapir_image none; /* any file that is no program, or past TAPIR_IMAGE_MAX */
	struct tapir_vec(struct tapir_growing) growing;
	uint64_t grown_ns; /* the last look at them */
	bool is_full;
	bool is_native_off;    /* what allocates is no longer probed */
	size_t native_cnt;     /* times that some was, by image and process */
	bool has_growing_left; /* one for which there was no room; it was reported */
	struct tapir_image_condition
		conditions[TAPIR_IMAGE_CONDITIONS]; /* of probes that were requested */
};

/* ---- image_sites.c -------------------------------------------------------------------------- */

/* Fills its build ID and file_id, without looking for probes. */
void tapir_image__name(struct tapir_image *image, int fd);

/*
 * Plans the probes that were requested, but for the first from_note. A file that is not readable
 * ELF has none: 0.
 */
int tapir_image__read(struct tapir_images *images, struct tapir_image *image, int fd,
		      size_t from_note);

/*
 * Says what the image's probes need to fire, if the process that maps it was not started with that.
 */
void tapir_image__report_conditions(struct tapir_images *images, const struct tapir_image *image,
				    uint32_t tgid);

/* ---- image_entry.c -------------------------------------------------------------------------- */

#define TAPIR_IMAGE_MAX 65536 /* files; a process may create and map them as fast as it likes */

/* The last of all; NULL: out of memory, or TAPIR_IMAGE_MAX are there. */
struct tapir_image *tapir_image__new(struct tapir_images *images, const struct stat *st,
				     const char *path);
void tapir_image__free(struct tapir_image *image);
void tapir_image__free_last(struct tapir_images *images);

/* Takes fd, which is closed if there is no memory. 0, -ENOMEM, or fd if it is an error. */
int tapir_image_links__keep(struct tapir_image_links *links, int fd);
/* Detaches all but the first keep_cnt. */
void tapir_image_links__drop(struct tapir_image_links *links, size_t keep_cnt);

/* ---- image_growth.c ------------------------------------------------------------------------- */

/* An image that was just added: it is watched if it is a file of libtapir's. */
void tapir_image__watch(struct tapir_images *images, struct tapir_image *image, int fd);
void tapir_images__unwatch_all(struct tapir_images *images);

/* ---- image_native.c ------------------------------------------------------------------------- */

struct tapir_elf;

/* Finds the functions of a file that allocate, if it is one that has some. */
void tapir_image__find_native(struct tapir_image *image, struct tapir_elf *elf);
/* 0 or -errno with a line; then none of them is attached. */
int tapir_image__attach_native(struct tapir_images *images, struct tapir_image *image,
			       uint32_t tgid);

/* ---- image_links.c -------------------------------------------------------------------------- */

/* Without uprobe_multi one by one, each with a call of on_progress. */
void tapir_image__detach(struct tapir_images *images, struct tapir_image *image,
			 tapir_detach_fn on_progress, void *ctx);

/* Detaches them at once. */
void tapir_image__drop_links(struct tapir_images *images, struct tapir_image *image);

/* Detaches the probes of a file's old content after the file was overwritten. */
void tapir_image__give_up(struct tapir_images *images, struct tapir_image *old);

/* ---- image_handover.c ----------------------------------------------------------------------- */

/* Notes that the image has an event, by the key of its name. */
void tapir_image__note_event(struct tapir_images *images, struct tapir_image *image, uint64_t key);

#endif
