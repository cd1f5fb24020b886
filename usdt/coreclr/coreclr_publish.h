/* SPDX-License-Identifier: MIT */
/*
 * coreclr_publish.h - EventSource events for every USDT tool: shared by the files that implement
 * --publish.
 *
 *	coreclr_layout	which fields an event has, by the runtime's description of it
 *	coreclr_payload	the way through a payload, and its fields as arguments of a probe
 *	coreclr_json	a payload as JSON, by ../text
 *	../image	a provider's ELF image in a memfd, with a slot of code for each event
 *	coreclr_publish	which event has which, and the probes fired
 *
 * Descriptions and payloads are the program's: bounded, no length believed. On an event's way
 * nothing is allocated but at its first sight, and nothing locked.
 */
#ifndef TAPIR_CORECLR_PUBLISH_H
#define TAPIR_CORECLR_PUBLISH_H

#include "../image/probe_image.h"
#include "../text/json_text.h"
#include "../text/text_number.h"
#include "coreclr_impl.h"

#define CORECLR_FIELD_MAX     255u /* of an event, those inside others counted; more are not read */
#define CORECLR_DEPTH_MAX     JSON_TEXT_DEPTH_MAX
#define CORECLR_ARG_MAX	      TAPIR_PROBE_ARG_MAX
#define CORECLR_TEXT_BYTES    2048u /* of all strings of one typed probe */
#define CORECLR_JSON_BYTES    3584u
#define CORECLR_SLOT_MAX      4096u /* probes of a provider */
#define CORECLR_OPERAND_BYTES 128u  /* "-8@%rdi 8@%rsi ...", twelve of them */

#pragma GCC visibility push(hidden)

/* ---- coreclr_layout.c ----------------------------------------------------------------------- */

/* System.TypeCode, and the two that EventPipe added. */
enum coreclr_type {
	CORECLR_OBJECT = 1,
	CORECLR_BOOL = 3,
	CORECLR_CHAR = 4,
	CORECLR_I8 = 5,
	CORECLR_U8 = 6,
	CORECLR_I16 = 7,
	CORECLR_U16 = 8,
	CORECLR_I32 = 9,
	CORECLR_U32 = 10,
	CORECLR_I64 = 11,
	CORECLR_U64 = 12,
	CORECLR_F32 = 13,
	CORECLR_F64 = 14,
	CORECLR_DECIMAL = 15,
	CORECLR_TIME = 16,
	CORECLR_GUID = 17,
	CORECLR_TEXT = 18,
	CORECLR_ARRAY = 19,
	CORECLR_TYPE_CNT
};

/* A field; an object's fields follow it: the next one on its level is at `end`. */
struct coreclr_field {
	const char *name; /* UTF-8; "": none */
	uint16_t end;
	uint8_t type; /* of an array its elements'; never ARRAY */
	uint8_t is_array;
};

struct coreclr_layout {
	uint16_t cnt;
	/*
	 * With a manifest, a bool is 4 bytes, a decimal 16, and a byte[] begins with a u32; in a
	 * self-describing event they are 1 byte, a double, and a u16. The description does not show
	 * which.
	 */
	uint8_t differs; /* it has such a field */
	uint8_t is_self; /* read as of one that describes itself; the likelier way */
	struct coreclr_field *fields;
};

typedef void *(*coreclr_take_fn)(uint64_t bytes);

/* 0: fields and names are from take(). -EPROTO: malformed; -ENOMEM. A field that cannot be read
   ends the list. */
int coreclr_layout__parse(const uint8_t *blob, uint32_t len, coreclr_take_fn take,
			  struct coreclr_layout *out);

/* Returns the bytes of one value; 0: it is not of a fixed size. */
uint32_t coreclr_type__bytes(uint8_t type, uint8_t is_self);

/* ---- coreclr_payload.c ---------------------------------------------------------------------- */

struct coreclr_cursor {
	const uint8_t *at;
	uint32_t left;
	uint8_t is_self, is_short; /* short: the payload ends before the field does */
};

/* The number of an array's elements; moves the cursor past it. */
uint32_t coreclr_cursor__count(struct coreclr_cursor *c, const struct coreclr_field *f);
/* One value, or one element, with all that is inside. Nothing is taken of one that is short. */
void coreclr_cursor__skip(struct coreclr_cursor *c, const struct coreclr_field *fields,
			  uint32_t idx, int is_element);
/* Returns the UTF-16 units before the NUL; the cursor stays. */
uint32_t coreclr_cursor__units(const struct coreclr_cursor *c);

/* The way, of two, that fits to the last byte; else the likelier one. */
uint8_t coreclr_payload__way(const struct coreclr_layout *layout, const uint8_t *data,
			     uint32_t bytes);

/* The contents of a probe's note. */
struct coreclr_signature {
	uint32_t cnt;
	char operands[CORECLR_OPERAND_BYTES];
	char kinds[CORECLR_ARG_MAX + 1];
	uint32_t names_bytes; /* each with its NUL, as many as found room */
	char names[512];
};

/* is_raw: there are no fields, but there is a payload: where it is and how long. */
void coreclr_payload__sign(const struct coreclr_layout *layout, int is_raw,
			   struct coreclr_signature *out);
/* The arguments; strings are put into text. */
void coreclr_payload__take(const struct coreclr_layout *layout, int is_raw, const uint8_t *data,
			   uint32_t bytes, uint64_t args[CORECLR_ARG_MAX],
			   char text[CORECLR_TEXT_BYTES]);

/* ---- coreclr_json.c --------------------------------------------------------------------------- */

/* An object, whole JSON whatever the payload is, with its NUL. The length. What finds no room is
   left out, which "tapir_cut":true reports. */
uint32_t coreclr_json__write(const struct coreclr_layout *layout, const uint8_t *data,
			     uint32_t bytes, char out[CORECLR_JSON_BYTES]);

/* ---- coreclr_publish.c -------------------------------------------------------------------------- */

struct coreclr_published;

/* Control thread. On while a session wants it. */
void coreclr_publish__turn(int is_wanted);
/* Makes slots and notes for events that have come since. */
void coreclr_publish__serve(void);
void coreclr_publish__end(void); /* no thread is inside */

struct coreclr_publish_event {
	const char *provider, *name;
	uint32_t id, version;
	uint8_t level;
	uint64_t keywords;
	const uint8_t *meta;
	uint32_t meta_bytes;
};

/* An event's first, while publishing is on. Any thread. *at: NULL before. */
const struct coreclr_published *coreclr_publish__see(struct coreclr_published **at,
						     const struct coreclr_publish_event *event,
						     const uint8_t *data, uint32_t bytes);
/* Fires the event's probe with the arguments of a payload. Any thread; nothing is allocated. */
void coreclr_publish__fire(const struct coreclr_published *p, const uint8_t *data, uint32_t bytes,
			   const uint8_t *activity, const uint8_t *related);

extern uint32_t coreclr_publishing; /* whether it is enabled */

#pragma GCC visibility pop

#endif
