// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The process of a command: its name in ps(1), the check of /proc, helpers for files of other
 * processes. tapir-reader, which records nothing, is built without this file.
 */
#include <sys/prctl.h>

#include "attach/proc.h"
#include "base/foreign/file_system.h"
#include "base/log.h"
#include "cli/command_line.h"

void tapir_command_line__name(const char *name)
{
	(void)prctl(PR_SET_NAME, name);
}

int tapir_command_line__meet_processes(void)
{
	int err = tapir_proc__check();

	if (err)
		return err;
	(void)tapir_helpers__start(); /* now, while this process is small; else when needed */
	return 0;
}

static void warn(const char *text)
{
	tapir_warn("%s", text);
}

void tapir_command_line__end(void)
{
	tapir_fs__end_all(warn);
}
