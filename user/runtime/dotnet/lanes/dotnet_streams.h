/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dotnet_streams.h - the event streams of .NET processes into which tapir's library cannot be
 * loaded, or should not be: one thread per process reads what the runtime sends and makes records
 * of it.
 *
 * It costs more than a ring (a buffer in the process, a stack walk of the runtime's), stacks have
 * managed frames alone, and what does not fit into the runtime's buffer is dropped, and counted.
 */
#ifndef TAPIR_USER_DOTNET_STREAMS_H
#define TAPIR_USER_DOTNET_STREAMS_H

#include "spec/spec.h"
#include "attach/flow/queue.h"
#include "attach/flow/seen_names.h"
#include "attach/rings/ring_request.h"
#include "runtime/dotnet/dotnet_port.h"

struct tapir_dotnet_streams_opts {
	size_t sz;
	struct tapir_queue *queue;		  /* borrowed until __stop, like the others */
	const struct tapir_spec_list *specs;	  /* what is requested */
	const struct tapir_spec *name_spec;	  /* events for the names of code; NULL: none */
	const struct tapir_ring_request *request; /* the same, by dotnet_specs.h */
	bool with_stack;
	struct tapir_dotnet_port
		*port; /* tapir's port, known to programs that it starts; NULL: none */
};

#define TAPIR_DOTNET_STREAMS_MAX 64u /* open at a time */

struct tapir_dotnet_streams;

/*
 * Options are copied, what they point to is borrowed until __free. No thread runs yet. 0 or -errno.
 */
int tapir_dotnet_streams__new(const struct tapir_dotnet_streams_opts *opts,
			      struct tapir_dotnet_streams **out);

/*
 * Requests the process's stream, and begins to read. cancel_fd: when readable, this ends. Blocks a
 * few seconds at most. Failures, with a line: dotnet_client.h; -ENOTSUP: the SPECs name no provider
 * that could be requested; -EUSERS: the limit of streams is reached. Any thread, also the
 * following.
 */
int tapir_dotnet_streams__open(struct tapir_dotnet_streams *s, uint32_t tgid, int cancel_fd);

/* Returns the number of processes whose stream was opened. NULL is fine, as for all of these. */
size_t tapir_dotnet_streams__process_cnt(struct tapir_dotnet_streams *s);
bool tapir_dotnet_streams__spec_matched(struct tapir_dotnet_streams *s, size_t spec_idx);
void tapir_dotnet_streams__add_seen(struct tapir_dotnet_streams *s, struct tapir_seen_names *out);

/*
 * Ends the sessions, reads what they still have, within a few seconds whatever the processes do.
 * The session thread must still be taking blocks.
 */
void tapir_dotnet_streams__stop(struct tapir_dotnet_streams *s);
void tapir_dotnet_streams__free(struct tapir_dotnet_streams *s); /* stops them, too */

#endif
