/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * doctor_symbols.h - checks whether the file that most of a process's code is in has names of
 * functions. For `tapir doctor`; one thread.
 */
#ifndef TAPIR_USER_DOCTOR_SYMBOLS_H
#define TAPIR_USER_DOCTOR_SYMBOLS_H

#include "attach/doctor.h"

/* Adds the check "process_symbols" with its remedy; nothing where the file cannot be read. */
void tapir_doctor_symbols__check(struct tapir_checkup *checkup, uint32_t tgid);

#endif
