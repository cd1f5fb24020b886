// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table of files: one entry per file, whatever it is called and however often it is mapped. A
 * key is made of what stat(2) says and may change without the content (a link, a mode), so an entry
 * with the same inode and content is found again and keeps its links.
 */
#include "record/images/images_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/foreign/foreign_file.h"

int tapir_images__new(const struct tapir_images_opts *opts, struct tapir_images **out)
{
	struct tapir_images *images = calloc(1, sizeof(*images));

	if (!images)
		return -ENOMEM;
	images->opts = *opts;
	images->none.fd = images->none.unposted_fd = -1;
	images->first_probe_id = opts->first_probe_id ? opts->first_probe_id : 1; /* 0: none */
	images->next_probe_id = images->first_probe_id;
	images->spec_matched = calloc(opts->specs->cnt + 1, sizeof(bool));
	images->functions_seen = calloc(opts->functions ? opts->functions->cnt + 1 : 1, 1);
	if (!images->spec_matched || !images->functions_seen) {
		free(images->spec_matched);
		free(images->functions_seen);
		free(images);
		return -ENOMEM;
	}
	*out = images;
	return 0;
}

void tapir_images__free(struct tapir_images *images, tapir_detach_fn on_progress, void *ctx)
{
	if (!images)
		return;
	for (size_t i = 0; i < images->all.cnt; i++) {
		tapir_image__detach(images, images->all.data[i], on_progress, ctx);
		tapir_image__free(images->all.data[i]);
	}
	tapir_images__unwatch_all(images);
	tapir_seen_names__fini(&images->seen);
	free(images->spec_matched);
	free(images->functions_seen);
	tapir_vec__fini(&images->all);
	tapir_map__fini(&images->by_file);
	tapir_map__fini(&images->by_inode);
	tapir_map__fini(&images->by_event);
	tapir_recbuf__fini(&images->recbuf);
	free(images);
}

/* Other names, links or rights change a file's key and nothing in it. */
static bool is_same_content(const struct tapir_image *image, const struct tapir_image *old)
{
	return image->size == old->size && image->file_id == old->file_id && image->build_id_bytes;
}

/* Finds the image that had this file under another key, if its content is unchanged. */
static struct tapir_image *find_same(struct tapir_images *images, int fd, const struct stat *st,
				     uint64_t *latest)
{
	struct tapir_image *old = *latest ? images->all.data[*latest - 1] : NULL;
	struct tapir_image probe = {.size = (uint64_t)st->st_size};

	if (!old || old->is_growing) /* it is kept open: it is the same */
		return old;
	tapir_image__name(&probe, fd);
	if (is_same_content(&probe, old))
		return old;
	tapir_image__give_up(images, old);
	return NULL;
}

static uint64_t inode_key(uint64_t dev, uint64_t inode)
{
	return tapir_hash__mix(tapir_hash__mix(1, dev), inode);
}

/* A file's names in the two tables. */
struct file_keys {
	uint64_t content, inode;
};

/*
 * Each overlay mount shows a file under a device of its own. The kernel puts a probe on the inode
 * below, once for all of them: what has the same one is the same file.
 */
static void keys_of(const struct tapir_images *images, int fd, const struct stat *st,
		    struct file_keys *out)
{
	struct tapir_file_key real;
	struct statfs fs;

	*out = (struct file_keys){tapir_file__key_of_fd(fd, st), inode_key(st->st_dev, st->st_ino)};
	if (tapir_foreign__statfs(fd, &fs) || fs.f_type != OVERLAYFS_SUPER_MAGIC ||
	    tapir_programs__file_key(images->opts.programs, fd, &real))
		return;
	out->content = tapir_hash__bytes(OVERLAYFS_SUPER_MAGIC, &real, sizeof(real)) | 1;
	out->inode = inode_key((uint64_t)OVERLAYFS_SUPER_MAGIC << 32 | real.dev, real.inode);
}

