/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cut.h - a smaller recording: a stretch of time, some processes, some events of another one, with
 * the descriptions that these need. It takes two passes: each record of a reader, which finds what
 * is needed, then the copy (trace/rewrite.h).
 *
 * How each thread was when the stretch begins is known by its last switch before it: this becomes a
 * record of the kind that a recording begins with (TAPIR_SWITCH_SNAPSHOT). Losses stay, whichever
 * process they are of.
 */
#ifndef TAPIR_USER_CUT_H
#define TAPIR_USER_CUT_H

#include "base/map.h"
#include "base/vec.h"
#include "output/export/event_filter.h"
#include "trace/family.h"
#include "trace/reader.h"
#include "trace/writer.h"

/* The META in which a recording says what was left out of it. */
#define TAPIR_META_CUT "cut"

/* The state of a thread at the beginning, from its last switch before it. */
struct tapir_cut_state {
	uint64_t side; /* the time of that switch << 1 | did it leave its CPU */
	uint64_t segment;
	uint64_t stack_id, kstack_id; /* of the thread that left */
	uint32_t tgid, tid;
};

struct tapir_cut {
	uint64_t from_ns, until_ns;	 /* both included; until_ns UINT64_MAX: to the end */
	const struct tapir_pids *pids;	 /* borrowed; none: all processes */
	const struct tapir_words *globs; /* of events, borrowed; none: all of them */
	const char *note;		 /* borrowed: the value of TAPIR_META_CUT, for the copy */
	/* Counted by __add. */
	uint64_t kept[TAPIR_FAMILY_CNT];
	/* For the cut alone. */
	bool has_kept;
	struct tapir_vec(struct tapir_event_filter) choices;
	struct tapir_vec(bool) has_records; /* by segment */
	struct tapir_map needed;	    /* keys of descriptions */
	struct tapir_vec(struct tapir_cut_state) states;
	struct tapir_map state_by_tid; /* its place in states + 1 */
	bool failed;		       /* out of memory */
};

/* Each record of the reader, in order; also descriptions. __read_end after the last: 0 or -ENOMEM.
 */
void tapir_cut__add(struct tapir_cut *cut, const struct tapir_reader *reader,
		    const struct tapir_rec *rec);
int tapir_cut__read_end(const struct tapir_cut *cut);
/* Returns true if there was no record of that stretch, those processes and events. */
bool tapir_cut__is_empty(const struct tapir_cut *cut);
/* Writes the copy. check, ctx: of struct tapir_rewrite. */
int tapir_cut__write(struct tapir_cut *cut, const struct tapir_reader *reader,
		     struct tapir_writer *w, int (*check)(void *ctx), void *ctx);
void tapir_cut__fini(struct tapir_cut *cut);

#endif
