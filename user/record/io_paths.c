// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel reports a path from the root of a file system; a person knows it from a mount point.
 * Bind mounts show parts, so the mount that shows most of the file system is taken.
 */
#include "record/io_paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/foreign/mount_list.h"

#define MAX_MOUNTINFO_BYTES (4u << 20)
#define REREAD_NS	    (100 * TAPIR_NS_PER_MS)

void tapir_io_paths__fini(struct tapir_io_paths *paths)
{
	free(paths->mounts);
	tapir_recbuf__fini(&paths->buf);
	*paths = (struct tapir_io_paths){};
}

void tapir_io_paths__take_list(struct tapir_io_paths *paths, char *text, uint64_t now_ns)
{
	free(paths->mounts);
	paths->mounts = text;
	paths->read_ns = now_ns;
}

static void read_list(struct tapir_io_paths *paths, uint64_t now_ns)
{
	char *text = NULL;

	if (tapir_file__read("/proc/self/mountinfo", MAX_MOUNTINFO_BYTES, &text, NULL))
		text = NULL;
	tapir_io_paths__take_list(paths, text, now_ns);
}

static bool is_of_dev(const struct tapir_mount *mount, uint32_t dev)
{
	char text[sizeof(mount->dev)];

	snprintf(text, sizeof(text), "%u:%u", dev >> 20, dev & 0xfffffu);
	return !strcmp(text, mount->dev);
}

/* The path's part behind root, empty or with its '/'; NULL: it is not below it. */
static const char *path_below(struct tapir_sv path, const char *root)
{
	size_t len = strlen(root);

	if (len == 1) /* "/" */
		return path.data;
	if (path.len < len || memcmp(path.data, root, len) ||
	    (path.len > len && path.data[len] != '/'))
		return NULL;
	return path.data + len;
}

/* The mount that shows most of the file system: bind mounts show parts of it. */
static bool find_mount(const struct tapir_io_paths *paths, uint32_t dev, struct tapir_sv path,
		       struct tapir_mount *out, bool *is_dev_known)
{
	bool is_found = false;

	*is_dev_known = false;
	for (const char *line = paths->mounts && *paths->mounts ? paths->mounts : NULL; line;
	     line = tapir_mount__next(line)) {
		struct tapir_mount mount;

		if (!tapir_mount__parse(line, &mount) || !is_of_dev(&mount, dev))
			continue;
		*is_dev_known = true;
		if (!path_below(path, mount.root) ||
		    (is_found && strlen(mount.root) >= strlen(out->root)))
			continue;
		*out = mount;
		is_found = true;
	}
	return is_found;
}

static const struct tapir_rec *with_path(struct tapir_io_paths *paths,
					 const struct tapir_rec_io *io, struct tapir_sv start,
					 struct tapir_sv rest)
{
	const struct tapir_rec *rec = tapir_recbuf__io(&paths->buf, io, start, rest);

	return rec ? rec : &io->h;
}

const struct tapir_rec *tapir_io_paths__complete(struct tapir_io_paths *paths,
						 const struct tapir_rec *rec)
{
	struct tapir_mount mount;
	struct tapir_io_view io;
	const char *rest;
	bool is_dev_known, is_found;

	tapir_io_view__of(rec, &io);
	if (io.rec->object != TAPIR_IO_OF_FILE || !io.path.len || io.path.data[0] != '/' ||
	    io.rec->flags & TAPIR_IO_PATH_CUT)
		return rec;
	is_found = find_mount(paths, io.rec->file_dev, io.path, &mount, &is_dev_known);
	if (!is_dev_known && (!paths->read_ns || rec->time_ns > paths->read_ns + REREAD_NS)) {
		read_list(paths, tapir_clock__now_ns());
		is_found = find_mount(paths, io.rec->file_dev, io.path, &mount, &is_dev_known);
	}
	if (!is_found)
		return with_path(paths, io.rec, (struct tapir_sv){},
				 (struct tapir_sv){io.path.data + 1, io.path.len - 1});
	if (!strcmp(mount.root, "/") && !strcmp(mount.point, "/"))
		return rec;
	rest = path_below(io.path, mount.root);
	io.path.len -= (size_t)(rest - io.path.data);
	io.path.data = rest;
	return with_path(paths, io.rec,
			 tapir_sv__of(strcmp(mount.point, "/") != 0 ? mount.point : ""), io.path);
}
