// SPDX-License-Identifier: GPL-2.0-or-later
/* The heap of a JVM, as `tapir heap` asks for it. */
#include <errno.h>
#include <stdio.h>

#include "attach/proc.h"
#include "base/clock.h"
#include "base/diag.h"
#include "heap/heap_ops.h"
#include "runtime/jvm/heap/jvm_classes.h"
#include "runtime/jvm/heap/jvm_live.h"
#include "runtime/jvm/heap/jvm_virtual.h"
#include "runtime/jvm/jvm_ops.h"

#define TIMEOUT_NS (60 * TAPIR_NS_PER_SEC)

static int take(const struct tapir_heap_request *request, struct tapir_heap_snapshot *out)
{
	struct tapir_thread leader;
	int err;

	if (request->file)
		return tapir_diag__fail(-EOPNOTSUPP,
					"cannot write the heap of process %u to a file: a JVM "
					"reports counts by class, not objects (leave out -o)",
					request->tgid);
	err = tapir_jvm_classes__count(request->tgid, TIMEOUT_NS, out);
	if (!tapir_thread__read(request->tgid, request->tgid, &leader))
		snprintf(out->process, sizeof(out->process), "%.40s (%u)", leader.comm,
			 request->tgid);
	return err;
}

const struct tapir_heap_ops tapir_jvm_heap_ops = {
	.take = take,
	.begin_live = tapir_jvm_live__begin,
	.end_live = tapir_jvm_live__end,
	.suspended = tapir_jvm_virtual__show,
	.live_note = "the JVM keeps at most 256 samples; tapir made it collect its heap before "
		     "they were read",
};
