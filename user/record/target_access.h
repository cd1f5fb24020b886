/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * target_access.h - checks that tapir may inspect the named processes. Otherwise their mappings,
 * and so their probes, their .NET and their names, seem to be missing. No state; any thread.
 */
#ifndef TAPIR_USER_TARGET_ACCESS_H
#define TAPIR_USER_TARGET_ACCESS_H

#include "record/targets.h"

/*
 * A warning for each that is closed to us. -EPERM with a line instead: all are, and what can be had
 * of them from outside is not enough.
 */
int tapir_target_access__check(const struct tapir_target_rules *rules, bool is_outside_enough);

#endif
