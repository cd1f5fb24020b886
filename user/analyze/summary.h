/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * summary.h - a recording in numbers: what was captured and lost, of whom, from where.
 *
 * Feed it every record of a file, descriptions included, in the order the reader delivers
 * them; then read the tables. What a hostile file can make of it is bounded: behind the
 * limits below, things are counted in `more` and no row of theirs is kept. One thread.
 */
#ifndef TAPIR_USER_SUMMARY_H
#define TAPIR_USER_SUMMARY_H

#include "base/map.h"
#include "base/vec.h"
#include "trace/catalog.h"
#include "trace/record.h"

#define TAPIR_SUMMARY_MAX_ROWS	     65536 /* of each table */
#define TAPIR_SUMMARY_MAX_STACKS     8192
#define TAPIR_SUMMARY_MAX_KEYS	     (1u << 18)	 /* ids that are told apart, of each kind */
#define TAPIR_SUMMARY_MAX_TEXT_BYTES (32u << 20) /* of all strings; behind it they are "" */

/* All strings below are the summary's. */
struct tapir_event_row {
	char *provider, *event;
	uint64_t captured, lost;
	uint32_t made_idx; /* for the summary alone */
};

struct tapir_process_row {
	uint32_t pid;
	char *comm, *exe; /* "" unknown */
	uint64_t events, samples;
};

struct tapir_function_row {
	char *name, *module; /* name: "module+0x..." where no name is known */
	uint64_t samples;    /* CPU samples with it as their innermost frame */
	uint32_t made_idx;   /* for the summary alone */
	bool is_named;
};

/*
 * Events of one kind that came through the same functions, innermost first: of whatever
 * process, and from whatever lines in them.
 */
struct tapir_stack_row {
	uint32_t event; /* idx of its row */
	uint32_t function_cnt;
	uint32_t *functions; /* idx of their rows */
	uint64_t events;
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

struct tapir_summary {
	uint64_t first_ns, last_ns; /* of all records; 0: there was none */
	uint64_t event_cnt, sample_cnt, sample_named_cnt, switch_cnt;
	uint64_t lost[TAPIR_LOSS_CAUSE_CNT];
	struct tapir_vec(struct tapir_event_row) events;
	struct tapir_vec(struct tapir_process_row) processes;
	struct tapir_vec(struct tapir_function_row) functions;
	struct tapir_vec(struct tapir_stack_row) stacks;
	struct tapir_vec(struct tapir_gap_row) gaps;
	struct tapir_vec(struct tapir_meta_row) metas;
	uint64_t more;	       /* things counted in no row, because there were too many rows */
	uint64_t no_stack_cnt; /* events whose stack the file does not describe */
	/* keys -> idx; for the summary alone */
	struct tapir_map event_by_probe, event_by_name, process_by_pid, function_by_name,
		stack_by_id, stack_by_functions;
	size_t text_bytes;
	bool failed; /* out of memory: the tables are not complete */
};

void tapir_summary__add(struct tapir_summary *s, const struct tapir_catalog *catalog,
			const struct tapir_rec *rec);
/* Each table largest first; nothing may be added afterwards. -ENOMEM: nothing was moved. */
int tapir_summary__sort(struct tapir_summary *s);
void tapir_summary__fini(struct tapir_summary *s);

/* All events, or parts of events, that were lost. kind: TAPIR_LOSS_KIND_*. */
uint64_t tapir_summary__lost(const struct tapir_summary *s, int kind);
/* The META value, or NULL. */
const char *tapir_summary__meta(const struct tapir_summary *s, const char *key);

#endif
