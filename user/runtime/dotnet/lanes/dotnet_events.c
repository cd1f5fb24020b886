// SPDX-License-Identifier: GPL-2.0-or-later
/* SPECs of a recording, as .NET understands them: runtime/event_ops.h. */
#include <string.h>

#include "base/diag.h"
#include "base/log.h"
#include "decode/dotnet_tables.h"
#include "runtime/dotnet/dotnet_assembly.h"
#include "runtime/dotnet/dotnet_config.h"
#include "runtime/dotnet/dotnet_ops.h"
#include "runtime/dotnet/lanes/dotnet_specs.h"
#include "runtime/dotnet/lanes/dotnet_suggest.h"

static bool is_defined(const struct tapir_spec *spec, const struct tapir_event_sources *of)
{
	return tapir_dotnet_specs__is_defined(spec, of->all.data, of->all.cnt);
}

static void add_nearest(const struct tapir_spec *spec, const struct tapir_event_sources *of,
			struct tapir_str *out)
{
	tapir_dotnet_suggest__add_nearest(spec, of->all.data, of->all.cnt, out);
}

static bool lists_heap(const struct tapir_spec *spec)
{
	const struct tapir_spec_item *item;

	tapir_vec_for_each (item, &spec->items)
		if (item->kind == TAPIR_SPEC_MASK && !item->negated &&
		    item->mask & TAPIR_DOTNET_HEAP_COLLECT &&
		    !strcmp(spec->provider, TAPIR_DOTNET_RUNTIME))
			return true;
	return false;
}

/* Before much time is spent on it; one that the program makes when it runs is waited for. */
static void warn_of_near_misses(const struct tapir_spec_list *specs,
				const struct tapir_event_sources *of)
{
	struct tapir_str near = {};

	for (size_t i = 0; of->all.cnt && i < specs->cnt; i++) {
		const struct tapir_spec *spec = specs->data[i];

		tapir_str__clear(&near);
		if (!spec->is_silent && tapir_dotnet_specs__is_for(spec) && !is_defined(spec, of))
			add_nearest(spec, of, &near);
		if (near.len)
			tapir_warn(
				"no assembly of the process declares %s: waiting for it; the nearest is %s",
				spec->text, near.data);
	}
	tapir_str__fini(&near);
}

static void add_sources_of(const struct tapir_pids *pids, struct tapir_event_sources *out)
{
	int mark = tapir_diag__cnt();
	const uint32_t *pid;

	tapir_vec_for_each (pid, pids) {
		(void)tapir_dotnet_sources__add_process(out, *pid);
		if (tapir_dotnet_config__has_no_event_sources(*pid))
			tapir_warn("process %u: its runtimeconfig.json switches "
				   "EventSources off (" TAPIR_DOTNET_EVENT_SOURCES
				   "): only the runtime's own events can arrive",
				   *pid);
	}
	tapir_diag__rewind(mark);
}

static int resolve(struct tapir_spec_list *specs, const struct tapir_pids *pids, bool waits,
		   struct tapir_event_sources *out)
{
	int err;

	if (tapir_dotnet_specs__need_sources(specs))
		add_sources_of(pids, out);
	err = tapir_dotnet_specs__expand(specs, out->all.data, out->all.cnt);
	if (!err)
		err = tapir_dotnet_specs__resolve(specs, out->all.data, out->all.cnt);
	if (!err)
		tapir_dotnet_specs__warn_of_zeros(specs);
	if (!err && waits)
		warn_of_near_misses(specs, out);
	return err;
}

const struct tapir_event_ops tapir_dotnet_event_ops = {
	.is_for = tapir_dotnet_specs__is_for,
	.is_known = tapir_dotnet_specs__is_known,
	.is_defined = is_defined,
	.add_nearest = add_nearest,
	.lists_heap = lists_heap,
	.add_sources = tapir_dotnet_sources__add_process,
	.resolve = resolve,
	.lanes = &tapir_dotnet_event_lane_ops,
};
