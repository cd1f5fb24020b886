/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * event_lanes.h - how the events that a runtime sends by itself reach a recording: a library that
 * is loaded into its processes and opens a ring lane, or a stream that they are asked for. A
 * runtime that has such events fills a table of operations; a recording has one struct
 * tapir_event_lanes.
 *
 * The control thread calls all of these, but for __see, __forget and __restart, which are cheap and
 * for the thread that reads the kernel's reports. Without such a runtime they do nothing.
 */
#ifndef TAPIR_USER_EVENT_LANES_H
#define TAPIR_USER_EVENT_LANES_H

#include "attach/flow/queue.h"
#include "attach/flow/seen_names.h"
#include "attach/rings/ring_reader.h"
#include "base/str.h"
#include "spec/spec.h"

/* The lanes by which events are taken. */
enum tapir_lanes {
	TAPIR_LANES_AUTO,   /* by rings where the program offers them, by probes elsewhere */
	TAPIR_LANES_PROBE,  /* by probes alone */
	TAPIR_LANES_RING,   /* by rings alone */
	TAPIR_LANES_STREAM, /* by the event streams of .NET's runtimes alone */
};

/* Borrowed until __free. */
struct tapir_event_lanes_opts {
	size_t sz;
	const struct tapir_spec_list *specs;
	const struct tapir_pids *pids; /* processes that are named */
	bool is_all, with_children;    /* all of the machine; children of the named ones */
	bool is_by_default;	       /* nothing was requested of any runtime by name */
	bool has_program;	       /* tapir starts one, which is traced */
	bool with_budgeted_awaits, with_stack, publishes;
	enum tapir_lanes lanes;
	int signal_fd;			  /* readable: what is awaited is given up */
	void (*while_waiting)(void *ctx); /* called again and again in __await */
	void *ctx;
};

/* The facts about processes, so far. */
struct tapir_event_lane_facts {
	size_t attached_cnt;   /* whose lane, or stream, was opened */
	size_t undeclared_cnt; /* that declare no event source that is requested */
	size_t stream_cnt;     /* whose stream was */
	bool may_come;	       /* one is still to be tried: it is starting, or stopped */
	bool has_streams;      /* streams may be opened */
};

/* The events that ring lanes are to request; NULL: none. Borrowed. */
struct tapir_event_lane_request {
	const struct tapir_ring_request *request;
	const struct tapir_spec *name_spec, *budget_spec;
};

/* The members do what the functions below say, on what plan has made. */
struct tapir_event_lane_ops {
	int (*plan)(const struct tapir_event_lanes_opts *opts, void **out);
	void (*free)(void *state);
	void (*request)(const void *state, struct tapir_event_lane_request *out);
	bool (*is_alone)(const void *state);
	void (*begin)(void *state);
	void (*join)(void *state);
	int (*add_environment)(void *state, const char *program, struct tapir_str *out);
	int (*start)(void *state, struct tapir_ring_reader *rings, struct tapir_queue *queue);
	void (*await)(void *state, uint32_t program_tgid);
	int (*check)(void *state);
	void (*see)(void *state, uint32_t tgid, struct tapir_sv path);
	void (*forget)(void *state, uint32_t tgid, bool restarts);
	void (*poll)(void *state, uint64_t now_ns);
	uint64_t (*next_ns)(const void *state);
	void (*stop)(void *state, bool has_started);
	void (*facts)(void *state, struct tapir_event_lane_facts *out);
	bool (*spec_matched)(void *state, size_t spec_idx);
	void (*add_seen)(void *state, struct tapir_seen_names *out);
};

struct tapir_event_lanes {
	const struct tapir_event_lane_ops *ops;
	void *state; /* NULL: none */
};

/* First: determines what SPECs ask of such processes. 0, or -errno; free it in any case. */
int tapir_event_lanes__plan(struct tapir_event_lanes *l, const struct tapir_event_lanes_opts *opts);
/* After __stop and the ring reader's end. */
void tapir_event_lanes__free(struct tapir_event_lanes *l);
struct tapir_event_lane_request tapir_event_lanes__request(const struct tapir_event_lanes *l);
/*
 * Returns true if only such processes are traced, and no children: nothing has to be probed.
 */
bool tapir_event_lanes__are_alone(const struct tapir_event_lanes *l);
/* Prepare processes that run already, while programs are loaded, which is up to the kernel. */
void tapir_event_lanes__begin(struct tapir_event_lanes *l);
void tapir_event_lanes__join(struct tapir_event_lanes *l);
/*
 * Appends the additions to the environment of a program that tapir starts, of that file (NULL: not
 * found); nothing: there are none. 0 or -ENOMEM.
 */
int tapir_event_lanes__add_environment(struct tapir_event_lanes *l, const char *program,
				       struct tapir_str *out);
/* After the ring reader was started (NULL: none is), before the targets. */
int tapir_event_lanes__start(struct tapir_event_lanes *l, struct tapir_ring_reader *rings,
			     struct tapir_queue *queue);
/* Waits until each process that runs was tried, or a signal arrives. program_tgid: 0 none. */
void tapir_event_lanes__await(struct tapir_event_lanes *l, uint32_t program_tgid);
/* After __await: fails with a line where publishing was requested, and no process can. */
int tapir_event_lanes__check(struct tapir_event_lanes *l);
/* A process maps that file; it has ended; another program is in it. */
void tapir_event_lanes__see(struct tapir_event_lanes *l, uint32_t tgid, struct tapir_sv path);
void tapir_event_lanes__forget(struct tapir_event_lanes *l, uint32_t tgid);
void tapir_event_lanes__restart(struct tapir_event_lanes *l, uint32_t tgid);
/* Does what is due; the time of the next call, UINT64_MAX: never. */
void tapir_event_lanes__poll(struct tapir_event_lanes *l, uint64_t now_ns);
uint64_t tapir_event_lanes__next_ns(const struct tapir_event_lanes *l);
/* Before the ring reader's __stop. The session thread must still be taking blocks. */
void tapir_event_lanes__stop(struct tapir_event_lanes *l, bool has_started);
struct tapir_event_lane_facts tapir_event_lanes__facts(const struct tapir_event_lanes *l);
/* Both are about streams, which no ring reader sees; l: NULL is fine. */
bool tapir_event_lanes__spec_matched(const struct tapir_event_lanes *l, size_t spec_idx);
void tapir_event_lanes__add_seen(const struct tapir_event_lanes *l, struct tapir_seen_names *out);

#endif
