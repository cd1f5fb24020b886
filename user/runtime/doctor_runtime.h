/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * doctor_runtime.h - what stacks and names a recording of a process has, by its runtime. For `tapir
 * doctor`; one thread.
 */
#ifndef TAPIR_USER_DOCTOR_RUNTIME_H
#define TAPIR_USER_DOCTOR_RUNTIME_H

#include "attach/doctor.h"

/*
 * Adds the checks of the process's runtime, nothing where that is not known. Returns true if
 * "process_stacks" is among them.
 */
bool tapir_doctor_runtime__check(struct tapir_checkup *checkup, uint32_t tgid);

#endif
