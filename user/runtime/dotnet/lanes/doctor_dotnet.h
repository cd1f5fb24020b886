/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * doctor_dotnet.h - `doctor -p`: whether it is .NET, whether its socket answers, and how its events
 * would be recorded. One thread; waits for the socket up to 1.5 s.
 */
#ifndef TAPIR_USER_DOCTOR_DOTNET_H
#define TAPIR_USER_DOCTOR_DOTNET_H

#include "attach/doctor.h"

/*
 * Adds its lines; none for a process that is not .NET. If its events can be recorded without BPF,
 * what is missing for BPF becomes a limit. Queries only the process's identity.
 */
void tapir_doctor_dotnet__check(struct tapir_checkup *checkup, uint32_t tgid);

#endif
