/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jvm_counters.h - a JVM's performance counters over time, from the file that it maps for them
 * (/tmp/hsperfdata_USER/PID; on by default). Reading it costs the JVM nothing: no thread of it
 * takes part. The file is another user's: it is opened as such (base/foreign/foreign_file.h), and
 * not read where its file system might not answer. One thread.
 */
#ifndef TAPIR_USER_JVM_COUNTERS_H
#define TAPIR_USER_JVM_COUNTERS_H

#include <stdint.h>

#include "runtime/jvm/jvm_perfdata.h"

struct tapir_jvm_counters;

/*
 * Opens the file of a JVM. 0; -ENOENT: it has no such file (-XX:-UsePerfData); another -errno: it
 * may not be read. No line.
 */
int tapir_jvm_counters__open(uint32_t tgid, struct tapir_jvm_counters **out);
/* Closes the file and frees. NULL is fine. */
void tapir_jvm_counters__close(struct tapir_jvm_counters *c);

/* Reads the counters' values now. 0 or -errno. */
int tapir_jvm_counters__read(struct tapir_jvm_counters *c, struct tapir_jvm_gauges *out);

#endif
