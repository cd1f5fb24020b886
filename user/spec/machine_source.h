/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * machine_source.h - sources that are no provider's events:
 *
 *  tracepoint:CATEGORY:NAME{,NAME} | syscall:NAME{,NAME}
 *
 * CATEGORY and NAME are shell globs. Pure: nothing is looked up.
 */
#ifndef TAPIR_USER_MACHINE_SOURCE_H
#define TAPIR_USER_MACHINE_SOURCE_H

#include <stdbool.h>

#include "base/vec.h"

enum tapir_machine_kind { TAPIR_MACHINE_TRACEPOINT, TAPIR_MACHINE_SYSCALL };

/* What the provider of such events is called; of a tracepoint, its category follows. */
#define TAPIR_TRACEPOINT_WORD "tracepoint:"
#define TAPIR_SYSCALL_WORD    "syscall"

struct tapir_machine_source {
	char *text; /* as it was given */
	enum tapir_machine_kind kind;
	char *category; /* of a tracepoint; else NULL */
	char *names;	/* globs, with ',' between them */
};

struct tapir_machine_source_list tapir_vec(struct tapir_machine_source *);

/* Whether a text means such a source by its first word, well-formed or not. */
bool tapir_machine_source__is_one(const char *text);
/* *out is yours. -EINVAL with a line. */
int tapir_machine_source__parse(const char *text, struct tapir_machine_source **out);
void tapir_machine_source__free(struct tapir_machine_source *source);

/* Is an event of this name, of a tracepoint's category, meant? */
bool tapir_machine_source__has_name(const struct tapir_machine_source *source, const char *name);
/* The same by the names in its PROBE record. */
bool tapir_machine_source__matches(const struct tapir_machine_source *source, const char *provider,
				   const char *event);

#endif
