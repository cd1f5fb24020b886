// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds cgroup mounts in /proc/self/mountinfo and processes in cgroup.procs. Both versions are
 * read: a path of version 2 is below one mount, one of version 1 below one for each controller, and
 * in a container either may start at the container's own root.
 */
#include "attach/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/diag.h"
#include "base/file.h"
#include "base/str.h"

#define MAX_DEPTH 32

static bool is_dir(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* The number of components of path: its depth below a root of which it is a suffix. */
static uint32_t depth_of(const char *path)
{
	uint32_t depth = 0;

	for (const char *at = path; *at; at++)
		depth += *at != '/' && (at == path || at[-1] == '/');
	return depth;
}

static bool is_below(const char *path, const char *root)
{
	size_t len = strlen(root);

	return !strncmp(path, root, len) && (!path[len] || path[len] == '/');
}

/* v2: the id is the directory's inode number (kernfs ids are 64 bits wide on 64-bit kernels). */
static int fill_cgroup(const char *path, const char *root, struct tapir_cgroup *out)
{
	char dir[PATH_MAX]; /* without "..", doubled '/' and links: its components are counted */
	struct statfs fs;
	struct stat st;

	if (!realpath(path, dir) || !is_below(dir, root) || !is_dir(dir) || statfs(dir, &fs) ||
	    stat(dir, &st))
		return -ENOENT;
	if (fs.f_type != CGROUP2_SUPER_MAGIC && fs.f_type != CGROUP_SUPER_MAGIC)
		return -ENOENT;
	snprintf(out->dir, sizeof(out->dir), "%s", dir);
	out->is_v2 = fs.f_type == CGROUP2_SUPER_MAGIC;
	out->id = st.st_ino;
	out->level = depth_of(dir + strlen(root));
	return 0;
}

/* Is the word one of those that commas separate? */
static bool has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = list; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (!strncmp(at, word, len) && (!at[len] || at[len] == ',' || at[len] == '\n'))
			return true;
	}
	return false;
}

/*
 * One mountinfo line: "… ROOT MOUNTPOINT OPTIONS … - TYPE SOURCE OPTIONS". controller: of version
 * 1, or NULL for any.
 */
static bool parse_mount(char *line, const char *type, const char *controller, char **mount_point)
{
	char *fields[5], *tail = strstr(line, " - "), name[32], options[512];
	char *save = NULL;

	if (!tail || sscanf(tail, " - %31s %*s %511s", name, options) != 2 ||
	    strcmp(name, type) != 0 || (controller && !has_word(options, controller)))
		return false;
	*tail = '\0';
	for (unsigned i = 0; i < 5; i++) {
		fields[i] = strtok_r(i ? NULL : line, " ", &save);
		if (!fields[i])
			return false;
	}
	*mount_point = fields[4];
	return true;
}

static int find_below_mounts(const char *path, const char *type, struct tapir_cgroup *out)
{
	tapir_autofile FILE *mounts = fopen("/proc/self/mountinfo", "re");
	tapir_autofree char *line = NULL;
	size_t cap = 0;

	while (mounts && getline(&line, &cap, mounts) > 0) {
		char dir[PATH_MAX], *root;

		if (!parse_mount(line, type, NULL, &root))
			continue;
		if (is_below(path, root)) {
			if (!fill_cgroup(path, root, out))
				return 0;
			continue;
		}
		if (snprintf(dir, sizeof(dir), "%s/%s", root, path + (path[0] == '/')) <
			    (int)sizeof(dir) &&
		    !fill_cgroup(dir, root, out))
			return 0;
	}
	return -ENOENT;
}

int tapir_cgroup__find(const char *path, struct tapir_cgroup *out)
{
	struct tapir_cgroup found;

	if (find_below_mounts(path, "cgroup2", &found) && find_below_mounts(path, "cgroup", &found))
		return tapir_diag__fail(
			-ENOENT,
			"cgroup %s does not exist (a path below /sys/fs/cgroup, as in /proc/PID/cgroup)",
			path);
	*out = found;
	return 0;
}

static int each_in_dir(const char *dir, int (*fn)(uint32_t tgid, void *ctx), void *ctx)
{
	char path[PATH_MAX];
	tapir_autofile FILE *procs = NULL;
	unsigned tgid;
	int err = 0;

	if (snprintf(path, sizeof(path), "%s/cgroup.procs", dir) >= (int)sizeof(path))
		return 0;
	procs = fopen(path, "re");
	while (!err && procs && fscanf(procs, "%u", &tgid) == 1)
		err = fn(tgid, ctx);
	return err;
}

