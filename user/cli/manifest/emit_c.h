/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * emit_c.h - what tapir-manifest writes of a provider, each a whole file. p was checked
 * (c_names.h); the text is appended to out, whose `failed` is a lack of memory. One thread.
 */
#ifndef TAPIR_MANIFEST_EMIT_C_H
#define TAPIR_MANIFEST_EMIT_C_H

#include "cli/manifest/c_names.h"

/* Writes PROVIDER.h: constants, structures, the functions that a program calls. */
void emit_header(const struct c_provider *p, struct tapir_str *out);
/* Writes PROVIDER.c: events with their descriptions, probe sites and serializers. */
void emit_source(const struct c_provider *p, struct tapir_str *out);
/* Writes PROVIDER.d: the probes as a DTrace provider, for dtrace(1); nothing without events. */
void emit_dtrace(const struct c_provider *p, struct tapir_str *out);

/*
 * Write PROVIDER_lttng.h and PROVIDER_lttng.c: LTTng-UST tracepoints, and the logger that fires
 * them; nothing without events.
 */
void emit_lttng_header(const struct c_provider *p, struct tapir_str *out);
void emit_lttng_source(const struct c_provider *p, struct tapir_str *out);

/* Writes one event's payload, as part of PROVIDER.c. */
void emit_serializer(const struct c_provider *p, const struct c_event *ev, struct tapir_str *out);

#endif
