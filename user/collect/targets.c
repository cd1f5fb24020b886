// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From processes to records and probes. BPF decides in the kernel whose hits count; this file
 * keeps the picture of the same processes in user space.
 */
#include "collect/targets.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "attach/cgroup.h"
#include "attach/proc.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"
#include "base/map.h"
#include "base/str.h"
#include "collect/describe.h"
#include "collect/lateness.h"
#include "foreign/foreign_file.h"
#include "runtime/dotnet.h"

/* Mappings that wait for the session thread; a process can make 100,000 a second. */
#define TOLD_MAX    65536 /* a process can map new code for ever */
#define BACKLOG_MAX 16384
#define SWEEP_MAX   64

struct tapir_targets {
	struct tapir_targets_opts opts;
	struct tapir_map live; /* tgids that are traced and run */
	struct tapir_map told; /* mappings; without programs only */
	struct tapir_map
		ended;	   /* tgids, and when they began (0: unknown), until they are forgotten */
	size_t sweep_at;   /* a slot of live */
	bool has_seen_one; /* process of these rules */
	uint64_t dropped_cnt;
	uint64_t scan_ns;		/* when the scan began: what it finds was there before */
	struct tapir_lateness lateness; /* with a holder: what may have been held */
	uint64_t last_poll_ns; /* what a poll finds joined after it; 0: this is the first scan */
	struct tapir_ring_looks looks;
	struct tapir_recbuf recbuf;
};

int tapir_targets__new(const struct tapir_targets_opts *opts, struct tapir_targets **out)
{
	struct tapir_targets *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->opts = *opts;
	t->looks.rings = opts->rings;
	*out = t;
	return 0;
}

void tapir_targets__free(struct tapir_targets *t)
{
	if (!t)
		return;
	tapir_map__fini(&t->live);
	tapir_map__fini(&t->told);
	tapir_map__fini(&t->ended);
	tapir_lateness__fini(&t->lateness);
	tapir_ring_looks__fini(&t->looks);
	tapir_recbuf__fini(&t->recbuf);
	free(t);
}

static bool is_ours(const struct tapir_targets *t, uint32_t tgid)
{
	return t->opts.rules->all ? tgid != (uint32_t)getpid()
				  : tapir_map__get(&t->live, tgid) != NULL;
}

static void post(struct tapir_targets *t, const struct tapir_rec *rec, int fd)
{
	if (rec)
		tapir_queue__post(t->opts.queue, rec, fd);
	else
		tapir_guard__fd(&fd);
}

/* ---- what a process maps ---------------------------------------------------------------- */

struct mapping_walk {
	struct tapir_targets *t;
	uint32_t tgid, tid; /* tid: who mapped it; 0: unknown */
	uint64_t from_ns;   /* what is mapped was mapped then, or before anything was recorded */
	uint64_t mapped_ns; /* that is too late for its probes, since then; 0: it is not */
	uint64_t only_va;   /* 0: all of them */
	bool saw_one;
	int err;
};

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
	post(t, tapir_recbuf__gap(&t->recbuf, &fixed, tapir_sv__of(path)), -1);
}

static void post_gap(struct tapir_targets *t, uint32_t tgid, const char *path, uint64_t from_ns,
		     enum tapir_gap_reason reason)
{
	post_gap_until(t, tgid, path, from_ns, tapir_clock__now_ns(), reason);
}

static void look_for_dotnet(struct tapir_targets *t, uint32_t tgid,
			    const struct tapir_mapping_line *line)
{
	if (t->opts.lanes && line->path && tapir_dotnet__is_path(line->path, line->path_len))
		tapir_dotnet_lanes__see(t->opts.lanes, tgid);
}

static void post_late(void *ctx, const struct tapir_late *late)
{
	post_gap_until(ctx, late->tgid, late->path, late->mapped_ns, late->on_ns,
		       TAPIR_GAP_ATTACH_LATE);
}

