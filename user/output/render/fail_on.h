/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fail_on.h - a recording judged for a script: 'tapir report --fail-on CONDITION[,CONDITION...]'. A
 * condition is
 *
 *   lost              events, samples or switches were lost, or the file is incomplete
 *   gap               something was attached late
 *   finding, KIND     there is a finding (of that kind: "gc", "deadlock")
 *   KIND>NUMBER       and its magnitude is above the number, in the kind's unit
 *   [PROVIDER:]NAME>TIME  the longest interval of that name took longer; gc:pause: of any collector
 *   EXPR              is true (spec/expression.h), where the names above are numbers: lost, gap and
 *		       finding how many, KIND the largest magnitude, an interval's the longest time.
 *		       What the lines above read means what they say: they come first.
 */
#ifndef TAPIR_USER_FAIL_ON_H
#define TAPIR_USER_FAIL_ON_H

#include "base/str.h"
#include "base/vec.h"
#include "output/render/report_view.h"
#include "spec/expression.h"

enum tapir_fail_subject {
	TAPIR_FAIL_LOST,
	TAPIR_FAIL_GAP,
	TAPIR_FAIL_FINDING,
	TAPIR_FAIL_KIND,
	TAPIR_FAIL_INTERVAL,
	TAPIR_FAIL_EXPRESSION,
};

struct tapir_fail_condition {
	enum tapir_fail_subject subject;
	unsigned kind;	   /* TAPIR_FAIL_KIND: enum tapir_finding_kind */
	double above;	   /* TAPIR_FAIL_KIND: its magnitude */
	uint64_t above_ns; /* TAPIR_FAIL_INTERVAL */
	const char *text;  /* the condition, and for an interval its name; the option's */
	size_t len, name_len;
	char *copy; /* TAPIR_FAIL_EXPRESSION: its text; owned, as it is */
	struct tapir_expression *expression;
};

struct tapir_fail_conditions {
	struct tapir_vec(struct tapir_fail_condition) rows;
};

/*
 * Adds the conditions of a text, which is borrowed. -EINVAL: `why` then has the reason, with a
 * right example ("'gc>x' ..."), or is empty, and the diagnostic list has lines; -ENOMEM.
 */
int tapir_fail_on__parse(const char *text, struct tapir_fail_conditions *out,
			 struct tapir_str *why);
/* 0, or -ERANGE with a line for each condition that holds. */
int tapir_fail_on__evaluate(const struct tapir_fail_conditions *conditions,
			    const struct tapir_report_view *view);
void tapir_fail_on__fini(struct tapir_fail_conditions *conditions);

#endif
