// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Breadth first, as ld.so(8) does it: each file that is found appends what it needs, and the first
 * file of a name wins. "$ORIGIN" and "$LIB" are replaced; a directory in which nothing is found is
 * skipped without a line.
 */
#include "record/elf_closure.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/file.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "elf/image.h"
#include "elf/ld_cache.h"
#include "elf/needed.h"
#include "base/foreign/foreign_file.h"

#define CACHE_PATH	"/etc/ld.so.cache"
#define CACHE_MAX_BYTES (16u << 20)
#define SCRIPT_BYTES	256 /* BINPRM_BUF_SIZE: what the kernel reads of a script */
#define MULTIARCH	"x86_64-linux-gnu"

struct search {
	struct tapir_vec(char *) paths; /* to be opened; from `done` on not yet */
	size_t done;
	struct tapir_map seen; /* files, by device and inode */
	struct tapir_str
		rpath; /* of all files so far: the loader uses those of the file that needs one */
	char *cache;
	size_t cache_len;
	bool is_out_of_memory;
};

static void add_path(struct search *s, const char *path)
{
	char *copy = strdup(path);

	if (!copy || s->paths.cnt >= 8 * TAPIR_ELF_CLOSURE_MAX ||
	    !tapir_vec__push(&s->paths, copy)) {
		s->is_out_of_memory |= !copy;
		free(copy);
	}
}

/* ---- where the loader looks ------------------------------------------------------------------- */

/* "$ORIGIN/../lib" with the words replaced; false: it does not fit. */
static bool expand(const char *text, size_t len, const char *origin, char out[PATH_MAX])
{
	static const struct {
		const char *word, *value; /* NULL: the origin */
	} words[] = {{"$ORIGIN", NULL},		 {"${ORIGIN}", NULL},
		     {"$LIB", "lib/" MULTIARCH}, {"${LIB}", "lib/" MULTIARCH},
		     {"$PLATFORM", "x86_64"},	 {"${PLATFORM}", "x86_64"}};
	size_t used = 0;

	for (size_t at = 0; at < len;) {
		const char *value = NULL;
		size_t taken = 0;

		for (size_t i = 0; text[at] == '$' && i < sizeof(words) / sizeof(*words); i++)
			if (len - at >= strlen(words[i].word) &&
			    !strncmp(text + at, words[i].word, strlen(words[i].word))) {
				value = words[i].value ? words[i].value : origin;
				taken = strlen(words[i].word);
			}
		if (used + (value ? strlen(value) : 1) >= PATH_MAX)
			return false;
		if (value)
			memcpy(out + used, value, strlen(value));
		else
			out[used] = text[at];
		used += value ? strlen(value) : 1;
		at += value ? taken : 1;
	}
	out[used] = '\0';
	return used > 0;
}

static bool is_there(const char *path)
{
	tapir_autofd int path_fd = tapir_foreign__take_own(path);

	return path_fd >= 0;
}

static bool add_if_there(struct search *s, const char *dir, const char *name)
{
	static const char *const variants[] = {"/glibc-hwcaps/x86-64-v4", "/glibc-hwcaps/x86-64-v3",
					       "/glibc-hwcaps/x86-64-v2", ""};
	char path[PATH_MAX];
	bool found = false;

	for (size_t i = 0; i < sizeof(variants) / sizeof(*variants); i++) {
		if (snprintf(path, sizeof(path), "%s%s/%s", dir, variants[i], name) >=
		    (int)sizeof(path))
			continue;
		if (is_there(path)) {
			add_path(s, path);
			found = true;
		}
	}
	return found;
}

/* dirs: separated by any of the separators. */
static bool search_dirs(struct search *s, const char *dirs, const char *separators,
			const char *origin, const char *name)
{
	char dir[PATH_MAX];
	bool found = false;

	while (dirs && *dirs && !found) {
		size_t len = strcspn(dirs, separators);

		if (expand(dirs, len, origin, dir))
			found = add_if_there(s, dir, name);
		dirs += len + (dirs[len] != '\0');
	}
	return found;
}

static int add_cached(void *ctx, const char *path)
{
	add_path(ctx, path);
	return 0;
}

static void search_needed(struct search *s, const struct tapir_needed *needed, const char *origin,
			  const char *name)
{
	static const char system[] = "/lib/" MULTIARCH ":/usr/lib/" MULTIARCH
				     ":/lib64:/usr/lib64:/lib:/usr/lib:/usr/local/lib";
	size_t before = s->paths.cnt;
	char path[PATH_MAX];

	if (strchr(name, '/')) {
		if (expand(name, strlen(name), origin, path))
			add_path(s, path);
		return;
	}
	search_dirs(s, s->rpath.data, ":", origin, name);
	search_dirs(s, getenv("LD_LIBRARY_PATH"), ":;", origin, name);
	search_dirs(s, needed->runpath, ":", origin, name);
	if (s->cache)
		tapir_ld_cache__each(s->cache, s->cache_len, name, add_cached, s);
	if (s->paths.cnt == before)
		search_dirs(s, system, ":", origin, name);
}

