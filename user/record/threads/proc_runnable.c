// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Does any thread of a process run or wait for a CPU? The state is read from
 * /proc/TGID/task/TID/stat, and the walk ends at the first thread in state R.
 */
#include "record/threads/proc_runnable.h"

#include <string.h>

#include "attach/proc.h"
#include "base/diag.h"

char tapir_thread_stat__state(const char *text)
{
	const char *end = strrchr(text, ')');

	return end && end[1] == ' ' ? end[2] : 0;
}

static int on_thread(uint32_t tid, void *ctx)
{
	const uint32_t *tgid = ctx;
	char text[128]; /* up to the state, at least */

	return tapir_thread__read_file(*tgid, tid, "stat", text, sizeof(text)) > 0 &&
	       tapir_thread_stat__state(text) == 'R';
}

bool tapir_process__has_runnable_thread(uint32_t tgid)
{
	int mark = tapir_diag__cnt();
	bool runs = tapir_proc__each_thread(tgid, on_thread, &tgid) > 0;

	tapir_diag__rewind(mark);
	return runs;
}
