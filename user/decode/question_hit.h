/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * question_hit.h - what an expression can name of a recorded event, or of an interval between two:
 * fields by name, and what is known of where it happened. One thread.
 */
#ifndef TAPIR_USER_QUESTION_HIT_H
#define TAPIR_USER_QUESTION_HIT_H

#include "decode/event_fields.h"
#include "spec/expression.h"
#include "trace/catalog.h"

/* The event, or one end of an interval. */
struct tapir_hit_end {
	struct tapir_probe_view probe;
	struct tapir_event_view event;
	const struct tapir_event_fields *fields; /* decoded */
};

struct tapir_hit {
	const struct tapir_catalog *catalog;
	struct tapir_hit_end begin;	 /* the event, if it is no interval */
	const struct tapir_hit_end *end; /* NULL: it is no interval */
	uint64_t took_ns;
};

/* Names of fields that expressions use; numbers in operands. Grows as they are bound. */
struct tapir_hit_names tapir_vec(char *);

/* Frees the names of fields that were met. */
void tapir_hit_names__fini(struct tapir_hit_names *names);

/* The scope of expressions about hits like this one. hit and names are borrowed until they are
 * bound. */
struct tapir_hit_scope {
	const struct tapir_hit *hit;
	struct tapir_hit_names *names;
	char subject[256];
};

/* Returns a scope over hit for expressions; s, hit and names are borrowed as long as it is used. */
struct tapir_scope tapir_hit_scope__init(struct tapir_hit_scope *s, const struct tapir_hit *hit,
					 struct tapir_hit_names *names);
/* Returns the idx-th built-in name, with what it means; NULL after the last. */
const char *tapir_hit__builtin(size_t i, const char **description);

/* The slots of a program, filled for this hit. */
struct tapir_hit_values {
	struct tapir_question_slot slots[TAPIR_QUESTION_SLOTS];
	struct tapir_str texts[TAPIR_QUESTION_SLOTS]; /* those that had to be made */
};

/* Fills the values that the bound expression p needs of a hit; out is reused from hit to hit. */
void tapir_hit__fill(const struct tapir_hit *hit, const struct tapir_hit_names *names,
		     const struct tapir_program *p, struct tapir_hit_values *out);
void tapir_hit_values__fini(struct tapir_hit_values *values);

/*
 * Returns the field of the event, or NULL: it has none of that name, or the name is of an
 * interval's end.
 */
const struct tapir_value *tapir_hit__value(const struct tapir_hit *hit,
					   const struct tapir_hit_names *names,
					   const struct tapir_question_operand *operand);

/* Returns true if its numbers have names: __name_number finds some. */
bool tapir_hit__has_value_names(const struct tapir_hit *hit, const struct tapir_hit_names *names,
				const struct tapir_question_operand *operand);
/* Adds the name of a number of the field; of a hit only its probe is needed. */
bool tapir_hit__name_number(const struct tapir_hit *hit, const struct tapir_hit_names *names,
			    const struct tapir_question_operand *operand, uint64_t number,
			    struct tapir_str *out);
/* Returns true for the length of an interval. */
bool tapir_hit__is_took(const struct tapir_question_operand *operand);
/* Returns true for a built-in that is the same to the kernel; CONSTANT: "event". */
bool tapir_hit__is_in_kernel(const struct tapir_question_operand *operand,
			     struct tapir_hit_key *out);

/* Adds the name that the number has here. False: its numbers have no names. */
bool tapir_hit__add_value_name(const struct tapir_hit *hit, const struct tapir_hit_names *names,
			       const struct tapir_question_operand *operand, struct tapir_str *out);

#endif
