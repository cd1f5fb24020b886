// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Providers of .NET as a table and as JSON. Texts of assemblies are hostile input and printed
 * escaped. The runtime's own providers have a class of their name in its library; the built-in
 * tables, which are more complete, take its place.
 */
#include "output/render/list_dotnet.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "output/render/list_view.h"
#include "output/render/table.h"
#include "decode/dotnet_tables.h"
#include "output/render/screen.h"

static bool is_native(const char *name)
{
	return !strncmp(name, TAPIR_DOTNET_RUNTIME, strlen(TAPIR_DOTNET_RUNTIME));
}

/*
 * The runtime's own providers have a class of their name in its library: the built-in tables are
 * more complete.
 */
static void drop_natives(struct tapir_event_sources *sources)
{
	size_t kept = 0;

	for (size_t i = 0; i < sources->all.cnt; i++)
		if (!is_native(sources->all.data[i].name))
			sources->all.data[kept++] = sources->all.data[i];
	sources->all.cnt = kept;
}

static int by_name(const void *left, const void *right)
{
	const struct tapir_layout_provider *a = left, *b = right;

	return strcmp(a->name, b->name);
}

int tapir_list_dotnet__add(struct tapir_event_sources *sources)
{
	const struct tapir_layout_provider *p;

	drop_natives(sources);
	for (unsigned i = 0; (p = tapir_dotnet_provider__at(i)); i++)
		if (is_native(p->name) && !tapir_vec__push(&sources->all, *p))
			return -ENOMEM;
	if (sources->all.cnt)
		qsort(sources->all.data, sources->all.cnt, sizeof(*sources->all.data), by_name);
	return 0;
}

void tapir_list_dotnet__add_seen(const struct tapir_event_sources *sources,
				 struct tapir_seen_names *seen)
{
	const struct tapir_layout_provider *p;

	tapir_vec_for_each (p, &sources->all)
		for (size_t i = 0; i < p->event_cnt; i++)
			tapir_seen_names__add(seen, tapir_sv__of(p->name),
					      tapir_sv__of(p->events[i].name));
}

/* ---- which of them ---------------------------------------------------------------------------- */

static bool is_chosen(const struct tapir_layout_provider *p, const struct tapir_layout_event *event,
		      const char *word, const struct tapir_spec *spec)
{
	if (word)
		return tapir_glob__match(word, p->name) || tapir_glob__match(word, event->name);
	return tapir_spec__matches(spec, NULL, p->name, event->name);
}

/* A provider whose events are not known stays if its name is what was meant. */
static bool keep_events(struct tapir_event_sources *sources, struct tapir_layout_provider *p,
			const char *word, const struct tapir_spec *spec)
{
	struct tapir_layout_event *kept =
		tapir_arena__alloc(&sources->arena, (p->event_cnt + 1u) * sizeof(*kept));
	uint16_t cnt = 0;

	if (!kept)
		return false;
	for (size_t i = 0; i < p->event_cnt; i++)
		if (is_chosen(p, &p->events[i], word, spec))
			kept[cnt++] = p->events[i];
	if (!p->event_cnt && (word ? tapir_glob__match(word, p->name)
				   : tapir_spec__matches_provider(spec, NULL, p->name)))
		return true;
	p->events = kept;
	p->event_cnt = cnt;
	return cnt > 0;
}

void tapir_list_dotnet__choose(struct tapir_event_sources *sources, const char *word,
			       const struct tapir_spec *spec)
{
	size_t kept = 0;

	for (size_t i = 0; i < sources->all.cnt; i++)
		if (keep_events(sources, &sources->all.data[i], word, spec))
			sources->all.data[kept++] = sources->all.data[i];
	sources->all.cnt = kept;
}

/* ---- as a table -------------------------------------------------------------------------------- */

/* Adds the keywords that share a bit with the mask. */
static void cell_keywords(struct tapir_table *table, struct tapir_str *text,
			  const struct tapir_layout_provider *p, uint64_t mask)
{
	tapir_str__clear(text);
	for (size_t i = 0; i < p->keyword_cnt; i++) {
		const char *name = p->keywords[i].name;

		if (!(p->keywords[i].mask & mask) || !strncmp(name, "Session", 7))
			continue;
		tapir_str__adds(text, text->len ? " " : "");
		tapir_str__adds(text, name);
	}
	tapir_table__cell(table, text->len ? text->data : "-");
}

