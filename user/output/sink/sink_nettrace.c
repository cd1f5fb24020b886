// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Everything, for PerfView and what reads with TraceEvent. The stream is written as records come;
 * readers accept no event of more than 64 KB.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/log.h"
#include "output/export/nettrace.h"
#include "output/sink/sink.h"

static void report_omissions(const struct tapir_nettrace_stats *stats)
{
	if (stats->late)
		tapir_warn(
			"%" PRIu64
			" records arrived much later than others of their time and are out of order",
			stats->late);
	if (stats->without_row)
		tapir_info("%" PRIu64
			   " switches, to threads that were not recorded, have no row of "
			   "their own: a row is a thread's return to a CPU",
			   stats->without_row);
	if (stats->too_long)
		tapir_warn(
			"%" PRIu64
			" events are left out: larger than the 64 KB that nettrace readers accept",
			stats->too_long);
	if (stats->undescribed)
		tapir_warn("%" PRIu64 " events are left out: the recording lost their descriptions",
			   stats->undescribed);
	if (stats->unnamed)
		tapir_warn("some frames have no name: the limit of %u names is reached",
			   TAPIR_NETTRACE_NAMES_MAX);
}

static int begin_nettrace(struct tapir_export *x)
{
	x->state = tapir_nettrace__new(x->reader, x->head.data);
	return x->state ? 0 : -ENOMEM;
}

static int nettrace_add(struct tapir_export *x, const struct tapir_rec *rec)
{
	return tapir_nettrace__add(x->state, rec, &x->out);
}

static int end_nettrace(struct tapir_export *x)
{
	int err = tapir_nettrace__finish(x->state, &x->out);

	/* A disk that is full is the only thing to report then. */
	if (!err)
		err = x->host->write(x->host->ctx, &x->out);
	if (!err)
		report_omissions(tapir_nettrace__stats(x->state));
	return err;
}

static void free_nettrace(struct tapir_export *x)
{
	tapir_nettrace__free(x->state);
}

const struct tapir_sink tapir_sink_nettrace = {
	.name = "nettrace",
	.description = "everything, for PerfView and TraceEvent",
	.lacks = "events with more than 64 KB of fields",
	.suffix = "nettrace",
	.content = TAPIR_SINK_IS_BINARY,
	.has_switches = true,
	.is_complete = true,
	.has_head = true,
	.no_trace = true,
	.takes_all = true,
	.begin = begin_nettrace,
	.add = nettrace_add,
	.end = end_nettrace,
	.free = free_nettrace,
};
