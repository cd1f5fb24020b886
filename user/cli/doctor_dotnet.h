/* SPDX-License-Identifier: GPL-2.0-or-later */
/* doctor_dotnet.h - `doctor -p`: is it .NET, does its socket answer, how would its events come? */
#ifndef TAPIR_USER_DOCTOR_DOTNET_H
#define TAPIR_USER_DOCTOR_DOTNET_H

#include "attach/doctor.h"

/*
 * Adds its lines; none for a process that is no .NET. Where its events can be had without BPF, what
 * is missing for BPF becomes a limit. Asks the process who it is, and nothing else.
 */
void tapir_doctor_dotnet__check(struct tapir_checkup *checkup, uint32_t tgid);

#endif
