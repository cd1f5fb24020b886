/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fields.h - the payload of an EVENT as named values, by the layout its PROBE gives.
 *
 * Payloads come from other processes and from files: a layout is a claim. A payload that is shorter
 * than its layout gives MISSING values, one that is longer gives the rest as one more value;
 * nothing is read outside the payload, whatever lengths it holds. Values borrow from the payload
 * and from the PROBE. Rendering is value.h. Pure; any thread.
 */
#ifndef TAPIR_USER_FIELDS_H
#define TAPIR_USER_FIELDS_H

#include "trace/record.h"

/* Why a value is not (all of) what the program had. The value means nothing but with CUT. */
#define TAPIR_VALUE_TRUNCATED (1u << 0) /* the bytes are the beginning of more */
#define TAPIR_VALUE_NULL      (1u << 1) /* a string or blob whose pointer was NULL */
#define TAPIR_VALUE_FAULT     (1u << 2) /* it lay on a page that could not be read */
#define TAPIR_VALUE_MISSING   (1u << 3) /* the payload ends before it */
#define TAPIR_VALUE_ABSENT    (TAPIR_VALUE_NULL | TAPIR_VALUE_FAULT | TAPIR_VALUE_MISSING)

/* Types of values beyond enum tapir_field_type, which only PACKED payloads have. */
#define TAPIR_VALUE_ARRAY     64 /* u64: elements that are there; packed.h takes it apart */
#define TAPIR_VALUE_DECIMAL   65 /* 16 bytes: .NET's decimal */

struct tapir_layout_field;

struct tapir_value {
	struct tapir_sv name; /* borrowed from the PROBE or layout; empty: it is called argN */
	uint8_t type;	      /* enum tapir_field_type; NONE: unreadable, with a reason */
	uint8_t size;	      /* bytes in the process; 0 variable */
	uint8_t reason;	      /* enum tapir_operand_reason */
	uint8_t flags;	      /* TAPIR_VALUE_* */
	union {		      /* INT; all others up to 8 bytes; FLOAT of either size */
		int64_t i64;
		uint64_t u64;
		double f64;
	};
	const uint8_t *bytes; /* STR, STRN, BLOB, I128, U128 and more; borrowed from the event */
	size_t len;
	const struct tapir_layout_field *layout; /* of a PACKED payload's field; NULL: SLOTS */
};

/*
 * Fills out with the values in field order and returns their number, at most max: one per field,
 * and one called "rest" (BLOB) if the payload is longer than the layout. A PACKED payload, which a
 * PROBE does not describe, is one "payload" (BLOB): a caller that knows its layout (event_layout.h)
 * uses tapir_event_layout__decode. Both views are of well-formed records.
 */
unsigned tapir_fields__decode(const struct tapir_probe_view *probe,
			      const struct tapir_event_view *event, struct tapir_value *out,
			      unsigned max);

/* Makes room for cnt values, a caller's, who frees them. False: out of memory. */
bool tapir_values__reserve(struct tapir_value **values, unsigned *cap, unsigned cnt);

#endif
