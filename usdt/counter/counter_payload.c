/* SPDX-License-Identifier: MIT */
/*
 * counter_payload.c - a counter's interval as the Payload of an EventCounters event, in the form in
 * which .NET writes it: a structure of texts in UTF-16 and of numbers, by name. Readers of .NET's
 * counters thus understand those of native programs.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "counter_impl.h"

#define FIELD(name, type)                                                                          \
	{                                                                                          \
		name, NULL, 0, 0, type, TAPIR_REPEAT_NONE,                                         \
		{                                                                                  \
			0, 0                                                                       \
		}                                                                                  \
	}

/* Histograms have the last three. */
static const struct tapir_event_field mean_members[] = {
	FIELD("Name", TAPIR_TYPE_UTF16),     FIELD("DisplayName", TAPIR_TYPE_UTF16),
	FIELD("Mean", TAPIR_TYPE_F64),	     FIELD("StandardDeviation", TAPIR_TYPE_F64),
	FIELD("Count", TAPIR_TYPE_I32),	     FIELD("Min", TAPIR_TYPE_F64),
	FIELD("Max", TAPIR_TYPE_F64),	     FIELD("IntervalSec", TAPIR_TYPE_F32),
	FIELD("Series", TAPIR_TYPE_UTF16),   FIELD("CounterType", TAPIR_TYPE_UTF16),
	FIELD("Metadata", TAPIR_TYPE_UTF16), FIELD("DisplayUnits", TAPIR_TYPE_UTF16),
	FIELD("P50", TAPIR_TYPE_F64),	     FIELD("P95", TAPIR_TYPE_F64),
	FIELD("P99", TAPIR_TYPE_F64),
};
static const struct tapir_event_field increment_members[] = {
	FIELD("Name", TAPIR_TYPE_UTF16),
	FIELD("DisplayName", TAPIR_TYPE_UTF16),
	FIELD("DisplayRateTimeScale", TAPIR_TYPE_UTF16),
	FIELD("Increment", TAPIR_TYPE_F64),
	FIELD("IntervalSec", TAPIR_TYPE_F32),
	FIELD("Metadata", TAPIR_TYPE_UTF16),
	FIELD("Series", TAPIR_TYPE_UTF16),
	FIELD("CounterType", TAPIR_TYPE_UTF16),
	FIELD("DisplayUnits", TAPIR_TYPE_UTF16),
};

#define CNT(array) (sizeof(array) / sizeof((array)[0]))
#define STRUCT(members, cnt)                                                                       \
	{                                                                                          \
		"Payload", members, cnt, 0, TAPIR_TYPE_STRUCT, TAPIR_REPEAT_NONE,                  \
		{                                                                                  \
			0, 0                                                                       \
		}                                                                                  \
	}

static const struct tapir_event_field mean_fields[] = {STRUCT(mean_members,
							      CNT(mean_members) - PERCENTILE_CNT)},
				      histogram_fields[] = {STRUCT(mean_members,
								   CNT(mean_members))},
				      increment_fields[] = {
					      STRUCT(increment_members, CNT(increment_members))};

/* Their provider's name is that of the lane's registration. */
const struct tapir_event_about counter_mean_about = {
	"", "EventCounters", mean_fields, 0, 0xfff0, 0, TAPIR_LOGALWAYS, 1, 0, 0, {0}};
const struct tapir_event_about counter_increment_about = {
	"", "EventCounters", increment_fields, 0, 0xfff1, 0, TAPIR_LOGALWAYS, 1, 0, 0, {0}};
const struct tapir_event_about counter_histogram_about = {
	"", "EventCounters", histogram_fields, 0, 0xfff2, 0, TAPIR_LOGALWAYS, 1, 0, 0, {0}};

/* Into NULL it only counts. */
struct output {
	uint8_t *at;
	size_t bytes;
};

