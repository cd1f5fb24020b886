/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jvm_file.h - the content of a file that a JVM wrote on request (jvm_attach.h). Thread-safe.
 */
#ifndef TAPIR_USER_JVM_FILE_H
#define TAPIR_USER_JVM_FILE_H

#include "runtime/jvm/jvm_attach.h"

/* *data is the caller's, for free(3). -EFBIG: it is longer than max_bytes; failures leave a line.
 */
int tapir_jvm_file__read(uint32_t tgid, const struct tapir_jvm_perf_map *file, size_t max_bytes,
			 char **data, size_t *len);

#endif
