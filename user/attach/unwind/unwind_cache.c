// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A cache file is a header, then the blocks of a table as they are in memory. It is written under
 * another name, then renamed; what is read is checked by its checksum and by
 * tapir_unwind_table__is_sound, because a BPF program follows what is in a block.
 */
#include "attach/unwind/unwind_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>
#include <zlib.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/map.h"
#include "base/trusted_dir.h"
#include "elf/image.h"
#include "base/foreign/foreign_file.h"
#include "attach/unwind/unwind_table.h"

#define MAX_BYTES  (64u << 20)
#define MAX_FILES  4096u /* listed when the oldest are removed */
#define NAME_BYTES 32
#define VERSION                                                                                    \
	11u /* of the header, of the blocks (bpf/unwind.h) and of the rules (attach/unwind/rule.c) \
	     */
#define MAGIC  (0x31776e75ull << 32 | 0x72706174) /* "taprunw1" */
#define SUFFIX ".unwind"

struct header {
	uint64_t magic;
	uint32_t version;
	uint32_t crc; /* of the blocks */
	struct tapir_unwind_key key;
	struct tapir_unwind_shape shape;
	uint32_t header_crc; /* of all before it */
	uint32_t pad0;
};
TAPIR_STATIC_ASSERT(sizeof(struct header) == 104, "unwind cache header");

struct tapir_unwind_cache {
	int dir_fd;
	bool owns_dir;
	size_t max_bytes;
	size_t stored_bytes; /* since it was last looked how much there is; starts at all */
};

static int unwind_file_key(int fd, struct tapir_unwind_key *out, nlink_t *link_cnt)
{
	struct stat st;
	int err = tapir_foreign__stat(fd, &st);

	if (err)
		return err;
	*link_cnt = st.st_nlink;
	*out = (struct tapir_unwind_key){
		.dev = st.st_dev,
		.inode = st.st_ino,
		.size = (uint64_t)st.st_size,
		.mtime_ns = (uint64_t)st.st_mtim.tv_sec * TAPIR_NS_PER_SEC +
			    (uint64_t)st.st_mtim.tv_nsec,
		.ctime_ns = (uint64_t)st.st_ctim.tv_sec * TAPIR_NS_PER_SEC +
			    (uint64_t)st.st_ctim.tv_nsec,
	};
	return 0;
}

int tapir_unwind_key__seen(int fd, struct tapir_unwind_key *out)
{
	nlink_t link_cnt;

	return unwind_file_key(fd, out, &link_cnt);
}

int tapir_unwind_key__of(int fd, struct tapir_unwind_key *out)
{
	struct tapir_unwind_key key;
	nlink_t link_cnt;
	int err = unwind_file_key(fd, &key, &link_cnt);

	if (!err && !link_cnt)
		err = -ENODATA;
	if (!err)
		*out = key;
	return err;
}

static void cached_table_name(const struct tapir_unwind_key *key, char name[NAME_BYTES])
{
	snprintf(name, NAME_BYTES, "%016llx" SUFFIX,
		 (unsigned long long)tapir_hash__bytes(0, key, sizeof(*key)));
}

/* ---- the directory ---------------------------------------------------------------------------- */

/* Makes the parts of path that are missing; whether they can be trusted is found out afterwards. */
static void make_dirs(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(path, 0700);
		*slash = '/';
	}
	(void)mkdir(path, 0700);
}

static bool find_path(char *path, size_t bytes)
{
	const char *home = secure_getenv("XDG_CACHE_HOME");
	int len;

	if (!geteuid()) {
		len = snprintf(path, bytes, "/var/cache/tapir/unwind");
	} else if (home && *home == '/') {
		len = snprintf(path, bytes, "%s/tapir/unwind", home);
	} else {
		home = secure_getenv("HOME");
		len = home && *home == '/' ? snprintf(path, bytes, "%s/.cache/tapir/unwind", home)
					   : -1;
	}
	return len > 0 && (size_t)len < bytes;
}

struct tapir_unwind_cache *tapir_unwind_cache__in(int dir_fd, size_t max_bytes)
{
	struct tapir_unwind_cache *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->dir_fd = dir_fd;
	c->max_bytes = c->stored_bytes = max_bytes;
	return c;
}

