/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * signals.h - signals of Linux on x86-64 in words: names, and how they came. Data of the kernel's
 * ABI (include/uapi/asm-generic/signal.h and siginfo.h). Any thread.
 */
#ifndef TAPIR_USER_SIGNALS_H
#define TAPIR_USER_SIGNALS_H

#include <stdbool.h>

#include "base/str.h"

/* number: 1 to 64. Returns "SIGTERM", "SIGRT2"; NULL: there is no such signal. */
const char *tapir_signal__name(unsigned number);

/*
 * Returns how a signal with this si_code came: "kill", "tgkill", "sigqueue", "timer", "child",
 * "fault", "kernel", or "other".
 */
const char *tapir_signal__way(unsigned number, int code);

/* Returns what became of it, by enum tapir_signal_result: "delivered", "ignored", ... */
const char *tapir_signal__result(unsigned result);

enum tapir_signal_severity {
	TAPIR_SIGNAL_IS_ORDERLY, /* a request to end, a broken pipe, a timer */
	TAPIR_SIGNAL_IS_KILL,	 /* it cannot be handled, or a limit was reached */
	TAPIR_SIGNAL_IS_CRASH,	 /* a fault of the program, or its abort(3) */
};
/* Returns what it says of a process that it ended. */
enum tapir_signal_severity tapir_signal__severity(unsigned number);

/* Returns true if it ends a process that does not handle, block or ignore it. */
bool tapir_signal__ends_by_default(unsigned number);

/*
 * Adds how a process ended, by its status as wait(2) has it: "exit 3", "SIGSEGV, core dumped",
 * "SIGKILL". is_oom_victim: the kernel killed it for want of memory, which is added.
 */
void tapir_signal__add_end(struct tapir_str *out, int status, bool is_oom_victim);

#endif