/* Another process may have had its probes attached, and also later than this one mapped it. */
static void check_lateness(struct mapping_walk *walk, const struct tapir_image *image,
			   const struct tapir_mapping_line *line)
{
	struct tapir_late late = {
		.tgid = walk->tgid,
		.tid = walk->tid,
		.start_va = line->start_va,
		.mapped_ns = walk->mapped_ns,
		.on_ns = image->on_ns,
		.path = (char *)line->path,
	};

	if (!walk->mapped_ns || image->on_ns <= walk->mapped_ns)
		return;
	if (!walk->tid || !walk->t->opts.holder || tapir_lateness__add(&walk->t->lateness, &late))
		post_late(walk->t, &late);
}

/* A failure to attach to one process of many is a GAP, to the only one an error. */
static int attach_image(struct mapping_walk *walk, struct tapir_image *image,
			const struct tapir_mapping_line *line)
{
	struct tapir_targets *t = walk->t;
	int mark = tapir_diag__cnt();
	int on = tapir_images__attach(t->opts.images, image, t->opts.link_by_pid ? walk->tgid : 0);

	if (on >= 0) {
		check_lateness(walk, image, line);
		return 0;
	}
	post_gap(t, walk->tgid, line->path,
		 walk->mapped_ns ? walk->mapped_ns : tapir_clock__now_ns(),
		 TAPIR_GAP_ATTACH_FAILED);
	if (on == -ESRCH && kill((pid_t)walk->tgid, 0)) {
		tapir_diag__rewind(mark); /* it ended meanwhile */
		return 0;
	}
	return on;
}

static void post_mapping(const struct mapping_walk *walk, const struct tapir_mapping_line *line,
			 const struct tapir_image *image, int fd)
{
	struct tapir_targets *t = walk->t;

	post(t, tapir_describe__mapping(&t->recbuf, walk->tgid, walk->from_ns, line, image), fd);
}

/* Not for want of rights: what the file has is missing for want of a descriptor. */
static void post_unread(const struct mapping_walk *walk, const struct tapir_mapping_line *line)
{
	struct tapir_rec_loss loss = {
		.cause = TAPIR_LOSS_FILES_FULL,
		.count = 1,
		.from_ns = walk->from_ns,
		.until_ns = tapir_clock__now_ns(),
	};

	tapir_rec__init(&loss.h, TAPIR_REC_LOSS, sizeof(loss), loss.until_ns);
	post(walk->t, &loss.h, -1);
	post_gap(walk->t, walk->tgid, line->path, loss.until_ns, TAPIR_GAP_ATTACH_FAILED);
}

/* Its file system does not answer, or it is too large: what it has is missing. */
static bool is_a_gap(int open_err)
{
	return open_err == -ETIMEDOUT || open_err == -EFBIG || open_err == -EIO;
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
		if (fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM)
			post_unread(walk, line);
		tapir_diag__rewind(mark);
		tapir_debug("cannot open %s of process %u: %s", line->path, walk->tgid,
			    tapir_errno__name(fd));
		if (is_a_gap(fd))
			post_gap(walk->t, walk->tgid, line->path, tapir_clock__now_ns(),
				 TAPIR_GAP_NOT_READ);
		post_mapping(walk, line, NULL, -1);
		return 0;
	}
	if (walk->t->opts.holder)
		has_key = !tapir_programs__file_key(walk->t->opts.programs, fd, &key);
	err = tapir_images__look(walk->t->opts.images, fd, line->path, &image);
	if (!err && image->is_unread)
		post_gap(walk->t, walk->tgid, line->path, tapir_clock__now_ns(),
			 TAPIR_GAP_NOT_READ);
	if (err)
		post_gap(walk->t, walk->tgid, line->path, tapir_clock__now_ns(),
			 TAPIR_GAP_ATTACH_FAILED);
	else
		err = attach_image(walk, image, line);
	if (has_key) /* also where it failed: to hold the next one would be in vain */
		tapir_programs__set_known_file(walk->t->opts.programs, &key);
	/* Last: who is told of a runtime's file may rely on its probes. */
	post_mapping(walk, line, image, fcntl(fd, F_DUPFD_CLOEXEC, 3));
	return err;
}

