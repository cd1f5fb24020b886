/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dotnet_client.h - asking a running .NET process by its diagnostics port.
 *
 * The runtime listens on $TMPDIR/dotnet-diagnostic-{pid}-{start time}-socket in its own root, with
 * its TMPDIR and its pid as it sees them; with DOTNET_EnableDiagnostics=0 it does not listen. One
 * request per connection. The process controls all of that and may be hostile: a child of tapir
 * assumes its uid, finds the socket and passes the connection on (peer_helper.h); the process
 * itself must be the listener. Nothing is sent to a stopped process.
 *
 * Privileges: root, or CAP_SETUID, CAP_SETGID and CAP_SYS_PTRACE; none for a process of the same
 * user. Kernel: 5.9. Thread-safe. Blocks up to the timeout.
 */
#ifndef TAPIR_USER_DOTNET_CLIENT_H
#define TAPIR_USER_DOTNET_CLIENT_H

#include "base/str.h"
#include "runtime/dotnet/dotnet_ipc.h"
#include "runtime/dotnet/dotnet_port.h"

#define TAPIR_DOTNET_TIMEOUT_NS 5000000000ull

struct tapir_dotnet_opts {
	uint32_t tgid;
	int cancel_fd;	     /* when readable, end with -ECANCELED; -1: nothing cancels */
	uint64_t timeout_ns; /* for the whole call; 0: TAPIR_DOTNET_TIMEOUT_NS */
	struct tapir_dotnet_port
		*port; /* tapir's port that it may connect to (dotnet_port.h); NULL: none */
};

/*
 * All failures leave a line:
 *   -ESRCH no such process · -EINVAL a thread, or no message · -EPERM not allowed, or what should
 *   be the process's is not · -ENOENT it has no socket (the line says why if its environment
 *   does) · -ETIMEDOUT · -ECANCELED · -ECONNRESET it hung up · -EPROTO no answer of this
 *   protocol · -EREMOTEIO it refused: *hresult (may be NULL) has its code · -EBUSY peer_helper.h
 */

/* A request (dotnet_ipc.h) whose answer is an HRESULT: 0 when that is one of success. */
int tapir_dotnet__command(const struct tapir_dotnet_opts *opts, const struct tapir_str *request,
			  uint32_t *hresult);

/*
 * Requests the process's facts by the newest of the three commands that it knows. On success out
 * needs __fini.
 */
int tapir_dotnet__ask_process(const struct tapir_dotnet_opts *opts,
			      struct tapir_dotnet_process *out);

/* ---- for dotnet_snapshot.c, dotnet_attach.c, dotnet_stream.c: several requests of one talk ------------------------------------ */

#include "runtime/dotnet/dotnet_facts.h"
#include "runtime/peer/peer_helper.h"

struct tapir_dotnet_talk {
	struct tapir_dotnet_facts facts;
	struct tapir_peer_helper job;
	struct tapir_dotnet_port *port;
	uint64_t deadline_ns;
	bool was_sent; /* the last request: it may be carried out, whatever came back */
	const struct tapir_peer_guard *guard; /* notified when a request is sent; NULL: none */
};

/*
 * Reads the process's facts and takes the deadline from opts, which are borrowed. 0 or -errno with
 * a line; on success __fini closes what is open.
 */
int tapir_dotnet_talk__init(struct tapir_dotnet_talk *talk, const struct tapir_dotnet_opts *opts);
void tapir_dotnet_talk__fini(struct tapir_dotnet_talk *talk);

/* Adds the line for facts.is_off (diagnostics are switched off) and returns the failure. */
int tapir_dotnet_talk__no_diagnostics(const struct tapir_dotnet_talk *talk);

/*
 * Does what tapir_peer__check_able does, also for a runtime that is suspended at its start: until
 * it is resumed it loads and collects nothing.
 */
int tapir_dotnet_talk__check_runs(const struct tapir_dotnet_talk *talk, uint64_t patience_ns);

/*
 * One request and its reply, which borrows from *message; *fd, also yours on failure, is the
 * connection, on which more may follow.
 */
int tapir_dotnet_talk__exchange(struct tapir_dotnet_talk *talk, const struct tapir_str *request,
				struct tapir_str *message, struct tapir_dotnet_reply *reply,
				int *fd, uint32_t *hresult);

/*
 * Sends a command without a result; *hresult: the runtime's code, if it refused. 0 or -errno with a
 * line.
 */
int tapir_dotnet_talk__command(struct tapir_dotnet_talk *talk, const struct tapir_str *request,
			       uint32_t *hresult);

#endif
