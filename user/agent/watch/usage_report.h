/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * usage_report.h - CPU time and resident memory of the machine's processes, for Prometheus. One
 * thread.
 */
#ifndef TAPIR_USER_USAGE_REPORT_H
#define TAPIR_USER_USAGE_REPORT_H

#include <stdint.h>

#include "base/str.h"

/*
 * The number of processes with the most CPU time, and of those with the most memory: at most twice
 * as many in all.
 */
#define TAPIR_USAGE_TOP		 40

#define TAPIR_USAGE_LABELS_BYTES 256

/*
 * Read now, without privileges and without anything being started. only_pid: that process alone; 0:
 * all. Labels are pid and process, of at most 2 * TAPIR_USAGE_MOST processes.
 */
void tapir_usage_report__metrics(uint32_t only_pid, struct tapir_str *out);

/* pid="1",process="name", whatever characters the name has. */
void tapir_usage_report__labels(uint32_t pid, const char *name, char out[TAPIR_USAGE_LABELS_BYTES]);

#endif
