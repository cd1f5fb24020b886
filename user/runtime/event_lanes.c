// SPDX-License-Identifier: GPL-2.0-or-later
/* The first runtime of the table that has such lanes is a recording's: event_lanes.h. */
#include "runtime/event_lanes.h"

#include "runtime/event_ops.h"
#include "runtime/runtime_ops.h"

int tapir_event_lanes__plan(struct tapir_event_lanes *l, const struct tapir_event_lanes_opts *opts)
{
	for (const struct tapir_runtime_ops *const *r = tapir_runtimes; *r && !l->ops; r++)
		l->ops = (*r)->events ? (*r)->events->lanes : NULL;
	return l->ops ? l->ops->plan(opts, &l->state) : 0;
}

void tapir_event_lanes__free(struct tapir_event_lanes *l)
{
	if (l->state)
		l->ops->free(l->state);
	l->state = NULL;
}

struct tapir_event_lane_request tapir_event_lanes__request(const struct tapir_event_lanes *l)
{
	struct tapir_event_lane_request request = {};

	if (l->state)
		l->ops->request(l->state, &request);
	return request;
}

bool tapir_event_lanes__are_alone(const struct tapir_event_lanes *l)
{
	return l->state && l->ops->is_alone(l->state);
}

void tapir_event_lanes__begin(struct tapir_event_lanes *l)
{
	if (l->state)
		l->ops->begin(l->state);
}

void tapir_event_lanes__join(struct tapir_event_lanes *l)
{
	if (l->state)
		l->ops->join(l->state);
}

int tapir_event_lanes__add_environment(struct tapir_event_lanes *l, const char *program,
				       struct tapir_str *out)
{
	return l->state ? l->ops->add_environment(l->state, program, out) : 0;
}

int tapir_event_lanes__start(struct tapir_event_lanes *l, struct tapir_ring_reader *rings,
			     struct tapir_queue *queue)
{
	return l->state ? l->ops->start(l->state, rings, queue) : 0;
}

void tapir_event_lanes__await(struct tapir_event_lanes *l, uint32_t program_tgid)
{
	if (l->state)
		l->ops->await(l->state, program_tgid);
}

int tapir_event_lanes__check(struct tapir_event_lanes *l)
{
	return l->state ? l->ops->check(l->state) : 0;
}

void tapir_event_lanes__see(struct tapir_event_lanes *l, uint32_t tgid, struct tapir_sv path)
{
	if (l && l->state)
		l->ops->see(l->state, tgid, path);
}

void tapir_event_lanes__forget(struct tapir_event_lanes *l, uint32_t tgid)
{
	if (l && l->state)
		l->ops->forget(l->state, tgid, false);
}

void tapir_event_lanes__restart(struct tapir_event_lanes *l, uint32_t tgid)
{
	if (l && l->state)
		l->ops->forget(l->state, tgid, true);
}

void tapir_event_lanes__poll(struct tapir_event_lanes *l, uint64_t now_ns)
{
	if (l->state)
		l->ops->poll(l->state, now_ns);
}

uint64_t tapir_event_lanes__next_ns(const struct tapir_event_lanes *l)
{
	return l->state ? l->ops->next_ns(l->state) : UINT64_MAX;
}

void tapir_event_lanes__stop(struct tapir_event_lanes *l, bool has_started)
{
	if (l->state)
		l->ops->stop(l->state, has_started);
}

struct tapir_event_lane_facts tapir_event_lanes__facts(const struct tapir_event_lanes *l)
{
	struct tapir_event_lane_facts facts = {};

	if (l->state)
		l->ops->facts(l->state, &facts);
	return facts;
}

bool tapir_event_lanes__spec_matched(const struct tapir_event_lanes *l, size_t spec_idx)
{
	return l && l->state && l->ops->spec_matched(l->state, spec_idx);
}

void tapir_event_lanes__add_seen(const struct tapir_event_lanes *l, struct tapir_seen_names *out)
{
	if (l && l->state)
		l->ops->add_seen(l->state, out);
}
