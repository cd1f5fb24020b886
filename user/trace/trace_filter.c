// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An id is compared as the 16 bytes of struct tapir_trace_ids, and as text of either encoding in a
 * payload.
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

bool tapir_trace__is_named(const struct tapir_rec *rec)
{
	static const char text[] = "TraceId", utf16[] = "T\0r\0a\0c\0e\0I\0d";

	return tapir_rec__trace_ids(rec) || mentions(rec, text, sizeof(text) - 1, utf16);
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
