/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * finding_jvm.h - what a JVM's own counters (runtime/jvm/jvm_gauges.c) say of its heap: why it
 * collects, an old generation that grows, classes that are loaded without end. One thread.
 */
#ifndef TAPIR_USER_FINDING_JVM_H
#define TAPIR_USER_FINDING_JVM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "diagnose/finding.h"

struct tapir_diagnosis;
struct tapir_rec_counter;

/* A value that was read from time to time. */
#define TAPIR_JVM_POINTS 32u

struct tapir_jvm_series {
	double first, last, max, fell; /* fell: the deepest fall below what it had been */
	uint64_t cnt, first_ns, last_ns;
	/* Some of its points, evenly in time: every one, or every 2nd, 4th, ... */
	struct tapir_jvm_point {
		double value;
		uint64_t time_ns;
	} points[TAPIR_JVM_POINTS];
	uint32_t point_cnt, stride;
};

struct tapir_jvm_cause {
	char name[64];
	double cnt, ms;
	unsigned poll_cnt; /* with collections */
};

struct tapir_jvm_counts {
	uint32_t tgid;
	uint64_t ended_ns; /* the last collection, by the JVM's clock; 0: not known */
	struct tapir_jvm_series old_generation, committed, metaspace, loaded, unloaded;
	struct tapir_jvm_series survived; /* the old generation, by collections */
	struct tapir_vec(struct tapir_jvm_cause) causes;
};

struct tapir_jvm_findings {
	struct tapir_vec(struct tapir_jvm_counts) jvms;
};

/* Takes a COUNTER record of a JVM (runtime/jvm/jvm_gauges.c); others are ignored. */
void tapir_finding_jvm__counter(struct tapir_diagnosis *f, const struct tapir_rec_counter *rec);
/*
 * Returns true if a JVM of that size may only touch, for the first time, what its heap had been
 * given at the start. Sizes are resident.
 */
bool tapir_finding_jvm__fills_heap(const struct tapir_diagnosis *f, uint32_t tgid,
				   uint64_t first_bytes, uint64_t last_bytes);

#endif
