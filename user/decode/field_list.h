/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * field_list.h - METADATA format 2: how a program that links libtapir describes the fields of one
 * of its events (include/tapir/provider.h).
 *
 * The list is the traced process's: counts, depth and names are bounded, and a list that is cut,
 * longer than its fields or refers to fields that cannot be a count is refused. No state; any
 * thread.
 */
#ifndef TAPIR_USER_FIELD_LIST_H
#define TAPIR_USER_FIELD_LIST_H

#include "decode/packed.h"

#define TAPIR_METADATA_FIELD_LIST 2

struct tapir_field_list {
	struct tapir_packed_layout layout;
	uint16_t task;
	uint8_t opcode;
};

/*
 * Parses a list; *out is the caller's to free and borrows nothing. 0, -EINVAL: malformed, -ENOMEM.
 */
int tapir_field_list__parse(const void *bytes, size_t len, struct tapir_field_list **out);
void tapir_field_list__free(struct tapir_field_list *list);

#endif
