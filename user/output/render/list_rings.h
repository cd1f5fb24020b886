/* SPDX-License-Identifier: GPL-2.0-or-later */
/* list_rings.h - the part of `tapir list -p` that is about events of ring lanes. One thread. */
#ifndef TAPIR_USER_LIST_RINGS_H
#define TAPIR_USER_LIST_RINGS_H

#include "attach/ring_entry.h"
#include "spec/spec.h"
#include "base/str.h"
#include "output/render/screen.h"

/*
 * Adds the events of a process's lanes, with names, and its counters, to lists that the caller
 * frees; a process that cannot be inspected has none. 0 or -ENOMEM.
 */
int tapir_list_rings__add(uint32_t tgid, struct tapir_ring_event_list *list,
			  struct tapir_ring_counter_list *counters);

/*
 * Returns true if the SPEC matches, or, where word is not NULL, if it occurs in provider or event.
 */
bool tapir_list_rings__is_chosen(const struct tapir_rec *probe, const char *word,
				 const struct tapir_spec *spec);

/* Keeps the chosen rows of a list whose rows have a probe, and frees the others' probes. */
#define TAPIR_LIST_KEEP_CHOSEN(list, word, spec)                                                   \
	do {                                                                                       \
		size_t kept = 0;                                                                   \
                                                                                                   \
		for (size_t i = 0; i < (list)->cnt; i++) {                                         \
			if (tapir_list_rings__is_chosen((list)->data[i].probe, word, spec))        \
				(list)->data[kept++] = (list)->data[i];                            \
			else                                                                       \
				free((list)->data[i].probe);                                       \
		}                                                                                  \
		(list)->cnt = kept;                                                                \
	} while (0)

/* Keeps those that are chosen. */
void tapir_list_rings__choose(struct tapir_ring_event_list *list, const char *word,
			      const struct tapir_spec *spec);

/* Append the list as a table for a person, and as JSON, a line for each event. */
void tapir_list_rings__write_table(const struct tapir_ring_event_list *list,
				   const struct tapir_palette *p, struct tapir_str *out);
void tapir_list_rings__write_json(const struct tapir_ring_event_list *list, struct tapir_str *out);

#endif
