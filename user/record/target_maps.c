// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The mappings of traced processes: MAPPING records, probes on files that have some, gaps where
 * they came late.
 */
#include "record/targets_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "attach/proc.h"
#include "attach/otel_tls_locations.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "record/describe.h"
#include "base/foreign/foreign_file.h"

/* Mappings that wait for the session thread; a process can make 100,000 a second. */
#define REPORTED_MAX 65536 /* a process can map new code for ever */
#define HUGE_BYTES   (2u << 20)
#define BACKLOG_MAX  16384

struct mapping_walk {
	struct tapir_targets *t;
	uint32_t tgid, tid; /* tid: the thread that mapped it; 0: unknown */
	uint64_t from_ns;   /* what is mapped was mapped then, or before anything was recorded */
	uint64_t mapped_ns; /* that is too late for its probes, since then; 0: it is not */
	uint64_t only_va;   /* 0: all of them */
	const struct tapir_sideband_mmap *expected; /* what is expected there; NULL: anything */
	bool has_seen_mapping;
	int err;
};

static bool is_ours(const struct tapir_targets *t, uint32_t tgid)
{
	return t->opts.rules->all ? tgid != (uint32_t)getpid()
				  : tapir_map__get(&t->live, tgid) != NULL;
}

void tapir_targets__post(struct tapir_targets *t, const struct tapir_rec *rec, int fd)
{
	if (rec)
		tapir_queue__post(t->opts.queue, rec, fd);
	else
		tapir_guard__fd(&fd);
}

void tapir_targets__warn_from(int mark)
{
	for (int i = mark; i < tapir_diag__cnt(); i++)
		tapir_warn("%s", tapir_diag__line(i));
	tapir_diag__rewind(mark);
}

static void post_gap_until(struct tapir_targets *t, uint32_t tgid, const char *path,
			   uint64_t from_ns, uint64_t until_ns, enum tapir_gap_reason reason)
{
	struct tapir_rec_gap fixed = {
		.tgid = tgid,
		.reason = (uint16_t)reason,
		.from_ns = from_ns,
		.until_ns = until_ns,
	};

	tapir_rec__init(&fixed.h, TAPIR_REC_GAP, sizeof(fixed), until_ns);
	tapir_targets__post(t, tapir_recbuf__gap(&t->recbuf, &fixed, tapir_sv__of(path)), -1);
}

static void post_gap(struct tapir_targets *t, uint32_t tgid, const char *path, uint64_t from_ns,
		     enum tapir_gap_reason reason)
{
	post_gap_until(t, tgid, path, from_ns, tapir_clock__now_ns(), reason);
}

static void detect_runtime(struct tapir_targets *t, uint32_t tgid,
			   const struct tapir_mapping_line *line)
{
	if (line->path)
		tapir_event_lanes__see(t->opts.events, tgid,
				       (struct tapir_sv){line->path, line->path_len});
}

void tapir_targets__post_late(void *ctx, const struct tapir_late_mapping *late)
{
	post_gap_until(ctx, late->tgid, late->path, late->mapped_ns, late->attached_ns,
		       TAPIR_GAP_ATTACH_LATE);
}

/* Another process may have had its probes attached, and also later than this one mapped it. */
static void check_late_attach(struct tapir_targets *t, const struct tapir_image *image,
			      struct tapir_late_mapping late)
{
	late.attached_ns = image->attached_ns;
	if (!late.mapped_ns || late.attached_ns <= late.mapped_ns)
		return;
	if (!late.tid || !t->opts.holder || tapir_late_attach__add(&t->late_attach, &late))
		tapir_targets__post_late(t, &late);
}

/* The gap names the mapping: "/lib/libx.so at 0x7f0012340000". */
static void post_second(struct mapping_walk *walk, const struct tapir_mapping_line *line)
{
	struct tapir_str text = {};

	tapir_str__addf(&text, "%s at 0x%" PRIx64, line->path, line->start_va);
	if (!text.failed)
		post_gap(walk->t, walk->tgid, text.data, walk->from_ns, TAPIR_GAP_SECOND_MAPPING);
	tapir_str__fini(&text);
}

