/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * operand.h - one argument of a USDT note, from its text to its location at run time.
 *
 * sys/sdt.h writes an argument as N@OP: N is the size in bytes, negative for a signed type, with a
 * trailing f for a floating-point one; OP is whatever the compiler would have written into an
 * instruction there. x86-64, AT&T syntax; the grammar is stated in operand.c. No state but the
 * resolver's. Any thread.
 */
#ifndef TAPIR_USER_OPERAND_H
#define TAPIR_USER_OPERAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/control.h"

struct tapir_resolver;

struct tapir_operand_ctx {
	struct tapir_resolver *resolver; /* borrowed; NULL: no symbol can be found */
	uint64_t site_va;		 /* at link time */
};

/*
 * Reads text[0..len), one argument without surrounding spaces. Returns 0 and a readable
 * operand with reason OK, or -ENOTSUP and an operand of kind NONE with the reason. Size and
 * sign are those of the note in both cases (size 0 when not even that could be read), but
 * that no value is wider than the register it is in: 8@%eax has size 4. A constant is what
 * the value's slot shall hold: 1@$-1 is 255.
 */
int tapir_operand__parse(const char *text, size_t len, const struct tapir_operand_ctx *ctx,
			 struct tapir_operand *out, enum tapir_operand_reason *reason);

/*
 * Finds the next argument in a note's argument text: *pos moves past it. false: no more. Arguments
 * are separated by spaces; a space inside an operand does not end it, because what follows it is
 * not a size.
 */
bool tapir_operand__split(const char **pos, const char **arg, size_t *len);

const char *tapir_operand_reason__text(enum tapir_operand_reason reason); /* abi.h's words */

#endif
