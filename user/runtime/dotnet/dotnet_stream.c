// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Opens an event session by the newest of five commands that the runtime knows: it refuses an
 * unknown one, which costs a connection and nothing else.
 */
#include "runtime/dotnet/dotnet_stream.h"

#include <errno.h>
#include <string.h>

#include "base/diag.h"
#include "base/file.h"

static int open_by_command(struct tapir_dotnet_talk *talk, enum tapir_dotnet_command command,
			   const struct tapir_dotnet_session *session,
			   struct tapir_dotnet_stream *out, uint32_t *hresult)
{
	struct tapir_str request = {}, message = {};
	struct tapir_dotnet_session requested = *session;
	struct tapir_dotnet_reply reply;
	tapir_autofd int fd = -1;
	int err;

	/* CollectTracing3 is the first command that can leave stacks out. */
	requested.has_stacks |= command < TAPIR_DOTNET_COLLECT_TRACING3;
	err = tapir_dotnet__put_collect(&request, command, &requested);
	if (err)
		tapir_diag__add(
			"cannot open the event stream of .NET process %u: the request is malformed",
			talk->job.tgid);
	else
		err = tapir_dotnet_talk__exchange(talk, &request, &message, &reply, &fd, hresult);
	if (!err && tapir_dotnet__parse_session(&reply, &out->session_id))
		err = tapir_diag__fail(-EPROTO,
				       "no answer from .NET process %u: the reply is not a session",
				       talk->job.tgid);
	tapir_str__fini(&request);
	tapir_str__fini(&message);
	if (err)
		return err;
	out->has_stacks = requested.has_stacks;
	out->fd = fd;
	fd = -1;
	return 0;
}

int tapir_dotnet_stream__open(const struct tapir_dotnet_opts *opts,
			      const struct tapir_dotnet_session *session,
			      struct tapir_dotnet_stream *out)
{
	int line_cnt = tapir_diag__cnt(), err;
	struct tapir_dotnet_talk talk;

	err = tapir_dotnet_talk__init(&talk, opts);
	if (err)
		return err;
	talk.job.task = "open a .NET event stream";
	for (unsigned command = TAPIR_DOTNET_COLLECT_TRACING5;
	     command >= TAPIR_DOTNET_COLLECT_TRACING; command--) {
		uint32_t hresult = 0;

		tapir_diag__rewind(line_cnt);
		err = open_by_command(&talk, (enum tapir_dotnet_command)command, session, out,
				      &hresult);
		if (hresult != TAPIR_DOTNET_UNKNOWN_COMMAND)
			break;
	}
	tapir_dotnet_talk__fini(&talk);
	return err;
}

int tapir_dotnet_stream__stop(const struct tapir_dotnet_opts *opts, uint64_t session_id)
{
	struct tapir_str request = {}, message = {};
	int line_cnt = tapir_diag__cnt(), err;
	struct tapir_dotnet_talk talk;
	struct tapir_dotnet_reply reply;
	tapir_autofd int fd = -1;

	err = tapir_dotnet_talk__init(&talk, opts);
	if (!err) {
		err = tapir_dotnet__put_stop(&request, session_id);
		if (!err)
			err = tapir_dotnet_talk__exchange(&talk, &request, &message, &reply, &fd,
							  NULL);
		tapir_dotnet_talk__fini(&talk);
	}
	tapir_str__fini(&request);
	tapir_str__fini(&message);
	tapir_diag__rewind(line_cnt);
	return err;
}