/* Of one that was told of: the process, where it begins and ends, and its file. */
static bool is_told(struct tapir_targets *t, uint32_t tgid, const struct tapir_mapping_line *line)
{
	const uint64_t parts[] = {tgid, line->start_va, line->end_va, line->inode, line->file_off};
	uint64_t key = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		key = tapir_hash__mix(key, parts[i]);
	if (tapir_map__get(&t->told, key) || t->told.cnt >= TOLD_MAX)
		return true;
	return !tapir_map__put(&t->told, key, NULL);
}

static int see_mapping(const struct tapir_mapping_line *line, void *ctx)
{
	struct mapping_walk *walk = ctx;

	if (!line->is_executable || (walk->only_va && walk->only_va != line->start_va))
		return 0;
	walk->saw_one = true;
	if (!tapir_programs__are_there(walk->t->opts.programs) &&
	    is_told(walk->t, walk->tgid, line))
		return 0;
	look_for_dotnet(walk->t, walk->tgid, line);
	if (tapir_mapping_line__is_file(line))
		walk->err = see_file(walk, line);
	else
		post_mapping(walk, line, NULL, -1);
	return walk->err;
}

static void walk_mappings(struct mapping_walk *walk)
{
	int mark = tapir_diag__cnt();
	int err = tapir_proc__each_mapping(walk->tgid, see_mapping, walk);

	if (err && !walk->err) {
		tapir_diag__rewind(mark);
		tapir_debug("cannot read the mappings of process %u: %s", walk->tgid,
			    tapir_errno__name(err));
	}
}

/* Looks at the mappings of a process; at the one at only_va if that is not 0. */
static int see_mappings(struct tapir_targets *t, uint32_t tgid, uint64_t from_ns, uint64_t only_va)
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

/*
 * A process has become one of ours: what it mapped before that was passed over. Since that
 * moment its hits count, and those on probes that are attached only now were missed.
 */
static int see_joined(struct tapir_targets *t, uint32_t tgid, uint64_t joined_ns)
{
	struct mapping_walk walk = {
		.t = t, .tgid = tgid, .from_ns = joined_ns, .mapped_ns = joined_ns};

	walk_mappings(&walk);
	return walk.err;
}

/* A mapping as the kernel told of it when it was made: the process is not asked. */
static void post_told(struct tapir_targets *t, const struct tapir_sideband_mmap *mmap,
		      const struct tapir_image *image, int fd)
{
	struct tapir_mapping_line line = {
		.start_va = mmap->start_va,
		.end_va = mmap->start_va + mmap->len_bytes,
		.file_off = mmap->file_off,
		.inode = image ? image->inode : mmap->inode,
		.dev = image ? tapir_mapping_line__dev(image->dev)
			     : tapir_mapping_line__dev(makedev(mmap->dev_major, mmap->dev_minor)),
		.path = strcmp(mmap->path, "//anon") ? mmap->path : "",
	};

	line.path_len = strlen(line.path);
	look_for_dotnet(t, mmap->tgid, &line);
	post(t, tapir_describe__mapping(&t->recbuf, mmap->tgid, mmap->time_ns, &line, image), fd);
}

/* Of mappings that the kernel gives a build ID, it gives no inode. */
static bool is_other_inode(const struct tapir_sideband_mmap *mmap, int path_fd)
{
	struct stat st;

	return !mmap->build_id_bytes &&
	       (tapir_foreign__stat(path_fd, &st) || st.st_ino != mmap->inode ||
		major(st.st_dev) != mmap->dev_major || minor(st.st_dev) != mmap->dev_minor);
}