/* The slot of a new key is filled. *out stays NULL: the file had no image yet. */
static int find_or_add(struct tapir_images *images, int fd, const struct stat *st, const char *path,
		       uint64_t inode, uint64_t *idx, struct tapir_image **added)
{
	uint64_t *latest = tapir_map__put(&images->by_inode, inode, NULL);

	if (!latest)
		return -ENOMEM;
	if (find_same(images, fd, st, latest)) {
		*idx = *latest;
		return 0;
	}
	*added = tapir_image__new(images, st, path);
	if (!*added)
		return -ENOMEM;
	*latest = *idx = images->all.cnt;
	return 0;
}

static int no_room(struct tapir_images *images, struct tapir_image **out)
{
	if (!images->is_full)
		tapir_warn("%u files were mapped: probes in later ones are not found",
			   TAPIR_IMAGE_MAX);
	images->is_full = true;
	*out = &images->none;
	return 0;
}

/*
 * Memory that a runtime maps from a file of its own is no program, and with each write it is
 * another file: .NET's alone would fill the table within hours of processes that come and go.
 */
static bool is_no_program(const struct tapir_images *images, const struct tapir_image *added,
			  uint64_t nth)
{
	return nth == images->all.cnt && !added->file_id && !added->is_unread && !added->is_growing;
}

static void forget_last(struct tapir_images *images, const struct file_keys *keys)
{
	tapir_image__free_last(images);
	tapir_map__del(&images->by_file, keys->content);
	tapir_map__del(&images->by_inode, keys->inode);
}

int tapir_images__inspect(struct tapir_images *images, int fd, const char *path,
			  struct tapir_image **out)
{
	struct tapir_image *added = NULL;
	struct stat st;
	struct file_keys keys;
	uint64_t *idx;
	int err = tapir_foreign__stat(fd, &st);

	if (err)
		return err;
	keys_of(images, fd, &st, &keys);
	idx = tapir_map__get(&images->by_file, keys.content);
	if (!idx && images->all.cnt == TAPIR_IMAGE_MAX)
		return no_room(images, out);
	if (!idx)
		idx = tapir_map__put(&images->by_file, keys.content, NULL);
	if (!idx)
		return -ENOMEM;
	if (*idx && images->all.data[*idx - 1]->is_unread)
		added = images->all.data[*idx - 1]; /* it may be readable by now */
	err = *idx ? 0 : find_or_add(images, fd, &st, path, keys.inode, idx, &added);
	if (!err && added)
		err = tapir_image__read(images, added, fd, 0);
	if (err && added)
		added->site_cnt = added->native.cnt = 0; /* reported once; the next process that
					maps it has a file without probes */
	if (err)
		return err;
	if (added)
		tapir_image__watch(images, added, fd);
	if (added && is_no_program(images, added, *idx)) {
		forget_last(images, &keys);
		*out = &images->none;
		return 0;
	}
	*out = images->all.data[*idx - 1];
	return 0;
}

void tapir_image__keep(struct tapir_image *image, int fd)
{
	if (image->unposted_fd < 0)
		image->unposted_fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

int tapir_image__take(struct tapir_image *image)
{
	int fd = image->unposted_fd;

	image->unposted_fd = -1;
	return fd;
}

size_t tapir_images__site_cnt(const struct tapir_images *images)
{
	return images->next_probe_id - images->first_probe_id - images->for_names_cnt;
}

size_t tapir_images__attached_cnt(const struct tapir_images *images)
{
	return images->attached_cnt;
}

const struct tapir_seen_names *tapir_images__seen(const struct tapir_images *images)
{
	return &images->seen;
}

bool tapir_images__spec_matched(const struct tapir_images *images, size_t spec_idx)
{
	return images->spec_matched[spec_idx];
}

const struct tapir_machine_source *tapir_images__missing_function(const struct tapir_images *images,
								  enum tapir_function_seen *seen)
{
	const struct tapir_machine_source_list *all = images->opts.functions;

	for (size_t i = 0; all && i < all->cnt; i++) {
		*seen = images->functions_seen[i];
		if (tapir_machine_source__is_function(all->data[i]) &&
		    *seen != TAPIR_FUNCTION_FOUND)
			return all->data[i];
	}
	return NULL;
}
