/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * usage_text.h - what was measured of whole processes and of the machine during a recording, as the
 * texts of META entries: one place writes and reads them. What cannot be read is left out. Pure;
 * any thread.
 *
 * memory: a line for each process, "PID MS:RESIDENT_KB:FILE_KB ...", where MS is on the records'
 * clock.
 *
 * quota: one line, "QUOTA_US PERIOD_US THROTTLED_NS PERIODS THROTTLED_PERIODS WALL_NS DIR".
 *
 * neighbours: "WALL_NS CPUS ALL_NS MACHINE_NS", then "CPU_NS PID COMM" for each, the busiest first.
 */
#ifndef TAPIR_USER_USAGE_TEXT_H
#define TAPIR_USER_USAGE_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "base/vec.h"
#include "tapir/abi.h"
#include "trace/record.h"

#define TAPIR_USAGE_MEMORY     "memory"
#define TAPIR_USAGE_QUOTA      "quota"
#define TAPIR_USAGE_NEIGHBOURS "neighbours"
#define TAPIR_MEMORY_POINTS    64u /* of a process */
#define TAPIR_MEMORY_PROCESSES 8u
#define TAPIR_NEIGHBOURS_MAX   4u

struct tapir_memory_point {
	uint64_t at_ns, resident_bytes, file_bytes;
};

struct tapir_memory_series {
	uint32_t tgid;
	unsigned cnt;
	struct tapir_memory_point points[TAPIR_MEMORY_POINTS];
};

struct tapir_quota_use { /* differences between the start and the end */
	uint64_t quota_us, period_us, throttled_ns, period_cnt, throttled_cnt, wall_ns;
	struct tapir_sv dir; /* of the text */
};

struct tapir_neighbour {
	uint64_t cpu_ns;
	uint32_t tgid;
	char comm[TAPIR_COMM_BYTES];
};

struct tapir_neighbours {
	uint64_t wall_ns, cpu_cnt;
	uint64_t all_ns;     /* CPU time of all other processes that there are at the end */
	uint64_t machine_ns; /* of all but tapir, the ended ones too; 0: not known */
	unsigned cnt;
	struct tapir_neighbour rows[TAPIR_NEIGHBOURS_MAX];
};

/* Appends the line of one process. */
void tapir_usage_text__add_memory(const struct tapir_memory_series *series, struct tapir_str *out);
/* The next process of the text, which is moved on; false: there is none. */
bool tapir_usage_text__next_memory(struct tapir_sv *text, struct tapir_memory_series *out);

/*
 * Append the text of an entry; read one, false if it is malformed. dir is borrowed from the text.
 */
void tapir_usage_text__add_quota(const struct tapir_quota_use *quota, struct tapir_str *out);
bool tapir_usage_text__quota(struct tapir_sv text, struct tapir_quota_use *out);

/* Append the text of an entry; read one, false if it is malformed. */
void tapir_usage_text__add_neighbours(const struct tapir_neighbours *n, struct tapir_str *out);
bool tapir_usage_text__neighbours(struct tapir_sv text, struct tapir_neighbours *out);

#endif
