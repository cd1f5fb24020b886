/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * counter_choice.h - which counters are wanted, and how often.
 *
 *	GLOB := PROVIDER[/COUNTER]	both are shell globs; no COUNTER: all of them. A '/' in the
 *	provider's name is written '\/'
 *
 * PROVIDER is the name of an EventSource or of a Meter. A choice is filled by one thread; then any
 * number may read it.
 */
#ifndef TAPIR_USER_COUNTER_CHOICE_H
#define TAPIR_USER_COUNTER_CHOICE_H

#include "spec/spec.h"
#include "trace/record.h"
#include "spec/spec.h"
#include "trace/record.h"

/* The name of a metrics session that several tools may share. */
#define TAPIR_COUNTER_SESSION	  "SHARED"
#define TAPIR_COUNTER_DEFAULT	  "System.Runtime"
#define TAPIR_COUNTER_MIN_NS	  100000000ull /* the runtime's own bound */
#define TAPIR_COUNTER_INTERVAL_NS 1000000000ull

struct tapir_counter_glob {
	char *text; /* as it was given */
	char *provider, *counter;
};

struct tapir_counter_choice {
	struct tapir_vec(struct tapir_counter_glob) globs;
	uint64_t interval_ns;
	bool are_optional; /* it is no news if none of them arrives */
};

/* -EINVAL with a line: it is empty, or has a ':' or ';', or a part is too long. -ENOMEM. */
int tapir_counter_choice__add(struct tapir_counter_choice *choice, const char *glob);
/* Frees the globs. */
void tapir_counter_choice__fini(struct tapir_counter_choice *choice);

/* Returns the index of the glob that selects the counter, -1: none. */
int tapir_counter_choice__find(const struct tapir_counter_choice *choice, struct tapir_sv provider,
			       struct tapir_sv counter);

/* Adds the SPECs that make .NET processes send them. 0, -EINVAL with a line, -ENOMEM. */
int tapir_counter_choice__add_specs(const struct tapir_counter_choice *choice,
				    struct tapir_spec_list *specs);

#endif
