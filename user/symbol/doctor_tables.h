/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * doctor_tables.h - checks whether the files of a process describe their stack frames. For `tapir
 * doctor`; one thread.
 */
#ifndef TAPIR_USER_DOCTOR_TABLES_H
#define TAPIR_USER_DOCTOR_TABLES_H

#include "attach/doctor.h"

/*
 * Adds the check "process_stacks" for a process without a runtime; nothing where no file can be
 * read.
 */
void tapir_doctor_tables__check(struct tapir_checkup *checkup, uint32_t tgid);

#endif
