/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * list_counters.h - the part of `tapir list -p` that is about counters of programs with libtapir.
 * Main thread.
 */
#ifndef TAPIR_USER_LIST_COUNTERS_H
#define TAPIR_USER_LIST_COUNTERS_H

#include "attach/ring_entry.h"
#include "base/str.h"
#include "output/render/screen.h"
#include "spec/spec.h"

/* Keeps those that match: PROVIDER:NAME of the SPEC, or, where word is not NULL, either of them. */
void tapir_list_counters__choose(struct tapir_ring_counter_list *list, const char *word,
				 const struct tapir_spec *spec);

/* The same list as a table for a person, and as JSON. */
void tapir_list_counters__write_table(const struct tapir_ring_counter_list *list,
				      const struct tapir_palette *p, struct tapir_str *out);
void tapir_list_counters__write_json(const struct tapir_ring_counter_list *list,
				     struct tapir_str *out);

#endif
