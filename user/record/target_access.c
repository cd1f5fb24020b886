// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tries to open a file that the kernel shows only to permitted users: Yama, dumpable flags and user
 * namespaces together decide, so the result is the only reliable answer.
 */
#include "record/target_access.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "attach/proc.h"
#include "base/diag.h"
#include "base/log.h"

static void describe_access(const struct tapir_proc *proc, char *out, size_t out_bytes)
{
	if (proc->uid == geteuid())
		snprintf(out, out_bytes,
			 "it protects itself (it is not dumpable, or lives in "
			 "another user namespace)");
	else
		snprintf(out, out_bytes, "it belongs to another user (uid %u)", proc->uid);
}

static int report_no_access(uint32_t tgid, bool is_failure)
{
	struct tapir_proc proc;
	int err = tapir_proc__read_running(tgid, &proc);
	char why[128];

	if (err)
		return err;
	describe_access(&proc, why, sizeof(why));
	tapir_proc__fini(&proc);
	if (is_failure)
		return tapir_diag__fail(
			-EPERM,
			"cannot inspect process %u: %s; requires root, or CAP_SYS_PTRACE besides CAP_BPF and CAP_PERFMON",
			tgid, why);
	tapir_warn(
		"events and names of process %u are not recorded: %s; requires root or CAP_SYS_PTRACE",
		tgid, why);
	return 0;
}

int tapir_target_access__check(const struct tapir_target_rules *rules, bool is_outside_enough)
{
	size_t open_cnt = 0;
	const uint32_t *pid;
	int err = 0;

	tapir_vec_for_each (pid, &rules->pids)
		open_cnt += tapir_proc__is_open(*pid);
	if (open_cnt == rules->pids.cnt)
		return 0;
	tapir_vec_for_each (pid, &rules->pids) {
		if (!tapir_proc__is_open(*pid))
			err = report_no_access(*pid, !open_cnt && !is_outside_enough);
		if (err)
			break;
	}
	return err;
}
