// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Matches the GLOB of --event with the names of probes. It is matched once for each PROBE record,
 * as events are frequent; a probe id may be described again, and is then matched again. A
 * provider's name alone means all of its events, as in a SPEC.
 */
#include "output/export/event_filter.h"

#include <string.h>

#include "base/str.h"
#include "trace/record.h"

static bool name_matches(const char *glob, const struct tapir_rec_probe *probe)
{
	struct tapir_probe_view view;
	struct tapir_str name = {};
	bool matches;

	tapir_probe_view__of(&probe->h, &view);
	if (strchr(glob, ':')) {
		tapir_str__add(&name, view.provider.data, view.provider.len);
		tapir_str__addc(&name, ':');
	}
	tapir_str__add(&name, view.event.data, view.event.len);
	matches = (name.data && tapir_glob__match(glob, name.data)) ||
		  (strlen(glob) == view.provider.len &&
		   !memcmp(glob, view.provider.data, view.provider.len));
	tapir_str__fini(&name);
	return matches;
}

bool tapir_event_filter__has(struct tapir_event_filter *choice, const struct tapir_catalog *catalog,
			     const struct tapir_rec_event *ev)
{
	const struct tapir_rec_probe *probe;
	uint64_t *verdict;
	bool is_new = false;

	if (!choice->glob)
		return true;
	probe = tapir_catalog__probe(catalog, ev->probe_id);
	verdict = probe ? tapir_map__put(&choice->verdict, ev->probe_id, &is_new) : NULL;
	if (!verdict)
		return false;
	if (is_new || *verdict >> 1 != probe->h.time_ns)
		*verdict = probe->h.time_ns << 1 | name_matches(choice->glob, probe);
	return *verdict & 1;
}

void tapir_event_filter__fini(struct tapir_event_filter *choice)
{
	tapir_map__fini(&choice->verdict);
}
