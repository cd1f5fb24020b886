/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * otlp_metrics.h - figures in Prometheus's text format as OpenTelemetry's MetricsData: counters
 * become sums, histograms and gauges what they are, names and labels stay. So both ways have the
 * same figures. Any text is taken; lines that are no figures are counted. One thread.
 */
#ifndef TAPIR_USER_OTLP_METRICS_H
#define TAPIR_USER_OTLP_METRICS_H

#include <stdint.h>

#include "base/str.h"

struct tapir_otlp_metrics_opts {
	const char *host; /* NULL or "": not known */
	uint64_t utc_ns;  /* when they were read */
};

/* Adds the message to out, not compressed. 0 or -ENOMEM. malformed_cnt: lines left out. */
int tapir_otlp_metrics__write(const char *text, const struct tapir_otlp_metrics_opts *opts,
			      struct tapir_str *out, uint64_t *malformed_cnt);

#endif