void tapir_targets__post_handover_gap(void *ctx, uint32_t tgid, const struct tapir_image *image,
				      uint64_t since_ns)
{
	post_gap(ctx, tgid, image->path, since_ns, TAPIR_GAP_ATTACH_LATE);
}

void tapir_targets__post_unopened(void *ctx, uint32_t tgid, const struct tapir_image *image,
				  uint64_t since_ns, uint64_t until_ns)
{
	struct tapir_str message = {};

	tapir_str__addf(&message, "%s in %s", image->ring_provider, image->path);
	if (!message.failed)
		post_gap_until(ctx, tgid, message.data, since_ns, until_ns,
			       TAPIR_GAP_RING_UNOPENED);
	tapir_str__fini(&message);
}

/* A failure to attach to one process of many is a GAP, to the only one an error. */
static int attach_image(struct mapping_walk *walk, struct tapir_image *image,
			const struct tapir_mapping_line *line)
{
	struct tapir_targets *t = walk->t;
	int mark = tapir_diag__cnt(), on;

	tapir_image__mapped_in(t->opts.images, image, walk->tgid);
	if (image->site_cnt)
		tapir_lane_handover__disturb(&t->handover, tapir_clock__now_ns());
	on = tapir_images__attach(t->opts.images, image, t->opts.link_by_pid ? walk->tgid : 0,
				  walk->mapped_ns != 0);

	if (on >= 0) {
		if (tapir_second_mappings__see(&t->seconds, walk->tgid, image, line))
			post_second(walk, line);
		check_late_attach(t, image,
				  (struct tapir_late_mapping){.tgid = walk->tgid,
							      .tid = walk->tid,
							      .start_va = line->start_va,
							      .mapped_ns = walk->mapped_ns,
							      .path = (char *)line->path});
		return 0;
	}
	post_gap(t, walk->tgid, line->path,
		 walk->mapped_ns ? walk->mapped_ns : tapir_clock__now_ns(),
		 TAPIR_GAP_ATTACH_FAILED);
	if (on == -ESRCH && kill((pid_t)walk->tgid, 0)) {
		tapir_diag__rewind(mark); /* it ended in the meantime */
		return 0;
	}
	return on;
}

/* Events that were fired before the probe was attached are missing, if there were any: a GAP. */
static void on_grown(void *ctx, uint32_t tgid, const struct tapir_image *image, uint64_t since_ns,
		     int err)
{
	post_gap(ctx, tgid, image->path, since_ns,
		 err ? TAPIR_GAP_ATTACH_FAILED : TAPIR_GAP_ATTACH_LATE);
}

void tapir_targets__see_growth(struct tapir_targets *t)
{
	int mark = tapir_diag__cnt();

	tapir_images__grow(t->opts.images, t->opts.link_by_pid, on_grown, t);
	tapir_targets__warn_from(mark);
}

