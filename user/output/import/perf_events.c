// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A tracepoint's bytes become slots (abi.h) as bpf/machine.bpf.c writes them, so that all that
 * reads tapir's own tracepoints reads those of perf.data. The format of the fields is in the file's
 * header.
 */
#include "output/import/perf_events.h"

#include <stdio.h>
#include <string.h>

#include "base/little_endian.h"

#define PROVIDER_BYTES 288u

void tapir_perf_events__fini(struct tapir_perf_events *e)
{
	tapir_map__fini(&e->described);
	tapir_str__fini(&e->payload);
}

/* ---- fields ---------------------------------------------------------------------------------- */

/* A part of the tracepoint's record. False: it does not have it. */
static bool find_bytes(const struct tapir_perf_record *record, const struct tapir_machine_field *f,
		       const uint8_t **out, size_t *len)
{
	uint32_t off = f->off, bytes = f->size, loc;

	if (off > record->raw_bytes)
		return false;
	if (f->read == TAPIR_MACHINE_AT_LOC || f->read == TAPIR_MACHINE_AT_REL_LOC) {
		if (record->raw_bytes - off < 4)
			return false;
		loc = tapir_le__u32(record->raw + off);
		off = (loc & 0xffff) + (f->read == TAPIR_MACHINE_AT_REL_LOC ? off + 4 : 0);
		bytes = loc >> 16;
	}
	if (off > record->raw_bytes || bytes > record->raw_bytes - off)
		return false;
	*out = record->raw + off;
	*len = bytes;
	return true;
}

static uint64_t integer_at(const uint8_t *at, size_t len, bool is_signed)
{
	uint64_t value = tapir_le__uint(at, len < 8 ? (unsigned)len : 8);
	unsigned shift = len < 8 ? 64 - 8 * (unsigned)len : 0;

	return is_signed && len && shift ? (uint64_t)((int64_t)(value << shift) >> shift) : value;
}

static void add_slot(struct tapir_str *out, uint64_t value)
{
	tapir_str__add(out, (const char *)&value, sizeof(value));
}

/* Returns the bits of fields that could not be read. */
static uint16_t add_fields(struct tapir_str *out, const struct tapir_tracepoint_format *format,
			   const struct tapir_perf_record *record)
{
	struct tapir_str texts = {};
	uint16_t faults = 0;

	for (unsigned i = 0; i < format->field_cnt; i++) {
		const struct tapir_machine_field *f = &format->fields[i].machine_field;
		struct tapir_slot_bytes slot = {};
		const uint8_t *at = NULL;
		uint64_t bits;
		size_t len = 0;

		if (!find_bytes(record, f, &at, &len))
			faults |= (uint16_t)(1u << i);
		if (f->read == TAPIR_MACHINE_NUMBER) {
			add_slot(out, at ? integer_at(at, len, f->is_signed) : 0);
			continue;
		}
		if (at && f->is_text)
			len = strnlen((const char *)at, len);
		slot.len_bytes = (uint32_t)len;
		memcpy(&bits, &slot, sizeof(bits));
		/*
		 * The form of tapir's own records of tracepoints: a slot of 8 bytes for each field,
		 * then the texts, whose lengths are in their slots.
		 */
		add_slot(out, bits);
		tapir_str__add(&texts, at ? (const char *)at : "", len);
	}
	tapir_str__add(out, texts.data ? texts.data : "", texts.len);
	out->failed |= texts.failed;
	tapir_str__fini(&texts);
	return faults;
}

bool tapir_perf_events__number(const struct tapir_perf_format *format,
			       const struct tapir_perf_record *record, const char *field,
			       uint64_t *out)
{
	for (unsigned i = 0; i < format->fields.field_cnt; i++) {
		const struct tapir_tracepoint_field *f = &format->fields.fields[i];
		const uint8_t *at;
		size_t len;

		if (strcmp(f->name, field) || f->machine_field.read != TAPIR_MACHINE_NUMBER ||
		    !find_bytes(record, &f->machine_field, &at, &len))
			continue;
		*out = integer_at(at, len, f->machine_field.is_signed);
		return true;
	}
	return false;
}