static bool is_other_build(const struct tapir_sideband_mmap *mmap, const struct tapir_image *image)
{
	return mmap->build_id_bytes &&
	       (image->build_id_bytes != mmap->build_id_bytes ||
		memcmp(image->build_id, mmap->build_id, mmap->build_id_bytes) != 0);
}

/*
 * What the path names below the root of the process or, when that has ended, below ours: nothing
 * is opened that is not a regular file, or is known to be another one.
 */
static int open_missed(const struct tapir_sideband_mmap *mmap)
{
	tapir_autofd int root_fd = tapir_foreign__root(mmap->tgid), path_fd = -1;
	uint32_t seen_by = mmap->tgid;

	if (root_fd == -ESRCH) {
		seen_by = 0;
		root_fd = tapir_foreign__root(0);
	}
	path_fd = tapir_foreign__take(root_fd, mmap->path, seen_by, 0);
	if (path_fd < 0)
		return path_fd;
	return is_other_inode(mmap, path_fd) ? -ESTALE
					     : tapir_foreign__open_taken(path_fd, seen_by);
}

/*
 * The mapping, or its process, was gone before we came. The file is still known by where the
 * process saw it, if it is the same there; if it has probes that were asked for, they fired
 * unseen.
 */
static void miss_mapping(struct tapir_targets *t, const struct tapir_sideband_mmap *mmap)
{
	tapir_autofd int fd = open_missed(mmap);
	int mark = tapir_diag__cnt();
	struct tapir_image *image = NULL;

	if (fd < 0 || tapir_images__look(t->opts.images, fd, mmap->path, &image) ||
	    is_other_build(mmap, image))
		image = NULL;
	if (is_a_gap(fd) || (image && image->is_unread))
		post_gap(t, mmap->tgid, mmap->path, mmap->time_ns, TAPIR_GAP_NOT_READ);
	if (image && image->site_cnt && !image->is_on_everywhere)
		post_gap(t, mmap->tgid, mmap->path, mmap->time_ns, TAPIR_GAP_ATTACH_FAILED);
	post_told(t, mmap, image, image ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1);
	tapir_diag__rewind(mark);
}

/* What fails is tried again when the file is mapped. */
int tapir_targets__foresee(struct tapir_targets *t, int fd, const char *path)
{
	bool has_key = false;
	struct tapir_image *image = NULL;
	struct tapir_file_key key;
	int err;

	if (t->opts.holder)
		has_key = !tapir_programs__file_key(t->opts.programs, fd, &key);
	err = tapir_images__look(t->opts.images, fd, path, &image);
	if (!err)
		err = tapir_images__attach(t->opts.images, image, 0);
	if (err >= 0 && has_key)
		tapir_programs__set_known_file(t->opts.programs, &key);
	return err < 0 ? err : 0;
}

/* ---- who is traced ---------------------------------------------------------------------- */

static void forget(struct tapir_targets *t, uint32_t tgid, uint64_t start_ns)
{
	tapir_map__del(&t->live, tgid);
	tapir_programs__del_tgid(t->opts.programs, tgid, start_ns);
}

static void end(struct tapir_targets *t, uint32_t tgid, uint64_t start_ns)
{
	uint64_t *value = tapir_map__put(&t->ended, tgid, NULL);

	if (value)
		*value = start_ns;
	else /* early is better than never: the recording would not end */
		forget(t, tgid, start_ns);
}

/* Ended before, it is another one with the same number. is_new may be NULL. */
static int list(struct tapir_targets *t, uint32_t tgid, bool *is_new)
{
	tapir_map__del(&t->ended, tgid);
	t->has_seen_one = true;
	return tapir_map__put(&t->live, tgid, is_new) ? 0 : -ENOMEM;
}

static int see_process(struct tapir_targets *t, const struct tapir_proc *proc)
{
	int err = list(t, proc->tgid, NULL);

	if (err)
		return err;
	post(t, tapir_describe__process(&t->recbuf, proc), -1);
	/* Events that come by its ring need no probe. */
	if (t->opts.rings)
		tapir_ring_reader__add(t->opts.rings, proc->tgid);
	if (t->last_poll_ns)
		return see_joined(t, proc->tgid, t->last_poll_ns);
	return see_mappings(t, proc->tgid, t->scan_ns, 0);
}

