// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * HotSpot's attach protocol (attachListener.cpp): four texts, each with its NUL, of which the first
 * is the version "1"; the answer is a number on a line, then text until the JVM hangs up. A command
 * that writes a file is sent only after a guard knows the file's name.
 */
#include "runtime/jvm/jvm_attach.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "runtime/jvm/jvm_child.h"
#include "runtime/peer/peer_ability.h"
#include "runtime/jvm/jvm_facts.h"
#include "runtime/peer/peer_helper.h"
#include "runtime/peer/peer_lock.h"

#define PROTOCOL_VERSION  "1"
#define BAD_VERSION	  101
#define MAX_COMMAND_BYTES 16			  /* AttachOperation::name_length_max */
#define CLEANUP_NS	  (300 * TAPIR_NS_PER_MS) /* the child's part of the timeout's end */
#define MAX_ERROR_BYTES	  300			  /* of a JVM's message in our line */

/* One conversation with one JVM, and how long it may take. */
struct talk {
	struct tapir_jvm_facts facts;
	struct tapir_peer_helper job;
	uint64_t deadline_ns;
	size_t max_reply_bytes;
	const struct tapir_peer_guard *guard; /* of what it is asked to write; NULL: nothing */
};

static int begin_attach(const struct tapir_jvm_opts *opts, struct talk *talk)
{
	uint64_t timeout_ns = opts->timeout_ns ? opts->timeout_ns : TAPIR_JVM_TIMEOUT_NS;
	uint64_t now = tapir_clock__now_ns();
	int err;

	*talk = (struct talk){.deadline_ns = now + timeout_ns,
			      .max_reply_bytes = opts->max_reply_bytes ? opts->max_reply_bytes
								       : TAPIR_JVM_MAX_REPLY_BYTES};
	err = tapir_jvm_facts__read(opts->tgid, &talk->facts);
	if (err)
		return err;
	talk->job = (struct tapir_peer_helper){
		.tgid = opts->tgid,
		.ns_tgid = talk->facts.peer.ns_tgid,
		.uid = talk->facts.peer.uid,
		.gid = talk->facts.peer.gid,
		.takes_user =
			talk->facts.peer.uid != geteuid() || talk->facts.peer.gid != getegid(),
		.no_signal = talk->facts.no_signal,
		.pidfd = talk->facts.peer.pidfd,
		.proc_fd = talk->facts.peer.proc_fd,
		.dir_fd = -1,
		.task = "attach to the JVM",
		.dir = "tmp",
		.file_why = TAPIR_PEER_WHY_PERF_MAP,
		.cancel_fd = opts->cancel_fd,
		.deadline_ns = now + timeout_ns -
			       (timeout_ns > 2 * CLEANUP_NS ? CLEANUP_NS : timeout_ns / 2),
		.perfdata_va = talk->facts.perfdata_va,
		.perfdata_bytes = talk->facts.perfdata_bytes,
	};
	err = tapir_peer__check_able(&talk->job, NULL, TAPIR_PEER_PATIENCE_NS);
	if (err)
		tapir_jvm_facts__fini(&talk->facts);
	return err;
}

static void end_attach(struct talk *talk)
{
	tapir_jvm_facts__fini(&talk->facts);
}

/* ---- request and reply ---------------------------------------------------------------------- */

static int broken(const struct talk *talk, int err, const char *why)
{
	return tapir_diag__fail(err, "no answer from JVM process %u: %s", talk->facts.peer.tgid,
				why);
}

static int build_request(const char *cmd, const char *const *args, struct tapir_str *out)
{
	bool has_ended = !args;

	if (strlen(cmd) > MAX_COMMAND_BYTES)
		return tapir_diag__fail(-EINVAL, "a JVM attach command has at most %d bytes: %s",
					MAX_COMMAND_BYTES, cmd);
	tapir_str__add(out, PROTOCOL_VERSION, sizeof(PROTOCOL_VERSION));
	tapir_str__add(out, cmd, strlen(cmd) + 1);
	for (int i = 0; i < TAPIR_JVM_MAX_ARGS; i++) {
		const char *arg = has_ended || !args[i] ? "" : args[i];

		has_ended = has_ended || !args[i];
		if (strlen(arg) > TAPIR_JVM_MAX_ARG_BYTES)
			return tapir_diag__fail(
				-EINVAL, "an argument of an attach command has at most %u bytes",
				TAPIR_JVM_MAX_ARG_BYTES);
		tapir_str__add(out, arg, strlen(arg) + 1);
	}
	return out->failed ? -ENOMEM : 0;
}

