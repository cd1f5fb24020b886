// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * SLOTS payloads (abi.h): 8 bytes a field, then the bytes of the variable ones in order. A variable
 * field's slot has its length and why it may be incomplete; the length is a claim, checked against
 * what is left.
 */
#include "decode/fields.h"

#include <stdlib.h>
#include <string.h>

#include "decode/cxx_type.h"

#define SLOT_BYTES 8u

struct payload {
	const uint8_t *slots;
	size_t slot_cnt; /* whole slots that are there, of the layout's */
	const uint8_t *var;
	size_t var_left;
};

static bool is_variable(uint8_t type)
{
	return type == TAPIR_FIELD_STR || type == TAPIR_FIELD_STRN || type == TAPIR_FIELD_BLOB ||
	       type == TAPIR_FIELD_I128 || type == TAPIR_FIELD_U128;
}

/* The next bytes of the variable part: as many as the slot claims, or as there are. */
static void take_bytes(struct payload *p, uint64_t slot_bits, struct tapir_value *value)
{
	struct tapir_slot_bytes slot;

	memcpy(&slot, &slot_bits, sizeof(slot));
	if (slot.flags & TAPIR_SLOT_CUT)
		value->flags |= TAPIR_VALUE_TRUNCATED;
	if (slot.flags & TAPIR_SLOT_NULL)
		value->flags |= TAPIR_VALUE_NULL;
	value->len = slot.len_bytes;
	if (value->len > p->var_left) {
		value->len = p->var_left;
		value->flags |= TAPIR_VALUE_TRUNCATED;
	}
	value->bytes = p->var;
	p->var += value->len;
	p->var_left -= value->len;
	if ((value->type == TAPIR_FIELD_I128 || value->type == TAPIR_FIELD_U128) &&
	    value->len != 16)
		value->flags |= TAPIR_VALUE_MISSING;
}

static double float_of(uint64_t bits, uint8_t size)
{
	uint32_t low = (uint32_t)bits;
	double wide;
	float narrow;

	if (size == sizeof(narrow)) {
		memcpy(&narrow, &low, sizeof(narrow));
		return (double)narrow;
	}
	memcpy(&wide, &bits, sizeof(wide));
	return wide;
}

/* A type's name as people write it; the value then has bytes that stay. */
static void name_type(struct tapir_value *value)
{
	struct tapir_sv name =
		tapir_cxx_type__name((struct tapir_sv){(const char *)value->bytes, value->len});

	value->bytes = (const uint8_t *)name.data;
	value->len = name.len;
}

static void decode_captured_field(struct payload *p, unsigned idx, bool is_fault,
				  struct tapir_value *value)
{
	uint64_t bits;

	if (idx >= p->slot_cnt) {
		value->flags = TAPIR_VALUE_MISSING;
		return;
	}
	if (is_fault) {
		value->flags = TAPIR_VALUE_FAULT;
		return;
	}
	memcpy(&bits, p->slots + (size_t)idx * SLOT_BYTES, sizeof(bits));
	if (is_variable(value->type)) {
		take_bytes(p, bits, value);
		if (value->type == TAPIR_FIELD_STR && value->size == TAPIR_STR_CXX_TYPE &&
		    !value->flags)
			name_type(value);
	} else if (value->type == TAPIR_FIELD_FLOAT)
		value->f64 = float_of(bits, value->size);
	else
		value->u64 = bits;
}

static struct tapir_value blob(const char *name, const uint8_t *bytes, size_t len, uint8_t flags)
{
	return (struct tapir_value){.name = tapir_sv__of(name),
				    .type = TAPIR_FIELD_BLOB,
				    .flags = flags,
				    .bytes = bytes,
				    .len = len};
}

/* Splits the payload into slots and variable part. */
static struct payload split_payload(const struct tapir_probe_view *probe,
				    const struct tapir_event_view *event)
{
	size_t want = (size_t)probe->rec->field_cnt * SLOT_BYTES;
	size_t have =
		event->payload_bytes < want ? event->payload_bytes / SLOT_BYTES * SLOT_BYTES : want;

	return (struct payload){
		.slots = event->payload,
		.slot_cnt = have / SLOT_BYTES,
		.var = event->payload + have,
		.var_left = event->payload_bytes - have,
	};
}

unsigned tapir_fields__decode(const struct tapir_probe_view *probe,
			      const struct tapir_event_view *event, struct tapir_value *out,
			      unsigned max)
{
	uint8_t truncated = event->rec->flags & TAPIR_EVENT_CUT ? TAPIR_VALUE_TRUNCATED : 0;
	struct payload p = split_payload(probe, event);
	const char *name = probe->names;
	unsigned cnt = 0;

	if (probe->rec->encoding != TAPIR_ENCODING_SLOTS) {
		if (max && event->payload_bytes)
			out[cnt++] =
				blob("payload", event->payload, event->payload_bytes, truncated);
		return cnt;
	}
	for (; cnt < probe->rec->field_cnt && cnt < max; cnt++) {
		const struct tapir_field *field = &probe->fields[cnt];
		bool is_fault = cnt < 16 && event->rec->fault_mask >> cnt & 1;

		out[cnt] = (struct tapir_value){.name = {name, field->name_len},
						.type = field->type,
						.size = field->size,
						.reason = field->reason};
		name += field->name_len;
		decode_captured_field(&p, cnt, is_fault, &out[cnt]);
	}
	if (p.var_left && cnt == probe->rec->field_cnt && cnt < max)
		out[cnt++] = blob("rest", p.var, p.var_left, truncated);
	return cnt;
}

bool tapir_values__reserve(struct tapir_value **values, unsigned *cap, unsigned cnt)
{
	struct tapir_value *grown =
		cnt <= *cap ? *values : reallocarray(*values, cnt, sizeof(*grown));

	if (!grown)
		return cnt <= *cap;
	*values = grown;
	*cap = cnt <= *cap ? *cap : cnt;
	return true;
}
