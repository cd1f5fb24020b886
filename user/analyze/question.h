/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * question.h - questions to events and intervals: which of them, under which condition, and what is
 * added up by which keys. For recordings and for what is recorded at the moment.
 *
 * Expressions are bound to each probe when its first event comes (question_hit.h). Of a question,
 * hits = rejected + those of all rows + unkeyed + undefined + lost. One thread.
 */
#ifndef TAPIR_USER_QUESTION_H
#define TAPIR_USER_QUESTION_H

#include "analyze/pairs.h"
#include "decode/question_hit.h"
#include "analyze/timeline.h"
#include "base/fold.h"

#define TAPIR_QUESTION_TABLE_MB 64u
#define TAPIR_QUESTION_KEY_TEXT 64u /* bytes of a text in a key, without str(X, N) */

enum tapir_aggregate {
	TAPIR_AGGREGATE_SUM,
	TAPIR_AGGREGATE_AVG,
	TAPIR_AGGREGATE_MIN,
	TAPIR_AGGREGATE_MAX,
	TAPIR_AGGREGATE_HIST,
	TAPIR_AGGREGATE_LHIST,
	TAPIR_AGGREGATE_CNT
};

/* The texts are those of a person; borrowed. */
struct tapir_question_opts {
	const char *text;  /* what it is called; NULL: it has no name */
	const char *where; /* NULL: all */
	bool wants_count;
	struct tapir_words aggregates[TAPIR_AGGREGATE_CNT];
	struct tapir_words by; /* each: KEY{,KEY} */
	size_t table_bytes;    /* 0: TAPIR_QUESTION_TABLE_MB */
	/* The events for which has_event is true, NULL: all; or intervals of such kinds. */
	bool is_of_intervals;
	bool (*has_event)(void *ctx, const struct tapir_probe_view *probe);
	bool (*has_kind)(void *ctx, const struct tapir_interval_kind *kind);
	void *ctx;
};

enum tapir_sign { TAPIR_SIGN_UNKNOWN, TAPIR_SIGN_NONE, TAPIR_SIGN_SOME };

struct tapir_question_column {
	enum tapir_aggregate aggregate;
	const char *text; /* the expression's; of LHIST without its bounds */
	uint64_t unit_ns; /* of its values; 0: none */
	uint8_t sign;	  /* enum tapir_sign: of values that the kernel adds up */
	uint8_t sum_idx; /* the column of the kernel that has them; columns of one value share it */
};

enum tapir_key_kind { TAPIR_KEY_VALUE, TAPIR_KEY_STACK, TAPIR_KEY_USER, TAPIR_KEY_KERNEL };

struct tapir_question_key {
	enum tapir_key_kind kind;
	const char *text;
	uint64_t unit_ns;
	unsigned frames; /* of ustack(N), kstack(N); 0: all */
};

struct tapir_question_counts {
	uint64_t hits, rejected, undefined, lost;
	uint64_t unbegun, unended; /* of intervals: halves, which are no hits */
};

struct tapir_question {
	const char *text;
	bool is_table; /* hits are added up; else each is reported */
	bool is_of_intervals;
	struct tapir_question_column columns[TAPIR_FOLD_MAX_VALUES];
	unsigned sum_cnt; /* columns of the kernel */
	struct tapir_question_key keys[TAPIR_FOLD_MAX_KEYS];
	struct tapir_fold fold;			     /* its key_cnt and column_cnt count these */
	struct tapir_question_counts counts, before; /* before: of this interval */
};

struct tapir_questions;

struct tapir_question_sink {
	/* A hit of a question that is no table. rec: the event, NULL: of an interval. */
	void (*hit)(void *ctx, const struct tapir_question *q, const struct tapir_hit *hit);
	/*
	 * The kernel can do this of the only question about this probe's events: reject them, or
	 * add them up. Those need not be recorded, if they are counted (__add_rejected, __add_row).
	 * NULL: not needed.
	 */
	void (*offer)(void *ctx, uint32_t probe_id, const struct tapir_hit_question *question);
	/* Why the kernel cannot add up such events, or intervals. NULL: not needed. */
	void (*decline)(void *ctx, const char *event, const char *reason);
	void *ctx;
};

/* sink may be NULL. Returns NULL: out of memory. */
struct tapir_questions *tapir_questions__new(const struct tapir_question_sink *sink);
void tapir_questions__free(struct tapir_questions *qs);
/* Returns the pairs that a user names; set them before the first record. */
struct tapir_pairs *tapir_questions__pairs(struct tapir_questions *qs);

/* Adds a question. -EINVAL with lines: what a person wrote is wrong, whatever is recorded. */
int tapir_questions__add(struct tapir_questions *qs, const struct tapir_question_opts *opts);
/* Returns true if events need stacks. */
bool tapir_questions__want_stacks(const struct tapir_questions *qs);

/*
 * Takes a record, described ones included; catalog: the same each time. -EINVAL with lines: an
 * expression does not fit an event.
 */
int tapir_questions__take(struct tapir_questions *qs, const struct tapir_catalog *catalog,
			  const struct tapir_rec *rec);
/* Ends open intervals, after the last record, while the catalog is there. */
int tapir_questions__finish(struct tapir_questions *qs);

/* Counts events that the only question rejected, and that were not recorded. */
void tapir_questions__add_rejected(struct tapir_questions *qs, uint64_t cnt);
/* Counts begins of intervals that the kernel keeps until they end: they were not recorded. */
void tapir_questions__add_begun(struct tapir_questions *qs, uint64_t cnt);
/*
 * Call it once in a while: offers the probes that end intervals, and at the next call those that
 * begin them, since the ends of some may become known later.
 */
void tapir_questions__offer_pairs(struct tapir_questions *qs);
/* Returns true if the kernel may answer: one question, a table or of events with a condition. */
bool tapir_questions__may_offer(const struct tapir_questions *qs);

/*
 * Begins a reading of what the kernel has added up for it: all rows and steps, each time. interval:
 * of rows, while it was read. is_last: after __finish.
 */
void tapir_questions__begin_reading(struct tapir_questions *qs, uint64_t interval, bool is_last);
void tapir_questions__add_text(struct tapir_questions *qs, uint64_t id,
			       const struct tapir_sums_text *text);
/* A key with a text or stack that has not come yet is left to the next reading. */
void tapir_questions__add_row(struct tapir_questions *qs, const struct tapir_sums_key *key,
			      const struct tapir_sums_row *rows, size_t stride, unsigned cpu_cnt);
void tapir_questions__add_step(struct tapir_questions *qs, const struct tapir_sums_key *key,
			       uint64_t cnt);
void tapir_questions__end_reading(struct tapir_questions *qs, const struct tapir_sums_state *state);
/* Returns the events that the kernel had added up at the last reading. */
uint64_t tapir_questions__counted(const struct tapir_questions *qs);

/* Return the number of questions, and the idx-th of them, below that number; borrowed. */
size_t tapir_questions__cnt(const struct tapir_questions *qs);
struct tapir_question *tapir_questions__at(struct tapir_questions *qs, size_t idx);
/* Begins another interval: values that are read with "since" begin here. */
void tapir_questions__begin_interval(struct tapir_questions *qs);

/* Appends the frames of a key that is a stack, innermost first, up to max of them; 0: all. */
void tapir_question__add_stack(const struct tapir_questions *qs, uint64_t node, unsigned max,
			       const char *between, struct tapir_str *out);

#endif
