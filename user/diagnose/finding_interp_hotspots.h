/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * finding_interp_hotspots.h - which functions of an interpreter use the CPU where samples have none
 * of them: by samples of its threads (LOOK records), of which those count whose thread ran or
 * waited for a CPU. One thread.
 */
#ifndef TAPIR_USER_FINDING_INTERP_HOTSPOTS_H
#define TAPIR_USER_FINDING_INTERP_HOTSPOTS_H

#include "base/keyed.h"
#include "diagnose/function_sums.h"

struct tapir_diagnosis;
struct tapir_rec_interp_sample;
struct tapir_str;

struct tapir_interp_thread {
	uint32_t tid;
	uint64_t sample_cnt; /* since it was sampled first */
	struct tapir_function_sums functions;
};

struct tapir_interp_hotspots {
	struct tapir_keyed(struct tapir_interp_thread) threads;
	struct tapir_function_sums functions; /* of all of them */
};

/* Takes a reading of a thread's interpreter frames. */
void tapir_finding_interp_hotspots__add(struct tapir_diagnosis *f,
					const struct tapir_rec_interp_sample *sample,
					uint32_t node);
/* Counts a sample of that thread, of which no frames were read. */
void tapir_finding_interp_hotspots__sample(struct tapir_diagnosis *f, uint32_t tid);
/*
 * "most in draw shop.py (57 of 58 times that running threads' frames were read)". NULL, and
 * nothing, unless it is known and these threads use most of the CPU; else the function's name,
 * borrowed from the timeline.
 */
const char *tapir_finding_interp_hotspots__append_top_function(const struct tapir_diagnosis *f,
							       struct tapir_str *out);
/* The same of one thread, after before; true if it is known. */
bool tapir_finding_interp_hotspots__append_of_thread(const struct tapir_diagnosis *f, uint32_t tid,
						     const char *before, struct tapir_str *out);

#endif
