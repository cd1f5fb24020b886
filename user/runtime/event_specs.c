// SPDX-License-Identifier: GPL-2.0-or-later
/* SPECs, as the runtimes understand them that send events by themselves: event_ops.h. */
#include "base/diag.h"
#include "runtime/event_ops.h"
#include "runtime/runtime_ops.h"

#define for_each_with_events(r)                                                                    \
	for (const struct tapir_runtime_ops *const *r = tapir_runtimes; *r; r++)                   \
		if ((*r)->events)

bool tapir_event_specs__are_for(const struct tapir_spec *spec)
{
	for_each_with_events(r) if ((*r)->events->is_for(spec)) return true;
	return false;
}

bool tapir_event_specs__are_known(const struct tapir_spec *spec)
{
	for_each_with_events(r) if ((*r)->events->is_known(spec)) return true;
	return false;
}

bool tapir_event_specs__are_defined(const struct tapir_spec *spec,
				    const struct tapir_event_sources *of)
{
	for_each_with_events(r) if (of && (*r)->events->is_defined(spec, of)) return true;
	return false;
}

bool tapir_event_specs__list_heap(const struct tapir_spec *spec)
{
	for_each_with_events(r) if ((*r)->events->lists_heap(spec)) return true;
	return false;
}

void tapir_event_specs__add_nearest(const struct tapir_spec *spec,
				    const struct tapir_event_sources *of, struct tapir_str *out)
{
	for_each_with_events(r) if (of && of->all.cnt && !out->len && (*r)->events->is_for(spec) &&
				    !(*r)->events->is_defined(spec, of))(*r)
		->events->add_nearest(spec, of, out);
}

void tapir_event_specs__add_sources(struct tapir_event_sources *out, uint32_t tgid)
{
	int mark = tapir_diag__cnt();

	for_each_with_events(r)(void)(*r)->events->add_sources(out, tgid);
	tapir_diag__rewind(mark);
}

int tapir_event_specs__resolve(struct tapir_spec_list *specs, const struct tapir_pids *pids,
			       bool waits, struct tapir_event_sources *out)
{
	int err = 0;

	for_each_with_events(r) err = err ? err : (*r)->events->resolve(specs, pids, waits, out);
	return err;
}
