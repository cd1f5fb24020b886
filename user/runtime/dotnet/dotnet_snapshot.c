// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * EnablePerfMap makes the runtime write names of all code into a file; it is switched off again at
 * once, since the runtime would otherwise write for ever. Whatever happens between the two requests
 * is a guard's: a file that the runtime still writes must keep its name (user/README.md). Where no
 * file is possible, a rundown has the same names.
 */
#include "runtime/dotnet/dotnet_snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"
#include "base/foreign/foreign_file.h"
#include "runtime/dotnet/dotnet_child.h"
#include "runtime/dotnet/dotnet_dump.h"
#include "runtime/dotnet/dotnet_rundown.h"
#include "runtime/peer/peer_lock.h"

#define SWITCH_OFF_NS (500 * TAPIR_NS_PER_MS) /* beyond the timeout, if it must be */
#define RUNDOWN_NS    (5 * TAPIR_NS_PER_SEC)
#define ROOM_BYTES    (64ull << 20) /* what a jitdump of a large program takes */

static const char task[] = "take the .NET names";

/* ---- the file ---------------------------------------------------------------------------------- */

static int run_on_file(struct tapir_dotnet_talk *talk, tapir_peer_act act,
		       struct tapir_peer_answer *answer, int *fd)
{
	talk->job.act = act;
	snprintf(talk->job.dir, sizeof(talk->job.dir), "%s", talk->facts.dump_dir);
	snprintf(talk->job.name, sizeof(talk->job.name), "jit-%u.dump", talk->job.ns_tgid);
	return tapir_peer_helper__run(&talk->job, answer, fd);
}

static int open_dump(struct tapir_dotnet_talk *talk, struct tapir_jitdump_answer *out)
{
	struct tapir_peer_answer file;
	tapir_autofd int path_fd = -1;
	int err = run_on_file(talk, tapir_peer_child__take, &file, &path_fd);

	if (err)
		return err;
	if (path_fd >= 0)
		out->fd = tapir_foreign__open_taken(path_fd, talk->job.tgid);
	if (out->fd < 0 || !file.size)
		return tapir_diag__fail(
			-EIO,
			"cannot %s in process %u: it reports %s/jit-%u.dump as written, but the file is empty",
			task, talk->job.tgid, talk->facts.dump_dir, talk->job.ns_tgid);
	out->dev = file.dev;
	out->inode = file.inode;
	return 0;
}

/*
 * The file did not exist before, so a regular file of that user with its name is the runtime's. It
 * is found by the directory descriptor: a process that was killed in the meantime has no root.
 */
static bool remove_dump(const struct tapir_dotnet_talk *talk, int dir_fd)
{
	struct tapir_peer_helper job = talk->job;
	uint64_t least_ns = tapir_clock__now_ns() + SWITCH_OFF_NS;
	struct tapir_peer_answer file = {};

	job.act = tapir_peer_child__remove;
	job.pidfd = job.proc_fd = -1;
	job.dir_fd = dir_fd;
	job.dev = job.inode = 0;
	if (job.deadline_ns < least_ns)
		job.deadline_ns = least_ns;
	return !tapir_peer_helper__try(&job, &file, NULL);
}

/* ---- on and off -------------------------------------------------------------------------------- */

/* The command was sent, and may be carried out at any later time. */
static bool is_pending(const struct tapir_dotnet_talk *talk, int err)
{
	return talk->was_sent && (err == -ETIMEDOUT || err == -ECANCELED || err == -EAGAIN);
}

static int switch_on(struct tapir_dotnet_talk *talk, bool *is_on)
{
	struct tapir_str request = {};
	uint32_t hresult = 0;
	int err = tapir_dotnet__put_enable_perf_map(&request, TAPIR_DOTNET_PERF_MAP_JITDUMP);

	if (!err)
		err = tapir_dotnet_talk__command(talk, &request, &hresult);
	*is_on = !err || (talk->was_sent && !hresult);
	tapir_str__fini(&request);
	return err;
}

