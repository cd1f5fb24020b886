/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * summary.h - a recording in numbers: what was captured and lost, when, and in which processes and
 * functions.
 *
 * Feed it every record of a file, descriptions included, in the order the reader delivers them;
 * then sort and read the tables. A hostile file cannot exhaust memory: past the limits below, items
 * are counted in `more` and get no row. One thread.
 */
#ifndef TAPIR_USER_SUMMARY_H
#define TAPIR_USER_SUMMARY_H

#include "symbol/stack_ends.h"
#include "base/map.h"
#include "base/vec.h"
#include "symbol/frame_kind.h"
#include "symbol/frame_chain.h"
#include "symbol/stack_cache.h"
#include "trace/family.h"
#include "trace/catalog.h"
#include "trace/record.h"
#include "trace/reorder.h"
#include "trace/thread_names.h"

#define TAPIR_SUMMARY_MAX_ROWS	     65536	 /* of each table */
#define TAPIR_SUMMARY_MAX_KEYS	     (1u << 18)	 /* distinct ids of each kind */
#define TAPIR_SUMMARY_MAX_TEXT_BYTES (32u << 20) /* of all strings; past it they are "" */
#define TAPIR_SUMMARY_TIMES	     32		 /* parts of the time in which losses are counted */
#define TAPIR_SUMMARY_SAMPLED	     UINT32_MAX	 /* as a stack's event: CPU samples */

/* All strings below are the summary's. */
struct tapir_event_row {
	char *provider, *event;
	uint64_t captured, lost;
	uint64_t skipped_cnt; /* those for which the recording's condition was not true */
	bool is_complaint;    /* of an EventSource: it could not send an event, or was misused */
	uint32_t made_idx;    /* for the summary alone */
};

struct tapir_process_row {
	uint32_t pid;
	char *comm, *exe;    /* "" unknown */
	char *service;	     /* service.name, as it publishes it; "": it does not */
	char *host;	     /* in a merged recording; NULL: there is one host */
	uint64_t thread_cnt; /* of which a row was made */
	uint64_t captured[TAPIR_FAMILY_CNT];
};

/* A thread that did something, or is described, under one of its names. */
struct tapir_thread_row {
	uint32_t pid, tid;
	char comm[TAPIR_COMM_BYTES + 1]; /* "" unknown */
	uint64_t captured[TAPIR_FAMILY_CNT];
};

/* CPU samples: self: it is their innermost frame; total: it is anywhere in their stack. */
struct tapir_function_row {
	char *name, *module; /* name: "module+0x..." where no name is known */
	uint64_t self, total;
	uint32_t module_idx, made_idx, mark; /* for the summary alone */
	uint8_t kind;			     /* enum tapir_frame_kind */
	bool is_named;
	bool is_lost_callers; /* no function: in the place of callers that are missing */
};

struct tapir_module_row {
	char *name; /* a path, "[jit]", or "[unknown]" */
	uint64_t self, total;
	uint32_t mark; /* for the summary alone */
};

/*
 * Events of one kind, or samples, that came through the same functions, innermost first: of
 * whatever process, and from whatever lines in them.
 */
struct tapir_stack_row {
	uint32_t event; /* idx of its row, or TAPIR_SUMMARY_SAMPLED */
	uint32_t function_cnt;
	uint32_t *functions; /* idx of their rows */
	uint64_t cnt;	     /* of events or samples */
	uint32_t made_idx;   /* for the summary alone */
};

struct tapir_gap_row {
	uint32_t pid;
	uint16_t reason; /* enum tapir_gap_reason */
	char *path;
	uint64_t from_ns, until_ns;
};

struct tapir_meta_row {
	char *key, *value;
};

struct tapir_loss_row {
	uint64_t cnt;		    /* 0: nothing was lost to this cause */
	uint64_t from_ns, until_ns; /* of the first and the last loss */
	/* Counts over the time; counts[i] begins at i * width_ns after base_ns. */
	uint64_t base_ns, width_ns, counts[TAPIR_SUMMARY_TIMES];
};

/*
 * For the summary alone: the rows of a thread, for its records from a time on, as long as the
 * catalog has this version.
 */
struct tapir_known_thread {
	uint64_t version, from_ns;
	uint64_t process, row; /* idx, or UINT64_MAX */
	uint32_t pid, tid;
	bool is_last; /* of the threads that are known to have had this id */
};

#define TAPIR_KNOWN_THREADS 64 /* remembered, by their number */

