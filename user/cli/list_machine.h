/* SPDX-License-Identifier: GPL-2.0-or-later */
/* list_machine.h - `tapir list` of tracepoints and system calls. Main thread. */
#ifndef TAPIR_USER_LIST_MACHINE_H
#define TAPIR_USER_LIST_MACHINE_H

#include <stdbool.h>

/* Prints those that a source of the machine means, with their fields. -errno with a line. */
int tapir_list_machine__print(const char *source, bool json);

#endif
