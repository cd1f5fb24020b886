/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plan.h - what is captured at one site: the note has the locations of the arguments; the SPEC, the
 * note's own companion or the table of known providers has their meaning. Pure.
 */
#ifndef TAPIR_USER_SITE_LAYOUT_H
#define TAPIR_USER_SITE_LAYOUT_H

#include "spec/spec.h"
#include "bpf/control.h"
#include "elf/notes.h"
#include "trace/record.h"
#include "attach/unwind/cfi.h"

struct tapir_site_layout {
	struct tapir_site site; /* for the BPF program; probe_id is the caller's */
	struct tapir_field fields[TAPIR_MAX_ARGS];
	struct tapir_sv names[TAPIR_MAX_ARGS]; /* borrowed from note or tables; empty: argN */
};

/*
 * spec: the one that matched, for its ARGS. 0, or -EINVAL with a line: an ARG the site has not.
 * What out->names borrows lives as long as note and spec.
 */
int tapir_site_layout__make(const struct tapir_usdt_note *note, const struct tapir_spec *spec,
			    bool with_stack, struct tapir_site_layout *out);

/*
 * Sets where the caller of the site's function is found, for the first step of the stack. row: of
 * the site's address, from the file's .eh_frame.
 */
void tapir_site_layout__set_caller(struct tapir_site_layout *plan, const struct tapir_cfi_row *row);

#endif
