// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A block: u32 with its bytes in the lower 24 bits and its kind above them, then its content. Rows
 * of events differ from those of version 4 in one number, that of a list of labels, and by threads
 * that are numbers of rows in thread blocks.
 */
#include "decode/nettrace_v6.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/vec.h"
#include "decode/byte_input.h"
#include "decode/nettrace_blocks.h"
#include "trace/record.h"

enum {
	END = 0,
	TRACE = 1,
	EVENTS = 2,
	METADATA = 3,
	SEQUENCE_POINT = 4,
	STACKS = 5,
	THREADS = 6,
	LABELS = 8
};

#define ROW_METADATA   0x01u
#define ROW_SEQUENCE   0x02u
#define ROW_THREAD     0x04u
#define ROW_STACK      0x08u
#define ROW_LABELS     0x10u
#define ROW_PAYLOAD    0x80u
#define COMPRESSED     0x01u
#define FORGET_THREADS 0x01u
#define HEADER_MIN     4u
#define TRACE_MIN      40u
#define THREADS_MAX    (1u << 20)
#define LABELS_MAX     (1u << 17)
#define FIELDS_MAX     1024u
#define KEYS_MAX       1024u
#define TEXT_MAX       4096u

enum {
	OPTION_OPCODE = 1,
	OPTION_KEYWORDS = 3,
	OPTION_MESSAGE = 4,
	OPTION_DESCRIPTION = 5,
	OPTION_KEY = 6,
	OPTION_GUID = 7,
	OPTION_LEVEL = 8,
	OPTION_VERSION = 9
};
enum { TYPE_OBJECT = 1, TYPE_U8 = 6, TYPE_ARRAY = 19, TYPE_VARINT = 20, TYPE_BOOL8 = 26 };
enum { THREAD_NAME = 1, THREAD_PID = 2, THREAD_TID = 3, THREAD_KEY = 4 };
enum {
	LABEL_ACTIVITY = 1,
	LABEL_RELATED = 2,
	LABEL_TRACE = 3,
	LABEL_SPAN = 4,
	LABEL_KEY = 5,
	LABEL_KEY_NUMBER = 6,
	LABEL_LAST = 0x80
};

struct labels {
	uint8_t activity[16], related[16], trace[16], span[8];
	bool has_activity, has_related, has_trace;
};

struct tapir_nettrace_v6 {
	struct nettrace_blocks blocks;
	struct tapir_map threads; /* row -> pid << 32 | tid */
	struct tapir_vec(struct labels) labels;
	uint32_t first_label;
	struct tapir_str blob, text, event;
	bool has_started;
};