struct tapir_unwind_cache *tapir_unwind_cache__new(void)
{
	const struct tapir_trust trust = {.owners = {0, geteuid(), geteuid()}};
	struct tapir_unwind_cache *c;
	char path[4096];
	int root_fd, dir_fd;

	if (!find_path(path, sizeof(path)))
		return NULL;
	make_dirs(path);
	root_fd = tapir_foreign__root(0);
	dir_fd = root_fd >= 0 ? tapir_trusted_dir__open(root_fd, path, &trust) : -1;
	tapir_guard__fd(&root_fd);
	if (dir_fd < 0)
		return NULL;
	c = tapir_unwind_cache__in(dir_fd, MAX_BYTES);
	if (!c)
		close(dir_fd);
	else
		c->owns_dir = true;
	return c;
}

void tapir_unwind_cache__free(struct tapir_unwind_cache *c)
{
	if (c && c->owns_dir)
		close(c->dir_fd);
	free(c);
}

/* ---- reading ---------------------------------------------------------------------------------- */

static uint32_t crc_of(const void *data, size_t bytes)
{
	return (uint32_t)crc32_z(0, data, bytes);
}

static int read_cache_bytes(int fd, void *data, size_t bytes, off_t off)
{
	for (size_t done = 0; done < bytes;) {
		ssize_t n = pread(fd, (char *)data + done, bytes - done, off + (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EBADMSG;
		done += (size_t)n;
	}
	return 0;
}

static int read_header(int fd, const struct tapir_unwind_key *key, struct header *head)
{
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || read_cache_bytes(fd, head, sizeof(*head), 0))
		return -EBADMSG;
	if (head->magic != MAGIC || head->version != VERSION ||
	    head->header_crc != crc_of(head, offsetof(struct header, header_crc)) ||
	    memcmp(&head->key, key, sizeof(*key)) != 0 ||
	    head->shape.block_cnt > TAPIR_UNWIND_MAX_BLOCKS ||
	    (size_t)st.st_size != sizeof(*head) + tapir_unwind_table__bytes(&head->shape))
		return -EBADMSG;
	return 0;
}

int tapir_unwind_cache__read(int fd, const struct tapir_unwind_key *key,
			     struct tapir_unwind_table **out)
{
	struct tapir_unwind_table *t;
	struct header head;
	size_t bytes;
	int err = read_header(fd, key, &head);

	if (err)
		return err;
	bytes = tapir_unwind_table__bytes(&head.shape);
	t = calloc(1, sizeof(*t));
	if (t)
		t->blocks = malloc(bytes ? bytes : 1);
	if (!t || !t->blocks) {
		free(t);
		return -ENOMEM;
	}
	t->shape = head.shape;
	err = read_cache_bytes(fd, t->blocks, bytes, sizeof(head));
	if (!err && (crc_of(t->blocks, bytes) != head.crc || !tapir_unwind_table__is_sound(t)))
		err = -EBADMSG;
	if (err)
		tapir_unwind_table__free(t);
	else
		*out = t;
	return err;
}

int tapir_unwind_cache__load(struct tapir_unwind_cache *c, const struct tapir_unwind_key *key,
			     struct tapir_unwind_table **out)
{
	tapir_autofd int fd = -1;
	char name[NAME_BYTES];
	int err;

	if (!c)
		return -ENOENT;
	cached_table_name(key, name);
	fd = openat(c->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -ENOENT;
	err = tapir_unwind_cache__read(fd, key, out);
	if (!err)
		(void)futimens(fd, NULL); /* in use: removed last */
	return err;
}

/* ---- writing ---------------------------------------------------------------------------------- */

struct old_file {
	char name[NAME_BYTES];
	uint64_t mtime_ns;
	size_t bytes;
};

static int by_age(const void *a, const void *b)
{
	const struct old_file *x = a, *y = b;

	return x->mtime_ns < y->mtime_ns ? -1 : x->mtime_ns > y->mtime_ns;
}

/* The files of the cache, and how much they hold. */
static size_t list_files(struct tapir_unwind_cache *c, struct old_file *files, size_t *bytes)
{
	DIR *dir = tapir_file__open_dir(c->dir_fd, ".", O_RDONLY);
	const struct dirent *entry;
	size_t cnt = 0;
	struct stat st;

	*bytes = 0;
	while (dir && cnt < MAX_FILES && (entry = readdir(dir))) {
		size_t len = strlen(entry->d_name);

		if (len >= NAME_BYTES ||
		    fstatat(c->dir_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(st.st_mode))
			continue;
		memcpy(files[cnt].name, entry->d_name, len + 1);
		files[cnt].mtime_ns = (uint64_t)st.st_mtim.tv_sec * TAPIR_NS_PER_SEC +
				      (uint64_t)st.st_mtim.tv_nsec;
		files[cnt].bytes = (size_t)st.st_size;
		*bytes += files[cnt++].bytes;
	}
	if (dir)
		closedir(dir);
	return cnt;
}

/*
 * Removes an eighth more than is needed, so that the directory is not read for each file that is
 * stored. If there are more files than are listed, half go: the sum of bytes is not that of all
 * then.
 */
static void remove_oldest(struct tapir_unwind_cache *c)
{
	struct old_file *files = calloc(MAX_FILES, sizeof(*files));
	size_t bytes = 0, cnt = files ? list_files(c, files, &bytes) : 0;
	size_t keep_cnt = cnt < MAX_FILES ? cnt : MAX_FILES / 2, keep_bytes = c->max_bytes;

	if (bytes > c->max_bytes)
		keep_bytes -= c->max_bytes / 8;
	if (cnt)
		qsort(files, cnt, sizeof(*files), by_age);
	for (size_t i = 0; i < cnt && (bytes > keep_bytes || cnt - i > keep_cnt); i++)
		if (!unlinkat(c->dir_fd, files[i].name, 0))
			bytes -= files[i].bytes;
	c->stored_bytes = bytes;
	free(files);
}

static bool write_cached_table(int fd, const struct header *head,
			       const struct tapir_unwind_table *table)
{
	return !tapir_file__write_all(fd, head, sizeof(*head)) &&
	       !tapir_file__write_all(fd, table->blocks, tapir_unwind_table__bytes(&table->shape));
}

void tapir_unwind_cache__store(struct tapir_unwind_cache *c, const struct tapir_unwind_key *key,
			       const struct tapir_unwind_table *table)
{
	size_t bytes = tapir_unwind_table__bytes(&table->shape);
	struct header head = {
		.magic = MAGIC, .version = VERSION, .key = *key, .shape = table->shape};
	char name[NAME_BYTES], new_name[NAME_BYTES];
	tapir_autofd int fd = -1;

	if (!c || bytes > c->max_bytes)
		return;
	head.crc = crc_of(table->blocks, bytes);
	head.header_crc = crc_of(&head, offsetof(struct header, header_crc));
	cached_table_name(key, name);
	snprintf(new_name, sizeof(new_name), ".new-%d", (int)getpid());
	(void)unlinkat(c->dir_fd, new_name, 0);
	fd = openat(c->dir_fd, new_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return;
	if (!write_cached_table(fd, &head, table) ||
	    renameat(c->dir_fd, new_name, c->dir_fd, name)) {
		(void)unlinkat(c->dir_fd, new_name, 0);
		return;
	}
	c->stored_bytes += bytes + sizeof(head);
	if (c->stored_bytes > c->max_bytes)
		remove_oldest(c);
}

/* ---- tables ----------------------------------------------------------------------------------- */

static int build(int fd, struct tapir_unwind_table **out)
{
	int mark = tapir_diag__cnt(), err;
	struct tapir_elf *elf = NULL;

	err = tapir_elf__open_fd(fd, &elf);
	if (!err)
		err = tapir_unwind_table__build(elf, out);
	else if (err == -ENOEXEC)
		err = tapir_unwind_table__build_assembly(fd, out);
	tapir_elf__free(elf);
	tapir_diag__rewind(mark);
	return err;
}

int tapir_unwind_cache__make(struct tapir_unwind_cache *c, const struct tapir_unwind_key *key,
			     int fd, struct tapir_unwind_table **out, bool *is_cached)
{
	int err = key ? tapir_unwind_cache__load(c, key, out) : -ENOENT;

	*is_cached = !err;
	if (!err || fd < 0)
		return err;
	err = build(fd, out);
	if (!err && key)
		tapir_unwind_cache__store(c, key, *out);
	return err;
}
