/* SPDX-License-Identifier: MIT */
/*
 * provider_mistakes.c - mistakes in one provider: events of another provider's name, two layouts
 * under one id. They are an error for a program whose header lists the events of its file (struct
 * tapir_program_part), a warning for others.
 */
#include <stdlib.h>

#include "provider_impl.h"

static int is_of_another(const struct tapir_provider *p, const struct provider_event *pe)
{
	const char *said = pe->event->about->provider;

	return !said || strcmp(said, p->name) != 0;
}

static int by_id(const void *left, const void *right)
{
	const struct tapir_ring_about *a = &(*(struct provider_event *const *)left)->about,
				      *b = &(*(struct provider_event *const *)right)->about;

	if (a->event_id != b->event_id)
		return a->event_id < b->event_id ? -1 : 1;
	return (a->version > b->version) - (a->version < b->version);
}

/* Id 0 is that of events without one. */
static int is_in_conflict(const struct provider_event *pa, const struct provider_event *pb)
{
	const struct tapir_ring_about *a = &pa->about, *b = &pb->about;

	return a->event_id && a->event_id == b->event_id && a->version == b->version &&
	       (strcmp(a->event, b->event) != 0 || a->metadata_bytes != b->metadata_bytes ||
		memcmp(a->metadata, b->metadata, a->metadata_bytes) != 0);
}

static uint32_t note_mistake(provider_mistake_fn fn, void *ctx, const struct tapir_provider *p,
			     const struct provider_event *a, const struct provider_event *b)
{
	if (fn)
		fn(ctx, p, a, b);
	return 1;
}

/* Compares neighbours in the order of ids; without memory there are none. */
static uint32_t find_conflicts(const struct tapir_provider *p,
			       const struct provider_event *const *sorted, uint32_t cnt,
			       provider_mistake_fn fn, void *ctx)
{
	uint32_t found = 0;

	for (uint32_t i = 1; i < cnt; i++)
		if (is_in_conflict(sorted[i - 1], sorted[i]))
			found += note_mistake(fn, ctx, p, sorted[i - 1], sorted[i]);
	return found;
}

/* Sorts its events, and those that were defined for it, by id; from malloc. */
static const struct provider_event **sort_events(const struct tapir_provider *p, uint32_t *cnt)
{
	const struct provider_event **sorted;
	size_t room = p->event_cnt, n = 0;

	for (const struct tapir_provider *m = p->members; m; m = m->next_member)
		room += m->event_cnt;
	sorted = room ? malloc(room * sizeof(*sorted)) : NULL;
	*cnt = 0;
	if (!sorted)
		return NULL;
	for (uint32_t i = 0; i < p->event_cnt; i++)
		sorted[n++] = &p->events[i];
	for (const struct tapir_provider *m = p->members; m; m = m->next_member)
		for (uint32_t i = 0; i < m->event_cnt; i++)
			sorted[n++] = &m->events[i];
	qsort(sorted, n, sizeof(*sorted), by_id);
	*cnt = (uint32_t)n;
	return sorted;
}

uint32_t provider_mistakes__find(const struct tapir_provider *p, provider_mistake_fn fn, void *ctx)
{
	uint32_t cnt, found = 0;
	const struct provider_event **sorted = sort_events(p, &cnt);

	for (uint32_t i = 0; i < p->event_cnt; i++)
		if (is_of_another(p, &p->events[i]))
			found += note_mistake(fn, ctx, p, &p->events[i], NULL);
	found += find_conflicts(p, sorted, cnt, fn, ctx);
	free(sorted);
	return found;
}
