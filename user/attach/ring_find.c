// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the files of ring lanes by the links of /proc/PID/fd and checks them. A link may lead
 * elsewhere a moment after it was read: so it is taken with O_PATH, checked, and only then opened;
 * the seals, which only a memfd can have, are checked on the very descriptor that is kept.
 */
#include "attach/ring_find.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "attach/maps.h"
#include "attach/proc.h"
#include "base/diag.h"
#include "base/file.h"

#define LINKS_MAX      65536 /* descriptors that are checked */
#define CANDIDATES_MAX 256   /* files of our names that are opened */
#define CTL_PATH       "/memfd:" TAPIR_RING_CTL_NAME
#define DATA_PATH      "/memfd:" TAPIR_RING_DATA_NAME

/* ---- headers ---------------------------------------------------------------------------- */

/* cnt elements at off are after the header and within the file, and aligned for words. */
static bool lies_within(uint64_t off, uint64_t cnt, uint64_t elem_bytes, uint64_t file_bytes)
{
	uint64_t bytes, end;

	return off >= sizeof(struct tapir_ring_data) && off % 8 == 0 &&
	       !__builtin_mul_overflow(cnt, elem_bytes, &bytes) &&
	       !__builtin_add_overflow(off, bytes, &end) && end <= file_bytes;
}

static bool first_areas_lie_within(const struct tapir_ring_data *h)
{
	return lies_within(h->entries_off, TAPIR_RING_EVENTS, sizeof(struct tapir_ring_entry),
			   h->file_bytes) &&
	       lies_within(h->losses_off, TAPIR_RING_EVENTS + 1, sizeof(struct tapir_ring_losses),
			   h->file_bytes) &&
	       lies_within(h->catalog_off, 1, h->catalog_bytes, h->file_bytes);
}

const char *tapir_ring_data__fault(const struct tapir_ring_data *h, uint64_t file_bytes,
				   uint32_t ns_tgid)
{
	if (h->magic != TAPIR_RING_DATA_MAGIC)
		return "not ring data, or not ready";
	if (h->version != TAPIR_RING_VERSION)
		return "of a version that this tapir does not know";
	if (h->owner_tgid != ns_tgid)
		return "of another process";
	if (h->header_bytes != sizeof(*h) || h->file_bytes != file_bytes ||
	    file_bytes > INT64_MAX || h->arena_idx >= TAPIR_RING_ARENAS ||
	    h->slot_cnt != TAPIR_RING_ARENA_SLOTS ||
	    h->slot_bytes != sizeof(struct tapir_ring_slot) || h->event_max != TAPIR_RING_EVENTS)
		return "a header with wrong sizes";
	if (!h->ring_bytes || h->ring_bytes % TAPIR_RING_CHUNK_BYTES ||
	    h->ring_bytes > TAPIR_RING_MAX_BYTES)
		return "a header with a wrong ring size";
	if (!lies_within(h->slots_off, h->slot_cnt, h->slot_bytes, file_bytes) ||
	    !lies_within(h->rings_off, h->slot_cnt, h->ring_bytes, file_bytes) ||
	    (h->arena_idx == 0 && !first_areas_lie_within(h)))
		return "a header whose areas are outside the file";
	return NULL;
}

const char *tapir_ring_ctl__fault(const struct tapir_ring_ctl_head *h, uint64_t file_bytes,
				  uint32_t ns_tgid)
{
	if (h->magic != TAPIR_RING_CTL_MAGIC)
		return "not a ring control file, or not ready";
	if (h->version != TAPIR_RING_VERSION)
		return "of a version that this tapir does not know";
	if (h->owner_tgid != ns_tgid)
		return "of another process";
	if (h->header_bytes != offsetof(struct tapir_ring_ctl, sessions) ||
	    h->file_bytes != file_bytes || file_bytes != sizeof(struct tapir_ring_ctl) ||
	    h->slot_cnt != TAPIR_RING_SLOTS || h->session_cnt != TAPIR_RING_SESSIONS ||
	    h->event_max != TAPIR_RING_EVENTS)
		return "a header with wrong sizes";
	return NULL;
}

