/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * otlp_profiles.h - a recording's samples as OpenTelemetry's ProfilesData (v1development), not
 * compressed: a resource for each process, and of it a profile for each type of samples. One
 * thread.
 */
#ifndef TAPIR_USER_OTLP_PROFILES_H
#define TAPIR_USER_OTLP_PROFILES_H

#include "render/otlp_samples.h"

struct tapir_otlp_opts {
	const char *event;   /* what samples count; NULL: nanoseconds of CPU time */
	const char *host;    /* NULL: not known */
	const char *finding; /* the scope's attribute tapir.finding; NULL or "": none */
};

/* Adds the message to out. 0 or -ENOMEM. */
int tapir_otlp_profiles__write(const struct tapir_otlp_samples *samples,
			       const struct tapir_otlp_opts *opts, struct tapir_str *out);

#endif