static int send_request(const struct talk *talk, int fd, const struct tapir_str *request)
{
	int err = tapir_peer_helper__send(&talk->job, fd, request->data, request->len,
					  talk->deadline_ns);

	/* it hangs up on a client it does not like, and on one it does not understand */
	return err ? broken(talk, err, "the request could not be sent") : 0;
}

/* Everything it sends until it hangs up. */
static int receive_all(const struct talk *talk, int fd, struct tapir_str *out)
{
	char bytes[4096];

	for (;;) {
		int err = tapir_peer__await(&talk->job, fd, talk->deadline_ns);
		ssize_t n = err ? 0 : read(fd, bytes, sizeof(bytes));

		if (err == -EAGAIN)
			return err;
		if (!err && n < 0 && errno != EINTR && errno != EAGAIN)
			err = -errno;
		if (err)
			return broken(talk, err, "it does not answer");
		if (!n)
			return out->failed ? -ENOMEM : 0;
		if (n > 0)
			tapir_str__add(out, bytes, (size_t)n);
		if (out->len > talk->max_reply_bytes)
			return broken(talk, -EFBIG, "its reply is too long");
	}
}

/* "-?[0-9]{1,9}\n" */
static bool parse_result(const struct tapir_str *text, int *result, size_t *used)
{
	size_t at = text->len && text->data[0] == '-', digits = at;
	int value = 0;

	while (at < text->len && at - digits < 9 && text->data[at] >= '0' && text->data[at] <= '9')
		value = value * 10 + (text->data[at++] - '0');
	if (at == digits || at >= text->len || text->data[at] != '\n')
		return false;
	*result = digits ? -value : value;
	*used = at + 1;
	return true;
}

static int refused(const struct talk *talk, const char *cmd, int result, const char *text,
		   size_t len)
{
	const char *newline = len ? memchr(text, '\n', len) : NULL;
	struct tapir_str line = {};
	int err;

	len = newline ? (size_t)(newline - text) : len;
	tapir_str__add_printable(&line, text, len < MAX_ERROR_BYTES ? len : MAX_ERROR_BYTES);
	err = tapir_diag__fail(-EREMOTEIO, "JVM process %u refused command %s: result %d: %s",
			       talk->facts.peer.tgid, cmd, result, line.data ? line.data : "");
	tapir_str__fini(&line);
	return err;
}

static int read_reply(const struct talk *talk, const char *cmd, int fd, struct tapir_str *reply)
{
	struct tapir_str all = {};
	size_t used = 0;
	int result = 0;
	int err = receive_all(talk, fd, &all);

	if (!err && !all.len)
		err = broken(talk, -ECONNRESET,
			     "it closed the connection (it may run as another user now)");
	else if (!err && !parse_result(&all, &result, &used))
		err = broken(talk, -EPROTO, "its reply does not begin with a result");
	else if (!err && result == BAD_VERSION && used == all.len)
		err = broken(talk, -EPROTO, "it speaks another version of the protocol");
	else if (!err && result)
		err = refused(talk, cmd, result, all.data + used, all.len - used);
	if (!err) {
		tapir_str__add(reply, all.data + used, all.len - used);
		err = reply->failed ? -ENOMEM : 0;
	}
	tapir_str__fini(&all);
	return err;
}

static int run_command(struct talk *talk, const char *cmd, const char *const *args,
		       struct tapir_str *reply)
{
	struct tapir_peer_answer answer;
	struct tapir_str request = {};
	tapir_autofd int fd = -1;
	int err = build_request(cmd, args, &request);

	talk->job.act = tapir_jvm_child__connect;
	if (!err)
		err = tapir_peer_helper__run(&talk->job, &answer, &fd);
	if (!err && fd < 0)
		err = broken(talk, -EIO, "the helper returned no socket");
	if (!err && talk->guard)
		tapir_peer_guard__note_request(talk->guard, fd);
	if (!err)
		err = send_request(talk, fd, &request);
	if (!err)
		err = read_reply(talk, cmd, fd, reply);
	if (talk->guard && err != -ETIMEDOUT && err != -ECANCELED && err != -EAGAIN)
		tapir_peer_guard__note_answered(talk->guard);
	tapir_str__fini(&request);
	return err;
}

int tapir_jvm__command(const struct tapir_jvm_opts *opts, const char *cmd, const char *const *args,
		       struct tapir_str *reply)
{
	struct talk talk;
	int err = begin_attach(opts, &talk);

	if (err)
		return err;
	err = run_command(&talk, cmd, args, reply);
	end_attach(&talk);
	return err;
}

