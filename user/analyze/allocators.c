// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * .NET's ticks: one each 100 KB or so, with what was allocated since the last one; or its samples,
 * each of one object.
 */
#include "analyze/allocators.h"

#include <math.h>
#include <string.h>

#include "spec/runtime_db/lore.h"

#define MAX_PROBES 65536u

enum kind { OTHER, TICK, SAMPLE };

static enum kind allocator_event_kind(struct tapir_allocators *a,
				      const struct tapir_probe_view *probe)
{
	uint64_t *known = tapir_map__get(&a->by_probe, probe->rec->probe_id);
	enum kind kind = OTHER;

	if (known)
		return (enum kind) * known;
	if (tapir_sv__is(probe->provider, "Microsoft-Windows-DotNETRuntime"))
		kind = tapir_sv__is(probe->event, "GCAllocationTick")	 ? TICK
		       : tapir_sv__is(probe->event, "AllocationSampled") ? SAMPLE
									 : OTHER;
	known = a->by_probe.cnt < MAX_PROBES
			? tapir_map__put(&a->by_probe, probe->rec->probe_id, NULL)
			: NULL;
	if (known)
		*known = kind;
	return kind;
}

uint64_t tapir_allocation_sample__bytes(uint64_t object_bytes)
{
	double bytes = (double)object_bytes;

	if (!object_bytes)
		return 0;
	return (uint64_t)(bytes / -expm1(-bytes / TAPIR_ALLOCATION_SAMPLE_BYTES) + 0.5);
}

static uint64_t bytes_of(const struct tapir_event_fields *f, enum kind kind)
{
	uint64_t bytes =
		kind == SAMPLE
			? tapir_allocation_sample__bytes(tapir_event_fields__u64(f, "ObjectSize"))
			: tapir_event_fields__u64(f, "AllocationAmount64");

	return bytes || kind == SAMPLE ? bytes : tapir_event_fields__u64(f, "AllocationAmount");
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
	enum kind kind = allocator_event_kind(a, probe);
	uint64_t bytes, *sum;
	uint32_t node, name;

	/*
	 * The same allocation may be reported by two kinds of events: those of the kind that came
	 * first count.
	 */
	if (kind == OTHER || (a->kind && a->kind != kind))
		return;
	a->kind = (uint8_t)kind;
	bytes = bytes_of(tapir_timeline__fields(tl, probe, event), kind);
	a->bytes += bytes;
	node = tapir_timeline__node(tl, &ref);
	name = tapir_app_code__or_library(&a->app_code, tapir_timeline__stacks(tl), node);
	if (name == TAPIR_APP_CODE_NONE)
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

const char *tapir_allocators__top(const struct tapir_allocators *a, struct tapir_timeline *tl)
{
	return a->best_bytes ? tapir_timeline__stacks(tl)->names.data[a->best_name] : NULL;
}

void tapir_allocators__fini(struct tapir_allocators *a)
{
	tapir_map__fini(&a->by_probe);
	tapir_map__fini(&a->by_name);
	tapir_app_code__fini(&a->app_code);
}