/*
 * Also for a process that stopped in the meantime or a recording that ends: it waits in its queue.
 * Earlier requests are done once this is answered.
 */
static bool switch_off(struct tapir_dotnet_talk *talk, bool *may_write)
{
	int line_cnt = tapir_diag__cnt();
	struct tapir_str request = {};
	uint64_t least_ns = tapir_clock__now_ns() + SWITCH_OFF_NS;
	int err;

	talk->job.cancel_fd = -1;
	talk->job.may_be_stopped = true;
	if (talk->deadline_ns < least_ns)
		talk->deadline_ns = talk->job.deadline_ns = least_ns;
	err = tapir_dotnet__put_plain(&request, TAPIR_DOTNET_DISABLE_PERF_MAP);
	if (!err)
		err = tapir_dotnet_talk__command(talk, &request, NULL);
	tapir_str__fini(&request);
	tapir_diag__rewind(line_cnt);
	*may_write &= err && (!talk->was_sent || is_pending(talk, err));
	return !err || talk->was_sent;
}

/*
 * The runtime maps it executable, which is how tools find it, and does not report that it ran out
 * of space.
 */
static bool has_room(int dir_fd)
{
	struct statfs fs;

	return dir_fd < 0 || tapir_foreign__statfs(dir_fd, &fs) ||
	       (!(fs.f_flags & (ST_NOEXEC | ST_RDONLY)) &&
		(uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize >= ROOM_BYTES);
}

/* Else the runtime would write on, and the file stay, if we are killed in between. */
static void start_guard(const struct tapir_dotnet_talk *talk, int dir_fd, bool is_file_ours,
			struct tapir_peer_guard *out)
{
	struct tapir_peer_helper job = talk->job; /* its name is the file's */
	struct tapir_str request = {};
	struct tapir_peer_answer none;
	int err = tapir_dotnet__put_plain(&request, TAPIR_DOTNET_DISABLE_PERF_MAP);

	job.act = NULL;
	job.last_act = tapir_dotnet_child__end_dump;
	job.dir_fd = dir_fd;
	job.bytes = request.data;
	job.byte_cnt = request.len;
	snprintf(job.dir, sizeof(job.dir), "%s", talk->facts.tmp_dir);
	if (!is_file_ours)
		job.name[0] = '\0';
	if (!err)
		(void)tapir_peer_helper__try_guarded(&job, &none, NULL, out);
	tapir_str__fini(&request); /* the child has its copy */
}

/* A file that exists already belongs to the runtime's user: no other user can replace it. */
static int make_dump(const struct tapir_dotnet_talk *talk, int dir_fd, bool *is_made)
{
	struct tapir_peer_helper job = talk->job; /* its name is the file's */
	struct tapir_peer_answer made;
	int err;

	job.act = tapir_peer_child__make;
	job.dir_fd = dir_fd;
	err = tapir_peer_helper__try(&job, &made, NULL);
	/* Without an answer there may be one, too. */
	*is_made = !err || made.why == TAPIR_PEER_WHY_CHILD;
	return err ? tapir_diag__fail(err, "cannot %s in process %u: %s", job.task, job.tgid,
				      tapir_peer_answer__reason(&made, err))
		   : 0;
}

static int write_and_open(struct tapir_dotnet_talk *talk, struct tapir_jitdump_answer *out,
			  bool *is_truncated)
{
	struct tapir_peer_answer before;
	tapir_autofd int dir_fd = -1;
	struct tapir_peer_guard guard = TAPIR_PEER_NO_GUARD;
	bool is_made = false, may_write = false, is_on = false, is_off, is_gone;
	int err = run_on_file(talk, tapir_peer_child__open_dir, &before, &dir_fd);

	if (err)
		return err;
	if (!has_room(dir_fd))
		return tapir_diag__fail(-ENOSPC,
					"cannot %s in process %u: %s is full, read-only or noexec",
					task, talk->job.tgid, talk->facts.dump_dir);
	start_guard(talk, dir_fd, !before.found, &guard);
	err = before.found ? 0 : make_dump(talk, dir_fd, &is_made);
	out->begin_ns = tapir_clock__now_ns();
	talk->guard = &guard;
	if (!err) {
		err = switch_on(talk, &is_on);
		may_write = is_pending(talk, err);
	}
	talk->guard = NULL;
	out->end_ns = tapir_clock__now_ns();
	if (!err)
		err = open_dump(talk, out);
	is_off = !is_on || switch_off(talk, &may_write);
	*is_truncated = !err && !may_write && tapir_dotnet_dump__is_truncated(out->fd);
	if (*is_truncated)
		tapir_debug("process %u: its jitdump is incomplete: the names are asked for again, "
			    "as events",
			    talk->job.tgid);
	/*
	 * A runtime that may still write would create the file again, and follow a link that took
	 * its place.
	 */
	is_gone = !is_made || (!may_write && remove_dump(talk, dir_fd));
	if (is_off && is_gone)
		tapir_peer_guard__dismiss(&guard);
	else /* we may be out of descriptors, of which it has its own */
		tapir_peer_guard__let_act(&guard);
	return err;
}

/*
 * The rundown has the same names as the dump. If it fails, err remains, with its lines from
 * line_cnt on, or what there is of a file.
 */
static int take_rundown(struct tapir_dotnet_talk *talk, struct tapir_jitdump_answer *out, int err,
			int line_cnt)
{
	const struct tapir_dotnet_opts opts = {
		.tgid = talk->job.tgid, .cancel_fd = talk->job.cancel_fd, .timeout_ns = RUNDOWN_NS};

	uint64_t begin_ns = tapir_clock__now_ns();
	int failed_cnt = tapir_diag__cnt(), fd = -1;

	if (tapir_dotnet_rundown__take(&opts, &fd)) {
		tapir_diag__rewind(failed_cnt);
		return err;
	}
	tapir_diag__rewind(line_cnt);
	tapir_guard__fd(&out->fd);
	out->fd = fd;
	out->begin_ns = begin_ns;
	out->end_ns = tapir_clock__now_ns();
	out->is_rundown = true;
	return 0;
}

/* Not written, a command it does not know, or no file that is the runtime's alone can be there. */
static bool needs_no_file(int err)
{
	static const int errs[] = {ENOSPC, EDQUOT, EIO,	   EREMOTEIO, EPERM, EACCES,
				   EROFS,  EEXIST, ENOENT, ENOTDIR,   ELOOP};

	for (size_t i = 0; i < sizeof(errs) / sizeof(errs[0]); i++)
		if (err == -errs[i])
			return true;
	return false;
}

static int run_snapshot(struct tapir_dotnet_talk *talk, struct tapir_jitdump_answer *out)
{
	int line_cnt = tapir_diag__cnt();
	tapir_autofd int lock_fd = -1;
	bool is_truncated = false;
	int err = talk->facts.writes_maps ? -EALREADY : tapir_peer_lock__take(&talk->job, &lock_fd);

	talk->job.lock_fd = lock_fd;
	if (!err && tapir_dotnet_facts__has_open_map(&talk->facts))
		err = -EALREADY;
	if (err)
		return err;
	err = write_and_open(talk, out, &is_truncated);
	if (needs_no_file(err) || is_truncated)
		err = take_rundown(talk, out, err, line_cnt);
	return err;
}

int tapir_dotnet__snapshot(const struct tapir_dotnet_opts *opts, struct tapir_jitdump_answer *out)
{
	struct tapir_jitdump_answer snapshot = {.fd = -1};
	struct tapir_dotnet_talk talk;
	int err = tapir_dotnet_talk__init(&talk, opts);

	if (err)
		return err;
	err = run_snapshot(&talk, &snapshot);
	tapir_dotnet_talk__fini(&talk);
	if (err)
		tapir_dotnet_snapshot__fini(&snapshot);
	else
		*out = snapshot;
	return err;
}

void tapir_dotnet_snapshot__fini(struct tapir_jitdump_answer *snapshot)
{
	tapir_guard__fd(&snapshot->fd);
}
