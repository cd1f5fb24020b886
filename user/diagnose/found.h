/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * found.h - findings: what costs the user of a program, ranked. One table (kinds.h) holds what
 * each kind must reach to be reported and how much it then weighs, so that the first line of a
 * report compares a lock with a collector with a timer. One thread.
 */
#ifndef TAPIR_USER_FOUND_H
#define TAPIR_USER_FOUND_H

#include "base/str.h"
#include "base/vec.h"
#include "diagnose/kinds.h"

struct tapir_found {
	enum tapir_found_kind kind;
	double severity;  /* 0 to 100 */
	double magnitude; /* in the kind's unit */
	char *subject;	  /* a method, an exception, a lock; NULL: the process */
	char *text;	  /* "threads waited 20.3 s for locks, ..." */
	char *evidence;	  /* what else was counted; NULL: nothing */
	char *view;	  /* for --view; NULL: the report itself */
};

struct tapir_found_list {
	struct tapir_vec(struct tapir_found) rows; /* the worst first, once ranked */
	bool failed;				   /* out of memory */
};

const char *tapir_found__kind_name(unsigned kind); /* "deadlock" */
const char *tapir_found__unit(unsigned kind);	   /* "threads" */
const char *tapir_found__title(unsigned kind);	   /* "blocked thread pool" */
/* Returns the word for a severity from 0 to 100: "critical", "serious", "moderate", "minor". */
const char *tapir_found__level(double severity);
#define TAPIR_FOUND_CRITICAL 70
/* The magnitude from which a finding has that severity; negative: none has. */
double tapir_found__magnitude_at(const struct tapir_finding_kind *kind, double severity);
/* Is it worth a finding? So that no text is made for what is not. */
bool tapir_found__counts(enum tapir_found_kind kind, double magnitude);
/*
 * Adds one if it counts. text and evidence are taken; subject and view are copied and may be NULL:
 * the view then is the kind's.
 */
void tapir_found_list__add(struct tapir_found_list *list, enum tapir_found_kind kind,
			   double magnitude, const char *subject, struct tapir_str *text,
			   struct tapir_str *evidence, const char *view);
void tapir_found_list__rank(struct tapir_found_list *list);
void tapir_found_list__fini(struct tapir_found_list *list);

#endif