/* ---- the perf map ----------------------------------------------------------------------------- */

static int find_socket(struct talk *talk, const char *name, struct tapir_peer_answer *answer,
		       int *tmp_fd)
{
	talk->job.act = tapir_peer_child__open_dir;
	snprintf(talk->job.name, sizeof(talk->job.name), "%s", name);
	return tapir_peer_helper__run(&talk->job, answer, tmp_fd);
}

static int ask_for_map(struct talk *talk, const char *file, const struct tapir_peer_guard *guard)
{
	struct tapir_str reply = {};
	char command[96];
	const char *const args[] = {command, NULL};
	int err;

	snprintf(command, sizeof(command), file ? "Compiler.perfmap /tmp/%s" : "Compiler.perfmap",
		 file);
	talk->guard = guard;
	err = run_command(talk, "jcmd", args, &reply);
	talk->guard = NULL;
	tapir_str__fini(&reply);
	return err;
}

/* The guard removes the file from here on, unless it is notified of success. */
static int make_map(const struct talk *talk, struct tapir_jvm_perf_map *map)
{
	struct tapir_peer_helper job = talk->job;
	struct tapir_peer_answer made;
	int err;

	job.act = tapir_peer_child__make;
	job.last_act = tapir_peer_child__discard_written;
	job.dir_fd = map->dir_fd;
	memcpy(job.name, map->name, sizeof(map->name));
	err = tapir_peer_helper__try_guarded(&job, &made, NULL, &map->guard);
	if (err)
		return tapir_diag__fail(err, "cannot %s in process %u: /tmp/%s: %s", job.task,
					job.tgid, map->name, tapir_peer_answer__reason(&made, err));
	map->existed = false;
	return 0;
}

/* JDK 22 and later take a file name; older ones refuse it and do nothing. */
static int dump_elsewhere(struct talk *talk, struct tapir_jvm_perf_map *map)
{
	struct tapir_jvm_perf_map other = *map;
	int err;

	snprintf(other.name, sizeof(other.name), ".tapir-perf-%u.map", talk->facts.peer.ns_tgid);
	err = make_map(talk, &other);
	if (!err)
		err = ask_for_map(talk, other.name, &other.guard);
	if (err)
		tapir_peer_guard__let_act(&other.guard);
	else
		*map = other;
	return err;
}

static int dump_somewhere(struct talk *talk, struct tapir_jvm_perf_map *map)
{
	int line_cnt = tapir_diag__cnt(), err;

	if (map->existed) {
		err = dump_elsewhere(talk, map);
		if (err != -EREMOTEIO)
			return err;
		tapir_diag__rewind(line_cnt);
	}
	err = map->existed ? 0 : make_map(talk, map);
	return err ? err : ask_for_map(talk, NULL, &map->guard);
}

/* A file that the JVM writes: the command is followed by its path. */
struct dump_request {
	const char *command, *suffix;
	const char *failure; /* "it wrote no flight recording" */
};

static int dump(struct talk *talk, const struct dump_request *request,
		struct tapir_jvm_perf_map *map)
{
	struct tapir_peer_answer before, file;
	int err;

	(void)request;
	snprintf(map->name, sizeof(map->name), "perf-%u.map", talk->facts.peer.ns_tgid);
	err = find_socket(talk, map->name, &file, &map->dir_fd);
	if (err)
		return err;
	map->existed = file.found;
	before = file;
	err = dump_somewhere(talk, map);
	if (!err)
		err = find_socket(talk, map->name, &file, NULL);
	if (err)
		return err;
	/* Another one is the JVM's, written for us: the one that was there has been removed since.
	 */
	map->existed &= file.dev == before.dev && file.inode == before.inode;
	if (!file.found || !file.size)
		return broken(talk, -EIO, "it reported a perf map but wrote none");
	map->dev = file.dev;
	map->inode = file.inode;
	return 0;
}

typedef int (*dump_fn)(struct talk *talk, const struct dump_request *request,
		       struct tapir_jvm_perf_map *map);

/* With the lock on what this JVM is asked to write. */
static int dump_locked(const struct tapir_jvm_opts *opts, dump_fn dump_it,
		       const struct dump_request *request, struct tapir_jvm_perf_map *out)
{
	struct tapir_jvm_perf_map map = {.dir_fd = -1, .lock_fd = -1, .guard = TAPIR_PEER_NO_GUARD};
	struct talk talk;
	int err = begin_attach(opts, &talk);

	if (err)
		return err;
	err = tapir_peer_lock__take(&talk.job, &map.lock_fd);
	if (err) {
		end_attach(&talk);
		return err;
	}
	talk.job.lock_fd = map.lock_fd;
	map.uid = talk.facts.peer.uid;
	map.gid = talk.facts.peer.gid;
	err = dump_it(&talk, request, &map);
	end_attach(&talk);
	if (err)
		tapir_jvm_perf_map__fini(&map);
	else
		*out = map;
	return err;
}

