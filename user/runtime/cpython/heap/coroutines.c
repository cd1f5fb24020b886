// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See coroutines.h. Lists of objects that change while they are read are read again, a few
 * times; the last time counts.
 */
#include "runtime/cpython/heap/coroutines.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "attach/proc.h"
#include "base/diag.h"
#include "base/file.h"
#include "heap/suspended.h"
#include "runtime/interpreters.h"

#define MAX_TRIES 5u
#define PAUSE_NS  10000000 /* a collection may have been going on */

static void add_stack(void *ctx, const struct tapir_suspended_stack *stack)
{
	tapir_suspended__add(ctx, stack);
}

static int list_coroutines(uint32_t tgid, struct tapir_suspended_sink *sink)
{
	const struct tapir_process_memory memory = {tapir_process_memory__read_fn, &tgid};
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	tapir_autofree void *state = NULL;
	struct tapir_interp_loop loop;
	const struct tapir_interpreter_ops *ops =
		tapir_interpreters__find(tgid, NULL, &loop, &state);
	int err = ops && ops->suspended ? -EAGAIN : -EOPNOTSUPP;

	for (unsigned i = 1; err == -EAGAIN && i <= MAX_TRIES; i++) {
		if (i > 1)
			(void)nanosleep(&pause, NULL);
		err = ops->suspended(state, &memory, i == MAX_TRIES, sink);
	}
	return err;
}

static void add_coroutines_headline(uint32_t tgid, const struct tapir_suspended *s,
				    const struct tapir_suspended_sink *sink, struct tapir_str *out)
{
	struct tapir_thread leader;

	if (!tapir_thread__read(tgid, tgid, &leader)) {
		tapir_str__add_printable(out, leader.comm, strlen(leader.comm));
		tapir_str__addf(out, " (%u): ", tgid);
	}
	if (sink->stuck_cnt) {
		tapir_str__addf(out, "deadlock: %" PRIu64 " coroutines wait for each other: ",
				sink->stuck_cnt);
		tapir_suspended__add_first(s, out);
		tapir_str__adds(out, "; ");
	}
	tapir_str__addf(out, "%" PRIu64 " coroutines are suspended", sink->cnt);
}

static void add_coroutines(uint32_t tgid, const struct tapir_suspended *s,
			   const struct tapir_suspended_sink *sink, uint64_t top,
			   struct tapir_view_result *out)
{
	add_coroutines_headline(tgid, s, sink, &out->headline);
	tapir_view_result__fact(out, "coroutines", NULL, TAPIR_CELL_COUNT, sink->cnt);
	tapir_view_result__fact(out, "waiting_for_each_other", NULL, TAPIR_CELL_COUNT,
				sink->stuck_cnt);
	tapir_suspended__add_table(s, &tapir_suspended_coroutines, top, out);
	if (sink->is_truncated)
		tapir_view_result__note(out, "objects changed while they were read, or are more "
					     "than is read: coroutines may be missing");
}

int tapir_coroutines__show(uint32_t tgid, uint64_t top, struct tapir_view_result *out)
{
	struct tapir_suspended found = {};
	struct tapir_suspended_sink sink = {.add = add_stack, .ctx = &found};
	int err = list_coroutines(tgid, &sink);

	if (!err) {
		tapir_suspended__sort(&found);
		add_coroutines(tgid, &found, &sink, top, out);
	}
	tapir_suspended__fini(&found);
	if (err == -EOPNOTSUPP)
		return tapir_diag__fail(
			err,
			"process %u is neither a .NET process whose heap can be read, nor a JVM, "
			"nor CPython 3.11 to 3.13: --async needs one of these",
			tgid);
	return err ? err : out->failed || out->headline.failed ? -ENOMEM : 0;
}
