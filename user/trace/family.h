/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * family.h - the records that are captured, as opposed to those that describe: events, CPU samples,
 * context switches. Loading and attaching programs, counting, losses and reports loop over this
 * table, which is in trace/schema.c with the members of such a record; what asks for it is in
 * record/capture_sources.c.
 */
#ifndef TAPIR_USER_FAMILY_H
#define TAPIR_USER_FAMILY_H

#include <stdbool.h>

#include "tapir/abi.h"

enum tapir_family_id {
#define TAPIR_X(name, word) TAPIR_FAMILY_##name,
	TAPIR_FAMILIES(TAPIR_X)
#undef TAPIR_X
		TAPIR_FAMILY_CNT
};

#define TAPIR_FAMILY_PROGRAMS 20
#define TAPIR_FAMILY_MAPS     6

struct tapir_family {
	uint16_t type;		    /* enum tapir_rec_type */
	const char *one, *many;	    /* "switch", "switches" */
	const char *key;	    /* its name in a report's JSON; NULL: many is */
	const char *thing, *things; /* "context switch", "context switches" */
	const char *title;	    /* of a table's column: ">SWITCHES" */
	uint16_t loss_kind;	    /* TAPIR_LOSS_KIND_* of its causes */
	uint16_t disk_cause;	    /* what the file had no room for */
	uint16_t skipped_cause;	    /* the kernel did not run one of its BPF programs */
	bool is_default;	    /* most recordings have it: it is loaded ahead (tapir serve) */
	/*
	 * The programs that capture it, which are loaded for it alone, in the order in which they
	 * are attached, and the maps that no other program uses; up to a NULL. Where libbpf cannot
	 * attach them by itself, the family's row in record/capture_sources.c does.
	 */
	const char *programs[TAPIR_FAMILY_PROGRAMS], *maps[TAPIR_FAMILY_MAPS];
	const char *last_program; /* an iterator that runs once, before the end; NULL: none */
	const char *meta;	  /* a key of META: it was captured; NULL: it says so otherwise */
	const char *flag; /* of `tapir record`, which has it captured; NULL: another option does */
	const char *flag_help;
};

extern const struct tapir_family tapir_families[TAPIR_FAMILY_CNT];

/* The name of a number of them in JSON. */
static inline const char *tapir_family__key(const struct tapir_family *family)
{
	return family->key ? family->key : family->many;
}

/* The noun for that many of them: "switch", "switches". */
static inline const char *tapir_family__noun(const struct tapir_family *family, uint64_t cnt)
{
	return cnt == 1 ? family->one : family->many;
}

/*
 * Returns the family of records of that type (enum tapir_family_id); -1: it describes, and is not
 * captured.
 */
int tapir_family__of(unsigned rec_type);
/*
 * Returns the name of what a loss of this kind lacks: "context switch", or the plural; "event"
 * where the kind is of no family. Static.
 */
const char *tapir_loss_kind__thing(int kind, bool is_many);

/* The sum over all families. */
static inline uint64_t tapir_captured__sum(const uint64_t captured[TAPIR_FAMILY_CNT])
{
	uint64_t sum = 0;

	for (int i = 0; i < TAPIR_FAMILY_CNT; i++)
		sum += captured[i];
	return sum;
}

/*
 * Return the process and the thread that a record is about, also one that describes. which: 0 or 1,
 * as in the schema's ids; of a switch, 0 leaves the CPU and 1 comes to it. 0: none is named.
 */
uint32_t tapir_rec__tgid(const struct tapir_rec *rec, int which);
uint32_t tapir_rec__tid(const struct tapir_rec *rec, int which);
/*
 * Returns the index in ids[] of the thread for which the record counts: the second where the first
 * has no id, as when a thread comes to a CPU that no thread of the recording leaves.
 */
int tapir_rec__counted_thread(const struct tapir_rec *rec);

/* Returns the stack of a well-formed record, and that of the kernel, which an event has after its
 * fixed part. 0: none. */
uint64_t tapir_rec__stack_id(const struct tapir_rec *rec);
uint64_t tapir_rec__kstack_id(const struct tapir_rec *rec);

/* Returns the number of its family's things for which a captured record stands: one; of CALLS the
 * calls of a thread, of KERNEL what it counts. */
uint64_t tapir_rec__weight(const struct tapir_rec *rec);

/*
 * Returns true for a record of a thread as it was when the recording began, which is not a switch.
 */
bool tapir_rec__is_snapshot(const struct tapir_rec *rec);

#endif
