/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * coroutines.h - coroutines that an interpreter has suspended, as tables, for
 * output/render/view_result_print.h. The process runs on while its memory is read, which requires
 * PTRACE_MODE_ATTACH_REALCREDS. One thread.
 */
#ifndef TAPIR_USER_COROUTINES_H
#define TAPIR_USER_COROUTINES_H

#include "analyze/view_result.h"

/*
 * Shows them, at most top rows; out: empty but for view. -EOPNOTSUPP: the process has no
 * interpreter of which they are known. Failures leave a line.
 */
int tapir_coroutines__show(uint32_t tgid, uint64_t top, struct tapir_view_result *out);

#endif