int tapir_targets__add(struct tapir_targets *t, uint32_t tgid)
{
	int err = list(t, tgid, NULL);

	return err ? err : tapir_programs__add_tgid(t->opts.programs, tgid);
}

static int add_named(struct tapir_targets *t, uint32_t tgid)
{
	struct tapir_proc proc;
	int err = tapir_proc__read_running(tgid, &proc);

	if (err)
		return err;
	if (proc.is_kernel_thread)
		tapir_warn("process %u (%s) is a kernel thread: it has no events, only samples and "
			   "context switches",
			   tgid, proc.comm);
	/* First the filter, then the probes: a link made before would drop its first hits. */
	err = tapir_programs__add_tgid(t->opts.programs, tgid);
	if (!err)
		err = see_process(t, &proc);
	tapir_proc__fini(&proc);
	return err;
}

static bool rules_match(const struct tapir_target_rules *rules, const struct tapir_proc *proc)
{
	const char **glob;

	if (proc->is_kernel_thread || proc->tgid == (uint32_t)getpid())
		return false;
	tapir_vec_for_each (glob, &rules->comms)
		if (tapir_glob__match(*glob, proc->comm))
			return true;
	return rules->all;
}

static int add_if_matching(uint32_t tgid, void *ctx)
{
	struct tapir_targets *t = ctx;
	struct tapir_proc proc;
	int mark = tapir_diag__cnt(), err = 0;

	if (tapir_proc__read(tgid, &proc)) {
		tapir_diag__rewind(mark); /* ended meanwhile */
		return 0;
	}
	if (rules_match(t->opts.rules, &proc))
		err = see_process(t, &proc);
	tapir_proc__fini(&proc);
	return err;
}

/* A member of a cgroup; of a v1 one, whose members the filter knows by number. */
static int add_member(uint32_t tgid, void *ctx)
{
	struct tapir_targets *t = ctx;
	int mark = tapir_diag__cnt(), err;

	if (tapir_map__get(&t->live, tgid) || tgid == (uint32_t)getpid())
		return 0;
	err = add_named(t, tgid);
	if (err != -ESRCH)
		return err;
	tapir_diag__rewind(mark);
	return 0;
}

static int scan_cgroups(struct tapir_targets *t)
{
	const char **path;
	int err = 0;

	tapir_vec_for_each (path, &t->opts.rules->cgroups) {
		struct tapir_cgroup cgroup;

		err = tapir_cgroup__find(*path, &cgroup);
		if (!err)
			err = tapir_cgroup__each_process(&cgroup, add_member, t);
		if (err)
			break;
	}
	return err;
}

int tapir_targets__scan(struct tapir_targets *t)
{
	const struct tapir_target_rules *rules = t->opts.rules;
	const uint32_t *pid;
	int err = 0;

	t->scan_ns = tapir_clock__now_ns();
	if (rules->all || rules->comms.cnt)
		return tapir_proc__each(add_if_matching, t);
	if (rules->cgroups.cnt)
		return scan_cgroups(t);
	tapir_vec_for_each (pid, &rules->pids) {
		err = add_named(t, *pid);
		if (err)
			break;
	}
	return err;
}

void tapir_targets__look(struct tapir_targets *t)
{
	tapir_ring_looks__run(&t->looks);
}

uint64_t tapir_targets__next_look_ns(const struct tapir_targets *t)
{
	return tapir_ring_looks__next_ns(&t->looks);
}

/* An end that was not reported, as without programs: of some processes at a time. */
static void sweep(struct tapir_targets *t)
{
	size_t looked_cnt = 0;

	for (size_t n = 0; n < t->live.cap && looked_cnt < SWEEP_MAX; n++) {
		const struct tapir_map_slot *slot = &t->live.slots[t->sweep_at++ % t->live.cap];

		if (!slot->used)
			continue;
		looked_cnt++;
		if (tapir_proc__has_ended((uint32_t)slot->key))
			end(t, (uint32_t)slot->key, 0);
	}
}

