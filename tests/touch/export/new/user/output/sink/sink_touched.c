// SPDX-License-Identifier: GPL-2.0-or-later
/* The time and the thread of each record, for a spreadsheet. */
#include "output/sink/sink.h"
#include "trace/family.h"

static int begin(struct tapir_export *x)
{
	tapir_str__adds(&x->out, "time_ns,pid,tid,type\n");
	return 0;
}

static int add(struct tapir_export *x, const struct tapir_rec *rec)
{
	if (tapir_family__of(rec->type) >= 0)
		tapir_str__addf(&x->out, "%llu,%u,%u,%s\n", (unsigned long long)rec->time_ns,
				tapir_rec__tgid(rec, 0), tapir_rec__tid(rec, 0),
				tapir_rec_type__name(rec->type));
	return 0;
}

static int end(struct tapir_export *x)
{
	(void)x;
	return 0;
}

static void free_nothing(struct tapir_export *x)
{
	(void)x;
}

const struct tapir_sink tapir_sink_touched = {
	.name = "touched",
	.description = "time and thread of each record, for spreadsheets",
	.lacks = "stacks, fields, names",
	.suffix = "csv",
	.content = TAPIR_SINK_IS_TEXT,
	.begin = begin,
	.add = add,
	.end = end,
	.free = free_nothing,
};
