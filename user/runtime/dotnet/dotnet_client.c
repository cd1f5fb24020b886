// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One request on one connected socket, and the commands built on it. A process that has just
 * started may not listen yet, which looks like one that never will: only for a young process is the
 * attempt repeated.
 */
#include "runtime/dotnet/dotnet_client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/dotnet/dotnet.h"
#include "runtime/dotnet/dotnet_child.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "runtime/peer/peer_ability.h"

#define CLEANUP_NS (300 * TAPIR_NS_PER_MS) /* the child's part of the timeout's end */
#define PORT_NS	   (500 * TAPIR_NS_PER_MS) /* for it to connect to tapir's port */
#define START_NS   (2 * TAPIR_NS_PER_SEC)  /* a process so young may have no socket yet */

int tapir_dotnet_talk__init(struct tapir_dotnet_talk *talk, const struct tapir_dotnet_opts *opts)
{
	uint64_t timeout_ns = opts->timeout_ns ? opts->timeout_ns : TAPIR_DOTNET_TIMEOUT_NS;
	uint64_t now = tapir_clock__now_ns();
	const struct tapir_peer_facts *peer = &talk->facts.peer;
	int err;

	*talk = (struct tapir_dotnet_talk){.deadline_ns = now + timeout_ns, .port = opts->port};
	err = tapir_dotnet_facts__read(opts->tgid, &talk->facts);
	if (err)
		return err;
	talk->job = (struct tapir_peer_helper){
		.task = "query the .NET runtime",
		.tgid = opts->tgid,
		.ns_tgid = peer->ns_tgid,
		.uid = peer->uid,
		.gid = peer->gid,
		.takes_user = peer->uid != geteuid() || peer->gid != getegid(),
		.pidfd = peer->pidfd,
		.proc_fd = peer->proc_fd,
		.dir_fd = -1,
		.cancel_fd = opts->cancel_fd,
		/*
		 * Time is kept back in which the helper takes its traces off, whatever the runtime
		 * does.
		 */
		.deadline_ns = now + timeout_ns -
			       (timeout_ns > 2 * CLEANUP_NS ? CLEANUP_NS : timeout_ns / 2),
		.file_why = TAPIR_PEER_WHY_FILE,
		.absent_until_ns = talk->facts.start_ns + START_NS,
	};
	return 0;
}

void tapir_dotnet_talk__fini(struct tapir_dotnet_talk *talk)
{
	tapir_dotnet_facts__fini(&talk->facts);
}

/* ---- request and reply ---------------------------------------------------------------------- */

static int broken(const struct tapir_dotnet_talk *talk, int err, const char *why)
{
	return tapir_diag__fail(err, "no answer from .NET process %u: %s", talk->job.tgid, why);
}

int tapir_dotnet_talk__no_diagnostics(const struct tapir_dotnet_talk *talk)
{
	return tapir_diag__fail(
		-ENOENT,
		"cannot query .NET process %u: its environment disables diagnostics (DOTNET_EnableDiagnostics=0)",
		talk->job.tgid);
}

int tapir_dotnet_talk__check_runs(const struct tapir_dotnet_talk *talk, uint64_t patience_ns)
{
	return tapir_peer__check_able(
		&talk->job,
		tapir_dotnet_facts__is_suspended(&talk->facts)
			? "its runtime waits at its start for a resume command from a diagnostics "
			  "tool (DOTNET_DefaultDiagnosticPortSuspend, DOTNET_DiagnosticPorts)"
			: NULL,
		patience_ns);
}

int tapir_dotnet__check_runs(uint32_t tgid, const char *task)
{
	const struct tapir_dotnet_opts opts = {.tgid = tgid, .cancel_fd = -1};
	struct tapir_dotnet_talk talk;
	int err = tapir_dotnet_talk__init(&talk, &opts);

	if (err)
		return err;
	talk.job.task = task;
	err = tapir_dotnet_talk__check_runs(&talk, TAPIR_PEER_PATIENCE_NS);
	tapir_dotnet_talk__fini(&talk);
	return err;
}

static int connect_to(struct tapir_dotnet_talk *talk, int *fd)
{
	struct tapir_peer_answer answer;
	uint64_t port_end_ns = tapir_clock__now_ns() + PORT_NS;
	int err;

	if (talk->facts.is_off)
		return tapir_dotnet_talk__no_diagnostics(talk);
	err = tapir_peer__check_able(&talk->job, NULL, TAPIR_PEER_PATIENCE_NS);
	if (err)
		return err;
	/* A process of another user was not allowed to find it. */
	if (talk->port && !talk->job.takes_user &&
	    !tapir_dotnet_port__take(talk->port, &talk->job, port_end_ns, fd))
		return 0;
	talk->job.act = tapir_dotnet_child__connect;
	snprintf(talk->job.dir, sizeof(talk->job.dir), "%s", talk->facts.tmp_dir);
	return tapir_peer_helper__run(&talk->job, &answer, fd);
}

/* want bytes more. */
static int receive(const struct tapir_dotnet_talk *talk, int fd, size_t want, struct tapir_str *out)
{
	char bytes[4096];

	while (want) {
		int err = tapir_peer__await(&talk->job, fd, talk->deadline_ns);
		ssize_t n = err ? 0 : read(fd, bytes, want < sizeof(bytes) ? want : sizeof(bytes));

		if (err == -EAGAIN)
			return err;
		if (!err && n < 0 && errno != EINTR && errno != EAGAIN)
			err = -errno;
		if (!err && !n)
			err = -ECONNRESET;
		if (err)
			return broken(talk, err,
				      err == -ECONNRESET ? "it closed the connection early"
							 : "it does not answer");
		if (n > 0) {
			tapir_str__add(out, bytes, (size_t)n);
			want -= (size_t)n;
		}
		if (out->failed)
			return -ENOMEM;
	}
	return 0;
}

