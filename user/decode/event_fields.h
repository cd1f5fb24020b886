/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * event_fields.h - the fields of events of either encoding, for views: layouts are found once per
 * probe. The pairs of an array of { Key, Value } (DiagnosticSource's Arguments), and the fields of
 * a struct, are fields as well. One thread.
 */
#ifndef TAPIR_USER_EVENT_FIELDS_H
#define TAPIR_USER_EVENT_FIELDS_H

#include "base/keyed.h"
#include "base/str.h"
#include "base/vec.h"
#include "decode/event_layout.h"
#include "decode/fields.h"
#include "trace/catalog.h"

#define TAPIR_EVENT_FIELDS_MAX 24 /* of an event; others are ignored */
#define TAPIR_EVENT_KEY_BYTES  96 /* a pair with a key of more than 32 characters is no field */

struct tapir_event_fields {
	/* of the event decoded last; borrowed from it */
	struct tapir_value values[TAPIR_EVENT_FIELDS_MAX];
	unsigned cnt;
	char keys[TAPIR_EVENT_FIELDS_MAX][TAPIR_EVENT_KEY_BYTES]; /* names that are values, too */
	/* for this room alone */
	struct tapir_keyed(struct tapir_event_layout *) layouts; /* by probe */
};

/* Decodes an event; its fields are valid until the next call and as long as the event. */
void tapir_event_fields__decode(struct tapir_event_fields *f, const struct tapir_catalog *catalog,
				const struct tapir_probe_view *probe,
				const struct tapir_event_view *event);
/*
 * Finds a field, also one whose value is absent; "argN" is the N-th, if none has that name. NULL:
 * none.
 */
const struct tapir_value *tapir_event_fields__named(const struct tapir_event_fields *f,
						    const char *name, size_t len);
/* The same, but NULL also for one whose value is absent. */
const struct tapir_value *tapir_event_fields__find(const struct tapir_event_fields *f,
						   const char *name, size_t len);
/* Returns true if events of the kind may have it, also where this one's value is absent. Which
 * pairs there are depends on the event: one with pairs may have any name. */
bool tapir_event_fields__may_have(const struct tapir_event_fields *f, const char *name, size_t len);
/* Returns a whole number; 0: there is no such field, it is absent or not a number. */
uint64_t tapir_event_fields__u64(const struct tapir_event_fields *f, const char *name);
/*
 * Adds fields by their names, which are separated by ' ', as people read them: strings without
 * quotes. What is beyond max_bytes is left out.
 */
void tapir_event_fields__add_text(const struct tapir_event_fields *f, const char *names,
				  size_t max_bytes, struct tapir_str *out);
/* Adds the text of one value, cut at max_bytes. */
void tapir_event_fields__add_value(const struct tapir_value *value, size_t max_bytes,
				   struct tapir_str *out);
/* Frees layouts and values; a struct of zeros is empty. */
void tapir_event_fields__fini(struct tapir_event_fields *f);

#endif
