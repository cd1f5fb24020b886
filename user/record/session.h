/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * session.h - the thread between capture and sink: it checks records, keeps the catalog, asks
 * for names, counts losses, and hands everything to the writer or to a live sink.
 *
 * Once a second it writes what was lost and why, the clock pair and the names of new
 * addresses, and has the writer flush: a killed recorder loses at most that second.
 */
#ifndef TAPIR_USER_SESSION_H
#define TAPIR_USER_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/programs.h"
#include "record/counter_choice.h"
#include "attach/flow/lane_coverage.h"
#include "attach/flow/queue.h"
#include "trace/family.h"
#include "trace/catalog.h"
#include "trace/segments.h"
#include "trace/writer.h"

/* A live sink sees each record after the catalog has what it refers to. Session thread. */
typedef int (*tapir_session_fn)(void *ctx, const struct tapir_catalog *catalog,
				const struct tapir_rec *rec);
enum tapir_session_flush {
	TAPIR_FLUSH_BATCH,	   /* after the last record of a batch */
	TAPIR_FLUSH_NAMES_TO_COME, /* the same, but frames of what was seen last get names soon */
	TAPIR_FLUSH_LAST,	   /* nothing follows, and the catalog goes */
};

/* Print what is buffered. 1: some of it later, ask again soon. */
typedef int (*tapir_session_flush_fn)(void *ctx, enum tapir_session_flush when);

/*
 * A recording that keeps its last part only: the writer writes into the newest of the segments. All
 * functions are called on the session thread.
 */
struct tapir_flight_sink {
	struct tapir_segments *segments; /* a segment was begun */
	/* Each record, after the catalog has what it refers to. */
	void (*on_record)(void *ctx, const struct tapir_catalog *catalog,
			  const struct tapir_rec *rec);
	uint64_t (*due_ns)(void *ctx); /* when there is something to freeze; UINT64_MAX: no time */
	void (*freeze)(void *ctx);     /* that time has come, and all segments are complete */
	void *ctx;
};

struct tapir_session_opts {
	size_t sz;
	struct tapir_programs *programs; /* borrowed until __stop, all of these */
	struct tapir_queue *queue;
	struct tapir_writer *writer; /* NULL: live only */
	tapir_session_fn on_record;  /* NULL: file only */
	tapir_session_flush_fn on_flush;
	void (*on_exit)(void *ctx, uint32_t tgid); /* of a traced process; may be NULL */
	void *ctx;
	const struct tapir_flight_sink *flight;	     /* NULL: the writer has one file */
	const struct tapir_counter_choice *counters; /* NULL: all that appear */
	const char *where; /* a condition that events must meet (condition_filter.h); NULL: none */
	bool jvm_counters; /* of JVMs, also without a file */
	bool no_names;	   /* nothing has a stack: no runtime is asked for names of code */
	bool with_unwinding;		   /* programs walk user stacks */
	size_t unwind_bytes;		   /* of unwind tables, at most; 0: 100 MB */
	struct tapir_lane_coverage *cover; /* events that rings have; borrowed; NULL: none */
	bool dotnet_reports_methods; /* .NET processes that tapir attaches to report their code
					(queue.h) */
	int wake_fd;		     /* eventfd, written when the sink failed; -1: none */
};

struct tapir_session_stats {
	uint64_t captured[TAPIR_FAMILY_CNT];
	uint64_t lost_cnt;	/* of all families, all causes */
	uint64_t gap_cnt;	/* GAP records: what was lost in them was not counted */
	uint64_t unseen_cnt;	/* the same of records of processes and mappings */
	uint64_t unwritten_cnt; /* of lost_cnt, what did not fit on the disk */
	uint64_t skipped_cnt;	/* events for which the condition was not true */
	uint64_t probe_hit_cnt; /* hits of probes that came here, or found no room */
	uint64_t file_bytes;
	int err; /* of the sink: the session continues to drain and counts */
};

struct tapir_session;

/* Starts the thread; opts' pointers are borrowed until __stop. 0 or -errno. */
int tapir_session__start(const struct tapir_session_opts *opts, struct tapir_session **out);

/*
 * For the thread that waits until stacks of the processes in the queue can be walked: __mark once,
 * then __can_unwind until it is true. 0 or -ENOMEM. with_tables: not by frame pointers alone.
 */
int tapir_session__mark(struct tapir_session *s);
bool tapir_session__can_unwind(struct tapir_session *s, bool with_tables);

/* Writes the numbers of this moment; any thread. */
void tapir_session__stats(const struct tapir_session *s, struct tapir_session_stats *out);

/*
 * Call it after the queue was closed: waits for the thread, writes the last losses and flushes. The
 * writer is still the caller's to close. Returns the sink's error, its lines in the diagnostic
 * list. __free afterwards. has_started: else nothing could be captured, which needs no warning.
 */
int tapir_session__stop(struct tapir_session *s, bool has_started);
void tapir_session__free(struct tapir_session *s);

#endif
