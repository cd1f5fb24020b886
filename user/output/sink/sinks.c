// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table of sinks, and the loop around each: it reads, filters and passes records on, so that a
 * sink has no code for windows, processes or globs.
 */
#include "output/sink/sinks.h"

#include <string.h>

/* In the order in which help and errors list them: sink_NAME.c. */
#define SINKS(X)                                                                                   \
	X(nettrace)                                                                                \
	X(speedscope)                                                                              \
	X(folded)                                                                                  \
	X(collapsed)                                                                               \
	X(pprof)                                                                                   \
	X(otlp)                                                                                    \
	X(perfscript)                                                                              \
	X(chrome)                                                                                  \
	X(firefox)                                                                                 \
	X(perfetto)                                                                                \
	X(perfetto57)                                                                              \
	X(ctf)                                                                                     \
	X(sqlite)                                                                                  \
	/* A sink is a row above this line. */

#define DECLARE(name) extern const struct tapir_sink tapir_sink_##name;
SINKS(DECLARE)

#define ROW(name) &tapir_sink_##name,
const struct tapir_sink *const tapir_sinks[] = {SINKS(ROW) NULL};

const char *tapir_sink__name(size_t i)
{
	return i < sizeof(tapir_sinks) / sizeof(tapir_sinks[0]) - 1 ? tapir_sinks[i]->name : NULL;
}

const struct tapir_sink *tapir_sink__find(const char *name)
{
	for (const struct tapir_sink *const *s = tapir_sinks; name && *s; s++)
		if (!strcmp((*s)->name, name))
			return *s;
	return NULL;
}

/* A glob chooses among events, and nothing else is of them then. */
static bool is_chosen(const struct tapir_sink *sink, struct tapir_export *x,
		      const struct tapir_rec *rec)
{
	if (!sink->takes_all && x->choice.glob &&
	    (rec->type != TAPIR_REC_EVENT ||
	     !tapir_event_filter__has(&x->choice, x->catalog, (const void *)rec)))
		return false;
	return tapir_trace_filter__has(&x->trace, rec);
}

static int add_all(const struct tapir_sink *sink, struct tapir_export *x)
{
	const struct tapir_rec *rec;
	int err = 0;

	while (!err && (err = x->host->next(x->host->ctx, &rec)) > 0) {
		bool is_given = is_chosen(sink, x, rec);

		x->chosen_cnt += is_given;
		err = is_given || sink->takes_all || x->of_offcpu ? sink->add(x, rec) : 0;
		if (!err)
			err = tapir_sink__flush_much(x);
	}
	return err;
}

int tapir_sink__run(const struct tapir_sink *sink, struct tapir_export *x)
{
	int err;

	if (sink->describes)
		tapir_reader__deliver_descriptions(x->reader, true);
	err = sink->begin(x);
	if (!err)
		err = add_all(sink, x);
	if (!err)
		err = sink->end(x);
	sink->free(x);
	x->state = NULL;
	return err;
}