static int walk(const char *dir, unsigned depth, int (*fn)(uint32_t tgid, void *ctx), void *ctx)
{
	DIR *entries = depth < MAX_DEPTH ? opendir(dir) : NULL;
	int err = each_in_dir(dir, fn, ctx);
	struct dirent *entry;

	while (!err && entries && (entry = readdir(entries))) {
		char below[PATH_MAX];

		if (entry->d_type == DT_DIR && entry->d_name[0] != '.' &&
		    snprintf(below, sizeof(below), "%s/%s", dir, entry->d_name) <
			    (int)sizeof(below))
			err = walk(below, depth + 1, fn, ctx);
	}
	if (entries)
		closedir(entries);
	return err;
}

int tapir_cgroup__each_process(const struct tapir_cgroup *cgroup,
			       int (*fn)(uint32_t tgid, void *ctx), void *ctx)
{
	return walk(cgroup->dir, 0, fn, ctx);
}

/* ---- those of a process ------------------------------------------------------------------------ */

struct search {
	const char *controller;
	tapir_cgroup_fn fn;
	void *ctx;
};

static int each_mount(const struct search *s, const char *path, bool is_v2)
{
	tapir_autofile FILE *mounts = fopen("/proc/self/mountinfo", "re");
	tapir_autofree char *line = NULL;
	size_t cap = 0;
	int ret = 0;

	while (!ret && mounts && getline(&line, &cap, mounts) > 0) {
		char *root;

		if (parse_mount(line, is_v2 ? "cgroup2" : "cgroup", is_v2 ? NULL : s->controller,
				&root))
			ret = s->fn(root, path, is_v2, s->ctx);
	}
	return ret;
}

/* "7:freezer:/docker/1234", "0::/system.slice" */
static int visit_line(const struct search *s, char *line)
{
	char *controllers = strchr(line, ':'), *path;

	path = controllers ? strchr(++controllers, ':') : NULL;
	if (!path)
		return 0;
	*path++ = '\0';
	path[strcspn(path, "\n")] = '\0';
	if (*controllers && !has_word(controllers, s->controller))
		return 0;
	return each_mount(s, path, !*controllers);
}

int tapir_cgroup__each_of_process(uint32_t tgid, const char *controller, tapir_cgroup_fn fn,
				  void *ctx)
{
	const struct search s = {controller, fn, ctx};
	tapir_autofile FILE *groups = NULL;
	tapir_autofree char *line = NULL;
	char path[32];
	size_t cap = 0;
	int ret = 0;

	snprintf(path, sizeof(path), "/proc/%u/cgroup", tgid);
	groups = fopen(path, "re");
	while (!ret && groups && getline(&line, &cap, groups) > 0)
		ret = visit_line(&s, line);
	return ret;
}

static bool file_says(const char *root, const char *path, const char *name, const char *value)
{
	tapir_autofree char *text = NULL;
	char file[PATH_MAX];
	size_t len = 0;

	if (snprintf(file, sizeof(file), "%s%s/%s", root, path, name) >= (int)sizeof(file) ||
	    tapir_file__read(file, 4096, &text, &len))
		return false;
	return strstr(text, value) != NULL;
}

/* v2 reports it for the group including those above it; v1 has FREEZING and FROZEN. */
static int is_frozen(const char *root, const char *path, bool is_v2, void *ctx)
{
	(void)ctx;
	return is_v2 ? file_says(root, path, "cgroup.events", "frozen 1")
		     : file_says(root, path, "freezer.state", "FR");
}

bool tapir_cgroup__is_frozen(uint32_t tgid)
{
	return tapir_cgroup__each_of_process(tgid, "freezer", is_frozen, NULL);
}

/* v1 has a number near the greatest where there is no limit. */
static bool read_limit(const char *root, const char *path, bool is_v2, uint64_t *bytes)
{
	tapir_autofree char *text = NULL;
	char file[PATH_MAX];
	size_t len = 0;

	if (snprintf(file, sizeof(file), "%s%s/%s", root, path,
		     is_v2 ? "memory.max" : "memory.limit_in_bytes") >= (int)sizeof(file) ||
	    tapir_file__read(file, 64, &text, &len))
		return false;
	text[strcspn(text, "\n")] = '\0';
	return tapir_str__to_u64(text, 0, (uint64_t)1 << 62, bytes);
}

/* In a container the path may be that of the node, and the root the container's own. */
static int take_limit(const char *root, const char *path, bool is_v2, void *ctx)
{
	return read_limit(root, path, is_v2, ctx) || read_limit(root, "", is_v2, ctx);
}

bool tapir_cgroup__memory_limit(uint32_t tgid, uint64_t *bytes)
{
	return tapir_cgroup__each_of_process(tgid, "memory", take_limit, bytes) == 1;
}