/* For the summary alone: a stack of a process at a time, and its count. */
struct tapir_resolved_stack {
	uint64_t cnt;
	uint64_t row;			 /* of its functions; UINT64_MAX: none */
	struct tapir_stack_end_fact end; /* of samples, */
	uint64_t end_cnt;		 /* which are not counted there yet */
	/* in `frames`, if there is no row: idx of function rows, innermost first */
	uint32_t first_frame, frame_cnt;
	uint32_t event;		     /* or TAPIR_SUMMARY_SAMPLED */
	uint16_t all_cnt, named_cnt; /* frames, also those without a row */
	uint8_t kind;		     /* of the innermost one */
	bool is_described, is_leaf_named, has_leaf_row;
};

struct tapir_summary {
	uint64_t start_ns; /* set it before adding: losses are counted by the time since */
	uint64_t first_ns; /* of what happened; 0: nothing did */
	uint64_t until_ns; /* of the last thing that happened */
	uint64_t last_ns;  /* of all records */
	uint64_t captured[TAPIR_FAMILY_CNT];
	uint64_t sample_no_stack_cnt;	      /* samples without a stack */
	uint64_t sample_named_cnt;	      /* samples whose innermost frame has a name */
	uint64_t frame_cnt, frame_named_cnt;  /* of all samples, each frame as often as sampled */
	uint64_t sample_period;		      /* of the last one */
	uint64_t kinds[TAPIR_FRAME_KIND_CNT]; /* samples by the kind of their innermost frame */
	struct tapir_loss_row lost[TAPIR_LOSS_CAUSE_CNT];
	struct tapir_vec(struct tapir_event_row) events;
	struct tapir_vec(struct tapir_process_row) processes;
	struct tapir_vec(struct tapir_thread_row) threads;
	struct tapir_vec(struct tapir_function_row) functions;
	struct tapir_vec(struct tapir_module_row) modules;
	struct tapir_vec(struct tapir_stack_row) stacks;
	struct tapir_vec(struct tapir_gap_row) gaps;
	struct tapir_vec(struct tapir_meta_row) metas;
	struct tapir_stack_ends ends; /* sorted with the tables */
	uint64_t gap_cnt;	      /* also those without a row */
	uint64_t more;	       /* things counted in no row, because there were too many rows */
	uint64_t no_stack_cnt; /* events whose stack the file does not describe */
	/* keys -> idx; for the summary alone */
	struct tapir_map event_by_probe, event_by_name, process_by_life, function_by_name,
		module_by_name, stack_by_functions;
	struct tapir_thread_names thread_names;
	struct tapir_known_thread known_threads[TAPIR_KNOWN_THREADS];
	/*
	 * Stacks whose frames are known, until names change; see stack_counts.c. A sample's may
	 * be found in a cache that a timeline has, too.
	 */
	struct tapir_stack_cache memo;	  /* of events, and of samples without a shared one */
	struct tapir_stack_cache *shared; /* set it before adding; NULL: there is none */
	uint64_t hint;			  /* of the sample added last, in the shared one; 0: none */
	struct tapir_frame_cache frame_cache;
	struct tapir_frame_chains chains;
	struct tapir_vec(struct tapir_resolved_stack) resolved;
	struct tapir_vec(uint32_t) frames;
	uint32_t mark;
	size_t text_bytes;
	bool failed; /* out of memory: the tables are not complete */
};

/*
 * Counts a well-formed record; catalog: the reader's, the same each time. Out of memory: `failed`.
 */
void tapir_summary__add(struct tapir_summary *s, const struct tapir_catalog *catalog,
			const struct tapir_rec *rec);
/* Prefetches, step by step, what adding a record soon will take. */
void tapir_summary__expect(const struct tapir_summary *s, const struct tapir_rec *rec,
			   enum tapir_reorder_step step);
/* Notes a record that is not counted: the recording lasted until then. */
void tapir_summary__pass(struct tapir_summary *s, const struct tapir_rec *rec);
/*
 * Brings functions, modules and stacks up to date, and sorts each table, largest first; nothing
 * may be added afterwards. -ENOMEM: nothing was moved.
 */
int tapir_summary__sort(struct tapir_summary *s);
void tapir_summary__fini(struct tapir_summary *s);

/* Returns the sum of losses to all causes of a kind. kind: TAPIR_LOSS_KIND_*. */
uint64_t tapir_summary__lost(const struct tapir_summary *s, int kind);
/* Returns the META value, or NULL. */
const char *tapir_summary__meta(const struct tapir_summary *s, const char *key);

#endif
