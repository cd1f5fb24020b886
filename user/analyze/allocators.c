// SPDX-License-Identifier: GPL-2.0-or-later
/* .NET's ticks: one each 100 KB or so, with what was allocated since the last one. */
#include "analyze/allocators.h"

#include <string.h>

#define MAX_PROBES 65536u

static bool is_tick(struct tapir_allocators *a, const struct tapir_probe_view *probe)
{
	uint64_t *known = tapir_map__get(&a->by_probe, probe->rec->probe_id);
	bool is_one;

	if (known)
		return *known;
	is_one = tapir_sv__is(probe->provider, "Microsoft-Windows-DotNETRuntime") &&
		 tapir_sv__is(probe->event, "GCAllocationTick");
	known = a->by_probe.cnt < MAX_PROBES
			? tapir_map__put(&a->by_probe, probe->rec->probe_id, NULL)
			: NULL;
	if (known)
		*known = is_one;
	return is_one;
}

static uint64_t bytes_of(const struct tapir_event_fields *f)
{
	uint64_t bytes = tapir_event_fields__u64(f, "AllocationAmount64");

	return bytes ? bytes : tapir_event_fields__u64(f, "AllocationAmount");
}

void tapir_allocators__add(struct tapir_allocators *a, struct tapir_timeline *tl,
			   const struct tapir_tl_thread *thread,
			   const struct tapir_probe_view *probe,
			   const struct tapir_event_view *event)
{
	struct tapir_stack_ref ref = {.tgid = thread->tgid,
				      .time_ns = event->rec->h.time_ns,
				      .stack_id = event->rec->stack_id,
				      .kstack_id = event->kstack_id};
	uint64_t bytes, *sum;
	uint32_t node, name;

	if (!is_tick(a, probe))
		return;
	bytes = bytes_of(tapir_timeline__fields(tl, probe, event));
	a->bytes += bytes;
	node = tapir_timeline__node(tl, &ref);
	name = tapir_own_code__or_library(&a->own, tapir_timeline__stacks(tl), node);
	if (name == TAPIR_OWN_CODE_NONE)
		return;
	sum = tapir_map__get(&a->by_name, name);
	if (!sum && a->by_name.cnt < TAPIR_ALLOCATORS_MAX)
		sum = tapir_map__put(&a->by_name, name, NULL);
	if (!sum)
		return;
	*sum += bytes;
	if (*sum > a->best_bytes) {
		a->best_bytes = *sum;
		a->best_name = name;
	}
}

const char *tapir_allocators__most(const struct tapir_allocators *a, struct tapir_timeline *tl)
{
	return a->best_bytes ? tapir_timeline__stacks(tl)->names.data[a->best_name] : NULL;
}

void tapir_allocators__fini(struct tapir_allocators *a)
{
	tapir_map__fini(&a->by_probe);
	tapir_map__fini(&a->by_name);
	tapir_own_code__fini(&a->own);
}
