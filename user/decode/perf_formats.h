/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_formats.h - what a perf.data has of tracefs: how the records of its tracepoints are laid
 * out. For perf_data.c only.
 */
#ifndef TAPIR_USER_PERF_FORMATS_H
#define TAPIR_USER_PERF_FORMATS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Calls found with the text of each file `format` and its category, NUL-terminated and borrowed,
 * until that returns an error. -EPROTO: the part makes no sense from some point on; -ENOMEM.
 */
int tapir_perf_formats__each(const uint8_t *data, size_t len,
			     int (*found)(void *ctx, const char *category, const char *text),
			     void *ctx);

#endif
