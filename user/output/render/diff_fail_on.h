/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * diff_fail_on.h - a comparison judged for a script: 'tapir diff --fail-on EXPR'. EXPR is of
 * spec/expression.h; its names are FIGURE("ROW"): count, sum, mean, p50, p90, p99 and max of a
 * function, route, wait... A number with the unit x is compared with second / first, where a
 * difference that is noise is 1x; any other with the figure of the second recording. One thread.
 */
#ifndef TAPIR_USER_DIFF_FAIL_ON_H
#define TAPIR_USER_DIFF_FAIL_ON_H

#include "analyze/diff/diff.h"
#include "spec/expression.h"

/* text is borrowed. -EINVAL with lines, or -ENOMEM. */
int tapir_diff_fail_on__parse(const char *text, struct tapir_expression **out);
/*
 * 0, or -ERANGE with a line if the expression holds, or if it cannot be judged: nothing has that
 * name, or the figure is not known.
 */
int tapir_diff_fail_on__evaluate(const struct tapir_expression *e, const struct tapir_diff *diff);

#endif
