/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * views.h - all views, which tapir report --view takes: TAPIR_VIEWS in analyze/view.h. Constant;
 * __usage: one thread.
 */
#ifndef TAPIR_USER_VIEWS_H
#define TAPIR_USER_VIEWS_H

#include "analyze/view.h"

extern const struct tapir_view *const tapir_views[]; /* ended by NULL */

/* Finds a view by its name, or by the part before '='; *arg: the part after it, NULL: none. */
const struct tapir_view *tapir_view__find(const char *text, const char **arg);

/*
 * Returns the argument that selects the i-th view, "cpu" or "slow=EVENT", until the next call; NULL
 * after the last.
 */
const char *tapir_view__usage(size_t i);

#endif