/* ---- events ---------------------------------------------------------------------------------- */

static const struct tapir_perf_format *format_of(const struct tapir_perf_events *e,
						 const struct tapir_perf_attr *attr)
{
	return attr->type == TAPIR_PERF_TRACEPOINT ? tapir_perf_data__format(e->data, attr->config)
						   : NULL;
}

/*
 * A tracepoint has the fields of its format, and none without one; any other event has one field,
 * its period.
 */
static void describe_event(struct tapir_perf_events *e, const struct tapir_perf_attr *attr,
			   uint32_t probe_id, uint64_t time_ns)
{
	const struct tapir_perf_format *format = format_of(e, attr);
	struct tapir_rec_probe fixed = {
		.probe_id = probe_id, .encoding = TAPIR_ENCODING_SLOTS, .lane = TAPIR_LANE_PROBE};
	struct tapir_field fields[TAPIR_MACHINE_FIELDS] = {{.type = TAPIR_FIELD_UINT, .size = 8}};
	struct tapir_sv names[TAPIR_MACHINE_FIELDS] = {tapir_sv__of("period")};
	unsigned cnt = format ? format->fields.field_cnt : attr->type != TAPIR_PERF_TRACEPOINT;
	char provider[PROVIDER_BYTES] = "perf";

	for (unsigned i = 0; format && i < cnt; i++) {
		const struct tapir_tracepoint_field *f = &format->fields.fields[i];
		bool is_fixed = f->field_type < TAPIR_FIELD_STR;

		fields[i] =
			(struct tapir_field){.type = f->field_type,
					     .size = is_fixed ? (uint8_t)f->machine_field.size : 0};
		names[i] = tapir_sv__of(f->name);
	}
	if (format)
		snprintf(provider, sizeof(provider), "tracepoint:%s", format->category);
	tapir_rec__init(&fixed.h, TAPIR_REC_PROBE, sizeof(fixed), time_ns);
	tapir_import_sink__describe(
		e->sink,
		tapir_recbuf__probe(&e->sink->buf, &fixed, tapir_sv__of(provider),
				    tapir_sv__of(format ? format->name : attr->name),
				    (struct tapir_sv){}, (struct tapir_sv){}, fields, names, cnt));
}

void tapir_perf_events__put(struct tapir_perf_events *e, const struct tapir_perf_record *record,
			    uint64_t stack_id, uint64_t kstack_id)
{
	const struct tapir_perf_format *format = format_of(e, record->attr);
	uint32_t probe_id = (uint32_t)(record->attr - e->data->attrs.data) + 1;
	struct tapir_rec_event fixed = {.probe_id = probe_id,
					.tgid = record->pid,
					.tid = record->tid,
					.flags = kstack_id ? TAPIR_EVENT_KSTACK : 0,
					.lane = TAPIR_LANE_PROBE,
					.stack_id = stack_id};
	struct tapir_event_view view = {.rec = &fixed, .kstack_id = kstack_id};
	bool is_new = false;

	if (tapir_map__put(&e->described, probe_id, &is_new) && is_new)
		describe_event(e, record->attr, probe_id, record->time_ns);
	tapir_str__clear(&e->payload);
	if (format)
		fixed.fault_mask = add_fields(&e->payload, &format->fields, record);
	else if (record->attr->type != TAPIR_PERF_TRACEPOINT)
		add_slot(&e->payload, record->period);
	view.payload = (const uint8_t *)e->payload.data;
	view.payload_bytes = e->payload.len;
	tapir_rec__init(&fixed.h, TAPIR_REC_EVENT, sizeof(fixed), record->time_ns);
	fixed.h.cpu = record->cpu < TAPIR_CPU_UNKNOWN ? (uint16_t)record->cpu : TAPIR_CPU_UNKNOWN;
	tapir_import_sink__put(e->sink, tapir_recbuf__event(&e->sink->buf, &view));
}
