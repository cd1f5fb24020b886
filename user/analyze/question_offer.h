/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * question_offer.h - what the kernel can do of a question about the events of one probe: its
 * condition alone, or all of it, as bpf/question.bpf.h does; and rows that it has added up, as
 * those of a table. Pure.
 */
#ifndef TAPIR_USER_QUESTION_OFFER_H
#define TAPIR_USER_QUESTION_OFFER_H

#include "analyze/question.h"

/* A question that is bound to a probe. */
struct tapir_offer {
	struct tapir_question *question; /* which of its values have a sign becomes known here */
	const struct tapir_hit *hit;
	const struct tapir_hit_names *names;
	bool has_condition;
	const struct tapir_program *programs; /* of the condition, the values, the keys */
};

/*
 * Decides what the kernel can add up. False: each event is needed, and of a table also if
 * out->adds_up is 0: *reason says why, NULL: it is of no probe.
 */
bool tapir_offer__make(const struct tapir_offer *offer, struct tapir_hit_question *out,
		       const char **reason);

/*
 * The same of intervals of a kind, for the probes of both ends, in that order; the hit is one of
 * them. False: both events are needed, *reason says why.
 */
bool tapir_offer__make_pair(const struct tapir_offer *offer, const struct tapir_interval_kind *kind,
			    struct tapir_hit_question out[2], const char **reason);

/* Returns an enum tapir_sums_stack_part, of a key that is a stack. */
uint8_t tapir_offer__stack_part(const struct tapir_question_key *key);

/* Reads a row, of all CPUs, in this interval. */
void tapir_offer__read_row(const struct tapir_question *q, const struct tapir_sums_row *rows,
			   size_t stride, unsigned cpu_cnt, uint64_t interval,
			   struct tapir_fold_counted *out);

#endif
