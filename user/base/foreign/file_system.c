// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One entry per foreign file system, known by its device; mounts are looked up by id.
 *
 * The lock of an entry is held during a call, since a helper makes one at a time; the lock of the
 * tables never is. So a server that does not answer delays only callers of its own files.
 */
#include "base/foreign/file_system.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/map.h"
#include "base/foreign/mount_list.h"
#include "base/foreign/overlay.h"

#ifndef STATX_MNT_ID_UNIQUE
#define STATX_MNT_ID_UNIQUE 0x4000U /* Linux 6.8, commit 98d2b43081972 */
#endif

#define FS_MAX	     64
#define MOUNTS_MAX   65536
#define NAME_BYTES   320
#define SKIPPED_MAX  100000
#define ANSWER_NS    (500 * TAPIR_NS_PER_MS) /* longer: it does not answer */
/*
 * The time that all threads together may wait for calls that took longer than SLOW_NS; then they
 * get only IMPATIENT_NS.
 */
#define PATIENCE_NS  (3 * TAPIR_NS_PER_SEC)
#define IMPATIENT_NS (100 * TAPIR_NS_PER_MS)
#define SLOW_NS	     (60 * TAPIR_NS_PER_MS)

struct tapir_fs {
	pthread_mutex_t lock; /* one call at a time */
	uint64_t dev;
	char name[NAME_BYTES];
	bool was_silent;
	struct tapir_helper helper;
	pthread_mutex_t turn_lock; /* held during a turn */
	int left_pidfd;		   /* of an earlier turn; -1 */
	struct tapir_map skipped;  /* files */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all below */
static struct tapir_fs *all[FS_MAX];
static unsigned fs_cnt;
static struct tapir_map kinds; /* unique mount id -> KIND_ */
static uint64_t memory_mount_id;
static uint64_t waited_ns; /* for slow calls */

enum { KIND_LOCAL = 1, KIND_REFUSED, KIND_FOREIGN /* + its index */ };

/* ---- what a mount is ------------------------------------------------------------------------ */

/* The id, and whether the kernel gives it to no other mount later. */
static int mount_id(int fd, struct statx *st, uint64_t *id, bool *is_unique)
{
	int flags = AT_EMPTY_PATH | AT_STATX_DONT_SYNC;

	if (statx(fd, "", flags, STATX_TYPE | STATX_INO | STATX_MNT_ID_UNIQUE, st))
		return -errno;
	*is_unique = st->stx_mask & STATX_MNT_ID_UNIQUE;
	if (!*is_unique && statx(fd, "", flags, STATX_TYPE | STATX_INO | STATX_MNT_ID, st))
		return -errno;
	if (!*is_unique && !(st->stx_mask & STATX_MNT_ID))
		return -EOPNOTSUPP;
	*id = st->stx_mnt_id;
	return 0;
}

/* The id that lists of mounts have. */
static uint64_t listed_id(int fd)
{
	struct statx st;

	return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_MNT_ID, &st)
		       ? 0
		       : st.stx_mnt_id;
}

/* Files of memory alone (memfd_create) are on a mount that no list has. */
static bool is_memory(uint64_t id)
{
	tapir_autofd int fd = -1;
	struct statx st;
	bool is_unique;
	uint64_t own;

	if (!memory_mount_id) {
		fd = memfd_create("tapir", MFD_CLOEXEC);
		if (fd >= 0 && !mount_id(fd, &st, &own, &is_unique))
			memory_mount_id = own;
	}
	return memory_mount_id && id == memory_mount_id;
}

/* In a helper: the type that the kernel reports. */
static int ask_magic(const void *in, const int *fds, uint64_t *value, int *out_fd)
{
	struct statfs fs;

	(void)in, (void)out_fd;
	if (fstatfs(fds[0], &fs))
		return -errno;
	*value = (uint64_t)fs.f_type;
	return 0;
}

/* ---- entries -------------------------------------------------------------------------------- */

/* Call with the lock. */
static struct tapir_fs *entry_of(uint64_t dev, const struct tapir_mount *mount)
{
	struct tapir_fs *fs;

