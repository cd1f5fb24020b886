/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * packed.h - a PACKED payload as values, by its layout (layout.h).
 *
 * The payload is another process's: nothing is read outside it and time is bounded by its length
 * times the depth of its layout. A payload that ends early leaves MISSING values (and the bytes of
 * the field it ends in as "rest"); bytes past the layout are "rest", too. Strings end at a NUL:
 * where one has a NUL inside, the fields of fixed size after the last string are read from the end
 * of the payload (exact layouts only).
 *
 * A STRUCT or ARRAY value is not taken apart by decoding: it knows its bytes, and an iterator gives
 * what is in it. So decoding allocates nothing. Pure; any thread.
 */
#ifndef TAPIR_USER_PACKED_H
#define TAPIR_USER_PACKED_H

#include "decode/fields.h"
#include "decode/layout.h"

/* The fields of an event; where they come from is its maker's. */
struct tapir_packed_layout {
	const struct tapir_layout_field *fields;
	uint16_t field_cnt;
	/*
	 * The payload has these fields and no more, as its own process describes them: remaining
	 * bytes come from a NUL inside of a string, not of a later version of the event.
	 */
	bool is_exact;
};

/* The ways in which a payload differed from its layout. */
#define TAPIR_PACKED_SHORT (1u << 0)
#define TAPIR_PACKED_LONG  (1u << 1)

/* Decodes as tapir_fields__decode does. *faults: TAPIR_PACKED_*. */
unsigned tapir_packed__decode(const struct tapir_packed_layout *layout, const uint8_t *payload,
			      size_t bytes, struct tapir_value *out, unsigned max,
			      unsigned *faults);

struct tapir_packed_cursor {
	const uint8_t *at;
	size_t left;
	const uint8_t *base; /* of the struct that is read */
	bool is_short;	     /* something ended too early: what follows is missing */
	bool is_padded;	     /* structs as a compiler lays them out in memory, not packed */
};

/* Iterates over a STRUCT (its fields, and "rest") or an ARRAY (its elements, without names). */
struct tapir_packed_iter {
	struct tapir_packed_cursor cursor;
	const struct tapir_layout_field *fields; /* STRUCT */
	struct tapir_layout_field element;	 /* ARRAY */
	unsigned idx, cnt;
	uint64_t numbers[TAPIR_LAYOUT_REFERABLE];
};

/* Starts at the first member of a STRUCT or ARRAY value; value and payload are borrowed. */
void tapir_packed_iter__init(struct tapir_packed_iter *iter, const struct tapir_value *value);
/* Writes the next member; false: there are no more, *out is untouched. */
bool tapir_packed_iter__next(struct tapir_packed_iter *iter, struct tapir_value *out);

#endif