void tapir_targets__poll(struct tapir_targets *t)
{
	int mark = tapir_diag__cnt();

	tapir_ring_looks__turn(&t->looks, &t->live);
	tapir_lateness__settle(&t->lateness, tapir_clock__now_ns(), post_late, t);
	t->last_poll_ns = t->scan_ns;
	t->scan_ns = tapir_clock__now_ns();
	scan_cgroups(t);
	sweep(t);
	tapir_diag__rewind(mark); /* it may be gone: then nothing joins it any more */
}

void tapir_targets__finish(struct tapir_targets *t)
{
	tapir_lateness__settle(&t->lateness, UINT64_MAX, post_late, t);
}

void tapir_targets__look_again(struct tapir_targets *t)
{
	int mark = tapir_diag__cnt();

	for (size_t i = 0; i < t->live.cap; i++)
		if (t->live.slots[i].used)
			see_mappings(t, (uint32_t)t->live.slots[i].key, tapir_clock__now_ns(), 0);
	tapir_diag__rewind(mark);
}

/* ---- what happens to them --------------------------------------------------------------- */

/* What BPF could not see from where it stood: command line, path, cgroup. */
static void post_process(struct tapir_targets *t, const struct tapir_rec_process *rec)
{
	struct tapir_proc proc;
	int mark = tapir_diag__cnt();

	if (rec->kind == TAPIR_PROCESS_EXIT || tapir_proc__read(rec->tgid, &proc)) {
		tapir_diag__rewind(mark);
		post(t, &rec->h, -1);
		return;
	}
	post(t, tapir_describe__process_event(&t->recbuf, rec, &proc), -1);
	tapir_proc__fini(&proc);
}

/* While a recording runs, what went wrong is a warning (and a GAP record), not its end. */
static void warn_from(int mark)
{
	for (int i = mark; i < tapir_diag__cnt(); i++)
		tapir_warn("%s", tapir_diag__line(i));
	tapir_diag__rewind(mark);
}

static void on_process(struct tapir_targets *t, const struct tapir_rec_process *rec)
{
	int mark = tapir_diag__cnt();
	bool is_new = false;

	if (rec->kind == TAPIR_PROCESS_EXEC) {
		tapir_dotnet_lanes__restart(t->opts.lanes, rec->tgid);
		tapir_lateness__on_exec(&t->lateness, rec->tgid, rec->h.time_ns);
	}
	if (rec->kind == TAPIR_PROCESS_EXIT) {
		end(t, rec->tgid, rec->start_ns);
		tapir_dotnet_lanes__forget(t->opts.lanes, rec->tgid);
	} else if (rec->kind == TAPIR_PROCESS_EXEC || t->opts.rules->children ||
		   !t->opts.rules->pids.cnt) {
		list(t, rec->tgid, &is_new);
		if (rec->kind == TAPIR_PROCESS_EXEC)
			tapir_ring_looks__expect(&t->looks, rec->tgid);
	}
	post_process(t, rec);
	if (is_new && rec->kind == TAPIR_PROCESS_EXEC && !t->opts.rules->all)
		see_joined(t, rec->tgid, rec->h.time_ns);
	warn_from(mark);
}

/* The thread stands still: attach the probes, then let it go on, whatever came of it. */
static void on_held(struct tapir_targets *t, const struct tapir_rec_held *rec)
{
	int mark = tapir_diag__cnt();

	if (rec->kind == TAPIR_HOLD_PTRACE) {
		if (!rec->word && rec->arg)
			tapir_holder__let_go(t->opts.holder, (uint32_t)rec->arg);
		return;
	}
	list(t, rec->tgid, NULL);
	tapir_ring_looks__expect(&t->looks, rec->tgid);
	see_mappings(t, rec->tgid, rec->h.time_ns, rec->arg);
	warn_from(mark);
	if (tapir_holder__release(t->opts.holder, rec))
		tapir_lateness__pardon(&t->lateness, rec);
}

