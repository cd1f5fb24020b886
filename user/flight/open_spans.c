// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A map from an interval's key to an allocated span. An end may come before its begin, since CPUs
 * are read one after the other: it is kept as a span without a begin.
 */
#include "flight/open_spans.h"

#include <stdlib.h>

#include "base/vec.h"

#define MAX_SPANS 65536u

struct span {
	uint64_t begin_ns;
	uint32_t tgid;
};

static struct span *span_of(const uint64_t *slot)
{
	return slot ? (struct span *)(uintptr_t)*slot : NULL;
}

void tapir_spans__fini(struct tapir_spans *s)
{
	for (size_t i = 0; i < s->open.cap; i++)
		if (s->open.slots[i].used)
			free(span_of(&s->open.slots[i].value));
	tapir_map__fini(&s->open);
	tapir_map__fini(&s->ended);
}

static struct span *add_span(struct tapir_spans *s, uint64_t key)
{
	struct span *span = s->open.cnt < MAX_SPANS ? calloc(1, sizeof(*span)) : NULL;
	uint64_t *slot = span ? tapir_map__put(&s->open, key, NULL) : NULL;

	if (slot) {
		*slot = (uintptr_t)span;
		return span;
	}
	free(span);
	s->missed_cnt++;
	return NULL;
}

uint64_t tapir_spans__begin(struct tapir_spans *s, uint64_t key, uint32_t tgid, uint64_t time_ns)
{
	const uint64_t *ended = tapir_map__get(&s->ended, key);
	struct span *span = span_of(tapir_map__get(&s->open, key));
	uint64_t took_ns = ended && *ended > time_ns ? *ended - time_ns : 0;

	if (ended)
		tapir_map__del(&s->ended, key);
	if (took_ns)
		return took_ns;
	span = span ? span : add_span(s, key);
	if (span)
		*span = (struct span){time_ns, tgid};
	return 0;
}

uint64_t tapir_spans__end(struct tapir_spans *s, uint64_t key, uint64_t time_ns)
{
	struct span *span = span_of(tapir_map__get(&s->open, key));
	uint64_t took_ns, *slot;

	if (span && span->begin_ns <= time_ns) {
		took_ns = time_ns - span->begin_ns;
		tapir_map__del(&s->open, key);
		free(span);
		return took_ns;
	}
	if (s->ended.cnt >= MAX_SPANS) /* of intervals from before the recording */
		tapir_map__clear(&s->ended);
	slot = tapir_map__put(&s->ended, key, NULL);
	if (slot)
		*slot = time_ns;
	else
		s->missed_cnt++;
	return 0;
}

void tapir_spans__forget(struct tapir_spans *s, uint32_t tgid)
{
	struct tapir_vec(uint64_t) keys = {};
	const uint64_t *key;

	for (size_t i = 0; i < s->open.cap; i++)
		if (s->open.slots[i].used && span_of(&s->open.slots[i].value)->tgid == tgid)
			(void)tapir_vec__push(&keys, s->open.slots[i].key);
	tapir_vec_for_each (key, &keys) {
		free(span_of(tapir_map__get(&s->open, *key)));
		tapir_map__del(&s->open, *key);
	}
	tapir_vec__fini(&keys);
}

bool tapir_spans__take_older(struct tapir_spans *s, uint64_t before_ns, uint32_t *tgid,
			     uint64_t *begin_ns)
{
	for (size_t i = 0; i < s->open.cap; i++) {
		struct tapir_map_slot *slot = &s->open.slots[i];
		struct span *span = slot->used ? span_of(&slot->value) : NULL;

		if (!span || span->begin_ns >= before_ns)
			continue;
		*tgid = span->tgid;
		*begin_ns = span->begin_ns;
		tapir_map__del(&s->open, slot->key);
		free(span);
		return true;
	}
	return false;
}
