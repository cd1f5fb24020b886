/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * otlp_dictionary.h - the tables that OpenTelemetry's profiles refer to: texts, functions,
 * locations, stacks, spans. Functions are known by their names alone: no addresses, no lines. The
 * first entry of each table is empty and means "none". One thread.
 */
#ifndef TAPIR_USER_OTLP_DICTIONARY_H
#define TAPIR_USER_OTLP_DICTIONARY_H

#include "base/arena.h"
#include "otlp.pb-c.h"
#include "output/render/otlp_samples.h"

/* Texts at places known beforehand. */
enum tapir_otlp_text {
	TAPIR_OTLP_TEXT_NONE,
	TAPIR_OTLP_TEXT_CPU, /* or what samples count */
	TAPIR_OTLP_TEXT_OFFCPU,
	TAPIR_OTLP_TEXT_EVENTS,
	TAPIR_OTLP_TEXT_SAMPLES,
	TAPIR_OTLP_TEXT_NANOSECONDS,
	TAPIR_OTLP_TEXT_COUNT,
	TAPIR_OTLP_TEXT_FINDING,
	TAPIR_OTLP_TEXT_NAMES
};

/* In the table of attributes. */
#define TAPIR_OTLP_ATTRIBUTE_FINDING 1

struct tapir_otlp_dictionary {
	Tapir__Otlp__Dictionary message;
	int32_t *stack_idx; /* of a row, in the stack table */
};

/*
 * Builds the dictionary of the rows for which is_wanted. cpu: what samples count. finding: NULL or
 * "": there is no such attribute. All of it is in arena. 0 or -ENOMEM.
 */
int tapir_otlp_dictionary__make(struct tapir_otlp_dictionary *d, struct tapir_arena *arena,
				const struct tapir_otlp_samples *samples,
				bool (*is_wanted)(const struct tapir_otlp_samples *samples,
						  enum tapir_otlp_kind kind),
				const char *cpu, const char *finding);

#endif