static bool is_last_version(const struct tapir_layout_provider *p, size_t i)
{
	return i + 1 == p->event_cnt || p->events[i].id != p->events[i + 1].id;
}

static void add_events(struct tapir_table *table, struct tapir_str *text,
		       const struct tapir_layout_provider *p)
{
	for (size_t i = 0; i < p->event_cnt; i++) {
		if (!is_last_version(p, i))
			continue;
		tapir_table__cell(table, p->name);
		tapir_table__cell(table, p->events[i].name);
		tapir_table__cell_u64(table, p->events[i].id);
		tapir_table__cell_u64(table, p->events[i].level);
		cell_keywords(table, text, p, p->events[i].keywords);
	}
}

static void add_provider(struct tapir_table *table, struct tapir_str *text,
			 const struct tapir_layout_provider *p)
{
	uint64_t cnt = 0;

	for (size_t i = 0; i < p->event_cnt; i++)
		cnt += is_last_version(p, i);
	tapir_table__cell(table, p->name);
	tapir_table__cell_u64(table, cnt);
	cell_keywords(table, text, p, UINT64_MAX);
}

void tapir_list_dotnet__write_table(const struct tapir_event_sources *sources, bool with_events,
				    const struct tapir_palette *p, struct tapir_str *out)
{
	static const char *const providers[] = {".NET PROVIDER", ">EVENTS", "KEYWORDS", NULL};
	static const char *const events[] = {".NET PROVIDER", "EVENT",	  ">ID",
					     ">LEVEL",	      "KEYWORDS", NULL};
	/* EVENT and a single provider's name have to be typed. */
	static const struct tapir_column_fit fits[] = {
		{TAPIR_SHORTEN_MIDDLE, 14}, {}, {}, {}, {TAPIR_SHORTEN_END, 1}};
	static const struct tapir_column_fit provider_fits[] = {{}, {}, {TAPIR_SHORTEN_END, 1}};
	struct tapir_table table = {
		.titles = with_events ? events : providers,
		.fits = with_events ? fits : provider_fits,
		.max_columns = TAPIR_LIST_MAX_COLUMNS,
		.fit_columns = tapir_screen__fit_columns(),
		.wrap_columns = tapir_screen__is_tty(stdout) ? (size_t)tapir_screen__columns() : 80,
	};
	const struct tapir_layout_provider *provider;
	struct tapir_str text = {};

	tapir_vec_for_each (provider, &sources->all)
		(with_events ? add_events : add_provider)(&table, &text, provider);
	if (sources->all.cnt)
		tapir_table__write(&table, p, out);
	tapir_table__fini(&table);
	tapir_str__fini(&text);
}

/* ---- as JSON ------------------------------------------------------------------------------------ */

static void write_event(struct tapir_json *j, const struct tapir_layout_event *event)
{
	tapir_json__open(j, NULL, '{');
	tapir_json__str(j, "name", event->name);
	tapir_json__u64(j, "event_id", event->id);
	tapir_json__u64(j, "version", event->version);
	tapir_json__u64(j, "level", event->level);
	tapir_json__u64(j, "keywords", event->keywords);
	tapir_json__close(j, '}');
}

static void write_provider(const struct tapir_layout_provider *p, struct tapir_str *out)
{
	struct tapir_json j = tapir_json__to(out);

	tapir_json__open(&j, NULL, '{');
	tapir_json__str(&j, "provider", p->name);
	tapir_json__str(&j, "runtime", ".NET");
	tapir_json__open(&j, "keywords", '{');
	for (size_t i = 0; i < p->keyword_cnt; i++)
		tapir_json__u64(&j, p->keywords[i].name, p->keywords[i].mask);
	tapir_json__close(&j, '}');
	tapir_json__open(&j, "events", '[');
	for (size_t i = 0; i < p->event_cnt; i++)
		write_event(&j, &p->events[i]);
	tapir_json__close(&j, ']');
	tapir_json__close(&j, '}');
	tapir_str__addc(out, '\n');
}

void tapir_list_dotnet__write_json(const struct tapir_event_sources *sources, struct tapir_str *out)
{
	const struct tapir_layout_provider *p;

	tapir_vec_for_each (p, &sources->all)
		write_provider(p, out);
}