static int refused(const struct tapir_dotnet_talk *talk, const char *request, uint32_t code,
		   uint32_t *hresult)
{
	if (hresult)
		*hresult = code;
	return tapir_diag__fail(-EREMOTEIO, ".NET process %u refused command %02x/%02x: 0x%08x: %s",
				talk->job.tgid, (uint8_t)request[16], (uint8_t)request[17], code,
				tapir_dotnet__error_text(code));
}

static int receive_reply(const struct tapir_dotnet_talk *talk, int fd, const char *request,
			 struct tapir_str *message, struct tapir_dotnet_reply *reply,
			 uint32_t *hresult)
{
	int size, err = receive(talk, fd, TAPIR_DOTNET_HEADER_BYTES, message);

	if (err)
		return err;
	size = tapir_dotnet__reply_bytes(message->data);
	if (size < 0)
		return broken(talk, -EPROTO, "its reply has no valid header");
	err = receive(talk, fd, (size_t)size - TAPIR_DOTNET_HEADER_BYTES, message);
	if (!err && tapir_dotnet__parse_reply(message->data, message->len, reply))
		err = broken(talk, -EPROTO, "its reply is incomplete");
	if (!err && reply->is_error)
		err = refused(talk, request, reply->hresult, hresult);
	return err;
}

/* message gets the reply's bytes, which reply borrows; *fd is the connection, yours. */
int tapir_dotnet_talk__exchange(struct tapir_dotnet_talk *talk, const struct tapir_str *request,
				struct tapir_str *message, struct tapir_dotnet_reply *reply,
				int *fd, uint32_t *hresult)
{
	int err;

	talk->was_sent = false;
	if (request->len < TAPIR_DOTNET_HEADER_BYTES)
		return broken(talk, -EINVAL, "the request is empty");
	err = connect_to(talk, fd);
	if (!err && *fd < 0)
		err = broken(talk, -EIO, "the helper returned no socket");
	if (err)
		return err;
	if (talk->guard)
		tapir_peer_guard__note_request(talk->guard, -1);
	err = tapir_peer_helper__send(&talk->job, *fd, request->data, request->len,
				      talk->deadline_ns);
	if (err)
		return broken(talk, err, "the request could not be sent");
	talk->was_sent = true;
	return receive_reply(talk, *fd, request->data, message, reply, hresult);
}

int tapir_dotnet_talk__command(struct tapir_dotnet_talk *talk, const struct tapir_str *request,
			       uint32_t *hresult)
{
	struct tapir_dotnet_reply reply;
	struct tapir_str message = {};
	tapir_autofd int fd = -1;
	uint32_t code = 0;
	int err = tapir_dotnet_talk__exchange(talk, request, &message, &reply, &fd, hresult);

	if (!err && tapir_dotnet__parse_hresult(&reply, &code))
		err = broken(talk, -EPROTO, "its reply has no result");
	if (!err && (int32_t)code < 0)
		err = refused(talk, request->data, code, hresult);
	tapir_str__fini(&message);
	return err;
}

/* ---- commands -------------------------------------------------------------------------------- */

int tapir_dotnet__command(const struct tapir_dotnet_opts *opts, const struct tapir_str *request,
			  uint32_t *hresult)
{
	struct tapir_dotnet_talk talk;
	int err = tapir_dotnet_talk__init(&talk, opts);

	if (err)
		return err;
	err = tapir_dotnet_talk__command(&talk, request, hresult);
	tapir_dotnet_talk__fini(&talk);
	return err;
}

static int ask_process_by(struct tapir_dotnet_talk *talk, enum tapir_dotnet_command command,
			  struct tapir_dotnet_process *out, uint32_t *hresult)
{
	struct tapir_str request = {}, message = {};
	struct tapir_dotnet_reply reply;
	tapir_autofd int fd = -1;
	int err = tapir_dotnet__put_plain(&request, command);

	if (!err)
		err = tapir_dotnet_talk__exchange(talk, &request, &message, &reply, &fd, hresult);
	if (!err && tapir_dotnet__parse_process(&reply, command, out))
		err = broken(talk, -EPROTO, "its reply does not identify the process");
	tapir_str__fini(&request);
	tapir_str__fini(&message);
	return err;
}

int tapir_dotnet__ask_process(const struct tapir_dotnet_opts *opts,
			      struct tapir_dotnet_process *out)
{
	static const enum tapir_dotnet_command commands[] = {
		TAPIR_DOTNET_PROCESS_INFO3, TAPIR_DOTNET_PROCESS_INFO2, TAPIR_DOTNET_PROCESS_INFO};
	const size_t cnt = sizeof(commands) / sizeof(commands[0]);
	int line_cnt = tapir_diag__cnt();
	struct tapir_dotnet_talk talk;
	int err = tapir_dotnet_talk__init(&talk, opts);

	if (err)
		return err;
	for (size_t i = 0; i < cnt; i++) {
		uint32_t hresult = 0;

		tapir_diag__rewind(line_cnt);
		err = ask_process_by(&talk, commands[i], out, &hresult);
		if (hresult != TAPIR_DOTNET_UNKNOWN_COMMAND)
			break;
	}
	tapir_dotnet_talk__fini(&talk);
	return err;
}
