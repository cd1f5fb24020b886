// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records on their way to a live reader are held for a moment: rings are emptied one after the
 * other, so events of one instant arrive at different times, and names of new code come a little
 * later than the code.
 */
#include "output/render/live_lines.h"

#include <errno.h>

#include "base/clock.h"
#include "decode/dotnet_counters.h"
#include "record/names/namer.h"

/* Longer than it takes from an event to here: the rings are emptied one after the other. */
#define HOLD_NS	      (60 * TAPIR_NS_PER_MS)
/* And where names of its frames are on their way. */
#define NAMES_HOLD_NS TAPIR_NAMER_WORTH_NS

/* A counter's value is printed, not the event that carries it. */
static bool is_hidden(const struct tapir_live_lines *l, const struct tapir_catalog *catalog,
		      const struct tapir_rec *rec)
{
	const struct tapir_rec_probe *probe;
	struct tapir_probe_view view;

	if (!l->hides_counter_events || rec->type != TAPIR_REC_EVENT)
		return false;
	probe = tapir_catalog__probe(catalog, ((const struct tapir_rec_event *)rec)->probe_id);
	if (!probe)
		return false;
	tapir_probe_view__of(&probe->h, &view);
	return tapir_dotnet_counters__are_in(&view);
}

int tapir_live_lines__add(struct tapir_live_lines *l, const struct tapir_catalog *catalog,
			  const struct tapir_rec *rec)
{
	if (!l->lines)
		l->lines = tapir_event_lines__new(l->format, catalog, l->start_ns);
	if (!l->lines)
		return -ENOMEM;
	if (is_hidden(l, catalog, rec))
		return 0;
	return tapir_line_order__add(&l->order, rec->time_ns, rec, rec->size) ? 0 : -ENOMEM;
}

static void put_line(void *ctx, const void *rec, size_t len)
{
	struct tapir_live_lines *l = ctx;

	(void)len;
	tapir_event_lines__add(l->lines, rec, &l->out);
}

bool tapir_live_lines__take(struct tapir_live_lines *l, enum tapir_session_flush when)
{
	uint64_t now_ns = tapir_clock__now_ns(), until_ns = now_ns - HOLD_NS;

	if (when == TAPIR_FLUSH_NAMES_TO_COME)
		until_ns = now_ns - NAMES_HOLD_NS;
	if (tapir_line_order__is_full(&l->order))
		until_ns = now_ns;
	tapir_line_order__take(&l->order, when == TAPIR_FLUSH_LAST ? UINT64_MAX : until_ns,
			       put_line, l);
	return l->order.lines.cnt > 0;
}

void tapir_live_lines__fini(struct tapir_live_lines *l)
{
	tapir_event_lines__free(l->lines);
	tapir_line_order__fini(&l->order);
	tapir_str__fini(&l->out);
}
