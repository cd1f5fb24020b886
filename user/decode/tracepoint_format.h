/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tracepoint_format.h - the file `format` of a tracepoint in tracefs: which fields its record has,
 * and where. Pure: any text is parsed, or refused.
 */
#ifndef TAPIR_USER_TRACEPOINT_FORMAT_H
#define TAPIR_USER_TRACEPOINT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/control.h"

#define TAPIR_TRACEPOINT_NAME_BYTES 64
#define TAPIR_TRACEPOINT_TYPE_BYTES 64

struct tapir_tracepoint_field {
	char name[TAPIR_TRACEPOINT_NAME_BYTES];
	char type[TAPIR_TRACEPOINT_TYPE_BYTES]; /* as C writes it, without an array's brackets */
	struct tapir_machine_field machine_field;
	uint8_t field_type; /* enum tapir_field_type */
};

struct tapir_tracepoint_format {
	struct tapir_tracepoint_field fields[TAPIR_MACHINE_FIELDS];
	unsigned field_cnt;
	unsigned skipped_cnt; /* fields for which there is no room, or that cannot be read */
};

/* Omits the fields that all records have. -EINVAL, without a line: it is not such a text. */
int tapir_tracepoint_format__parse(const char *text, struct tapir_tracepoint_format *out);

#endif
