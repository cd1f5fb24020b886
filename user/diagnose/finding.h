/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * finding.h - findings: what costs the user of a program, ranked. One table (kinds.h) holds what
 * each kind must reach to be reported and how much it then weighs, so that the first line of a
 * report compares a lock with a collector with a timer. One thread.
 */
#ifndef TAPIR_USER_FINDING_H
#define TAPIR_USER_FINDING_H

#include "base/str.h"
#include "base/vec.h"
#include "diagnose/kinds.h"

struct tapir_finding {
	enum tapir_finding_kind kind;
	double severity;  /* 0 to 100 */
	double magnitude; /* in the kind's unit */
	double threads;	  /* that it is about, where another finding may explain it; 0: magnitude */
	char *subject;	  /* a method, an exception, a lock; NULL: the process */
	char *text;	  /* "threads waited 20.3 s for locks, ..." */
	char *evidence;	  /* what else was counted; NULL: nothing */
	char *facts;	  /* "cnt 51, of 60, share 85"; NULL: none are known */
	char *source;	  /* "stack: futex_wait < Shop.Draw(int)": what shows it; NULL: not known */
	uint64_t from_ns, to_ns; /* when it was counted, since the recording began */
	char *view;		 /* for --view; NULL: the report itself */
	char *process;		 /* "java (4711)", whose it is; NULL: of all that was asked for */
	uint32_t pid;		 /* its id, or 0 */
	const struct tapir_explanation *explained; /* why its magnitude is less; NULL: it is not */
};

/* A value that a finding requires, in addition to its magnitude. */
struct tapir_check {
	enum tapir_limit limit;
	double value;
};
#define TAPIR_CHECKS_MAX 5u

/* The values that were measured for a kind, of the subject that came closest to a finding. */
struct tapir_trial {
	bool was_tried, was_admitted;
	double magnitude;
	unsigned check_cnt;
	struct tapir_check checks[TAPIR_CHECKS_MAX];
};

struct tapir_findings {
	struct tapir_vec(struct tapir_finding) rows;   /* the worst first, once judged */
	struct tapir_vec(struct tapir_finding) hidden; /* which others explain */
	struct tapir_trial trials[TAPIR_FINDING_KIND_CNT];
	uint64_t more; /* what found no room in the tables from which findings are made */
	bool failed;   /* out of memory */
};

const char *tapir_finding__kind_name(unsigned kind); /* "deadlock" */
const char *tapir_finding__unit(unsigned kind);	     /* "threads" */
const char *tapir_finding__title(unsigned kind);     /* "blocked thread pool" */
/* Returns the word for a severity from 0 to 100: "critical", "serious", "moderate", "minor". */
const char *tapir_finding__level(double severity);
#define TAPIR_FINDING_CRITICAL 70
/* Returns the magnitude from which a finding has that severity; negative: none has. */
double tapir_finding__magnitude_at(const struct tapir_finding_kind_info *kind, double severity);
/* Returns "gc" or "any other kind". */
const char *tapir_finding__explainer(const struct tapir_explanation *e);
/* Returns true if the magnitude is worth a finding. */
bool tapir_finding__exceeds_threshold(enum tapir_finding_kind kind, double magnitude);
/* Returns true if the value does not keep a finding from being reported. */
bool tapir_limit__holds(enum tapir_limit limit, double value);
/* The last two arguments of __admits: TAPIR_CHECKS({TAPIR_LIMIT_THROWN, cnt}, ...). */
#define TAPIR_CHECKS(...)                                                                          \
	(const struct tapir_check[]){__VA_ARGS__},                                                 \
		sizeof((const struct tapir_check[]){__VA_ARGS__}) / sizeof(struct tapir_check)
#define TAPIR_NO_CHECKS NULL, 0
/*
 * Returns true if the magnitude counts and all checks hold, so that the caller makes the sentence
 * and adds the finding. What was measured is kept, of the subject that came closest, for
 * `report --why`. At most TAPIR_CHECKS_MAX checks.
 */
bool tapir_findings__admits(struct tapir_findings *list, enum tapir_finding_kind kind,
			    double magnitude, const struct tapir_check *checks, size_t cnt);
/*
 * Adds a finding if it counts, and returns it, borrowed until the next is added; NULL: it does not,
 * or there is no memory. text and evidence (NULL: none) are taken, also if it does not;
 * subject and view are copied and may be NULL: the view then is the kind's. A lack of memory is in
 * list->failed.
 */
struct tapir_finding *tapir_findings__add(struct tapir_findings *list, enum tapir_finding_kind kind,
					  double magnitude, const char *subject,
					  struct tapir_str *text, struct tapir_str *evidence,
					  const char *view);
/* Takes a text for a finding; NULL: there is none, or no memory, which is in list->failed. */
char *tapir_findings__take_text(struct tapir_findings *list, struct tapir_str *text);
/* Applies the explanations and ranks what is left, in whatever order it was added. */
void tapir_findings__judge(struct tapir_findings *list);
/* Moves what a process's list has to another one; process is copied. Rank that one afterwards. */
void tapir_findings__take(struct tapir_findings *list, struct tapir_findings *from, uint32_t pid,
			  const char *process);
/* Sorts, the worst first; for a list that several others were moved into. */
void tapir_findings__rank(struct tapir_findings *list);
void tapir_findings__fini(struct tapir_findings *list);

#endif
