// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An id is compared as the 16 bytes of struct tapir_trace_ids, and as text of either encoding in a
 * payload. What a header traceparent has (W3C Trace Context, 3.2) is found wherever it is in a
 * text: a probe's argument has no name in the payload.
 */
#include "trace/trace_filter.h"

#include <string.h>

#include "trace/record.h"

/* -1: none. */
static int digit_of(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c | 0x20) : NULL;

	return at ? (int)(at - digits) : -1;
}

bool tapir_trace_filter__parse(const char *text, struct tapir_trace_filter *out)
{
	struct tapir_trace_filter choice = {.is_set = true};

	*out = (struct tapir_trace_filter){};
	if (!text)
		return true;
	for (size_t i = 0; i < TAPIR_TRACE_ID_DIGITS; i++) {
		int digit = digit_of(text[i]);

		if (digit < 0 || (i + 1 == TAPIR_TRACE_ID_DIGITS && text[i + 1]))
			return false;
		choice.id[i / 2] = (uint8_t)(choice.id[i / 2] << 4 | digit);
		choice.text[i] = choice.utf16[2 * i] = "0123456789abcdef"[digit];
	}
	*out = choice;
	return true;
}

/* In either encoding. */
static bool mentions(const struct tapir_rec *rec, const char *text, size_t bytes, const char *utf16)
{
	struct tapir_event_view view;

	if (rec->type != TAPIR_REC_EVENT)
		return false;
	tapir_event_view__of(rec, &view);
	return memmem(view.payload, view.payload_bytes, text, bytes) ||
	       memmem(view.payload, view.payload_bytes, utf16, 2 * bytes);
}

/* Reads that many hex digits and the character after them, of characters of so many bytes. */
static bool read_hex(const uint8_t *at, size_t left, size_t width, char end, uint8_t *out,
		     size_t digits)
{
	if (left < (digits + 1) * width)
		return false;
	for (size_t i = 0; i <= digits; i++) {
		int digit = digit_of((char)at[i * width]);

		if ((width == 2 && at[i * width + 1]) ||
		    (i == digits ? (char)at[i * width] != end : digit < 0))
			return false;
		if (i < digits)
			out[i / 2] = (uint8_t)(out[i / 2] << 4 | digit);
	}
	return true;
}

/* Reads the id that follows its name, which ends with a NUL, in a payload of such characters. */
static bool find_id(const struct tapir_event_view *view, const char *name, size_t bytes,
		    size_t width, uint8_t *out, size_t digits)
{
	const uint8_t *at = view->payload, *end = at + view->payload_bytes;

	while ((at = memmem(at, (size_t)(end - at), name, bytes))) {
		at += bytes;
		if (read_hex(at, (size_t)(end - at), width, 0, out, digits))
			return true;
	}
	return false;
}

static bool find_named_ids(const struct tapir_event_view *view, struct tapir_trace_ids *out)
{
	static const char trace[] = "TraceId", trace16[] = "T\0r\0a\0c\0e\0I\0d\0\0";
	static const char span[] = "SpanId", span16[] = "S\0p\0a\0n\0I\0d\0\0";
	struct tapir_trace_ids ids = {};
	size_t width = 2;

	if (!find_id(view, trace16, sizeof(trace16), 2, ids.trace_id, TAPIR_TRACE_ID_DIGITS)) {
		width = 1;
		if (!find_id(view, trace, sizeof(trace), 1, ids.trace_id, TAPIR_TRACE_ID_DIGITS))
			return false;
	}
	if (!find_id(view, width == 2 ? span16 : span, width == 2 ? sizeof(span16) : sizeof(span),
		     width, ids.span_id, 2 * sizeof(ids.span_id)))
		memset(ids.span_id, 0, sizeof(ids.span_id));
	*out = ids;
	return true;
}

/* Reads what follows the version: "-TRACE-SPAN-FLAGS". A trace of zeros is none. */
static bool read_parent(const uint8_t *at, size_t left, size_t width, struct tapir_trace_ids *out)
{
	static const uint8_t none[sizeof(out->trace_id)];
	size_t bytes = (TAPIR_TRACE_ID_DIGITS + 1) * width;
	struct tapir_trace_ids ids = {};

	if (!read_hex(at, left, width, '-', ids.trace_id, TAPIR_TRACE_ID_DIGITS) ||
	    !memcmp(ids.trace_id, none, sizeof(none)) ||
	    !read_hex(at + bytes, left - bytes, width, '-', ids.span_id, 2 * sizeof(ids.span_id)))
		return false;
	*out = ids;
	return true;
}

/* The value of a header traceparent, version 00, wherever it is in a text. */
static bool find_parent(const struct tapir_event_view *view, struct tapir_trace_ids *out)
{
	static const char versions[][6] = {"00-", "0\0"
						  "0\0-"};

	for (size_t width = 1; width <= 2; width++) {
		const uint8_t *at = view->payload, *end = at + view->payload_bytes;
		size_t bytes = 3 * width;

		while ((at = memmem(at, (size_t)(end - at), versions[width - 1], bytes))) {
			if (read_parent(at + bytes, (size_t)(end - at) - bytes, width, out))
				return true;
			at++;
		}
	}
	return false;
}

bool tapir_trace__is_named(const struct tapir_rec *rec)
{
	static const char text[] = "TraceId", utf16[] = "T\0r\0a\0c\0e\0I\0d";
	struct tapir_event_view view;
	struct tapir_trace_ids ids;

	if (tapir_rec__trace_ids(rec) || mentions(rec, text, sizeof(text) - 1, utf16))
		return true;
	if (rec->type != TAPIR_REC_EVENT)
		return false;
	tapir_event_view__of(rec, &view);
	return find_parent(&view, &ids);
}

bool tapir_trace__find_ids(const struct tapir_rec *rec, struct tapir_trace_ids *out)
{
	const struct tapir_trace_ids *carried = tapir_rec__trace_ids(rec);
	struct tapir_event_view view;

	if (carried) {
		*out = *carried;
		return true;
	}
	if (rec->type != TAPIR_REC_EVENT)
		return false;
	tapir_event_view__of(rec, &view);
	return find_named_ids(&view, out) || find_parent(&view, out);
}

bool tapir_trace_filter__is(const struct tapir_trace_filter *choice,
			    const struct tapir_trace_ids *ids)
{
	return !choice->is_set || (ids && !memcmp(ids->trace_id, choice->id, sizeof(choice->id)));
}

bool tapir_trace_filter__has(const struct tapir_trace_filter *choice, const struct tapir_rec *rec)
{
	return tapir_trace_filter__is(choice, tapir_rec__trace_ids(rec)) ||
	       mentions(rec, choice->text, sizeof(choice->text), choice->utf16);
}