static void append_payload_bytes(struct output *out, const void *bytes, size_t len)
{
	if (out->at)
		memcpy(out->at + out->bytes, bytes, len);
	out->bytes += len;
}

static void put_unit(struct output *out, uint32_t unit)
{
	uint16_t narrow = (uint16_t)unit;

	append_payload_bytes(out, &narrow, sizeof(narrow));
}

/* A character of UTF-8; what is none is U+FFFD, byte by byte. */
static uint32_t next_char(const uint8_t **at)
{
	static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
	uint32_t first = *(*at)++, more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
	const uint8_t *pos = *at;
	uint32_t value = first & (0x3fu >> more);

	if (first < 0x80)
		return first;
	if (first < 0xc2 || first > 0xf4)
		return 0xfffd;
	for (uint32_t i = 0; i < more; i++, pos++) {
		if ((*pos & 0xc0) != 0x80)
			return 0xfffd;
		value = value << 6 | (*pos & 0x3f);
	}
	if (value < least[more] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
		return 0xfffd;
	*at = pos;
	return value;
}

static void append_payload_utf16(struct output *out, const char *text)
{
	const uint8_t *at = (const uint8_t *)text;

	while (*at) {
		uint32_t value = next_char(&at);

		if (value >= 0x10000) {
			put_unit(out, 0xd800 + ((value - 0x10000) >> 10));
			value = 0xdc00 + ((value - 0x10000) & 0x3ff);
		}
		put_unit(out, value);
	}
	put_unit(out, 0);
}

static void put_f64(struct output *out, double value)
{
	append_payload_bytes(out, &value, sizeof(value));
}

static void put_f32(struct output *out, double value)
{
	float narrow = (float)value;

	append_payload_bytes(out, &narrow, sizeof(narrow));
}

static void put_mean(struct output *out, const struct tapir_counter *c,
		     const struct counter_report *r, const char *series)
{
	int32_t count = r->count > INT32_MAX ? INT32_MAX : (int32_t)r->count;

	append_payload_utf16(out, c->name);
	append_payload_utf16(out, c->display_name);
	put_f64(out, r->mean);
	put_f64(out, r->deviation);
	append_payload_bytes(out, &count, sizeof(count));
	put_f64(out, r->min);
	put_f64(out, r->max);
	put_f32(out, r->interval_s);
	append_payload_utf16(out, series);
	append_payload_utf16(out, "Mean");
	append_payload_utf16(out, c->tags);
	append_payload_utf16(out, c->unit);
	for (uint32_t i = 0; c->buckets && i < PERCENTILE_CNT; i++)
		put_f64(out, r->percentiles[i]);
}

static void put_increment(struct output *out, const struct tapir_counter *c,
			  const struct counter_report *r, const char *series)
{
	append_payload_utf16(out, c->name);
	append_payload_utf16(out, c->display_name);
	append_payload_utf16(out, "");
	put_f64(out, r->increment);
	put_f32(out, r->interval_s);
	append_payload_utf16(out, c->tags);
	append_payload_utf16(out, series);
	append_payload_utf16(out, "Sum");
	append_payload_utf16(out, c->unit);
}

int counter__is_increment(const struct tapir_counter *c)
{
	return c->type == TAPIR_COUNTER_INCREMENTING ||
	       c->type == TAPIR_COUNTER_INCREMENTING_POLLING;
}

void *counter_payload__make(const struct tapir_counter *c, const struct counter_report *report,
			    size_t *bytes)
{
	void (*write)(struct output *, const struct tapir_counter *, const struct counter_report *,
		      const char *) = counter__is_increment(c) ? put_increment : put_mean;
	struct output counted = {NULL, 0}, written = {NULL, 0};
	char series[32];

	snprintf(series, sizeof(series), "Interval=%u", report->requested_ms);
	write(&counted, c, report, series);
	written.at = malloc(counted.bytes);
	if (!written.at)
		return NULL;
	write(&written, c, report, series);
	*bytes = written.bytes;
	return written.at;
}
