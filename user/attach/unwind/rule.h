/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rule.h - the rules of one instruction (tapir/eh_frame.h) as a row of 8 bytes (bpf/unwind.h).
 * Pure.
 */
#ifndef TAPIR_USER_UNWIND_RULE_H
#define TAPIR_USER_UNWIND_RULE_H

#include "bpf/unwind.h"
#include "tapir/eh_frame.h"

/* Returns the row but for its pc; UNSUPPORTED: no row can hold the rules. */
struct tapir_unwind_row tapir_unwind_rule__row(const struct tapir_eh_section *section,
					       const struct tapir_eh_state *state);

#endif
