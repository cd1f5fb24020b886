/* SPDX-License-Identifier: GPL-2.0-or-later */
/* event_lines_impl.h - what both forms of a line need to know; for event_*.c only. One thread. */
#ifndef TAPIR_USER_EVENT_LINES_IMPL_H
#define TAPIR_USER_EVENT_LINES_IMPL_H

#include "base/clock.h"
#include "base/map.h"
#include "decode/event_layout.h"
#include "decode/fields.h"
#include "output/export/event_lines.h"
#include "symbol/frame.h"

/*
 * A probe, with what its lines have in common rendered ahead: keys[key_ends[i - 1] .. key_ends[i]]
 * is printed before value i (" name=" or ",\"name\":").
 */
struct tapir_line_probe {
	struct tapir_rec_probe *rec; /* a copy: the catalog may drop or replace its own */
	struct tapir_probe_view view;
	struct tapir_str head; /* "provider:event", or the JSON members up to "args":{ */
	struct tapir_str keys;
	uint32_t *key_ends;
	unsigned key_cnt;
	struct tapir_event_layout *layout; /* PACKED; NULL: SLOTS */
	bool has_metadata;		   /* the layout was made with METADATA */
};

struct tapir_event_lines {
	enum tapir_event_format format;
	const struct tapir_catalog *catalog;
	uint64_t start_ns;
	struct tapir_map probes; /* id -> struct tapir_line_probe * */
	/* of the record at hand; NULL: it has none, or one that is not described */
	const struct tapir_line_probe *probe;
	struct tapir_value *values; /* of the event at hand */
	unsigned value_cap;
	struct tapir_layout_mismatches mismatches; /* of probes that were forgotten */
	struct tapir_str room;			   /* of the member at hand */
	uint64_t utc_sec;			   /* the time of utc_text */
	char utc_text[TAPIR_UTC_TEXT_BYTES];
};

/* Decodes the values of the event into l->values. Returns their number. */
unsigned tapir_line__decode(struct tapir_event_lines *l, const struct tapir_line_probe *probe,
			    const struct tapir_event_view *view);
/* Returns the name of field idx, below key_cnt; empty: argN. */
struct tapir_sv tapir_line_probe__field(const struct tapir_line_probe *probe, unsigned idx);
/* Appends value, padded with zeros to width digits. */
void tapir_line__add_digits(struct tapir_str *out, uint64_t value, unsigned width);

/* The two forms. */
void tapir_event_text__prepare(struct tapir_line_probe *probe);
void tapir_event_text__add(struct tapir_event_lines *l, const struct tapir_rec *rec,
			   struct tapir_str *out);
/* Appends {"name":value,...} of an event whose probe is in l->probe. */
void tapir_event_json__add_args(struct tapir_event_lines *l, const struct tapir_event_view *view,
				struct tapir_str *out);
void tapir_event_json__prepare(struct tapir_line_probe *probe);
void tapir_event_json__add(struct tapir_event_lines *l, const struct tapir_rec *rec,
			   struct tapir_str *out);

#endif
