/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * frame.h - what the catalog knows of a frame of a stack: its function, else its file. Thread
 * safety: that of the catalog.
 */
#ifndef TAPIR_USER_FRAME_H
#define TAPIR_USER_FRAME_H

#include "trace/catalog.h"
#include "trace/record.h"

/* Where an address lies. Names and paths are borrowed from the catalog. */
struct tapir_frame {
	uint64_t va;
	struct tapir_sv name;	/* empty: no name is known */
	struct tapir_sv module; /* the file's path; empty: no mapping is known */
	uint64_t offset;	/* from the name's start; without a name, in the module */
};

/* Frame idx of a stack; frame 0 is where the thread was, the others are return addresses. */
struct tapir_frame tapir_frame__of(const struct tapir_catalog *catalog, uint32_t tgid,
				   uint64_t time_ns, const struct tapir_stack_view *stack,
				   unsigned idx);

/* The module without its directories. */
struct tapir_sv tapir_frame__module_name(const struct tapir_frame *frame);

#endif
