// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An entry of the table of files, as memory. Entries are allocated singly, because links, mappings
 * and the growth of an image keep pointers to them.
 */
#include "record/images/images_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/unkillable_call.h"

struct tapir_image *tapir_image__new(struct tapir_images *images, const struct stat *st,
				     const char *path)
{
	struct tapir_image *image =
		images->all.cnt < TAPIR_IMAGE_MAX ? calloc(1, sizeof(*image)) : NULL;

	if (!image)
		return NULL;
	image->inode = st->st_ino;
	image->size = (uint64_t)st->st_size;
	image->fd = image->unposted_fd = -1;
	image->path = strdup(path);
	if (image->path && tapir_vec__push(&images->all, image))
		return image;
	free(image->path);
	free(image);
	return NULL;
}

void tapir_image__free(struct tapir_image *image)
{
	tapir_vec__fini(&image->links.fds);
	tapir_vec__fini(&image->attached_tgids);
	tapir_vec__fini(&image->native.links.fds);
	if (image->fd >= 0)
		close(image->fd);
	if (image->unposted_fd >= 0)
		close(image->unposted_fd);
	free(image->path);
	free(image->site_offs);
	free(image->semaphore_offs);
	free(image->cookies);
	free(image->returns);
	free(image->cover_keys);
	tapir_vec__fini(&image->ring_keys);
	free(image->ring_provider);
	free(image);
}

void tapir_image__free_last(struct tapir_images *images)
{
	tapir_image__free(images->all.data[--images->all.cnt]);
}

int tapir_image_links__keep(struct tapir_image_links *links, int fd)
{
	if (fd < 0)
		return fd;
	if (tapir_vec__push(&links->fds, fd))
		return 0;
	close(fd);
	return -ENOMEM;
}

void tapir_image_links__drop(struct tapir_image_links *links, size_t keep_cnt)
{
	if (links->fds.cnt <= keep_cnt)
		return;
	tapir_unkillable__close(links->fds.data + keep_cnt, links->fds.cnt - keep_cnt);
	links->fds.cnt = keep_cnt;
}
