/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * resolve.h - variables by name, as operands of USDT notes mention them.
 *
 * Not for naming addresses (symbols.h). The tables are built when the first name is looked up: most
 * files never need them. One resolver, one thread. Reasons: OK, or NO_SYMBOL where a name has no
 * address or several.
 */
#ifndef TAPIR_USER_RESOLVE_H
#define TAPIR_USER_RESOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tapir/abi.h"

struct tapir_elf;
struct tapir_resolver;

struct tapir_resolver *tapir_resolver__new(struct tapir_elf *elf); /* borrows elf */
void tapir_resolver__free(struct tapir_resolver *r);

/*
 * The address of a variable at link time. Never guesses: a name of several variables (statics of
 * different files) is NO_SYMBOL.
 */
enum tapir_operand_reason tapir_resolver__variable(struct tapir_resolver *r, const char *name,
						   size_t len, uint64_t *va);
/* A thread-local variable's distance from the thread pointer, in the program itself only. */
enum tapir_operand_reason tapir_resolver__tls(struct tapir_resolver *r, const char *name,
					      size_t len, int64_t *offset);
/* The address of the GOT slot that holds the variable's address. */
enum tapir_operand_reason tapir_resolver__got_slot(struct tapir_resolver *r, const char *name,
						   size_t len, uint64_t *slot_va);
/* Returns true if addresses at link time are those at run time (ET_EXEC). */
bool tapir_resolver__is_fixed(const struct tapir_resolver *r);

#endif