int tapir_nettrace_v6__new(const struct tapir_nettrace_sink *sink, struct tapir_nettrace_v6 **out)
{
	struct tapir_nettrace_v6 *v = calloc(1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	v->blocks.sink = *sink;
	*out = v;
	return 0;
}

void tapir_nettrace_v6__free(struct tapir_nettrace_v6 *v)
{
	if (!v)
		return;
	tapir_map__fini(&v->blocks.sequences);
	tapir_map__fini(&v->threads);
	tapir_vec__fini(&v->labels);
	tapir_str__fini(&v->blob);
	tapir_str__fini(&v->text);
	tapir_str__fini(&v->event);
	free(v);
}

uint64_t tapir_nettrace_v6__malformed_cnt(const struct tapir_nettrace_v6 *v)
{
	return v->blocks.malformed_cnt;
}

size_t tapir_nettrace_v6__block_bytes(uint32_t header, bool *ends)
{
	*ends = header >> 24 == END;
	return *ends ? 0 : header & 0xffffff;
}

static uint32_t take_var32(struct tapir_byte_input *in)
{
	return (uint32_t)tapir_byte_input__varint(in);
}

/* The length and the bytes of a text. */
static struct tapir_sv read_varint_text(struct tapir_byte_input *in)
{
	uint64_t len = tapir_byte_input__varint(in);
	const uint8_t *text = tapir_byte_input__take(in, len);

	in->is_bad |= len > TEXT_MAX;
	return in->is_bad ? (struct tapir_sv){} : (struct tapir_sv){(const char *)text, len};
}

/* ---- the trace ------------------------------------------------------------------------------- */

static int take_trace(struct tapir_nettrace_v6 *v, const uint8_t *data, size_t len)
{
	struct tapir_byte_input in = {data, len, false};
	struct tapir_nettrace_start start = {};
	uint64_t cnt;

	if (len < TRACE_MIN || v->has_started)
		return -EPROTO;
	/*
	 * The block has a SYSTEMTIME of 16 bytes, two u64 and the pointer's size, then a count of
	 * keys and their values (dotnet/diagnostics, NetTraceFormat.md, "TraceBlock").
	 */
	start.utc_ns = tapir_nettrace__utc_ns(data);
	start.sync_ticks = tapir_le__u64(data + 16);
	start.ticks_per_sec = tapir_le__u64(data + 24);
	if (!start.ticks_per_sec)
		return -EPROTO;
	tapir_byte_input__take(&in, 36);
	cnt = tapir_byte_input__le(&in, 4);
	for (uint64_t i = 0; i < cnt && i < KEYS_MAX && !in.is_bad; i++) {
		struct tapir_sv key = read_varint_text(&in), value = read_varint_text(&in);
		char text[24];

		tapir_sv__copy(value, text, sizeof(text));
		if (tapir_sv__is(key, "ProcessId"))
			start.pid = (uint32_t)strtoul(text, NULL, 10);
		else if (tapir_sv__is(key, "ExpectedCPUSamplingRate"))
			start.sampling_ns = (uint32_t)strtoul(text, NULL, 10);
	}
	v->has_started = true;
	v->blocks.sink.on_start(v->blocks.sink.ctx, &start);
	return 0;
}

/* ---- threads, labels ------------------------------------------------------------------------- */

static void take_thread(struct tapir_nettrace_v6 *v, struct tapir_byte_input *in)
{
	uint64_t idx = tapir_byte_input__varint(in), pid = 0, tid = 0, *id;
	struct tapir_sv name = {};

	while (in->left && !in->is_bad) {
		switch (tapir_byte_input__le(in, 1)) {
		case THREAD_NAME:
			name = read_varint_text(in);
			break;
		case THREAD_PID:
			pid = tapir_byte_input__varint(in);
			break;
		case THREAD_TID:
			tid = tapir_byte_input__varint(in);
			break;
		case THREAD_KEY:
			read_varint_text(in);
			read_varint_text(in);
			break;
		/* An option has no length: one that is not known cannot be skipped. */
		default:
			in->is_bad = true;
		}
	}
	if (in->is_bad || pid > INT32_MAX || tid > INT32_MAX || v->threads.cnt >= THREADS_MAX) {
		v->blocks.malformed_cnt++;
		return;
	}
	id = tapir_map__put(&v->threads, idx, NULL);
	if (id)
		*id = pid << 32 | tid;
	if (v->blocks.sink.on_thread)
		v->blocks.sink.on_thread(v->blocks.sink.ctx, (uint32_t)pid, (uint32_t)tid,
					 name.data, name.len);
}

/* Each: u16 bytes, the row. */
static void take_threads(struct tapir_nettrace_v6 *v, const uint8_t *data, size_t len)
{
	struct tapir_byte_input in = {data, len, false};

	while (in.left && !in.is_bad) {
		uint64_t bytes = tapir_byte_input__le(&in, 2);
		struct tapir_byte_input row = {tapir_byte_input__take(&in, bytes), bytes, false};

		if (!in.is_bad)
			take_thread(v, &row);
	}
	v->blocks.malformed_cnt += in.is_bad;
}

static void take_bytes(struct tapir_byte_input *in, uint8_t *to, size_t bytes, bool *has)
{
	const uint8_t *at = tapir_byte_input__take(in, bytes);

	if (at)
		memcpy(to, at, bytes);
	if (has)
		*has = at;
}

/* A span id is a number here, and bytes in the order of its digits there. */
static void take_span(struct tapir_byte_input *in, struct labels *out)
{
	uint64_t span = htobe64(tapir_byte_input__le(in, 8));

	memcpy(out->span, &span, sizeof(span));
}

static void take_list(struct tapir_byte_input *in, struct labels *out)
{
	unsigned kind;

	do {
		kind = (unsigned)tapir_byte_input__le(in, 1);
		switch (kind & ~LABEL_LAST) {
		case LABEL_ACTIVITY:
			take_bytes(in, out->activity, 16, &out->has_activity);
			break;
		case LABEL_RELATED:
			take_bytes(in, out->related, 16, &out->has_related);
			break;
		case LABEL_TRACE:
			take_bytes(in, out->trace, 16, &out->has_trace);
			break;
		case LABEL_SPAN:
			take_span(in, out);
			break;
		case LABEL_KEY:
			read_varint_text(in);
			read_varint_text(in);
			break;
		case LABEL_KEY_NUMBER:
			read_varint_text(in);
			tapir_byte_input__varint(in);
			break;
		case 7: /* opcode */
			tapir_byte_input__take(in, 1);
			break;
		case 8: /* keywords */
			tapir_byte_input__take(in, 8);
			break;
		case 9:	 /* level */
		case 10: /* version */
			tapir_byte_input__take(in, 1);
			break;
		default:
			in->is_bad = true;
		}
	} while (!in->is_bad && !(kind & LABEL_LAST));
}

/* u32 the first list's number, u32 how many. */
static int take_labels(struct tapir_nettrace_v6 *v, const uint8_t *data, size_t len)
{
	struct tapir_byte_input in = {data, len, false};
	uint32_t first = (uint32_t)tapir_byte_input__le(&in, 4);
	uint64_t cnt = tapir_byte_input__le(&in, 4);

	if (!v->labels.cnt)
		v->first_label = first;
	if (first - v->first_label != v->labels.cnt || cnt > LABELS_MAX - v->labels.cnt)
		in.is_bad = true;
	for (uint64_t i = 0; i < cnt && !in.is_bad; i++) {
		struct labels labels = {};

		take_list(&in, &labels);
		if (!in.is_bad && !tapir_vec__push(&v->labels, labels))
			return -ENOMEM;
	}
	v->blocks.malformed_cnt += in.is_bad;
	return 0;
}

/* ---- metadata -------------------------------------------------------------------------------- */

static void put_number(struct tapir_str *out, uint64_t value, unsigned bytes)
{
	tapir_str__add(out, (const char *)&value, bytes);
}

static void put_utf16(struct tapir_str *out, struct tapir_sv text)
{
	const unsigned char *p = (const unsigned char *)text.data;

	for (size_t at = 0, len; at < text.len; at += len) {
		len = tapir_utf8__len(p + at, text.len - at);
		tapir_str__add_utf16(out, len && p[at] ? tapir_utf8__code(p + at, len) : 0xfffd);
		len = len ? len : 1;
	}
	put_number(out, 0, 2);
}

/* "Length, name, type" as the parts of version 4 have it; false: a type that those have not. */
static bool put_field(struct tapir_str *out, struct tapir_byte_input *in)
{
	struct tapir_sv name = read_varint_text(in);
	uint64_t type = tapir_byte_input__le(in, 1), of = 0;
	size_t from = out->len;
	uint32_t len;

	if (type == TYPE_ARRAY)
		of = tapir_byte_input__le(in, 1);
	if (in->is_bad || type <= TYPE_OBJECT || (type >= TYPE_VARINT && type != TYPE_BOOL8) ||
	    (type == TYPE_ARRAY && (of <= TYPE_OBJECT || of >= TYPE_ARRAY)))
		return false;
	put_number(out, 0, 4);
	put_utf16(out, name);
	put_number(out, type == TYPE_BOOL8 ? TYPE_U8 : type, 4);
	if (type == TYPE_ARRAY)
		put_number(out, of, 4);
	len = (uint32_t)(out->len - from);
	if (!out->failed)
		memcpy(out->data + from, &len, sizeof(len));
	return true;
}

/* The fields up to the first that cannot be described. */
static uint32_t put_fields(struct tapir_str *out, struct tapir_byte_input *in)
{
	uint64_t cnt = tapir_byte_input__le(in, 2);
	bool is_known = true;
	uint32_t put = 0;

	in->is_bad |= cnt > FIELDS_MAX;
	for (uint64_t i = 0; i < cnt && !in->is_bad; i++) {
		uint64_t bytes = tapir_byte_input__le(in, 2);
		struct tapir_byte_input field = {tapir_byte_input__take(in, bytes), bytes,
						 in->is_bad};

		is_known = is_known && !in->is_bad && put_field(out, &field);
		put += is_known;
	}
	return put;
}

struct options {
	uint64_t keywords;
	uint8_t level, version;
	int opcode;
};

static void take_options(struct tapir_byte_input *in, struct options *out)
{
	while (in->left && !in->is_bad) {
		switch (tapir_byte_input__le(in, 1)) {
		case OPTION_OPCODE:
			out->opcode = (int)tapir_byte_input__le(in, 1);
			break;
		case OPTION_KEYWORDS:
			out->keywords = tapir_byte_input__le(in, 8);
			break;
		case OPTION_LEVEL:
			out->level = (uint8_t)tapir_byte_input__le(in, 1);
			break;
		case OPTION_VERSION:
			out->version = (uint8_t)tapir_byte_input__le(in, 1);
			break;
		case OPTION_GUID:
			tapir_byte_input__take(in, 16);
			break;
		case OPTION_KEY:
			read_varint_text(in);
			read_varint_text(in);
			break;
		case OPTION_MESSAGE:
		case OPTION_DESCRIPTION:
			read_varint_text(in);
			break;
		default:
			return; /* what follows has an unknown length */
		}
	}
}

/* The blob of version 4 (event_blob.h): no fields in its first form, all in its second. */
static void put_blob(struct tapir_str *out, uint32_t event_id, struct tapir_sv event,
		     const struct options *options, uint32_t field_cnt,
		     const struct tapir_str *fields)
{
	put_number(out, event_id, 4);
	put_utf16(out, event);
	put_number(out, options->keywords, 8);
	put_number(out, options->version, 4);
	put_number(out, options->level, 4);
	put_number(out, 0, 4);
	if (options->opcode >= 0) {
		put_number(out, 1, 4);
		put_number(out, 1, 1);
		put_number(out, (uint64_t)options->opcode, 1);
	}
	if (!field_cnt)
		return;
	put_number(out, 4 + fields->len, 4);
	put_number(out, 2, 1);
	put_number(out, field_cnt, 4);
	tapir_str__add(out, fields->data, fields->len);
}

static void take_kind(struct tapir_nettrace_v6 *v, struct tapir_byte_input *in)
{
	struct tapir_nettrace_metadata out = {.metadata_id = take_var32(in)};
	struct tapir_sv provider = read_varint_text(in), event;
	uint32_t event_id = take_var32(in), field_cnt;
	struct options options = {.opcode = -1};
	struct tapir_byte_input rest;
	struct tapir_str fields = {};
	uint64_t bytes;

	event = read_varint_text(in);
	field_cnt = put_fields(&fields, in);
	bytes = in->is_bad || in->left < 2 ? 0 : tapir_byte_input__le(in, 2);
	rest = (struct tapir_byte_input){tapir_byte_input__take(in, bytes), bytes, in->is_bad};
	take_options(&rest, &options);
	tapir_str__clear(&v->text);
	tapir_str__clear(&v->event);
	tapir_str__clear(&v->blob);
	tapir_str__add(&v->text, provider.len ? provider.data : "", provider.len);
	tapir_str__add(&v->event, event.len ? event.data : "", event.len);
	/*
	 * Descriptions are decoded from the form of versions 4 and 5, which a runtime also gives
	 * its profilers: this version's are written in that form.
	 */
	put_blob(&v->blob, event_id, event, &options, field_cnt, &fields);
	if (in->is_bad || !out.metadata_id || fields.failed || v->blob.failed || v->text.failed ||
	    v->event.failed) {
		v->blocks.malformed_cnt++;
	} else {
		out.provider = v->text.data;
		out.event = v->event.data;
		out.blob = (const uint8_t *)v->blob.data;
		out.blob_bytes = v->blob.len;
		v->blocks.sink.on_metadata(v->blocks.sink.ctx, &out);
	}
	tapir_str__fini(&fields);
}

/* u16 bytes of a header, which is skipped; each: u16 bytes, the row. */
static void take_metadata(struct tapir_nettrace_v6 *v, const uint8_t *data, size_t len)
{
	struct tapir_byte_input in = {data, len, false};

	tapir_byte_input__take(&in, tapir_byte_input__le(&in, 2));
	while (in.left && !in.is_bad) {
		uint64_t bytes = tapir_byte_input__le(&in, 2);
		struct tapir_byte_input row = {tapir_byte_input__take(&in, bytes), bytes, false};

		if (!in.is_bad)
			take_kind(v, &row);
	}
	v->blocks.malformed_cnt += in.is_bad;
}

/* ---- events ---------------------------------------------------------------------------------- */

struct row {
	uint32_t metadata_id, sequence, stack_id, label_id, cpu;
	uint64_t capture_thread, thread, ticks, payload_bytes;
	const uint8_t *payload;
};

static bool take_row(struct tapir_byte_input *in, struct row *row)
{
	unsigned has = (unsigned)tapir_byte_input__le(in, 1);

	if (has & ROW_METADATA)
		row->metadata_id = take_var32(in);
	if (has & ROW_SEQUENCE) {
		row->sequence += take_var32(in);
		row->capture_thread = tapir_byte_input__varint(in);
		row->cpu = take_var32(in);
	}
	row->sequence++;
	if (has & ROW_THREAD)
		row->thread = tapir_byte_input__varint(in);
	if (has & ROW_STACK)
		row->stack_id = take_var32(in);
	row->ticks += tapir_byte_input__varint(in);
	if (has & ROW_LABELS)
		row->label_id = take_var32(in);
	if (has & ROW_PAYLOAD)
		row->payload_bytes = tapir_byte_input__varint(in);
	row->payload = tapir_byte_input__take(in, row->payload_bytes);
	return !in->is_bad && row->metadata_id;
}

static void deliver_event(struct tapir_nettrace_v6 *v, const struct row *row)
{
	const uint64_t *id = tapir_map__get(&v->threads, row->thread);
	/*
	 * Label 0 is "no labels"; others are counted from the first of the block, and a difference
	 * below zero is a large number here.
	 */
	uint32_t label = row->label_id - v->first_label;
	const struct labels *labels =
		row->label_id && label < v->labels.cnt ? &v->labels.data[label] : NULL;
	struct tapir_nettrace_event event = {
		.ticks = row->ticks,
		.pid = id ? (uint32_t)(*id >> 32) : 0,
		.tid = id ? (uint32_t)*id : 0,
		.cpu = row->cpu,
		.metadata_id = row->metadata_id,
		.stack_id = row->stack_id,
		.payload = row->payload,
		.payload_bytes = row->payload_bytes,
	};

	if (labels && labels->has_activity)
		event.activity_id = labels->activity;
	if (labels && labels->has_related)
		event.related_id = labels->related;
	if (labels && labels->has_trace) {
		event.trace_id = labels->trace;
		event.span_id = labels->span;
	}
	tapir_nettrace_blocks__count(&v->blocks, row->capture_thread, row->sequence, row->ticks);
	v->blocks.sink.on_event(v->blocks.sink.ctx, &event);
}

static void take_events(struct tapir_nettrace_v6 *v, const uint8_t *data, size_t len)
{
	struct tapir_byte_input in = {data, len, false};
	uint64_t header = tapir_byte_input__le(&in, 2), flags = tapir_byte_input__le(&in, 2);
	struct row row = {};

	if (header < HEADER_MIN || !(flags & COMPRESSED))
		in.is_bad = true;
	else
		tapir_byte_input__take(&in, header - HEADER_MIN);
	while (in.left && !in.is_bad) {
		if (take_row(&in, &row))
			deliver_event(v, &row);
		else
			in.is_bad = true;
	}
	v->blocks.malformed_cnt += in.is_bad;
}

/* u64 ticks, u32 flags, u32 count, each: thread, number of the last it tried to write. */
static void take_point(struct tapir_nettrace_v6 *v, const uint8_t *data, size_t len)
{
	struct tapir_byte_input in = {data, len, false};
	uint64_t ticks = tapir_byte_input__le(&in, 8), flags = tapir_byte_input__le(&in, 4);
	uint64_t cnt = tapir_byte_input__le(&in, 4);

	for (uint64_t i = 0; i < cnt && !in.is_bad; i++) {
		uint64_t thread = tapir_byte_input__varint(&in);
		uint32_t last = take_var32(&in);

		if (!in.is_bad)
			tapir_nettrace_blocks__settle(&v->blocks, thread, last, ticks);
	}
	v->blocks.malformed_cnt += in.is_bad;
	v->labels.cnt = 0;
	if (flags & FORGET_THREADS)
		tapir_map__clear(&v->threads);
	v->blocks.sink.on_forget(v->blocks.sink.ctx);
}

int tapir_nettrace_v6__take(struct tapir_nettrace_v6 *v, uint32_t header, const uint8_t *data,
			    size_t len)
{
	unsigned kind = header >> 24;

	if (kind == TRACE)
		return take_trace(v, data, len);
	if (!v->has_started)
		return -EPROTO;
	switch (kind) {
	case EVENTS:
		take_events(v, data, len);
		return 0;
	case METADATA:
		take_metadata(v, data, len);
		return 0;
	case SEQUENCE_POINT:
		take_point(v, data, len);
		return 0;
	case STACKS:
		tapir_nettrace_blocks__stacks(&v->blocks, data, len);
		return 0;
	case THREADS:
		take_threads(v, data, len);
		return 0;
	case LABELS:
		return take_labels(v, data, len);
	default:
		return 0; /* of a later version, or nothing that is of use here */
	}
}
