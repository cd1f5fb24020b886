// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Samples and times off the CPU, for OpenTelemetry's receivers. The format has one dictionary for
 * all samples, so nothing is written before the end.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "output/render/otlp_profiles.h"
#include "output/sink/sink.h"

static void report_omissions(const struct tapir_otlp_samples *s)
{
	if (s->skipped_cnt)
		tapir_warn(
			"%" PRIu64
			" samples are left out: the limit of %u stacks or %u processes is reached",
			s->skipped_cnt, TAPIR_OTLP_MAX_ROWS, TAPIR_OTLP_MAX_OWNERS);
	if (s->untied)
		tapir_warn("%" PRIu64
			   " samples are written without their span: the limit of %u stacks is "
			   "reached",
			   s->untied, TAPIR_OTLP_MAX_ROWS);
	if (s->has_no_times)
		tapir_warn("sums of stacks are written, without the time of each sample: there are "
			   "more than %u",
			   TAPIR_OTLP_MAX_POINTS);
	if (s->tree.folded_cnt)
		tapir_warn("%" PRIu64 TAPIR_SINK_FOLDED_TEXT, s->tree.folded_cnt,
			   TAPIR_STACK_TREE_MAX_NODES);
}

/* Texts of these messages have no line breaks. */
static void add_in_one_line(const char *lines, struct tapir_str *out)
{
	for (size_t len; lines && *lines; lines += len + (lines[len] != '\0')) {
		len = strcspn(lines, "\n");
		if (len && out->len)
			tapir_str__adds(out, "; ");
		tapir_str__add(out, lines, len);
	}
}

static int write_otlp(struct tapir_export *x, const struct tapir_otlp_samples *s)
{
	const struct tapir_catalog *catalog = x->catalog;
	struct tapir_sv event = tapir_catalog__meta_value(catalog, "sample_event");
	char event_text[128], host[256];
	struct tapir_otlp_opts opts = {.host = host};
	struct tapir_str finding = {};
	int err;

	add_in_one_line(x->head.data, &finding);
	opts.finding = finding.data;
	tapir_sv__copy(tapir_catalog__meta_value(catalog, "host"), host, sizeof(host));
	tapir_sv__copy(event, event_text, sizeof(event_text));
	if (event.len && !tapir_sample_event__is_clock(event))
		opts.event = event_text;
	err = finding.failed ? -ENOMEM : tapir_otlp_profiles__write(s, &opts, &x->out);
	tapir_str__fini(&finding);
	return err;
}

static int begin_otlp(struct tapir_export *x)
{
	const struct tapir_reader_stats *stats = tapir_reader__stats(x->reader);
	struct tapir_otlp_samples *samples = calloc(1, sizeof(*samples));
	int err;

	if (!samples)
		return -ENOMEM;
	x->state = samples;
	err = tapir_otlp_samples__init(samples, x->catalog, stats->created_ns,
				       stats->created_utc_ns);
	samples->trace = &x->trace;
	return err;
}

static int otlp_add(struct tapir_export *x, const struct tapir_rec *rec)
{
	return tapir_otlp_samples__add(x->state, rec);
}

static int end_otlp(struct tapir_export *x)
{
	int err = tapir_otlp_samples__finish(x->state);

	if (!err)
		err = write_otlp(x, x->state);
	if (!err)
		report_omissions(x->state);
	return err;
}

static void free_samples(struct tapir_export *x)
{
	if (x->state)
		tapir_otlp_samples__fini(x->state);
	free(x->state);
}

const struct tapir_sink tapir_sink_otlp = {
	.name = "otlp",
	.description = "samples and off-CPU time, for OpenTelemetry's receivers",
	.lacks = "counters, fields, losses",
	.suffix = "otlp.pb",
	.content = TAPIR_SINK_IS_BINARY,
	.has_switches = true,
	.is_complete = true,
	.has_head = true,
	.takes_all = true,
	.begin = begin_otlp,
	.add = otlp_add,
	.end = end_otlp,
	.free = free_samples,
};
