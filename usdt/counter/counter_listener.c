/* SPDX-License-Identifier: MIT */
/*
 * counter_listener.c - counters consumed in the process: a listener of EventCounters events, whose
 * payloads are read by the names of their fields, so that those of any provider fit that publish
 * as .NET does.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "counter_impl.h"
#include "tapir/payload_parts.h"

#define LEAST_S	   0.1
#define MAX_S	   3600.0
#define FIELD_MAX  16u
#define TEXT_BYTES 1032u /* counter.c takes texts of 1,024 bytes */

struct tapir_counter_listener {
	struct tapir_listener *listener;
	tapir_counter_sample_fn fn;
	void *ctx;
};

/* A sample and its texts. */
struct reading {
	struct tapir_counter_sample sample;
	char name[TEXT_BYTES], display_name[TEXT_BYTES], unit[TEXT_BYTES], tags[TEXT_BYTES];
};

static double counter_number(const struct tapir_event_field *f,
			     const struct tapir_payload_part *part)
{
	double wide = 0;
	float narrow = 0;
	int32_t integer = 0;

	switch (f->type) {
	case TAPIR_TYPE_F64:
		tapir_part__get(part, &wide, sizeof(wide));
		return wide;
	case TAPIR_TYPE_F32:
		tapir_part__get(part, &narrow, sizeof(narrow));
		return (double)narrow;
	case TAPIR_TYPE_I32:
		tapir_part__get(part, &integer, sizeof(integer));
		return integer;
	default:
		return 0;
	}
}

static void read_field(struct reading *r, const struct tapir_event_field *f,
		       const struct tapir_payload_part *part)
{
	struct tapir_counter_sample *s = &r->sample;
	const struct {
		const char *name;
		double *number;
		char *text;
	} fields[] = {
		{"Name", NULL, r->name},
		{"DisplayName", NULL, r->display_name},
		{"DisplayUnits", NULL, r->unit},
		{"Metadata", NULL, r->tags},
		{"Mean", &s->mean, NULL},
		{"StandardDeviation", &s->deviation, NULL},
		{"Min", &s->min, NULL},
		{"Max", &s->max, NULL},
		{"Increment", &s->increment, NULL},
		{"P50", &s->p50, NULL},
		{"P95", &s->p95, NULL},
		{"P99", &s->p99, NULL},
		{"IntervalSec", &s->interval_s, NULL},
	};

	if (!strcmp(f->name, "Count"))
		s->count = (uint32_t)counter_number(f, part);
	/*
	 * These are the names in the payload of EventCounters; a counter of sums has Increment, one
	 * of a mean has not, and histograms alone have percentiles.
	 */
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (strcmp(f->name, fields[i].name) != 0)
			continue;
		if (fields[i].number)
			*fields[i].number = counter_number(f, part);
		else if (f->type == TAPIR_TYPE_UTF16)
			tapir_part__text16(part, fields[i].text, TEXT_BYTES);
		s->is_increment |= fields[i].number == &s->increment;
		s->has_percentiles |= fields[i].number == &s->p99;
	}
}

/*
 * The event of a counter has one field, a structure, whose members are its name, its unit and its
 * values. The texts of the sample are valid during the call only.
 */
static void take_counter_event(const struct tapir_event_record *record, void *ctx)
{
	const struct tapir_event_about *about = record->kind->about;
	const struct tapir_counter_listener *l = ctx;
	struct tapir_event_about inner = {.fields = NULL};
	struct tapir_payload_part parts[FIELD_MAX];
	struct reading r = {.name = ""};
	uint32_t cnt;

	if (about->field_cnt != 1 || about->fields[0].type != TAPIR_TYPE_STRUCT)
		return;
	inner.fields = about->fields[0].members;
	inner.field_cnt = about->fields[0].member_cnt;
	cnt = tapir_payload__locate(&inner, record->payload, record->payload_bytes, parts,
				    FIELD_MAX);
	for (uint32_t i = 0; i < cnt; i++)
		read_field(&r, &inner.fields[i], &parts[i]);
	r.sample.provider = record->kind->provider;
	r.sample.time_ns = record->time_ns;
	r.sample.name = r.name;
	r.sample.display_name = r.display_name;
	r.sample.unit = r.unit;
	r.sample.tags = r.tags;
	l->fn(&r.sample, l->ctx);
}

int tapir_counter_listener__open(const char *provider, double interval_s,
				 tapir_counter_sample_fn fn, void *ctx,
				 const struct tapir_listener_opts *opts,
				 struct tapir_counter_listener **out)
{
	struct tapir_selection selection = {provider, "EventCounters", NULL, 0, 0, {0}};
	struct tapir_counter_listener *l;
	int saved = errno, err;
	char filter[64];
	unsigned ms;

	if (!fn || !out || !(interval_s >= LEAST_S && interval_s <= MAX_S))
		return -EINVAL;
	l = calloc(1, sizeof(*l));
	if (!l) {
		errno = saved;
		return -ENOMEM;
	}
	l->fn = fn;
	l->ctx = ctx;
	ms = (unsigned)(interval_s * 1000 + 0.5);
	/* Whatever the locale's decimal point is. */
	snprintf(filter, sizeof(filter), "EventCounterIntervalSec=%u.%03u", ms / 1000, ms % 1000);
	selection.filter = filter;
	err = tapir_listener__open(&selection, 1, take_counter_event, l, opts, &l->listener);
	if (err)
		free(l);
	else
		*out = l;
	errno = saved;
	return err;
}

int tapir_counter_listener__poll(struct tapir_counter_listener *listener)
{
	return tapir_listener__poll(listener->listener);
}

uint64_t tapir_counter_listener__lost(const struct tapir_counter_listener *listener)
{
	return tapir_listener__lost(listener->listener, NULL);
}

int tapir_counter_listener__close(struct tapir_counter_listener *listener)
{
	int err;

	if (!listener)
		return 0;
	err = tapir_listener__close(listener->listener);
	if (!err)
		free(listener);
	return err;
}
