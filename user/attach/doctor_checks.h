/* SPDX-License-Identifier: GPL-2.0-or-later */
/* doctor_checks.h - between the files of the doctor. */
#ifndef TAPIR_USER_DOCTOR_CHECKS_H
#define TAPIR_USER_DOCTOR_CHECKS_H

#include <sys/capability.h>

#include "attach/doctor.h"

/* A new line, state OK; never NULL. Borrowed until the next one is added. */
struct tapir_check *tapir_checkup__add(struct tapir_checkup *checkup, const char *name,
				       const char *means);

/* One check of the machine, or of the process tgid; tgid is 0 for the machine. */
struct tapir_check_row {
	const char *name, *means;
	/*
	 * Fills check->found. False: it is not as it should be, which `without` and what follows
	 * say, unless it has set a state, other means or a remedy itself.
	 */
	bool (*is_well)(struct tapir_check *check, uint32_t tgid);
	enum tapir_check_state without;
	const char *without_means; /* NULL: means, as above */
	const char *remedy;
};

/* Adds a line for each of cnt rows. */
void tapir_checkup__run(struct tapir_checkup *checkup, const struct tapir_check_row *rows,
			size_t cnt, uint32_t tgid);

bool tapir_doctor__has_cap(cap_value_t cap); /* effective in this thread */

/* Adds the checks of kernel and user. */
void tapir_doctor__check_system(struct tapir_checkup *checkup);
/* Adds the checks of a process. -ESRCH, with a line: there is none, or it is a zombie. */
int tapir_doctor__check_process(struct tapir_checkup *checkup, uint32_t tgid);

#endif
