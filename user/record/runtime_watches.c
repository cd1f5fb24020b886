// SPDX-License-Identifier: GPL-2.0-or-later
/* Passes on to each runtime of the table what it asks for. */
#include "record/runtime_watches.h"

#include <errno.h>

/* Each one that was started, as w->watches[i] of the functions ops. */
#define FOR_EACH_WATCH(w, i, ops)                                                                  \
	for (size_t i = 0; i < TAPIR_RUNTIME_OPS_CNT; i++)                                         \
		for (const struct tapir_runtime_watch_ops *ops =                                   \
			     (w)->watches[i] ? tapir_runtimes[i]->watch : NULL;                    \
		     ops; ops = NULL)

int tapir_runtime_watches__init(struct tapir_runtime_watches *w, tapir_runtime_put_fn *put,
				void *ctx)
{
	for (size_t i = 0; i < TAPIR_RUNTIME_OPS_CNT; i++) {
		if (!tapir_runtimes[i]->watch)
			continue;
		w->watches[i] = tapir_runtimes[i]->watch->start(put, ctx);
		if (!w->watches[i])
			return -ENOMEM;
	}
	return 0;
}

void tapir_runtime_watches__fini(struct tapir_runtime_watches *w)
{
	FOR_EACH_WATCH(w, i, ops)
	ops->stop(w->watches[i]);
}

void tapir_runtime_watches__learn(struct tapir_runtime_watches *w, const struct tapir_rec *rec)
{
	FOR_EACH_WATCH(w, i, ops)
	ops->learn(w->watches[i], rec);
}

void tapir_runtime_watches__add(struct tapir_runtime_watches *w,
				const struct tapir_catalog *catalog,
				const struct tapir_rec_event *ev)
{
	FOR_EACH_WATCH(w, i, ops)
	if (ops->add_event)
		ops->add_event(w->watches[i], catalog, ev);
}

void tapir_runtime_watches__poll(struct tapir_runtime_watches *w, uint64_t now_ns, bool is_last)
{
	w->next_ns = UINT64_MAX;
	FOR_EACH_WATCH(w, i, ops)
	{
		uint64_t next_ns = ops->poll(w->watches[i], now_ns, is_last);

		w->next_ns = next_ns < w->next_ns ? next_ns : w->next_ns;
	}
}