int tapir_jvm__dump_perf_map(const struct tapir_jvm_opts *opts, struct tapir_jvm_perf_map *out)
{
	return dump_locked(opts, dump, NULL, out);
}

/* ---- a flight recording, a dump of threads ----------------------------------------------------- */

static int ask_for_file(struct talk *talk, const struct dump_request *request,
			const struct tapir_jvm_perf_map *file)
{
	struct tapir_str reply = {};
	char command[160];
	const char *const args[] = {command, NULL};
	int err;

	snprintf(command, sizeof(command), "%s/tmp/%s", request->command, file->name);
	talk->guard = &file->guard;
	err = run_command(talk, "jcmd", args, &reply);
	talk->guard = NULL;
	tapir_str__fini(&reply);
	return err;
}

static int dump_file(struct talk *talk, const struct dump_request *request,
		     struct tapir_jvm_perf_map *file)
{
	struct tapir_peer_answer found;
	int err;

	talk->job.file_why = TAPIR_PEER_WHY_FILE;
	snprintf(file->name, sizeof(file->name), ".tapir-%u.%s", talk->facts.peer.ns_tgid,
		 request->suffix);
	err = find_socket(talk, file->name, &found, &file->dir_fd);
	if (!err && found.found)
		err = tapir_diag__fail(-EEXIST, "/tmp/%s of process %u exists: remove it",
				       file->name, talk->facts.peer.tgid);
	if (!err)
		err = make_map(talk, file);
	if (!err)
		err = ask_for_file(talk, request, file);
	if (!err)
		err = find_socket(talk, file->name, &found, NULL);
	if (!err && (!found.found || !found.size))
		err = broken(talk, -EIO, request->failure);
	return err;
}

int tapir_jvm__dump_recording(const struct tapir_jvm_opts *opts, const char *recording,
			      struct tapir_jvm_perf_map *out)
{
	char command[96];
	const struct dump_request request = {command, "jfr", "it wrote no flight recording"};

	snprintf(command, sizeof(command),
		 "JFR.dump name=%s path-to-gc-roots=true filename=", recording);
	return dump_locked(opts, dump_file, &request, out);
}

int tapir_jvm__dump_threads(const struct tapir_jvm_opts *opts, struct tapir_jvm_perf_map *out)
{
	static const struct dump_request request = {"Thread.dump_to_file -overwrite ", "threads",
						    "it wrote no dump of its threads"};

	return dump_locked(opts, dump_file, &request, out);
}

/* ---- what was written ------------------------------------------------------------------------- */

void tapir_jvm_perf_map__fini(struct tapir_jvm_perf_map *map)
{
	tapir_peer_guard__let_act(&map->guard);
	if (map->dir_fd >= 0)
		close(map->dir_fd);
	tapir_guard__fd(&map->lock_fd); /* when it is removed: the next tapir may ask */
	map->dir_fd = map->lock_fd = -1;
}

int tapir_jvm__remove_perf_map(const struct tapir_jvm_opts *opts,
			       const struct tapir_jvm_perf_map *map)
{
	uint64_t timeout_ns = opts->timeout_ns ? opts->timeout_ns : TAPIR_JVM_TIMEOUT_NS;
	struct tapir_peer_helper job = {
		.act = tapir_peer_child__remove,
		.task = "attach to the JVM",
		.file_why = TAPIR_PEER_WHY_PERF_MAP,
		.tgid = opts->tgid,
		.uid = map->uid,
		.gid = map->gid,
		.takes_user = map->uid != geteuid() || map->gid != getegid(),
		.pidfd = -1,
		.proc_fd = -1,
		.dir_fd = map->dir_fd,
		.cancel_fd = -1, /* this is the cleaning up */
		.deadline_ns = tapir_clock__now_ns() + timeout_ns,
		.dev = map->dev,
		.inode = map->inode,
	};
	struct tapir_peer_answer answer;

	if (map->existed || map->dir_fd < 0)
		return 0;
	memcpy(job.name, map->name, sizeof(job.name));
	return tapir_peer_helper__run(&job, &answer, NULL);
}
