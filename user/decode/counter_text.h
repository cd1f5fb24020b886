/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * counter_text.h - a counter of libtapir as it describes itself (tapir/counter.h, FROM OUTSIDE).
 * The blob is the traced process's. Pure.
 */
#ifndef TAPIR_USER_COUNTER_TEXT_H
#define TAPIR_USER_COUNTER_TEXT_H

#include "trace/record.h"
#include "tapir/abi.h"

struct tapir_counter_text {
	const char *type;				/* "histogram"; "?" of a later version */
	struct tapir_sv name, display_name, unit, tags; /* borrowed from the blob */
};

/* 0, or -EBADMSG without a line. rec is well-formed. */
int tapir_counter_text__read(const struct tapir_rec_metadata *rec, struct tapir_counter_text *out);

#endif
