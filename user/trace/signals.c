// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names of signals and of the ways they come. The C library's names are not used: a recording is
 * also read where the library, or the system, has others.
 */
#include "trace/signals.h"

#include "tapir/abi.h"

#define NUMBER_CNT  65
#define CORE_DUMPED 0x80 /* of a wait status */

#define S(name)	    "SIG" #name
/* clang-format off */
static const char *const names[NUMBER_CNT] = {
	[1] = S(HUP), S(INT), S(QUIT), S(ILL), S(TRAP), S(ABRT), S(BUS), S(FPE),
	S(KILL), S(USR1), S(SEGV), S(USR2), S(PIPE), S(ALRM), S(TERM), S(STKFLT), S(CHLD),
	S(CONT), S(STOP), S(TSTP), S(TTIN), S(TTOU), S(URG), S(XCPU), S(XFSZ), S(VTALRM),
	S(PROF), S(WINCH), S(IO), S(PWR), S(SYS), S(RT0), S(RT1), S(RT2), S(RT3),
	S(RT4), S(RT5), S(RT6), S(RT7), S(RT8), S(RT9), S(RT10), S(RT11), S(RT12),
	S(RT13), S(RT14), S(RT15), S(RT16), S(RT17), S(RT18), S(RT19), S(RT20), S(RT21),
	S(RT22), S(RT23), S(RT24), S(RT25), S(RT26), S(RT27), S(RT28), S(RT29), S(RT30),
	S(RT31), S(RT32),
};
/* clang-format on */
#undef S

enum {
	SIGNAL_ILL = 4,
	SIGNAL_TRAP = 5,
	SIGNAL_ABRT = 6,
	SIGNAL_BUS = 7,
	SIGNAL_FPE = 8,
	SIGNAL_KILL = 9,
	SIGNAL_SEGV = 11,
	SIGNAL_CHLD = 17,
	SIGNAL_TTOU = 22,
	SIGNAL_URG = 23,
	SIGNAL_XCPU = 24,
	SIGNAL_XFSZ = 25,
	SIGNAL_WINCH = 28,
	SIGNAL_SYS = 31
};

/* si_code of what a program asked for; the positive ones depend on the signal. */
static const struct {
	int code;
	const char *way;
} ways[] = {{0, "kill"}, {-1, "sigqueue"}, {-2, "timer"},  {-3, "message queue"},
	    {-4, "aio"}, {-5, "file"},	   {-6, "tgkill"}, {0x80, "kernel"}};

const char *tapir_signal__name(unsigned number)
{
	return number < NUMBER_CNT ? names[number] : NULL;
}

const char *tapir_signal__way(unsigned number, int code)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (ways[i].code == code)
			return ways[i].way;
	if (number == SIGNAL_CHLD)
		return "child";
	return tapir_signal__severity(number) == TAPIR_SIGNAL_IS_CRASH ? "fault" : "other";
}

enum tapir_signal_severity tapir_signal__severity(unsigned number)
{
	switch (number) {
	case SIGNAL_ILL:
	case SIGNAL_TRAP:
	case SIGNAL_ABRT:
	case SIGNAL_BUS:
	case SIGNAL_FPE:
	case SIGNAL_SEGV:
	case SIGNAL_SYS:
		return TAPIR_SIGNAL_IS_CRASH;
	case SIGNAL_KILL:
	case SIGNAL_XCPU:
	case SIGNAL_XFSZ:
		return TAPIR_SIGNAL_IS_KILL;
	default:
		return TAPIR_SIGNAL_IS_ORDERLY;
	}
}

const char *tapir_signal__result(unsigned result)
{
	static const char *const results[] = {[TAPIR_SIGNAL_DELIVERED] = "delivered",
					      [TAPIR_SIGNAL_IGNORED] = "ignored",
					      [TAPIR_SIGNAL_PENDING] = "pending already",
					      [TAPIR_SIGNAL_OVERFLOW] = "refused",
					      [TAPIR_SIGNAL_NO_INFO] = "delivered"};

	return result < sizeof(results) / sizeof(*results) ? results[result] : "not known";
}

bool tapir_signal__ends_by_default(unsigned number)
{
	/* The numbers from CHLD to TTOU report a child, stop and continue. */
	return tapir_signal__name(number) && (number < SIGNAL_CHLD || number > SIGNAL_TTOU) &&
	       number != SIGNAL_URG && number != SIGNAL_WINCH;
}

void tapir_signal__add_end(struct tapir_str *out, int status, bool is_oom_victim)
{
	unsigned number = status & 0x7f;
	const char *name = tapir_signal__name(number);

	if (!number)
		tapir_str__addf(out, "exit %d", status >> 8 & 0xff);
	else if (name)
		tapir_str__adds(out, name);
	else
		tapir_str__addf(out, "signal %u", number);
	if (number && status & CORE_DUMPED)
		tapir_str__adds(out, ", core dumped");
	if (is_oom_victim)
		tapir_str__adds(out, ", out of memory");
}
