// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds near names as spec/spec.h does, among providers instead of probes: a person who writes "gc"
 * for the runtime's provider may have meant its keyword.
 */
#include "runtime/dotnet/lanes/dotnet_suggest.h"

#include "decode/dotnet_tables.h"

static bool names_events(const struct tapir_spec *spec)
{
	const struct tapir_spec_item *item;

	tapir_vec_for_each (item, &spec->items)
		if (!item->negated &&
		    (item->kind == TAPIR_SPEC_WORD || item->kind == TAPIR_SPEC_EVENT))
			return true;
	return false;
}

/* A word of a SPEC with a glob for a provider, which was not looked up yet. */
static bool names_a_keyword(const struct tapir_spec *spec, const struct tapir_layout_provider *p)
{
	const struct tapir_spec_item *item;
	uint64_t mask;

	tapir_vec_for_each (item, &spec->items)
		if (!item->negated && item->kind == TAPIR_SPEC_WORD &&
		    tapir_dotnet_keyword__find(p, tapir_sv__of(item->text), &mask))
			return true;
	return false;
}

bool tapir_dotnet_suggest__has(const struct tapir_layout_provider *p, const struct tapir_spec *spec)
{
	if (!tapir_spec__matches_provider(spec, NULL, p->name))
		return false;
	if (!p->event_cnt || !names_events(spec) || names_a_keyword(spec, p))
		return true;
	for (size_t i = 0; i < p->event_cnt; i++)
		if (tapir_spec__matches(spec, NULL, p->name, p->events[i].name))
			return true;
	return false;
}

struct search {
	const struct tapir_spec *spec;
	bool for_events;
	unsigned best;
	const char *provider, *event;
};

static void suggest_event(struct search *s, const char *provider, const char *event)
{
	unsigned score = tapir_spec__distance(s->spec, provider, event ? event : "");

	if (score >= s->best)
		return;
	s->best = score;
	s->provider = provider;
	s->event = event;
}

static void search_in(struct search *s, const struct tapir_layout_provider *p)
{
	if ((!s->for_events || !p->event_cnt) &&
	    !tapir_spec__matches_provider(s->spec, NULL, p->name))
		suggest_event(s, p->name, NULL);
	for (size_t i = 0; s->for_events && i < p->event_cnt; i++)
		suggest_event(s, p->name, p->events[i].name);
}

static void search_all(struct search *s, const struct tapir_layout_provider *providers, size_t cnt)
{
	const struct tapir_layout_provider *p;

	for (size_t i = 0; i < cnt; i++)
		search_in(s, &providers[i]);
	for (unsigned i = 0; (p = tapir_dotnet_provider__at(i)); i++)
		search_in(s, p);
}

void tapir_dotnet_suggest__add_nearest(const struct tapir_spec *spec,
				       const struct tapir_layout_provider *providers, size_t cnt,
				       struct tapir_str *out)
{
	struct tapir_spec one = *spec;
	struct search s = {.spec = &one, .for_events = names_events(spec), .best = TAPIR_SPEC_FAR};

	if (s.for_events)
		search_all(&s, providers, cnt);
	one.items.cnt = 0; /* keywords, and words that may be keywords: of a provider that does not
			      exist yet */
	s.for_events = false;
	if (!s.provider)
		search_all(&s, providers, cnt);
	if (s.provider)
		tapir_str__addf(out, "%s%s%s", s.provider, s.event ? ":" : "",
				s.event ? s.event : "");
}