/* A descriptor of the mapped file, for its readers: the one that was kept, or a copy of fd. */
static int fd_to_post(struct tapir_image *image, int fd)
{
	int kept_fd = image ? tapir_image__take(image) : -1;

	return kept_fd >= 0 || fd < 0 ? kept_fd : fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

/* Addresses as linked begin vaddr_pages after offsets in the file: see tapir_rec_mapping. */
static void see_otel_tls_location(struct tapir_targets *t, uint32_t tgid, uint64_t start_va,
				  uint64_t file_off, const struct tapir_image *image)
{
	int mark = tapir_diag__cnt();

	if (image && tapir_otel_tls_locations__see(t->opts.programs, tgid, &image->trace_symbol,
						   start_va - file_off -
							   (uint64_t)(image->vaddr_pages * 4096ll)))
		tapir_targets__warn_from(mark);
}

/* image: NULL where it is not known. */
static void note_ring_image(struct tapir_targets *t, uint32_t tgid, uint64_t time_ns,
			    const struct tapir_image *image)
{
	if (image)
		tapir_unopened_lanes__note(&t->unopened,
					   (struct tapir_lane_step){.kind = TAPIR_LANE_STEP_MAP,
								    .tgid = tgid,
								    .time_ns = time_ns,
								    .image = image});
}

static void post_mapping(const struct mapping_walk *walk, const struct tapir_mapping_line *line,
			 const struct tapir_image *image, int fd)
{
	struct tapir_targets *t = walk->t;

	note_ring_image(t, walk->tgid, walk->from_ns, image);
	see_otel_tls_location(t, walk->tgid, line->start_va, line->file_off, image);
	tapir_targets__post(
		t, tapir_describe__mapping(&t->recbuf, walk->tgid, walk->from_ns, line, image), fd);
}

/*
 * If no descriptor was left, the file is counted as not read, and the walk continues with the
 * others.
 */
static bool is_short(int err)
{
	return err == -EMFILE || err == -ENFILE;
}

/* Not for lack of permission: the file's probes are missing for lack of a descriptor. */
static void post_unread(const struct mapping_walk *walk, const struct tapir_mapping_line *line)
{
	struct tapir_rec_loss loss = {
		.cause = TAPIR_LOSS_FILES_FULL,
		.count = 1,
		.from_ns = walk->from_ns,
		.until_ns = tapir_clock__now_ns(),
	};

	tapir_rec__init(&loss.h, TAPIR_REC_LOSS, sizeof(loss), loss.until_ns);
	tapir_targets__post(walk->t, &loss.h, -1);
	post_gap(walk->t, walk->tgid, line->path, loss.until_ns, TAPIR_GAP_ATTACH_FAILED);
}

/*
 * The file system does not answer, or admits only its owner (FUSE without allow_other), or the file
 * is too large: its probes are missing.
 */
static bool is_gap(int open_err)
{
	return open_err == -ETIMEDOUT || open_err == -EFBIG || open_err == -EIO ||
	       open_err == -EACCES;
}

/* The file is watched from before it is read: one that changes during the read is not cached. */
static int inspect_file(struct tapir_targets *t, int fd, const char *path,
			const struct tapir_sideband_mmap *expected,
			const struct tapir_mapping_line *line, struct tapir_image **image)
{
	struct tapir_mapped_file file = tapir_mapped_files__watch(&t->files, fd, expected, line);
	int err = tapir_images__inspect(t->opts.images, fd, path, image);

	tapir_mapped_files__add(&t->files, file, err ? NULL : *image);
	return err;
}

static int see_file(struct mapping_walk *walk, const struct tapir_mapping_line *line)
{
	int mark = tapir_diag__cnt();
	tapir_autofd int fd = tapir_proc__open_mapped(walk->tgid, line, NULL);
	struct tapir_image *image = NULL;
	struct tapir_file_key key;
	bool has_key = false;
	int err;

	if (fd < 0) {
		if (is_short(fd) || fd == -ENOMEM)
			post_unread(walk, line);
		tapir_diag__rewind(mark);
		tapir_debug("cannot open %s of process %u: %s", line->path, walk->tgid,
			    tapir_errno__name(fd));
		if (is_gap(fd))
			post_gap(walk->t, walk->tgid, line->path, tapir_clock__now_ns(),
				 TAPIR_GAP_NOT_READ);
		post_mapping(walk, line, NULL, -1);
		return 0;
	}
	if (walk->t->opts.holder)
		has_key = !tapir_programs__file_key(walk->t->opts.programs, fd, &key);
	err = inspect_file(walk->t, fd, line->path, walk->expected, line, &image);
	if (!err && image->is_unread)
		post_gap(walk->t, walk->tgid, line->path, tapir_clock__now_ns(),
			 TAPIR_GAP_NOT_READ);
	if (!image && is_short(err)) {
		post_unread(walk, line);
		tapir_diag__rewind(mark);
		err = 0;
	} else if (err) {
		post_gap(walk->t, walk->tgid, line->path, tapir_clock__now_ns(),
			 TAPIR_GAP_ATTACH_FAILED);
	} else if (!line->is_moved) {
		err = attach_image(walk, image, line);
	} else if (tapir_image__has_probes(
			   image)) { /* the kernel puts none into memory of no file */
		post_gap(walk->t, walk->tgid, line->path, tapir_clock__now_ns(),
			 TAPIR_GAP_ATTACH_FAILED);
	}
	if (has_key) /* also if it failed: holding the next one would be useless */
		tapir_programs__set_known_file(walk->t->opts.programs, &key);
	/* Last: the receivers of a runtime's file may rely on its probes. */
	post_mapping(walk, line, image, fd_to_post(image, fd));
	return err;
}

/* Returns true if the mapping was reported before: the process, its range, and its file. */
static bool was_reported(struct tapir_targets *t, uint32_t tgid,
			 const struct tapir_mapping_line *line)
{
	const uint64_t parts[] = {tgid, line->start_va, line->end_va, line->inode, line->file_off};
	uint64_t key = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		key = tapir_hash__mix(key, parts[i]);
	if (tapir_map__get(&t->reported, key) || t->reported.cnt >= REPORTED_MAX)
		return true;
	return !tapir_map__put(&t->reported, key, NULL);
}

/*
 * A mapping as the kernel reported it when it was made: the process is not inspected. dev: where
 * the image's file is, as stat(2) has it; of no image: any.
 */
static void post_reported(struct tapir_targets *t, const struct tapir_sideband_mmap *mmap,
			  const struct tapir_image *image, uint32_t dev, int fd)
{
	struct tapir_mapping_line line = {
		.start_va = mmap->start_va,
		.end_va = mmap->start_va + mmap->len_bytes,
		.file_off = mmap->file_off,
		.inode = image ? image->inode : mmap->inode,
		.dev = image ? dev
			     : tapir_mapping_line__dev(makedev(mmap->dev_major, mmap->dev_minor)),
		.path = strcmp(mmap->path, "//anon") ? mmap->path : "",
	};

	line.path_len = strlen(line.path);
	detect_runtime(t, mmap->tgid, &line);
	note_ring_image(t, mmap->tgid, mmap->time_ns, image);
	see_otel_tls_location(t, mmap->tgid, line.start_va, line.file_off, image);
	tapir_targets__post(
		t, tapir_describe__mapping(&t->recbuf, mmap->tgid, mmap->time_ns, &line, image),
		fd);
}

/* The file's content may no longer be what was mapped. A file's times are UTC. */
static bool is_changed_since(const struct stat *st, uint64_t time_ns)
{
	uint64_t ago_ns = tapir_clock__now_ns() - time_ns;
	uint64_t changed_ns =
		(uint64_t)st->st_ctim.tv_sec * TAPIR_NS_PER_SEC + (uint64_t)st->st_ctim.tv_nsec;

	return changed_ns > tapir_clock__ns(CLOCK_REALTIME) - ago_ns;
}

/* Nothing is opened that is not a regular file, is another one, or may have been written since. */
static int open_missed_below(const struct tapir_sideband_mmap *mmap, uint32_t root_tgid)
{
	tapir_autofd int root_fd = tapir_foreign__root(root_tgid), path_fd = -1;
	struct stat st;
	int err;

	if (root_fd < 0)
		return root_fd;
	path_fd = tapir_foreign__take(root_fd, mmap->path, root_tgid, 0);
	if (path_fd < 0)
		return path_fd;
	err = tapir_foreign__stat(path_fd, &st);
	if (!err && (!tapir_mapped_files__is_it(mmap, path_fd, &st) ||
		     is_changed_since(&st, mmap->time_ns)))
		err = -ESTALE;
	return err ? err : tapir_foreign__open_taken(path_fd, root_tgid);
}

/*
 * The file of the path below the root of the process or, if that has ended or has another root by
 * now, below tapir's.
 */
static int open_missed(const struct tapir_sideband_mmap *mmap)
{
	int fd = open_missed_below(mmap, mmap->tgid);

	return fd == -ESRCH || fd == -ENOENT || fd == -ESTALE ? open_missed_below(mmap, 0) : fd;
}

static void miss_probes(struct tapir_targets *t, const struct tapir_sideband_mmap *mmap,
			const struct tapir_image *image)
{
	if (!tapir_image__is_on(image, mmap->tgid))
		post_gap(t, mmap->tgid, mmap->path, mmap->time_ns, TAPIR_GAP_ATTACH_FAILED);
	else
		check_late_attach(t, image,
				  (struct tapir_late_mapping){.tgid = mmap->tgid,
							      .tid = mmap->tid,
							      .start_va = mmap->start_va,
							      .mapped_ns = mmap->time_ns,
							      .path = (char *)mmap->path});
}

/*
 * The mapping, or its process, was gone before tapir could read it. The file is still known by the
 * path where the process saw it, if it is the same there; if it has requested probes, their hits
 * were missed.
 */
static void miss_mapping(struct tapir_targets *t, const struct tapir_sideband_mmap *mmap)
{
	tapir_autofd int fd = open_missed(mmap);
	int mark = tapir_diag__cnt();
	struct tapir_image *image = NULL;
	struct stat st = {};

	if (fd < 0 || tapir_foreign__stat(fd, &st) ||
	    inspect_file(t, fd, mmap->path, mmap, NULL, &image))
		image = NULL;
	if (is_gap(fd) || (image && image->is_unread))
		post_gap(t, mmap->tgid, mmap->path, mmap->time_ns, TAPIR_GAP_NOT_READ);
	if (image && tapir_image__has_probes(image))
		miss_probes(t, mmap, image);
	post_reported(t, mmap, image, tapir_mapping_line__dev(st.st_dev),
		      image ? fd_to_post(image, fd) : -1);
	tapir_diag__rewind(mark);
}

/*
 * A process that unmaps a file and maps another has it at the same address. The paths' beginnings
 * may differ, by the root of who asks; a file that was renamed is taken for another one.
 */
static bool is_another_file(const struct tapir_sideband_mmap *expected,
			    const struct tapir_mapping_line *line)
{
	const char *was = strrchr(expected->path, '/'), *is = strrchr(line->path, '/');
	size_t len = is ? strlen(is) : 0;

	return !is || strncmp(was, is, len) || (was[len] && strcmp(was + len, " (deleted)"));
}

static int see_mapping(const struct tapir_mapping_line *line, void *ctx)
{
	struct mapping_walk *walk = ctx;

	if (!line->is_executable)
		return 0;
	if (walk->expected && !walk->has_seen_mapping && is_another_file(walk->expected, line)) {
		miss_mapping(walk->t, walk->expected);
		walk->from_ns = tapir_clock__now_ns(); /* not known: its own record has it */
		walk->mapped_ns = 0;
	}
	walk->has_seen_mapping = true;
	if (!tapir_programs__are_there(walk->t->opts.programs) &&
	    was_reported(walk->t, walk->tgid, line))
		return 0;
	detect_runtime(walk->t, walk->tgid, line);
	if (tapir_mapping_line__is_file(line))
		walk->err = see_file(walk, line);
	else
		post_mapping(walk, line, NULL, -1);
	return walk->err;
}

static void walk_mappings(struct mapping_walk *walk)
{
	int mark = tapir_diag__cnt();
	int err = walk->only_va
			  ? tapir_proc__mapping_at(walk->tgid, walk->only_va, see_mapping, walk)
			  : tapir_proc__each_mapping(walk->tgid, see_mapping, walk);

	if (err == -EIO && !walk->err) { /* it is there: its probes are not known to be none */
		tapir_diag__rewind(mark);
		walk->err = tapir_diag__fail(err, "cannot read the mappings of process %u: %s",
					     walk->tgid, tapir_errno__text(err));
	} else if (err && !walk->err) {
		tapir_diag__rewind(mark);
		tapir_debug("cannot read the mappings of process %u: %s", walk->tgid,
			    tapir_errno__name(err));
	}
}

int tapir_targets__see_mappings(struct tapir_targets *t, uint32_t tgid, uint64_t from_ns,
				uint64_t only_va)
{
	struct mapping_walk walk = {
		.t = t,
		.tgid = tgid,
		.from_ns = from_ns,
		.only_va = only_va,
	};

	walk_mappings(&walk);
	return walk.err;
}

int tapir_targets__see_joined(struct tapir_targets *t, uint32_t tgid, uint64_t joined_ns)
{
	struct mapping_walk walk = {
		.t = t, .tgid = tgid, .from_ns = joined_ns, .mapped_ns = joined_ns};

	walk_mappings(&walk);
	return walk.err;
}

/*
 * Attaching is tried again when the file is mapped. A file that could not be read is not: that is
 * reported here or never.
 */
int tapir_targets__prepare_file(struct tapir_targets *t, int fd, const char *path)
{
	int mark = tapir_diag__cnt();
	bool has_key = false;
	struct tapir_image *image = NULL;
	struct tapir_file_key key;
	int err;

	if (t->opts.holder)
		has_key = !tapir_programs__file_key(t->opts.programs, fd, &key);
	err = inspect_file(t, fd, path, NULL, NULL, &image);
	if (err) {
		tapir_targets__warn_from(mark);
	} else {
		tapir_image__keep(image, fd);
		err = tapir_images__attach(t->opts.images, image, 0, false);
	}
	if (err >= 0 && has_key)
		tapir_programs__set_known_file(t->opts.programs, &key);
	return err < 0 ? err : 0;
}

/*
 * Returns true for memory of no file that consists of huge pages: text that was moved there is
 * found by what is around it.
 */
static bool may_be_moved_text(const struct tapir_sideband_mmap *mmap)
{
	return !strcmp(mmap->path, "//anon") && !((mmap->start_va | mmap->len_bytes) % HUGE_BYTES);
}

void tapir_targets__on_mmap(struct tapir_targets *t, const struct tapir_sideband_mmap *mmap)
{
	struct mapping_walk walk = {.t = t,
				    .tgid = mmap->tgid,
				    .tid = mmap->tid,
				    .from_ns = mmap->time_ns,
				    .mapped_ns = mmap->time_ns,
				    .only_va = mmap->start_va,
				    .expected = mmap};
	struct tapir_image *known;
	uint32_t dev = 0;
	int mark = tapir_diag__cnt();

	if (!is_ours(t, mmap->tgid))
		return;
	if (mmap->path[0] == '/' && mmap->path[1] != '/')
		tapir_ring_scan__expect(&t->looks, mmap->tgid);
	/*
	 * Under a storm of mappings the events are worth more than these, which are dropped and
	 * counted.
	 */
	if (tapir_queue__backlog(t->opts.queue) > BACKLOG_MAX) {
		t->dropped_cnt++;
		return;
	}
	/*
	 * A file that was seen before, or that is none, needs no look at /proc: the kernel's record
	 * has everything. This is what most mappings are.
	 */
	if (may_be_moved_text(mmap)) {
		walk.expected = NULL;
		walk_mappings(&walk);
		if (walk.has_seen_mapping)
			return;
	}
	known = tapir_mapped_files__find(&t->files, mmap, &dev);
	if (known || mmap->path[0] != '/' || !strncmp(mmap->path, "//", 2)) {
		post_reported(t, mmap, known, dev, fd_to_post(known, -1));
		return;
	}
	walk_mappings(&walk);
	if (!walk.has_seen_mapping)
		miss_mapping(t, mmap);
	tapir_targets__warn_from(mark);
}
