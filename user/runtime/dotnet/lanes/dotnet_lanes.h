/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dotnet_lanes.h - ring lanes in .NET processes: a thread that loads libtapir-coreclr.so into each
 * process found, and passes the lane it opens to the ring reader. A process may be starting,
 * stopped, hung or ending: it is tried again as long as that makes sense, and no other thread waits
 * for it.
 *
 * All lanes of a recording have one key, which no other tapir knows.
 */
#ifndef TAPIR_USER_DOTNET_LANES_H
#define TAPIR_USER_DOTNET_LANES_H

#include "runtime/dotnet/lanes/dotnet_streams.h"
#include "attach/rings/ring_reader.h"

struct tapir_dotnet_lanes_opts {
	size_t sz;
	struct tapir_ring_reader *rings; /* borrowed until __stop, like the library; NULL: streams
					    alone */
	struct tapir_dotnet_streams *streams; /* where no library can be loaded; NULL: nothing */
	const void *library;
	size_t library_bytes;
	struct tapir_queue
		*queue; /* gets a note for each process that reports its code; NULL: not wanted */
	uint64_t key;	/* 0: one is generated and passed to the reader */
	bool are_named; /* the processes: a warning for each that cannot be recorded */
	/*
	 * A process is entered when its assemblies declare an event source that one of these
	 * requests; NULL: each process is entered. Borrowed until __stop.
	 */
	const struct tapir_spec_list *declared;
	/*
	 * For a program that tapir starts: the library in its environment; NULL: none, and then why
	 * (NULL: not such a program). Borrowed until __stop.
	 */
	const char *start_path, *start_why;
};

struct tapir_dotnet_lanes;

/* Starts the thread; opts' pointers are borrowed until __stop. 0 or -errno. */
int tapir_dotnet_lanes__start(const struct tapir_dotnet_lanes_opts *opts,
			      struct tapir_dotnet_lanes **out);

/*
 * Notes that a mapping shows that a process runs .NET. Cheap; again: nothing. NULL is fine, as for
 * all of these.
 */
void tapir_dotnet_lanes__see(struct tapir_dotnet_lanes *l, uint32_t tgid);
/* Notes that a process maps an assembly, which may declare an event source that is requested. */
void tapir_dotnet_lanes__see_assembly(struct tapir_dotnet_lanes *l, uint32_t tgid);
/* Inspects the files of a process that may run .NET (NativeAOT maps none that shows it). */
void tapir_dotnet_lanes__poll(struct tapir_dotnet_lanes *l, uint32_t tgid);
/* __forget: the process has ended. __restart: another program is in it now. */
void tapir_dotnet_lanes__forget(struct tapir_dotnet_lanes *l, uint32_t tgid);
void tapir_dotnet_lanes__restart(struct tapir_dotnet_lanes *l, uint32_t tgid);

/* Returns true if no process waits for its first try. */
bool tapir_dotnet_lanes__are_settled(struct tapir_dotnet_lanes *l);
/* Returns true if one is still to be tried, for the first time or again (it is starting, or
 * stopped). */
bool tapir_dotnet_lanes__may_come(struct tapir_dotnet_lanes *l);
/* Returns the number of processes that declare no event source that is requested. */
size_t tapir_dotnet_lanes__undeclared_cnt(struct tapir_dotnet_lanes *l);
/* Returns the number of processes whose lane, or stream, was opened. */
size_t tapir_dotnet_lanes__attached_cnt(struct tapir_dotnet_lanes *l);

/* Returns -errno of the last inspection, or of the last attempt to open its lane; else 0. */
int tapir_dotnet_lanes__error(struct tapir_dotnet_lanes *l, uint32_t tgid);

/* Adds those whose lane is open. */
struct tapir_dotnet_tgids tapir_vec(uint32_t);
void tapir_dotnet_lanes__add_attached(struct tapir_dotnet_lanes *l, struct tapir_dotnet_tgids *out);

/*
 * Cancels what is being tried. Before the reader's __stop, which closes the sessions: the libraries
 * then unload by themselves, 1.3 to 1.5 s later, and tapir need not wait for that.
 */
void tapir_dotnet_lanes__stop(struct tapir_dotnet_lanes *l);
/* Ends the thread, if __stop did not, and frees the list. NULL is fine. */
void tapir_dotnet_lanes__free(struct tapir_dotnet_lanes *l);

#endif
