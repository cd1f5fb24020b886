/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ring_entry.h - the catalog of a ring lane, read entry by entry: what an event of the process is
 * called. The bytes are the process's and may change while they are read: what is handed out is a
 * copy that was checked. No state; any thread.
 */
#ifndef TAPIR_USER_RING_ENTRY_H
#define TAPIR_USER_RING_ENTRY_H

#include <stddef.h>

#include "attach/ring_find.h"

/*
 * 1: *out is a well-formed PROBE record of event idx (TAPIR_RING_EVENTS at most), freed by the
 * caller, followed by bytes - out->size arbitrary bytes; 0: the entry is still empty, or cannot be
 * read now; -EBADMSG without a line: malformed. An entry that was given back is still read, since
 * its event may have records in the rings; it stands until every session has drained them.
 */
int tapir_ring_entry__read(const struct tapir_ring_lane *lane, uint32_t idx, struct tapir_rec **out,
			   size_t *bytes);

/*
 * Returns the METADATA record after the PROBE record of bytes in all, well-formed; NULL: there is
 * none.
 */
struct tapir_rec_metadata *tapir_ring_entry__metadata(struct tapir_rec *probe, size_t bytes);

/* Returns true if the record describes a counter, not an event. */
bool tapir_ring_entry__is_counter(struct tapir_rec *probe, size_t bytes);

/* All events of all lanes a process offers; private lanes of others too. */
struct tapir_ring_event_info {
	uint32_t tgid;
	bool is_private; /* its lane */
	struct tapir_rec *probe;
	const struct tapir_rec_metadata *metadata; /* within probe's allocation; NULL: none */
};
struct tapir_ring_event_list tapir_vec(struct tapir_ring_event_info);

/* The counters of a lane: the probe record has their names, the metadata after it the rest. */
struct tapir_ring_counter_info {
	uint32_t tgid;
	struct tapir_rec *probe;
	const struct tapir_rec_metadata *metadata; /* within probe's allocation */
};
struct tapir_ring_counter_list tapir_vec(struct tapir_ring_counter_info);

/*
 * Adds the events, and the counters, of all lanes of a process to both lists. 0, -ENOMEM, or
 * without a line as tapir_ring_lanes__find.
 */
int tapir_ring_events__add(uint32_t tgid, struct tapir_ring_event_list *list,
			   struct tapir_ring_counter_list *counters);
/* Free the records and the lists. */
void tapir_ring_counters__fini(struct tapir_ring_counter_list *counters);
void tapir_ring_events__fini(struct tapir_ring_event_list *list);

#endif
