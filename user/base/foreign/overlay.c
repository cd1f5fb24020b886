// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Every layer of an overlay must be on a local file system, judged by the mount that its path is
 * below. An overlay whose options name no layer is not local: where nothing can be judged, that is
 * the safe answer.
 */
#include "base/foreign/overlay.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/file.h"
#include "base/foreign/mount_list.h"

#define MAX_MOUNTINFO_BYTES (4u << 20)

/* Returns true if point, unescaped, is the path or a directory above it. */
static bool is_above(const char *point, const char *path, size_t path_len)
{
	size_t len = strlen(point);

	if (len == 1)
		return true;
	return len <= path_len && !memcmp(point, path, len) &&
	       (len == path_len || path[len] == '/');
}

/* Decides by the last mount of those whose points are the longest: it hides the others. */
static bool is_local_path(const char *text, const char *path, size_t len)
{
	enum tapir_fs_trait trait = TAPIR_FS_FOREIGN;
	struct tapir_mount mount;
	size_t best_len = 0;

	if (!len || *path != '/' || memchr(path, '\\', len))
		return false;
	for (const char *line = text; line; line = tapir_mount__next(line)) {
		if (!tapir_mount__parse(line, &mount) || !is_above(mount.point, path, len) ||
		    strlen(mount.point) < best_len)
			continue;
		best_len = strlen(mount.point);
		trait = tapir_mount__trait(&mount);
	}
	return trait == TAPIR_FS_LOCAL;
}

/* "/a:/b" */
static bool are_local_paths(const char *text, const char *paths, size_t len)
{
	for (const char *end = paths + len; paths <= end;) {
		size_t one = 0;

		while (paths + one < end && paths[one] != ':')
			one++;
		if (!is_local_path(text, paths, one))
			return false;
		paths += one + 1;
	}
	return true;
}

static bool is_layer(const char *key, size_t len)
{
	static const char *const keys[] = {"lowerdir", "lowerdir+", "datadir+", "upperdir",
					   "workdir"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (strlen(keys[i]) == len && !memcmp(keys[i], key, len))
			return true;
	return false;
}

/* "rw,lowerdir=/a:/b,upperdir=/c,workdir=/d", to the end of the line. */
static bool are_local_options(const char *text, const char *options)
{
	const char *end = options + strcspn(options, "\n");
	unsigned layer_cnt = 0;

	while (options < end) {
		size_t len = strcspn(options, ",\n"), key_len = strcspn(options, "=,\n");

		if (key_len < len && is_layer(options, key_len)) {
			if (!are_local_paths(text, options + key_len + 1, len - key_len - 1))
				return false;
			layer_cnt++;
		}
		options += len + 1;
	}
	return layer_cnt > 0;
}

bool tapir_overlay__is_local_in(const char *text, const char *dev)
{
	struct tapir_mount mount;

	for (const char *line = text; line; line = tapir_mount__next(line))
		if (tapir_mount__parse(line, &mount) && !strcmp(mount.dev, dev) &&
		    !strcmp(mount.type, "overlay"))
			return are_local_options(text, tapir_mount__options(line));
	return false;
}

bool tapir_overlay__is_local(const char *dev)
{
	tapir_autofree char *text = NULL;

	return !tapir_file__read("/proc/self/mountinfo", MAX_MOUNTINFO_BYTES, &text, NULL) &&
	       tapir_overlay__is_local_in(text, dev);
}
