/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * otlp_profiles.h - a recording's samples as OpenTelemetry's ProfilesData (v1development), not
 * compressed: a resource for each process, and of it a profile for each type of samples. One
 * thread.
 *
 * What reads them is stricter than the messages are (Grafana Pyroscope, seen in August 2026): where
 * a profile has a period, it refuses samples of more than one value; CPU time is what it takes from
 * "samples" with a period of "cpu" in nanoseconds; attributes of a scope are labels, so that a text
 * that differs from profile to profile makes a series of each. So samples have times and no values,
 * which are 1 then, and the finding is an attribute of profiles.
 */
#ifndef TAPIR_USER_OTLP_PROFILES_H
#define TAPIR_USER_OTLP_PROFILES_H

#include "output/render/otlp_samples.h"

struct tapir_otlp_opts {
	const char *event;   /* what samples count; NULL: nanoseconds of CPU time */
	const char *host;    /* NULL: not known */
	const char *finding; /* each profile's attribute tapir.finding; NULL or "": none */
};

/* Adds the message to out. 0 or -ENOMEM. */
int tapir_otlp_profiles__write(const struct tapir_otlp_samples *samples,
			       const struct tapir_otlp_opts *opts, struct tapir_str *out);

#endif