	for (unsigned i = 0; i < fs_cnt; i++)
		if (all[i]->dev == dev)
			return all[i];
	fs = fs_cnt < FS_MAX ? calloc(1, sizeof(*fs)) : NULL;
	if (!fs)
		return NULL;
	pthread_mutex_init(&fs->lock, NULL);
	pthread_mutex_init(&fs->turn_lock, NULL);
	fs->left_pidfd = -1;
	fs->dev = dev;
	fs->helper = TAPIR_HELPER_NONE;
	snprintf(fs->name, sizeof(fs->name), "%s%s%s", mount->type, *mount->point ? " at " : "",
		 mount->point);
	return all[fs_cnt++] = fs;
}

static unsigned index_of(const struct tapir_fs *fs)
{
	unsigned i = 0;

	while (all[i] != fs)
		i++;
	return i;
}

static int kind_known(uint64_t id, bool is_unique, struct tapir_fs **out)
{
	const uint64_t *kind = is_unique ? tapir_map__get(&kinds, id) : NULL;

	if (!kind)
		return -ENOENT;
	*out = *kind >= KIND_FOREIGN ? all[*kind - KIND_FOREIGN] : NULL;
	return *kind == KIND_REFUSED ? -EMEDIUMTYPE : 0;
}

/* A bound on memory, not on correctness: what is forgotten is looked up again. */
static void remember(uint64_t id, uint64_t kind)
{
	uint64_t *slot;

	if (kinds.cnt >= MOUNTS_MAX) {
		tapir_map__fini(&kinds);
		kinds = (struct tapir_map){};
	}
	slot = tapir_map__put(&kinds, id, NULL);
	if (slot)
		*slot = kind;
}

/* Not listed: of another mount namespace, or unmounted. What it is, is asked in its helper. */
static int ask_kind(int fd, struct tapir_fs *fs, enum tapir_fs_trait *trait)
{
	struct tapir_helper_call call = {.fn = ask_magic, .fds = {fd}, .fd_cnt = 1};
	int err = tapir_fs__call(fs, &call);

	if (err)
		return err;
	*trait = tapir_mount__trait_of_magic(call.value);
	return 0;
}

static enum tapir_fs_trait trait_of(const struct tapir_mount *mount)
{
	if (!strcmp(mount->type, "overlay") && tapir_overlay__is_local(mount->dev))
		return TAPIR_FS_LOCAL;
	return tapir_mount__trait(mount);
}

static int find_kind(int fd, uint32_t tgid, const struct statx *st, struct tapir_fs **out,
		     enum tapir_fs_trait *trait)
{
	uint64_t dev = makedev(st->stx_dev_major, st->stx_dev_minor);
	struct tapir_mount mount = {.type = "a file system"};
	bool is_listed = tapir_mount__find(tgid, listed_id(fd), &mount);

	*out = NULL;
	*trait = is_listed ? trait_of(&mount) : TAPIR_FS_FOREIGN;
	if (*trait != TAPIR_FS_FOREIGN)
		return 0;
	pthread_mutex_lock(&lock);
	*out = entry_of(dev, &mount);
	pthread_mutex_unlock(&lock);
	if (!*out)
		return -ENFILE;
	return is_listed ? 0 : ask_kind(fd, *out, trait);
}

int tapir_fs__of(int fd, uint32_t tgid, struct tapir_fs **out)
{
	enum tapir_fs_trait trait;
	struct tapir_fs *fs;
	struct statx st;
	bool is_unique;
	uint64_t id;
	int err = mount_id(fd, &st, &id, &is_unique);

	if (err)
		return err;
	pthread_mutex_lock(&lock);
	err = is_memory(id) ? 0 : kind_known(id, is_unique, out);
	if (is_memory(id))
		*out = NULL;
	pthread_mutex_unlock(&lock);
	if (err != -ENOENT)
		return err;
	/*
	 * The lock is not held: this may call a helper. Two threads may find the same kind twice.
	 */
	err = find_kind(fd, tgid, &st, &fs, &trait);
	if (err) {
		if (fs)
			tapir_fs__skip(fs, st.stx_ino);
		return err;
	}
	*out = trait == TAPIR_FS_FOREIGN ? fs : NULL;
	pthread_mutex_lock(&lock);
	if (is_unique)
		remember(id, trait == TAPIR_FS_LOCAL	 ? KIND_LOCAL
			     : trait == TAPIR_FS_REFUSED ? KIND_REFUSED
							 : KIND_FOREIGN + index_of(fs));
	pthread_mutex_unlock(&lock);
	return trait == TAPIR_FS_REFUSED ? -EMEDIUMTYPE : 0;
}