/* ---- files ------------------------------------------------------------------------------ */

struct candidate {
	uint64_t inode;
	int fd; /* -1: refused */
	bool is_ctl, is_private;
	uint64_t key;
	struct tapir_ring_data data; /* unless is_ctl */
};

struct walk {
	uint32_t tgid, ns_tgid;
	uint32_t dev_major, dev_minor; /* of all memfds of this kernel */
	struct tapir_vec(struct candidate) seen;
	const char *refused;
	uint32_t other_version;
};

/* The kind by its name; false: not a lane's. */
static bool ring_file_kind(const char *path, bool *is_ctl)
{
	*is_ctl = tapir_ring_name__is_ctl(path);
	return *is_ctl || !strncmp(path, DATA_PATH, strlen(DATA_PATH));
}

int tapir_ring_name__is_ctl(const char *path)
{
	size_t len = strlen(CTL_PATH);

	return !strncmp(path, CTL_PATH, len) && (!path[len] || !strcmp(path + len, " (deleted)"));
}

static const char *check_seals(int fd, bool is_ctl)
{
	unsigned need = is_ctl ? TAPIR_RING_CTL_SEALS : TAPIR_RING_DATA_SEALS;
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && ((unsigned)seals & need) == need ? NULL : "a file without its seals";
}

static const char *check_header(struct walk *w, struct candidate *c, uint64_t file_bytes)
{
	struct tapir_ring_ctl_head ctl;
	void *copy = c->is_ctl ? (void *)&ctl : (void *)&c->data;
	size_t bytes = c->is_ctl ? sizeof(ctl) : sizeof(c->data);

	if (pread(c->fd, copy, bytes, 0) != (ssize_t)bytes)
		return "a file that is too short";
	c->key = c->is_ctl ? ctl.key : c->data.key;
	if (c->is_ctl && ctl.magic == TAPIR_RING_CTL_MAGIC && ctl.version != TAPIR_RING_VERSION)
		w->other_version = ctl.version;
	c->is_private = c->is_ctl && (ctl.flags & TAPIR_RING_CTL_PRIVATE);
	return c->is_ctl ? tapir_ring_ctl__fault(&ctl, file_bytes, w->ns_tgid)
			 : tapir_ring_data__fault(&c->data, file_bytes, w->ns_tgid);
}

/* Reads the process's id in its own pid namespace, only if it has such a file. */
static bool find_ns_tgid(struct walk *w)
{
	struct tapir_proc proc;

	if (w->ns_tgid)
		return true;
	if (tapir_proc__read(w->tgid, &proc))
		return false;
	w->ns_tgid = proc.ns_tgid;
	tapir_proc__fini(&proc);
	return true;
}

