// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * EventPipe has one place for each provider, with all that is requested of it; what that lets
 * through beyond a SPEC is judged when it arrives.
 */
#include "runtime/dotnet/lanes/stream_providers.h"

#include <string.h>

#include "base/str.h"
#include "runtime/dotnet/lanes/dotnet_specs.h"
#include "decode/dotnet_tables.h"

#define LEVEL_MAX 5u

static struct tapir_dotnet_provider *provider_slot(struct tapir_stream_providers *out,
						   const char *name)
{
	for (uint32_t i = 0; i < out->cnt; i++)
		if (!strcmp(out->all[i].name, name))
			return &out->all[i];
	if (out->cnt == TAPIR_STREAM_PROVIDERS)
		return NULL;
	out->all[out->cnt] = (struct tapir_dotnet_provider){.name = name};
	return &out->all[out->cnt++];
}

/* The keywords as the runtime needs them: it collects only what a keyword names. */
static uint64_t keywords_of(const struct tapir_ring_selection *s)
{
	uint64_t all = ~0ull;

	if (s->keywords && s->keywords != all)
		return s->keywords;
	return strcmp(s->provider, TAPIR_DOTNET_RUNTIME) ? all : all & ~TAPIR_DOTNET_HEAP_COLLECT;
}

static void add_provider(struct tapir_stream_providers *out, const char *name,
			 const struct tapir_ring_request *request,
			 const struct tapir_ring_selection *s)
{
	struct tapir_dotnet_provider *p = provider_slot(out, name);

	if (!p)
		return;
	p->keywords |= keywords_of(s);
	if (!s->level || s->level > LEVEL_MAX)
		p->level = LEVEL_MAX;
	else if (s->level > p->level)
		p->level = s->level;
	if (s->args_bytes && !p->filter)
		p->filter = tapir_ring_request__args(request, s);
}

/* The natives among them have selections of their own. */
static void add_matching(struct tapir_stream_providers *out,
			 const struct tapir_ring_request *request,
			 const struct tapir_ring_selection *s,
			 const struct tapir_layout_provider *sources, size_t source_cnt)
{
	const struct tapir_layout_provider *p;

	for (unsigned i = 0; (p = tapir_dotnet_provider__at(i)); i++)
		if (!tapir_dotnet_specs__is_native(p) && tapir_glob__match(s->provider, p->name))
			add_provider(out, p->name, request, s);
	for (size_t i = 0; i < source_cnt; i++)
		if (tapir_glob__match(s->provider, sources[i].name))
			add_provider(out, sources[i].name, request, s);
}

static bool is_glob(const struct tapir_ring_selection *s)
{
	return s->used && !tapir_glob__is_plain(s->provider);
}

bool tapir_stream_providers__need_names(const struct tapir_ring_request *request)
{
	for (unsigned i = 0; i < TAPIR_RING_SELECTIONS; i++)
		if (is_glob(&request->all[i]))
			return true;
	return false;
}

void tapir_stream_providers__fill(struct tapir_stream_providers *out,
				  const struct tapir_ring_request *request,
				  const struct tapir_layout_provider *sources, size_t source_cnt)
{
	out->cnt = 0;
	for (unsigned i = 0; i < TAPIR_RING_SELECTIONS; i++) {
		const struct tapir_ring_selection *s = &request->all[i];

		if (is_glob(s))
			add_matching(out, request, s, sources, source_cnt);
		else if (s->used && *s->provider)
			add_provider(out, s->provider, request, s);
	}
}
