/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * interval_names.h - intervals by short names, as sources of questions: "postgresql:query",
 * "dotnet:gc", and those that several runtimes have: "request", "locks". The intervals are those of
 * spec/runtime_db, as in the table INTERVAL of a report. Constant; any thread.
 */
#ifndef TAPIR_USER_INTERVAL_NAMES_H
#define TAPIR_USER_INTERVAL_NAMES_H

#include <stdbool.h>

#include "analyze/pairs.h"
#include "base/str.h"

/* Returns true if it is in the table, without "interval:". */
bool tapir_interval_name__is_known(const char *name);
/* Returns true if the name means the kind. It may be "PROVIDER:NAME" of a kind in no table. */
bool tapir_interval_name__means(const char *name, const struct tapir_interval_kind *kind);
/* The SPECs that record it: yours, each to be freed. -ENOMEM; none: the name is not known. */
struct tapir_interval_specs tapir_vec(char *);
int tapir_interval_specs__add(struct tapir_interval_specs *out, const char *spec); /* -ENOMEM */
int tapir_interval_name__add_specs(const char *name, struct tapir_interval_specs *out);
/*
 * Adds the events of a pair that have a provider; text: "A,B[,key=ARG]", as tapir_pairs__name takes
 * it. 0 or -ENOMEM.
 */
int tapir_pair_text__add_specs(const char *text, struct tapir_interval_specs *out);
/* Adds a line for each name, with its events, for help. */
void tapir_interval_names__add_list(struct tapir_str *out);

#endif