void tapir_targets__on_control(struct tapir_targets *t, const struct tapir_rec *rec, uint32_t len)
{
	if (len >= sizeof(struct tapir_rec_held) && rec->type == TAPIR_REC_HELD && t->opts.holder)
		on_held(t, (const struct tapir_rec_held *)rec);
	else if (tapir_record__ok(rec, len) && rec->type == TAPIR_REC_PROCESS)
		on_process(t, (const struct tapir_rec_process *)rec);
	else if (tapir_record__ok(rec, len) && rec->type == TAPIR_REC_THREAD)
		post(t, rec, -1);
}

void tapir_targets__on_mmap(struct tapir_targets *t, const struct tapir_sideband_mmap *mmap)
{
	struct mapping_walk walk = {.t = t,
				    .tgid = mmap->tgid,
				    .tid = mmap->tid,
				    .from_ns = mmap->time_ns,
				    .mapped_ns = mmap->time_ns,
				    .only_va = mmap->start_va};
	const struct tapir_image *known;
	int mark = tapir_diag__cnt();

	if (!is_ours(t, mmap->tgid))
		return;
	if (mmap->path[0] == '/' && mmap->path[1] != '/')
		tapir_ring_looks__expect(&t->looks, mmap->tgid);
	if (tapir_queue__backlog(t->opts.queue) > BACKLOG_MAX) {
		t->dropped_cnt++;
		return;
	}
	known = tapir_images__of_build_id(t->opts.images, mmap->build_id, mmap->build_id_bytes);
	if (known || mmap->path[0] != '/' || !strncmp(mmap->path, "//", 2)) {
		post_told(t, mmap, known, -1);
		return;
	}
	walk_mappings(&walk);
	if (!walk.saw_one)
		miss_mapping(t, mmap);
	warn_from(mark);
}

uint64_t tapir_targets__dropped(const struct tapir_targets *t)
{
	return t->dropped_cnt;
}

void tapir_targets__forget_ended(struct tapir_targets *t)
{
	for (size_t i = 0; i < t->ended.cap && t->ended.cnt; i++) {
		const struct tapir_map_slot *slot = &t->ended.slots[i];

		if (!slot->used)
			continue;
		tapir_lateness__on_exit(&t->lateness, (uint32_t)slot->key);
		forget(t, (uint32_t)slot->key, slot->value);
	}
	tapir_map__clear(&t->ended);
}

void tapir_targets__warn_of_none(const struct tapir_targets *t)
{
	const struct tapir_target_rules *rules = t->opts.rules;

	if (t->has_seen_one)
		return;
	if (rules->comms.cnt)
		tapir_warn("no process was named %s%s: --comm compares the whole name, of at most "
			   "15 characters (`ps -eo comm` lists them)",
			   rules->comms.data[0], rules->comms.cnt > 1 ? " or another --comm" : "");
	else if (rules->cgroups.cnt)
		tapir_warn("no process ran in cgroup %s%s", rules->cgroups.data[0],
			   rules->cgroups.cnt > 1 ? " or another --cgroup" : "");
}

size_t tapir_targets__live_cnt(struct tapir_targets *t)
{
	if (!tapir_target_rules__are_named(t->opts.rules))
		return SIZE_MAX;
	/* An EXIT record may have been lost: a process that is gone does not count. */
	for (size_t i = 0; i < t->live.cap; i++) {
		uint64_t tgid = t->live.slots[i].key;

		if (t->live.slots[i].used && kill((pid_t)tgid, 0) && errno == ESRCH) {
			tapir_map__del(&t->live, tgid);
			i = (size_t)-1; /* slots moved */
		}
	}
	return t->live.cnt;
}