/* ---- what a file needs -------------------------------------------------------------------------- */

static void find_origin(int fd, char origin[PATH_MAX])
{
	char link[32], *slash;
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, origin, PATH_MAX - 1);
	origin[len > 0 ? len : 0] = '\0';
	slash = strrchr(origin, '/');
	if (slash)
		*slash = '\0';
}

static void add_needed(struct search *s, int fd, struct tapir_elf *elf)
{
	struct tapir_needed needed;
	char origin[PATH_MAX], dir[PATH_MAX];

	find_origin(fd, origin);
	tapir_needed__read(elf, &needed);
	if (needed.interpreter)
		add_path(s, needed.interpreter);
	for (const char *at = needed.runpath ? NULL : needed.rpath; at && *at;) {
		size_t len = strcspn(at, ":");

		if (expand(at, len, origin, dir))
			tapir_str__addf(&s->rpath, "%s%s", s->rpath.len ? ":" : "", dir);
		at += len + (at[len] != '\0');
	}
	for (size_t i = 0; i < needed.cnt; i++)
		search_needed(s, &needed, origin, needed.names[i]);
}

/* "#!/bin/sh -e": the kernel executes that instead. */
static void add_interpreter(struct search *s, int fd)
{
	char line[SCRIPT_BYTES + 1], *path;
	ssize_t len = tapir_foreign__pread(fd, line, SCRIPT_BYTES, 0);

	if (len < 3 || line[0] != '#' || line[1] != '!')
		return;
	line[len] = '\0';
	path = line + 2 + strspn(line + 2, " \t");
	path[strcspn(path, " \t\n")] = '\0';
	if (*path)
		add_path(s, path);
}

static void add_all_of(struct search *s, int fd)
{
	int mark = tapir_diag__cnt();
	struct tapir_elf *elf;

	if (tapir_elf__open_fd(fd, &elf)) {
		tapir_diag__rewind(mark);
		add_interpreter(s, fd);
		return;
	}
	add_needed(s, fd, elf);
	tapir_elf__free(elf);
}

/* A handle; negative: it is not there, no file, or was met before. The path may be a file's choice.
 */
static int open_new(struct search *s, const char *path)
{
	tapir_autofd int path_fd = tapir_foreign__take_own(path);
	bool is_new = false;
	struct stat st;

	if (path_fd < 0 || tapir_foreign__stat(path_fd, &st) || !S_ISREG(st.st_mode) ||
	    !tapir_map__put(&s->seen, tapir_hash__mix(st.st_dev, st.st_ino), &is_new) || !is_new)
		return -1;
	return tapir_foreign__open_taken(path_fd, 0);
}

/* Libraries that are loaded before those a program names. */
static void add_preloaded(struct search *s, const char *names)
{
	static const struct tapir_needed none;
	char name[PATH_MAX];

	while (names && *names) {
		size_t len = strcspn(names, " :\t\n");

		if (len && len < sizeof(name)) {
			memcpy(name, names, len);
			name[len] = '\0';
			search_needed(s, &none, "/", name);
		}
		names += len + (names[len] != '\0');
	}
}

static void begin_search(struct search *s, const char *program)
{
	tapir_autofree char *preload = NULL;

	if (tapir_file__read(CACHE_PATH, CACHE_MAX_BYTES, &s->cache, &s->cache_len))
		s->cache = NULL;
	add_path(s, program);
	add_preloaded(s, getenv("LD_PRELOAD"));
	if (!tapir_file__read("/etc/ld.so.preload", 65536, &preload, NULL))
		add_preloaded(s, preload);
}

static void free_search(struct search *s)
{
	char **path;

	tapir_vec_for_each (path, &s->paths)
		free(*path);
	tapir_vec__fini(&s->paths);
	tapir_map__fini(&s->seen);
	tapir_str__fini(&s->rpath);
	free(s->cache);
}

/* Passes the file on by the path that its mappings will have. */
static int deliver_file(int fd, const char *path, tapir_elf_closure_fn fn, void *ctx)
{
	char link[32], real[PATH_MAX];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, real, sizeof(real) - 1);
	if (len > 0)
		real[len] = '\0';
	return fn(ctx, fd, len > 0 ? real : path);
}

int tapir_elf_closure__each(const char *program, tapir_elf_closure_fn fn, void *ctx)
{
	struct search s = {};
	int mark = tapir_diag__cnt(), result = 0;

	begin_search(&s, program);
	tapir_diag__rewind(mark);
	for (; s.done < s.paths.cnt && !result && s.seen.cnt < TAPIR_ELF_CLOSURE_MAX; s.done++) {
		tapir_autofd int fd = open_new(&s, s.paths.data[s.done]);

		if (fd < 0)
			continue;
		result = deliver_file(fd, s.paths.data[s.done], fn, ctx);
		if (!result)
			add_all_of(&s, fd);
	}
	if (!result && s.is_out_of_memory)
		result = -ENOMEM;
	free_search(&s);
	return result;
}
