// SPDX-License-Identifier: GPL-2.0-or-later
/* The runtimes of the table, and questions to all of them. */
#include "spec/runtime_db/lore.h"

#include <string.h>

#include "base/str.h"
#include "spec/runtime_db/runtimes.h"

#define TAPIR_X(name) extern const struct tapir_lore tapir_lore_##name;
TAPIR_RUNTIMES(TAPIR_X, TAPIR_NO_COLUMN, TAPIR_NO_COLUMN)
#undef TAPIR_X

#define TAPIR_X(name) &tapir_lore_##name,
const struct tapir_lore *const tapir_lore_all[] = {
	TAPIR_RUNTIMES(TAPIR_X, TAPIR_NO_COLUMN, TAPIR_NO_COLUMN) NULL};
#undef TAPIR_X

int tapir_lore__of_provider(const char *provider, size_t len)
{
	int idx = 0;

	tapir_lore_for_each (lore) {
		const char *own = lore->providers && !lore->is_library ? lore->providers[0] : NULL;

		if (own && strlen(own) == len && !memcmp(own, provider, len))
			return idx;
		idx++;
	}
	return -1;
}

const char *tapir_lore__value_name(const char *provider, const char *kind, const char *field,
				   uint64_t value)
{
	tapir_lore_for_each (lore)
		for (const struct tapir_lore_value *v = lore->values; v && v->provider; v++)
			if (!strcmp(v->field, field) && !strcmp(v->provider, provider) &&
			    !strcmp(v->kind, kind))
				return value < v->cnt ? v->names[value] : NULL;
	return NULL;
}

const struct tapir_pair *tapir_lore__pair(size_t idx)
{
	tapir_lore_for_each (lore) {
		if (idx < lore->pairs.cnt)
			return &lore->pairs.pairs[idx];
		idx -= lore->pairs.cnt;
	}
	return NULL;
}

const struct tapir_counted_event *tapir_lore__counted_event(enum tapir_event_counts_id id,
							    size_t idx)
{
	tapir_lore_for_each (lore)
		for (const struct tapir_counted_event *e = lore->counted[id]; e && e->provider; e++)
			if (!idx--)
				return e;
	return NULL;
}

const struct tapir_lore_condition *tapir_lore__condition(const char *provider, const char *event)
{
	tapir_lore_for_each (lore)
		for (const struct tapir_lore_condition *c = lore->conditions; c && c->provider; c++)
			for (const char *const *glob = c->events; *glob; glob++)
				if (!strcmp(provider, c->provider) &&
				    tapir_glob__match(*glob, event))
					return c;
	return NULL;
}

static bool is_lore_text(const char *text, size_t len, const char *other)
{
	return strlen(other) == len && !memcmp(text, other, len);
}

bool tapir_lore__is_stackless(const char *provider, size_t provider_len, const char *event,
			      size_t event_len)
{
	tapir_lore_for_each (lore)
		for (const struct tapir_lore_event *e = lore->stackless; e && e->provider; e++)
			if (is_lore_text(provider, provider_len, e->provider) &&
			    is_lore_text(event, event_len, e->event))
				return true;
	return false;
}

const struct tapir_lore_awaited *tapir_lore__awaited(const char *function)
{
	tapir_lore_for_each (lore)
		for (const struct tapir_lore_awaited *a = lore->awaited; a && a->prefix; a++)
			if (!strncmp(function, a->prefix, strlen(a->prefix)))
				return a;
	return NULL;
}

const struct tapir_lore *tapir_lore__named(const char *name)
{
	tapir_lore_for_each (lore)
		if (!strcmp(lore->name, name))
			return lore;
	return NULL;
}

const struct tapir_pair_more *tapir_lore__pair_more(const struct tapir_pair *pair)
{
	tapir_lore_for_each (lore)
		for (const struct tapir_pair_more *more = lore->pairs_more; more && more->provider;
		     more++)
			if (!strcmp(more->provider, pair->provider) &&
			    !strcmp(more->kind, pair->kind))
				return more;
	return NULL;
}
