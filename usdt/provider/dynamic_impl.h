/* SPDX-License-Identifier: MIT */
/*
 * dynamic_impl.h - events defined at run time (tapir/dynamic.h):
 *
 *	dynamic_events	providers, their events, images and memory
 *	dynamic_args	which arguments a probe has, and a payload as those arguments
 *	dynamic_json	a payload as JSON, for events that are no probe
 *	json_probe	the probes by which it goes out
 *	described_events	events whose description comes with them
 *	payload_locate	where the fields of a payload are
 */
#ifndef TAPIR_DYNAMIC_IMPL_H
#define TAPIR_DYNAMIC_IMPL_H

#include "../image/probe_image.h"
#include "../ring/ring_order.h"
#include "tapir/dynamic.h"
#include "tapir/payload_parts.h"

#define DYNAMIC_OPERAND_BYTES (TAPIR_PROBE_ARG_MAX * 8u + 8u)

/* Hashes of descriptions; they begin with 0. text NULL: as an empty one. */
static inline uint64_t dynamic_mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 32;
}

static inline uint64_t dynamic_mix_text(uint64_t hash, const char *text)
{
	for (; text && *text; text++)
		hash = (hash ^ (uint8_t)*text) * 0x100000001b3ull;
	return dynamic_mix(hash, 0);
}

#pragma GCC visibility push(hidden)

/* The contents of a probe's notes. */
struct dynamic_signature {
	char operands[DYNAMIC_OPERAND_BYTES];
	char kinds[TAPIR_PROBE_ARG_MAX + 1];
	char names[TAPIR_PROBE_ARG_MAX * 64]; /* each with its NUL, cut where it is longer */
	uint32_t names_bytes;
};

/* Returns the bytes of a value; 0: it depends. */
uint32_t payload_type__bytes(uint8_t type);

/* Each field that the payload has whole, in order; their number. part: borrowed for the call. */
typedef void (*payload_field_fn)(void *ctx, const struct tapir_event_field *f,
				 const struct tapir_payload_part *part);
/* Calls fn for each field that the payload has; returns the number of these. */
uint32_t payload__each(const struct tapir_event_field *fields, uint32_t cnt, const uint8_t *payload,
		       uint32_t bytes, payload_field_fn fn, void *ctx);

#define DYNAMIC_JSON_BYTES 3584u

/* One object, with its NUL, whatever the payload is: see usdt/text/json_text.h. Fields that it does
   not reach are left out. Its length. */
uint32_t dynamic_json__write(const struct tapir_event_about *about, const uint8_t *payload,
			     uint32_t bytes, char out[DYNAMIC_JSON_BYTES]);
/* Fires the probe of the event's level, with the thread's activity. */
void dynamic_json__fire(const struct tapir_event *event, const char *json, uint32_t bytes);

/*
 * The plan by which the arguments are taken out of a payload: read where events fire, made when one
 * is defined. Numbers and texts alone, as most events have them, are taken field by field; with an
 * array or a structure among the fields, is_slow, by their descriptions.
 */
struct dynamic_plan {
	uint8_t cnt, is_slow;
	struct {
		uint8_t kind, bytes;
	} steps[TAPIR_PROBE_ARG_MAX];
};

/*
 * Derive from an event's description what its probe's arguments are called, and how they are taken
 * from a payload. Once per event.
 */
void dynamic_args__sign(const struct tapir_event_about *about, struct dynamic_signature *out);
void dynamic_args__plan(const struct tapir_event_about *about, struct dynamic_plan *plan);
/* The arguments of a payload; addresses are inside it. Of a field that it does not have whole, and
   of those after it, 0. */
void dynamic_args__take(const struct dynamic_plan *plan, const struct tapir_event_about *about,
			const uint8_t *payload, uint32_t bytes, uint64_t args[TAPIR_PROBE_ARG_MAX]);

/* ---- described_events.c: events known by their descriptions, of one provider ---------------- */

#define DESCRIBED_BUCKETS 64u

/* Never removed while the provider lives. */
struct described {
	struct described *next;
	struct tapir_event *event; /* its description is a copy */
	uint64_t hash;
};

struct described_table {
	struct described *buckets[DESCRIBED_BUCKETS];
};

/* Returns the table of events that programs described, made at the first call; NULL: no memory. */
struct described_table *dynamic__described(struct tapir_dynamic *dynamic);

#pragma GCC visibility pop

#endif
