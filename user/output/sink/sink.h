/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sink.h - a format of another tool that a recording is written in. A sink is given the records one
 * by one, writes into x->out, and knows neither where that goes nor how the recording was made. It
 * holds what its reader needs at once, up to a limit: what is left out beyond it is counted and
 * said. One thread.
 */
#ifndef TAPIR_USER_SINK_H
#define TAPIR_USER_SINK_H

#include "base/str.h"
#include "output/export/event_filter.h"
#include "trace/reader.h"
#include "trace/trace_filter.h"

/* The caller of a sink: it reads, shows progress, ends at Ctrl-C, and owns the output. */
struct tapir_sink_host {
	void *ctx;
	/* Reads as tapir_reader__next does; -EINTR, with a line: it was interrupted. */
	int (*next)(void *ctx, const struct tapir_rec **rec);
	/* Writes the sink's output and empties it. 0 or -errno with a line, also when interrupted.
	 */
	int (*write)(void *ctx, struct tapir_str *out);
	/* The recording from its beginning, for a sink that reads it again. 0 or -errno. */
	int (*open_again)(void *ctx, struct tapir_reader **out);
};

struct tapir_export {
	const struct tapir_sink_host *host;
	struct tapir_reader *reader;
	const struct tapir_catalog *catalog; /* of reader */
	struct tapir_str out;
	const char *title;		  /* the recording's name */
	struct tapir_str head;		  /* lines of the finding; empty: none */
	bool folds;			  /* runs of frames: folded_tree.h */
	bool of_offcpu;			  /* folded: time off the CPU, not samples */
	struct tapir_event_filter choice; /* these events instead of samples; no glob: of both */
	struct tapir_trace_filter trace;  /* and these samples, events and times off the CPU */
	uint64_t chosen_cnt;		  /* records that were given */
	void *state;			  /* of the sink, from begin to free */
};

enum tapir_sink_content { TAPIR_SINK_IS_BINARY, TAPIR_SINK_IS_TEXT, TAPIR_SINK_IS_JSON };

struct tapir_sink {
	const char *name;
	const char
		*description; /* what it holds, and the reader it is for; half a line, for help */
	const char *lacks;    /* what of a recording it has no place for; half a line */
	const char *suffix;   /* of a file's name */
	uint32_t max_bytes;   /* of what it holds at once; 0: it is written as it is read */
	enum tapir_sink_content content;
	bool has_switches; /* or what was made of them */
	bool is_complete;  /* it holds the whole recording, not stacks of one kind of records */
	bool has_head;	   /* a place for the finding */
	bool can_fold;	   /* --fold can be used */
	bool no_trace;	   /* --trace-id cannot be used */
	bool takes_all;	   /* add is given every record, else the chosen ones alone */
	bool describes;	   /* and descriptions, too */
	/* 0 or -errno, with a line unless it is -ENOMEM. end leaves the last bytes in x->out. */
	int (*begin)(struct tapir_export *x);
	int (*add)(struct tapir_export *x, const struct tapir_rec *rec);
	int (*end)(struct tapir_export *x);
	void (*free)(struct tapir_export *x); /* whatever begin has made of x->state */
};

/* After how many; with the limit, TAPIR_STACK_TREE_MAX_NODES. */
#define TAPIR_SINK_FOLDED_TEXT                                                                       \
	" samples or events of rare stacks were folded into their callers: a tree holds at most %u " \
	"frames"

#define TAPIR_SINK_MUCH_BYTES (256u << 10)

/* For sinks that have much to write at once. 0 or -errno with a line. */
static inline int tapir_sink__flush_much(struct tapir_export *x)
{
	return x->out.len >= TAPIR_SINK_MUCH_BYTES || x->out.failed
		       ? x->host->write(x->host->ctx, &x->out)
		       : 0;
}

#endif
