/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * family.h - the records that are captured, as opposed to those that describe: events, CPU samples,
 * context switches. Capturing, counting, losses and reports loop over this table; what such a
 * record holds is in trace/schema.c, what starts a family's capture in record/capture_sources.c.
 */
#ifndef TAPIR_USER_FAMILY_H
#define TAPIR_USER_FAMILY_H

#include <stdbool.h>

#include "tapir/abi.h"

enum tapir_family_id {
	TAPIR_FAMILY_EVENT,
	TAPIR_FAMILY_SAMPLE,
	TAPIR_FAMILY_SWITCH,
	TAPIR_FAMILY_CNT
};

struct tapir_family {
	uint16_t type;		/* enum tapir_rec_type */
	const char *one, *many; /* "switch", "switches": also its name in a report's JSON */
	const char *title;	/* of a table's column: ">SWITCHES" */
	uint16_t loss_kind;	/* TAPIR_LOSS_KIND_* of its causes */
	uint16_t disk_cause;	/* what the file had no room for */
	uint16_t skipped_cause; /* the kernel did not run its BPF program */
};

extern const struct tapir_family tapir_families[TAPIR_FAMILY_CNT];

/* enum tapir_family_id; -1: a record that is not captured. */
int tapir_family__of(unsigned rec_type);

/* The sum over all families. */
static inline uint64_t tapir_captured__sum(const uint64_t captured[TAPIR_FAMILY_CNT])
{
	uint64_t sum = 0;

	for (int i = 0; i < TAPIR_FAMILY_CNT; i++)
		sum += captured[i];
	return sum;
}

/*
 * The process and the thread that a record is about, also one that describes; which: 0 or 1, as in
 * the schema's who: of a switch, who leaves and who comes. 0: none is named.
 */
uint32_t tapir_rec__tgid(const struct tapir_rec *rec, int which);
uint32_t tapir_rec__tid(const struct tapir_rec *rec, int which);
/*
 * The index in who[] of the thread for which the record counts: the second where the first has no
 * id, as when a thread comes to a CPU that no thread of the recording leaves.
 */
int tapir_rec__whose(const struct tapir_rec *rec);

/* Returns the stack of a well-formed record, and that of the kernel, which an event has after its
 * fixed part. 0: none. */
uint64_t tapir_rec__stack_id(const struct tapir_rec *rec);
uint64_t tapir_rec__kstack_id(const struct tapir_rec *rec);

/* Is it a thread as it was when the recording began, and no switch? */
bool tapir_rec__is_snapshot(const struct tapir_rec *rec);

#endif