static const char *open_checked(struct walk *w, int path_fd, struct candidate *c)
{
	struct statfs fs;
	struct stat st;
	char link[32];
	const char *fault;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", path_fd);
	c->fd = open(link, (c->is_ctl ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (c->fd < 0)
		return "a file that cannot be opened";
	if (fstatfs(c->fd, &fs) || fs.f_type != TMPFS_MAGIC || fstat(c->fd, &st))
		return "a file that is not on tmpfs";
	if (!find_ns_tgid(w))
		return "of a process that has ended";
	fault = check_seals(c->fd, c->is_ctl);
	return fault ? fault : check_header(w, c, (uint64_t)st.st_size);
}

static bool was_seen(const struct walk *w, uint64_t inode)
{
	const struct candidate *c;

	tapir_vec_for_each (c, &w->seen)
		if (c->inode == inode)
			return true;
	return false;
}

/* Asked without a word to the file system: one in user space might never answer. */
static bool stat_cached(int fd, struct statx *out)
{
	return !statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, out);
}

/* The kernel has one file system for all of them. */
static bool find_device(struct walk *w)
{
	static atomic_ullong known; /* 0 is no device */
	uint64_t dev = known;
	struct statx st;

	if (!dev) {
		tapir_autofd int fd = memfd_create("tapir", MFD_CLOEXEC);

		if (fd < 0 || !stat_cached(fd, &st))
			return false;
		known = dev = (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor;
	}
	w->dev_major = (uint32_t)(dev >> 32);
	w->dev_minor = (uint32_t)dev;
	return true;
}

/* Anything but 0 ends the walk. */
static int open_lane(struct walk *w, const char *link, bool is_ctl)
{
	tapir_autofd int path_fd = open(link, O_PATH | O_CLOEXEC);
	struct candidate c = {.fd = -1, .is_ctl = is_ctl};
	const char *fault;
	struct statx st;

	if (path_fd < 0 || !stat_cached(path_fd, &st) || !S_ISREG(st.stx_mode) ||
	    st.stx_dev_major != w->dev_major || st.stx_dev_minor != w->dev_minor ||
	    was_seen(w, st.stx_ino))
		return 0;
	if (w->seen.cnt == CANDIDATES_MAX)
		return 1;
	c.inode = st.stx_ino;
	fault = open_checked(w, path_fd, &c);
	if (fault) {
		tapir_guard__fd(&c.fd);
		w->refused = w->refused ? w->refused : fault;
	}
	if (tapir_vec__push(&w->seen, c))
		return 0;
	tapir_guard__fd(&c.fd);
	return -ENOMEM;
}

static int see_descriptor(const char *fd, const char *target, void *ctx)
{
	struct walk *w = ctx;
	char link[64];
	bool is_ctl;

	if (!ring_file_kind(target, &is_ctl))
		return 0;
	snprintf(link, sizeof(link), "/proc/%u/fd/%.20s", w->tgid, fd);
	return open_lane(w, link, is_ctl);
}

/* Programs close descriptors they do not know, but leave mappings alone. */
static int see_mapped(const struct tapir_mapping_line *line, void *ctx)
{
	char link[96];
	bool is_ctl;

	if (!line->inode || !ring_file_kind(line->path, &is_ctl))
		return 0;
	snprintf(link, sizeof(link), "/proc/%u/map_files/%llx-%llx", ((struct walk *)ctx)->tgid,
		 (unsigned long long)line->start_va, (unsigned long long)line->end_va);
	return open_lane(ctx, link, is_ctl);
}

/*
 * A process has its lanes mapped as long as it writes them, so that one question is enough for
 * almost all processes. 1: surely none; -ESRCH: it has ended.
 */
static int maps_none(const struct walk *w)
{
	uint32_t dev = tapir_mapping_line__dev(makedev(w->dev_major, w->dev_minor));
	tapir_autofd int fd = -1;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u/maps", w->tgid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == ESRCH ? -ESRCH : 0;
	return !tapir_maps__has_shared(fd, dev, CTL_PATH);
}

static int walk_process(struct walk *w)
{
	char path[32];
	int mark = tapir_diag__cnt();
	int err = find_device(w) ? maps_none(w) : -errno;

	if (err)
		return err < 0 ? err : 0;
	snprintf(path, sizeof(path), "/proc/%u/fd", w->tgid);
	err = tapir_proc__each_fd_link(opendir(path), LINKS_MAX, see_descriptor, w);
	if (!err)
		err = tapir_proc__each_mapping(w->tgid, see_mapped, w);
	tapir_diag__rewind(mark);
	if (err == -ENOENT)
		return -ESRCH;
	return err < 0 ? err : 0;
}

static void end_walk(struct walk *w)
{
	struct candidate *c;

	tapir_vec_for_each (c, &w->seen)
		tapir_guard__fd(&c->fd);
	tapir_vec__fini(&w->seen);
}

/* ---- lanes ------------------------------------------------------------------------------ */

/* Moves the arenas of this key that the lane has not got; how many. */
static int take_arenas(struct walk *w, struct tapir_ring_lane *lane)
{
	struct candidate *c;
	int cnt = 0;

	tapir_vec_for_each (c, &w->seen) {
		int *fd;

		/* A file that was refused may claim any index. */
		if (c->is_ctl || c->fd < 0 || c->key != lane->key)
			continue;
		fd = &lane->data_fds[c->data.arena_idx];
		if (*fd >= 0)
			continue;
		*fd = c->fd;
		lane->data[c->data.arena_idx] = c->data;
		c->fd = -1;
		cnt++;
	}
	return cnt;
}

static void init_lane(struct tapir_ring_lane *lane, struct candidate *ctl)
{
	lane->key = ctl->key;
	lane->is_private = ctl->is_private;
	lane->ctl_fd = ctl->fd;
	ctl->fd = -1;
	for (unsigned i = 0; i < TAPIR_RING_ARENAS; i++)
		lane->data_fds[i] = -1;
}

/* Each user of a lane holds the lock of a session. */
bool tapir_ring_lane__is_abandoned(const struct tapir_ring_lane *lane)
{
	struct flock range = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = TAPIR_RING_SESSIONS};

	return lane->is_private && !fcntl(lane->ctl_fd, F_OFD_GETLK, &range) &&
	       range.l_type == F_UNLCK;
}

static bool has_lane(const struct tapir_ring_lanes *lanes, uint64_t key)
{
	const struct tapir_ring_lane *lane;

	tapir_vec_for_each (lane, &lanes->all)
		if (lane->key == key)
			return true;
	return false;
}

static int join_threads(struct walk *w, struct tapir_ring_lanes *out)
{
	struct candidate *c;

	tapir_vec_for_each (c, &w->seen) {
		struct tapir_ring_lane *lane;

		if (!c->is_ctl || c->fd < 0 || has_lane(out, c->key) ||
		    out->all.cnt == TAPIR_RING_LANES_MAX)
			continue;
		lane = tapir_vec__add(&out->all);
		if (!lane)
			return -ENOMEM;
		init_lane(lane, c);
		take_arenas(w, lane);
		if (lane->data_fds[0] < 0) {
			w->refused = w->refused ? w->refused : "a control file without its data";
			tapir_ring_lane__close(lane);
			out->all.cnt--;
		}
	}
	return 0;
}

int tapir_ring_lanes__find(uint32_t tgid, struct tapir_ring_lanes *out)
{
	struct walk w = {.tgid = tgid};
	struct tapir_ring_lanes lanes = {};
	int err = walk_process(&w);

	if (!err)
		err = join_threads(&w, &lanes);
	lanes.refused = w.refused;
	lanes.other_version = w.other_version;
	end_walk(&w);
	if (err)
		tapir_ring_lanes__fini(&lanes);
	else
		*out = lanes;
	return err;
}

int tapir_ring_lane__find_arenas(uint32_t tgid, struct tapir_ring_lane *lane)
{
	struct walk w = {.tgid = tgid};
	int cnt = walk_process(&w);

	if (!cnt)
		cnt = take_arenas(&w, lane);
	end_walk(&w);
	return cnt;
}

void tapir_ring_lane__close(struct tapir_ring_lane *lane)
{
	tapir_guard__fd(&lane->ctl_fd);
	for (unsigned i = 0; i < TAPIR_RING_ARENAS; i++) {
		tapir_guard__fd(&lane->data_fds[i]);
	}
}

void tapir_ring_lanes__fini(struct tapir_ring_lanes *lanes)
{
	struct tapir_ring_lane *lane;

	tapir_vec_for_each (lane, &lanes->all)
		tapir_ring_lane__close(lane);
	tapir_vec__fini(&lanes->all);
}

struct tapir_ring_published tapir_ring_lane__published(const struct tapir_ring_lane *lane)
{
	const off_t off = offsetof(struct tapir_ring_ctl, published_cnt);
	struct tapir_ring_published now = {};

	if (pread(lane->ctl_fd, &now, sizeof(now), off) != sizeof(now))
		now = (struct tapir_ring_published){};
	return now;
}
