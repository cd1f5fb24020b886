/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * doctor.h - can tapir work here, for this user; what is missing, what that means and how to get
 * it. Everything is tried or read, nothing is concluded from version numbers: programs are loaded
 * and removed again. One thread.
 */
#ifndef TAPIR_USER_DOCTOR_H
#define TAPIR_USER_DOCTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

enum tapir_check_state {
	TAPIR_CHECK_OK,
	TAPIR_CHECK_LIMITED, /* recording works, something is slower or absent */
	TAPIR_CHECK_MISSING, /* recording does not work */
};

struct tapir_check {
	const char *name; /* stable: scripts read it */
	enum tapir_check_state state;
	char found[160];
	const char *means;  /* what it is for, or what its absence means */
	const char *remedy; /* NULL: nothing to do */
};

struct tapir_checkup tapir_vec(struct tapir_check);

/* tgid 0: the machine; else also that process. -errno with a line when there is none. */
int tapir_doctor__run(uint32_t tgid, struct tapir_checkup *out);
/* Returns true if no check failed without which nothing can be recorded. */
bool tapir_checkup__can_record(const struct tapir_checkup *checkup);
void tapir_checkup__fini(struct tapir_checkup *checkup);

#endif
