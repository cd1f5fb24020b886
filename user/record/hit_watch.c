// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/hit_watch.h"

#include <stdio.h>

#include "base/clock.h"

/*
 * The first instruction of a function may have to be stepped over; the one of a marker has no
 * effect.
 */
void tapir_hit_watch__init(struct tapir_hit_watch *w, bool has_markers,
			   const struct tapir_machine_source_list *machine)
{
	struct tapir_machine_source *const *source;

	*w = (struct tapir_hit_watch){};
	if (machine)
		tapir_vec_for_each (source, machine)
			w->is_least |= tapir_machine_source__is_function(*source);
	w->ns_per_hit = has_markers || !machine || w->is_least ? TAPIR_TRAP_NS : TAPIR_CALL_NS;
}

bool tapir_hit_watch__is_due(const struct tapir_hit_watch *w, uint64_t now_ns)
{
	return !w->has_ended && (!w->since_ns || now_ns >= w->since_ns + TAPIR_NS_PER_SEC);
}

bool tapir_hit_watch__take(struct tapir_hit_watch *w, uint64_t hits, uint64_t now_ns,
			   char text[TAPIR_HIT_WATCH_BYTES])
{
	bool is_known = w->since_ns && hits > w->hits && now_ns > w->since_ns;
	double hz = is_known ? (double)(hits - w->hits) * 1e9 / (double)(now_ns - w->since_ns) : 0;

	w->since_ns = now_ns;
	w->hits = hits;
	w->has_ended = hz > TAPIR_HIT_WATCH_HZ;
	if (w->has_ended)
		snprintf(text, TAPIR_HIT_WATCH_BYTES,
			 "the probes fire %.0f times per second, which costs the traced programs "
			 "%s %.0f%% of a CPU (estimated, %u ns each)",
			 hz, w->is_least ? "at least" : "about", hz * w->ns_per_hit / 1e7,
			 w->ns_per_hit);
	return w->has_ended;
}