struct tapir_fs *tapir_fs__of_path(const char *path)
{
	struct tapir_mount mount = {.type = "the file system"};
	struct tapir_fs *fs;

	snprintf(mount.point, sizeof(mount.point), "%s", path);
	pthread_mutex_lock(&lock);
	fs = entry_of(0, &mount);
	pthread_mutex_unlock(&lock);
	return fs;
}

/* ---- calls ---------------------------------------------------------------------------------- */

static uint64_t patience_ns(void)
{
	bool is_impatient;

	pthread_mutex_lock(&lock);
	is_impatient = waited_ns >= PATIENCE_NS;
	pthread_mutex_unlock(&lock);
	return is_impatient ? IMPATIENT_NS : ANSWER_NS;
}

/* A server that answers each of a thousand calls just in time must not delay tapir either. */
static void note_time(struct tapir_fs *fs, uint64_t ns, bool is_silent)
{
	pthread_mutex_lock(&lock);
	waited_ns += ns > SLOW_NS ? ns : 0;
	fs->was_silent |= is_silent;
	pthread_mutex_unlock(&lock);
}

/* Returns true if the process of an earlier turn waits still. Call with its lock. */
static bool is_left(struct tapir_fs *fs)
{
	siginfo_t info = {};

	if (fs->left_pidfd < 0)
		return false;
	if (!waitid(P_PIDFD, (id_t)fs->left_pidfd, &info, WEXITED | WNOHANG | __WALL) &&
	    !info.si_pid)
		return true;
	close(fs->left_pidfd);
	fs->left_pidfd = -1;
	return false;
}

/* Call with its lock. */
static int call_helper(struct tapir_fs *fs, struct tapir_helper_call *call)
{
	uint64_t start_ns = tapir_clock__now_ns();
	int err;

	if (fs->helper.sock < 0 && (err = tapir_helper__start(&fs->helper)))
		return err;
	err = tapir_helper__call(&fs->helper, call,
				 start_ns + (call->limit_ns ? call->limit_ns : patience_ns()));
	if (err ==
	    -EPIPE) { /* it died, for example of a SIGBUS: the next call starts another one */
		tapir_helper__leave(&fs->helper);
		return -EIO;
	}
	note_time(fs, call->limit_ns ? 0 : tapir_clock__now_ns() - start_ns, err == -ETIMEDOUT);
	return err == -EBUSY ? -ETIMEDOUT : err;
}

/*
 * A file system whose server has gone says so in its own words: FUSE by ENOTCONN and ECONNABORTED,
 * NFS by ESTALE and errors of its network. To a caller they are one: the file cannot be read.
 */
static int as_unreadable(int err)
{
	switch (-err) {
	case ENOTCONN:
	case ECONNABORTED:
	case ECONNREFUSED:
	case ECONNRESET:
	case EHOSTDOWN:
	case EHOSTUNREACH:
	case ENETDOWN:
	case ENETUNREACH:
	case EREMOTEIO:
	case ESHUTDOWN:
	case ESTALE:
	case ENODEV:
	case ENXIO:
		return -EIO;
	default:
		return err;
	}
}

int tapir_fs__call(struct tapir_fs *fs, struct tapir_helper_call *call)
{
	int err;

	pthread_mutex_lock(&fs->lock);
	err = is_left(fs) ? -ETIMEDOUT : as_unreadable(call_helper(fs, call));
	pthread_mutex_unlock(&fs->lock);
	return err;
}

/* ---- turns ---------------------------------------------------------------------------------- */

static int find_mounted(uint32_t tgid, const char *path, struct tapir_fs **out)
{
	struct tapir_mount mount = {};
	unsigned major_nr = 0, minor_nr = 0;

	*out = NULL;
	if (!tapir_mount__of_path(tgid, path, &mount) || trait_of(&mount) != TAPIR_FS_FOREIGN ||
	    sscanf(mount.dev, "%u:%u", &major_nr, &minor_nr) != 2)
		return 0;
	pthread_mutex_lock(&lock);
	*out = entry_of(makedev(major_nr, minor_nr), &mount);
	pthread_mutex_unlock(&lock);
	return *out ? 0 : -ENFILE;
}

