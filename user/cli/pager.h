/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pager.h - long output on a terminal goes through $PAGER, as git's does: less by default, which
 * ends by itself when everything fits on the screen. Never when standard output is not a terminal.
 */
#ifndef TAPIR_USER_PAGER_H
#define TAPIR_USER_PAGER_H

#include "cli/options.h"

/*
 * Sends standard output through the pager from here on. Nothing happens with --no-pager, PAGER=cat
 * or PAGER empty, where there is no terminal, or where the pager cannot be started. Call before any
 * thread exists.
 */
void tapir_pager__start(const struct tapir_cli *cli);

/* Call it when all was written: waits until the person leaves the pager. */
void tapir_pager__stop(void);

#endif
