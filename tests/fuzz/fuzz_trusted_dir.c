// SPDX-License-Identifier: GPL-2.0-or-later
/* Any path, with a link of any target on the way, below a small tree: only its trusted directories
 * open. */
#include <assert.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/trusted_dir.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct {
	const char *path;
	mode_t mode;
	bool is_trusted, is_trusted_where_sticky;
} dirs[] = {
	{".", 0755, true, true},     {"a", 0755, true, true},	  {"a/b", 0711, true, true},
	{"s", 01777, false, true},   {"s/c", 0700, false, true},  {"o", 0777, false, false},
	{"o/d", 0700, false, false}, {"a/g", 0770, false, false},
};
#define DIR_CNT (sizeof(dirs) / sizeof(dirs[0]))

static char base[] = "/tmp/tapir-fuzz-XXXXXX";
static int base_fd = -1;
static ino_t inodes[DIR_CNT];

static void remove_tree(void)
{
	unlinkat(base_fd, "a/l", 0);
	for (size_t i = DIR_CNT; i-- > 1;)
		unlinkat(base_fd, dirs[i].path, AT_REMOVEDIR);
	rmdir(base);
}

static void make_tree(void)
{
	struct stat st;

	if (!mkdtemp(base))
		abort();
	base_fd = open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < DIR_CNT; i++) {
		(void)mkdirat(base_fd, dirs[i].path, 0700);
		if (fchmodat(base_fd, dirs[i].path, dirs[i].mode, 0) ||
		    fstatat(base_fd, dirs[i].path, &st, 0))
			abort();
		inodes[i] = st.st_ino;
	}
	atexit(remove_tree);
}

static void check(const char *path, bool allows_sticky)
{
	const struct tapir_trust trust = {.owners = {geteuid(), geteuid(), geteuid()},
					  .allows_sticky = allows_sticky};
	int fd = tapir_trusted_dir__open(base_fd, path, &trust);
	struct stat st;
	size_t i = 0;

	if (fd < 0)
		return;
	assert(!fstat(fd, &st) && S_ISDIR(st.st_mode));
	close(fd);
	while (i < DIR_CNT && inodes[i] != st.st_ino)
		i++;
	assert(i < DIR_CNT);
	assert(allows_sticky ? dirs[i].is_trusted_where_sticky : dirs[i].is_trusted);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[2 * PATH_MAX], target[PATH_MAX];
	size_t len = size / 2 < sizeof(path) - 1 ? size / 2 : sizeof(path) - 1;
	size_t rest = size - len < sizeof(target) - 1 ? size - len : sizeof(target) - 1;

	if (base_fd < 0)
		make_tree();
	memcpy(path, data, len);
	path[len] = '\0';
	memcpy(target, data + len, rest);
	target[rest] = '\0';
	unlinkat(base_fd, "a/l", 0);
	(void)!symlinkat(target, base_fd, "a/l");
	for (int sticky = 0; sticky < 2; sticky++) {
		check(path, sticky);
		check("a/l", sticky);
		check("/a/l/b", sticky);
	}
	return 0;
}