int tapir_fs__begin_turn(uint32_t tgid, const char *path, struct tapir_fs **out)
{
	struct tapir_fs *fs;
	bool is_silent;
	int err = find_mounted(tgid, path, &fs);

	*out = NULL;
	if (err || !fs)
		return err;
	pthread_mutex_lock(&fs->turn_lock);
	pthread_mutex_lock(&fs->lock);
	is_silent = is_left(fs) || (fs->helper.sock >= 0 && tapir_helper__is_busy(&fs->helper));
	pthread_mutex_unlock(&fs->lock);
	if (is_silent) {
		pthread_mutex_unlock(&fs->turn_lock);
		return -EBUSY;
	}
	*out = fs;
	return 0;
}

void tapir_fs__end_turn(struct tapir_fs *fs, int left_pidfd)
{
	if (left_pidfd >= 0) {
		pthread_mutex_lock(&fs->lock);
		fs->left_pidfd = left_pidfd;
		pthread_mutex_unlock(&fs->lock);
		pthread_mutex_lock(&lock);
		fs->was_silent = true;
		pthread_mutex_unlock(&lock);
	}
	pthread_mutex_unlock(&fs->turn_lock);
}

void tapir_fs__skip(struct tapir_fs *fs, uint64_t file)
{
	pthread_mutex_lock(&lock);
	if (fs->skipped.cnt < SKIPPED_MAX)
		(void)tapir_map__put(&fs->skipped, file, NULL);
	pthread_mutex_unlock(&lock);
}

/* ---- the end -------------------------------------------------------------------------------- */

static bool is_among(pid_t pid, const pid_t *pids, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

static int pid_of(int pidfd)
{
	tapir_autofree char *text = NULL;
	const char *at;
	char path[48];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	if (tapir_file__read(path, 4096, &text, NULL))
		return 0;
	at = strstr(text, "\nPid:");
	return at ? atoi(at + strlen("\nPid:")) : 0;
}

/* left_pid: 0: none */
static void describe_file_system(const struct tapir_fs *fs, int left_pid,
				 void (*line)(const char *text))
{
	char text[NAME_BYTES + 192], left[96] = "";

	if (left_pid)
		snprintf(left, sizeof(left),
			 "; process %d waits for it and cannot exit until it answers", left_pid);
	snprintf(text, sizeof(text), "%s does not answer: %zu file%s not read there%s", fs->name,
		 fs->skipped.cnt, fs->skipped.cnt == 1 ? " was" : "s were", left);
	line(text);
}

void tapir_fs__end_all(void (*line)(const char *text))
{
	pid_t left[TAPIR_FORK_SERVER_CHILDREN];
	size_t left_cnt = tapir_helpers__stop(left, TAPIR_FORK_SERVER_CHILDREN);

	for (unsigned i = 0; i < fs_cnt; i++) {
		struct tapir_fs *fs = all[i];

		int left_pid = is_among(fs->helper.pid, left, left_cnt) ? (int)fs->helper.pid
			       : is_left(fs)				? pid_of(fs->left_pidfd)
									: 0;

		if (line && (fs->was_silent || left_pid))
			describe_file_system(fs, left_pid, line);
		if (fs->left_pidfd >= 0)
			close(fs->left_pidfd);
		tapir_helper__leave(&fs->helper);
		tapir_map__fini(&fs->skipped);
		pthread_mutex_destroy(&fs->lock);
		pthread_mutex_destroy(&fs->turn_lock);
		free(fs);
	}
	fs_cnt = 0;
	waited_ns = 0;
	tapir_map__fini(&kinds);
	kinds = (struct tapir_map){};
}

/* ---- what is cached ------------------------------------------------------------------------- */

int tapir_fs__stat(int fd, struct stat *out)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &st))
		return -errno;
	*out = (struct stat){
		.st_dev = makedev(st.stx_dev_major, st.stx_dev_minor),
		.st_ino = st.stx_ino,
		.st_mode = st.stx_mode,
		.st_nlink = st.stx_nlink,
		.st_uid = st.stx_uid,
		.st_gid = st.stx_gid,
		.st_rdev = makedev(st.stx_rdev_major, st.stx_rdev_minor),
		.st_size = (off_t)st.stx_size,
		.st_blksize = st.stx_blksize,
		.st_blocks = (blkcnt_t)st.stx_blocks,
		.st_atim = {st.stx_atime.tv_sec, st.stx_atime.tv_nsec},
		.st_mtim = {st.stx_mtime.tv_sec, st.stx_mtime.tv_nsec},
		.st_ctim = {st.stx_ctime.tv_sec, st.stx_ctime.tv_nsec},
	};
	return 0;
}
