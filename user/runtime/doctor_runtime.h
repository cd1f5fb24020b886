/* SPDX-License-Identifier: GPL-2.0-or-later */
/* doctor_runtime.h - what stacks and names a recording of a process has, by its runtime. */
#ifndef TAPIR_USER_DOCTOR_RUNTIME_H
#define TAPIR_USER_DOCTOR_RUNTIME_H

#include "attach/doctor.h"

/* Adds nothing where the runtime is not known. Did it add "process_stacks"? */
bool tapir_doctor_runtime__check(struct tapir_checkup *checkup, uint32_t tgid);

#endif
