/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stream_records.h - the stream of one .NET runtime (decode/nettrace_stream.h) as records of the
 * recording: PROBE and METADATA of the events that were requested, EVENT, STACK, THREAD, LOSS.
 *
 * What a process can claim is bounded: its own pid, its threads, times between the session's start
 * and now, a number of descriptions. One thread at a time; the sink is shared by several.
 */
#ifndef TAPIR_USER_STREAM_RECORDS_H
#define TAPIR_USER_STREAM_RECORDS_H

#include <pthread.h>

#include "attach/flow/queue.h"
#include "attach/rings/ring_kinds.h"
#include "attach/rings/ring_tids.h"
#include "attach/flow/seen_names.h"
#include "spec/spec.h"
#include "decode/nettrace_stream.h"
#include "trace/recbuf.h"

#define TAPIR_STREAM_PROBE_ID_MIN  0x40000000u /* those of rings are below */
#define TAPIR_STREAM_PROBE_ID_MAX  0x7fffffffu

/*
 * Limits of one stream: its events beyond them are lost, and counted. A runtime uses no id twice.
 */
#define TAPIR_STREAM_METADATA_MAX  (1u << 18)
#define TAPIR_STREAM_DESCRIBED_MAX (16u << 20) /* bytes of what is described differently */

/* The sink of all streams of a recording. */
struct tapir_stream_sink {
	struct tapir_queue *queue;	     /* borrowed, like specs */
	const struct tapir_spec_list *specs; /* what is requested */
	const struct tapir_spec *name_spec;  /* for the names of code, borrowed; NULL: none */
	pthread_mutex_t lock;		     /* of all below */
	bool *spec_matched;		     /* one per SPEC; owned */
	struct tapir_seen_names seen;
	struct tapir_ring_kinds kinds; /* of events: streams that describe the same share ids */
	uint64_t event_cnt, lost_cnt, malformed_cnt;
};

/* queue and specs are borrowed until __fini; name_spec may be NULL. 0 or -ENOMEM. */
int tapir_stream_sink__init(struct tapir_stream_sink *sink, struct tapir_queue *queue,
			    const struct tapir_spec_list *specs,
			    const struct tapir_spec *name_spec);
void tapir_stream_sink__fini(struct tapir_stream_sink *sink);

struct tapir_stream_records {
	struct tapir_stream_sink *sink;
	uint32_t tgid;
	struct tapir_ring_tids tids;
	struct tapir_recbuf recbuf;
	struct tapir_map probes; /* metadata id -> probe id; 0: not requested, UNDESCRIBED */
	struct tapir_map kinds;	 /* by hash: those that this stream uses */
	struct tapir_map stacks; /* the stream's stack id -> the recording's */
	struct tapir_map sent_stacks, sent_threads;
	struct tapir_block *block; /* being filled; NULL */
	uint64_t ticks_per_sec;
	int64_t clock_offset_ns; /* the process's clock minus tapir's */
	uint64_t min_ns, max_ns, losses_ns;
	uint64_t cost_bytes; /* of descriptions */
	uint64_t lost_reported;
	uint64_t event_cnt, lost_cnt, undescribed_cnt; /* since the last report */
	bool has_undescribed;			       /* was reported */
	uint64_t malformed_cnt, malformed_reported,
		malformed_read; /* added up; read: the reader's */
};

/* sink is borrowed. Before the first feed the reader calls on_start, which sets the clock. */
void tapir_stream_records__init(struct tapir_stream_records *r, struct tapir_stream_sink *sink,
				uint32_t tgid);
void tapir_stream_records__fini(struct tapir_stream_records *r);

/*
 * For the stream's reader. Call __begin before each feed and __end after it, which sends
 * everything.
 */
struct tapir_nettrace_sink tapir_stream_records__sink(struct tapir_stream_records *r);
void tapir_stream_records__begin(struct tapir_stream_records *r);
/* malformed_cnt: the reader's, since the start; what it grew by becomes a LOSS. */
void tapir_stream_records__end(struct tapir_stream_records *r, uint64_t malformed_cnt);

#endif
