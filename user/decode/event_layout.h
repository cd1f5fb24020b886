/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * event_layout.h - where the fields of a PROBE with PACKED payloads are described, and its payloads
 * as values.
 *
 * Sources in this order: the fields that the event's own METADATA names; the tables
 * (dotnet_tables.h: the user's manifests, then the built-in ones) by provider, event id and
 * version. If neither has them, the payload is one "payload" (BLOB). One thread for each layout,
 * which counts.
 */
#ifndef TAPIR_USER_EVENT_LAYOUT_H
#define TAPIR_USER_EVENT_LAYOUT_H

#include "decode/fields.h"
#include "decode/layout.h"

struct tapir_event_layout;

/*
 * probe: a well-formed one with PACKED payloads; metadata: its record, or NULL. *out is yours and
 * borrows nothing. 0 or -ENOMEM; a malformed blob counts as none.
 */
int tapir_event_layout__new(const struct tapir_probe_view *probe,
			    const struct tapir_rec_metadata *metadata,
			    struct tapir_event_layout **out);
void tapir_event_layout__free(struct tapir_event_layout *layout);

/* Returns how many values a payload has at most: one a field, and the rest. */
unsigned tapir_event_layout__max(const struct tapir_event_layout *layout);

/* The name of field idx, below max - 1. */
struct tapir_sv tapir_event_layout__name(const struct tapir_event_layout *layout, unsigned idx);
/* Returns field idx, all of it, borrowed from the layout. */
const struct tapir_layout_field *tapir_event_layout__field(const struct tapir_event_layout *layout,
							   unsigned idx);

/* Decodes as tapir_fields__decode does. Counts payloads that differ from their layout. */
unsigned tapir_event_layout__decode(struct tapir_event_layout *layout,
				    const struct tapir_event_view *event, struct tapir_value *out,
				    unsigned max);

/* Payloads so far that were too short, too long, or had no layout. */
struct tapir_layout_mismatches {
	uint64_t short_cnt, long_cnt, unknown_cnt;
};
/* Returns the counts of this layout, borrowed. */
const struct tapir_layout_mismatches *
tapir_event_layout__mismatches(const struct tapir_event_layout *layout);

#endif
