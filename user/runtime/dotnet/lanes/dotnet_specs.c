// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Translates SPECs for .NET: names of events, keywords and levels become the masks that a session
 * requests. A native provider's events carry numbers, so names are looked up in the manifests; an
 * EventSource's are judged by name when they fire.
 */
#include "runtime/dotnet/lanes/dotnet_specs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/diag.h"
#include "base/log.h"
#include "base/file.h"
#include "base/str.h"
#include "runtime/dotnet/lanes/dotnet_suggest.h"
#include "attach/rings/ring_select.h"
#include "decode/dotnet_tables.h"
#include "decode/usdt_hints.h"

#define LEVEL_MAX      5u
#define MAX_EDITS      3u

/*
 * A bit that is no provider's keyword: events without a keyword reach each session that has the
 * provider on.
 */
#define NO_KEYWORD     (1ull << 47)

/*
 * Floods, and heap walks: on only where their provider is named. JitTracing, the maps of jitted
 * code, GCHeapDump, survival and movement, type names of the heap, CodeSymbols, and the
 * diagnostics of compilation, methods and types.
 */
#define HEAVY_KEYWORDS 0xe401521000ull

/* ---- names into bits ---------------------------------------------------------------------- */

static const struct tapir_layout_provider *
find_provider(const char *name, const struct tapir_layout_provider *more, size_t more_cnt)
{
	for (size_t i = 0; i < more_cnt; i++)
		if (!strcmp(more[i].name, name))
			return &more[i];
	return NULL;
}

/* The runtime's own: its events carry numbers, not names. */
static bool is_native(const struct tapir_layout_provider *p)
{
	return p && (!strncmp(p->name, TAPIR_DOTNET_RUNTIME, strlen(TAPIR_DOTNET_RUNTIME)) ||
		     !strcmp(p->name, "Microsoft-DotNETCore-SampleProfiler"));
}

bool tapir_dotnet_specs__is_native(const struct tapir_layout_provider *p)
{
	return is_native(p);
}

static bool has_event(const struct tapir_layout_provider *p, const char *glob)
{
	for (size_t i = 0; i < p->event_cnt; i++)
		if (tapir_glob__match(glob, p->events[i].name))
			return true;
	return false;
}

/* The oldest manifests call an event Contention that is ContentionStart now, and in no keyword. */
static bool is_ambiguous(const struct tapir_layout_provider *p, const char *word)
{
	for (size_t i = 0; i < p->event_cnt; i++)
		if (!strcmp(word, p->events[i].name) && (p->events[i].keywords || !is_native(p)))
			return true;
	return false;
}

/* GCStart_V2 is GCStart: which version comes is the runtime's choice. */
static void split_version(struct tapir_spec_item *item)
{
	size_t at = strlen(item->text);

	while (at && item->text[at - 1] >= '0' && item->text[at - 1] <= '9')
		at--;
	if (at > 2 && item->text[at] && !strncmp(item->text + at - 2, "_V", 2))
		item->text[at - 2] = '\0';
}

static void keep_nearest(const char *name, const char *wanted, unsigned *best, const char **near)
{
	unsigned edits = tapir_str__distance(wanted, name, MAX_EDITS);

	if (!strncasecmp(name, wanted, strlen(wanted)))
		edits = 1;
	if (2 * edits >= strlen(wanted) && *name != *wanted)
		return; /* half of it, and the beginning, is different */
	if (edits >= *best)
		return;
	*best = edits;
	*near = name;
}

static int unknown_name(const struct tapir_spec *spec, const struct tapir_layout_provider *p,
			const struct tapir_spec_item *item)
{
	bool is_keyword = item->kind == TAPIR_SPEC_KEYWORD;
	const char *near = NULL, *noun = is_keyword ? "keyword" : "event or keyword";
	unsigned best = MAX_EDITS + 1;

	for (size_t i = 0; i < p->keyword_cnt; i++)
		keep_nearest(p->keywords[i].name, item->text, &best, &near);
	for (size_t i = 0; !is_keyword && i < p->event_cnt; i++)
		keep_nearest(p->events[i].name, item->text, &best, &near);
	if (near)
		return tapir_diag__fail(-EINVAL,
					"SPEC '%.200s': %s has no %s '%.60s'; the nearest is '%s'",
					spec->text, p->name, noun, item->text, near);
	return tapir_diag__fail(
		-EINVAL,
		"SPEC '%.200s': %s has no %s '%.60s' ('tapir list -p PID' shows what it has; 0xHEX and ev=EventID* need no name)",
		spec->text, p->name, noun, item->text);
}

/* Events of later runtimes are named by their number. */
static bool may_be_event(const struct tapir_layout_provider *p, const char *glob)
{
	return !is_native(p) || !strncmp(glob, "EventID", 7) || has_event(p, glob);
}

static int resolve_item(const struct tapir_spec *spec, const struct tapir_layout_provider *p,
			struct tapir_spec_item *item)
{
	uint64_t mask = 0;
	bool is_keyword;

	if (item->kind == TAPIR_SPEC_MASK)
		return 0;
	is_keyword = item->kind != TAPIR_SPEC_EVENT &&
		     tapir_dotnet_keyword__find(p, tapir_sv__of(item->text), &mask);
	if (is_keyword && item->kind == TAPIR_SPEC_WORD && is_ambiguous(p, item->text))
		return tapir_diag__fail(-EINVAL,
					"SPEC '%.200s': %s has an event and a keyword '%s': "
					"write ev=%s or kw=%s",
					spec->text, p->name, item->text, item->text, item->text);
	if (is_keyword) {
		item->kind = TAPIR_SPEC_MASK;
		item->mask = mask;
		return 0;
	}
	if (is_native(p))
		split_version(item);
	if (item->kind == TAPIR_SPEC_KEYWORD || !may_be_event(p, item->text))
		return unknown_name(spec, p, item);
	return 0;
}

static int resolve_spec(const struct tapir_spec *spec, const struct tapir_layout_provider *p)
{
	struct tapir_spec_item *item;
	int err = 0;

	tapir_vec_for_each (item, &spec->items) {
		err = resolve_item(spec, p, item);
		if (err)
			break;
	}
	return err;
}

int tapir_dotnet_specs__resolve(const struct tapir_spec_list *specs,
				const struct tapir_layout_provider *more, size_t more_cnt)
{
	int err = 0;

	for (size_t i = 0; i < specs->cnt && !err; i++) {
		const struct tapir_spec *spec = specs->data[i];
		const struct tapir_layout_provider *p =
			tapir_dotnet_provider__find(tapir_sv__of(spec->provider));

		if (!p)
			p = find_provider(spec->provider, more, more_cnt);
		if (p && !spec->path)
			err = resolve_spec(spec, p);
	}
	return err;
}

/* Only the name, whatever it contains: the process chose it. */
static char *literal(const char *name)
{
	struct tapir_str out = {};

	for (; *name; name++) {
		if (strchr("*?[\\", *name))
			tapir_str__addc(&out, '\\');
		tapir_str__addc(&out, *name);
	}
	return out.data;
}

/* The SPEC with the name for its glob. */
static int add_spec_for(struct tapir_spec_list *specs, const struct tapir_spec *spec,
			const char *name)
{
	struct tapir_spec *made = NULL;
	char *provider = literal(name);
	int err = provider ? tapir_spec__parse(spec->text, &made) : -ENOMEM;

	if (err) {
		free(provider);
		return err;
	}
	free(made->provider);
	made->provider = provider;
	made->is_silent = true;
	if (tapir_vec__push(specs, made))
		return 0;
	tapir_spec__free(made);
	return -ENOMEM;
}

static bool is_meant(const struct tapir_spec *spec, const struct tapir_layout_provider *p)
{
	return !is_native(p) && *p->name && tapir_glob__match(spec->provider, p->name);
}

/*
 * The sources that are left out are found when they fire, where tapir's library checks each of
 * them.
 */
static void warn_left(const struct tapir_spec *spec, size_t left_cnt)
{
	if (left_cnt)
		tapir_warn(
			"'%s' matches %zu EventSources more than the %u that can be requested by "
			"name: some of their events may be missing (use a narrower pattern)",
			spec->text, left_cnt, TAPIR_DOTNET_SPECS_MADE_MAX);
}

int tapir_dotnet_specs__expand(struct tapir_spec_list *specs,
			       const struct tapir_layout_provider *providers, size_t cnt)
{
	size_t spec_cnt = specs->cnt;
	int err = 0;

	for (size_t i = 0; i < spec_cnt; i++) {
		struct tapir_spec *spec = specs->data[i];
		size_t left_cnt = 0;

		if (spec->path || tapir_glob__is_plain(spec->provider) ||
		    strchr(spec->provider, '\\'))
			continue;
		for (size_t k = 0; k < cnt && !err; k++) {
			if (!is_meant(spec, &providers[k]))
				continue;
			if (specs->cnt - spec_cnt >= TAPIR_DOTNET_SPECS_MADE_MAX) {
				left_cnt++;
				continue;
			}
			err = add_spec_for(specs, spec, providers[k].name);
			spec->is_silent |= tapir_dotnet_suggest__has(&providers[k], spec);
		}
		warn_left(spec, left_cnt);
	}
	return err;
}

/* ---- SPECs into selections ---------------------------------------------------------------- */

static bool is_probe_provider(const char *name)
{
	const struct tapir_hint *hint;

	for (size_t i = 0; (hint = tapir_usdt_hint__at(i)); i++)
		if (!strcmp(hint->provider, name))
			return true;
	return false;
}

bool tapir_dotnet_specs__is_for(const struct tapir_spec *spec)
{
	return !spec->path && !is_probe_provider(spec->provider);
}

bool tapir_dotnet_specs__is_known(const struct tapir_spec *spec)
{
	return !spec->path && tapir_dotnet_provider__find(tapir_sv__of(spec->provider));
}

bool tapir_dotnet_specs__may_be_known(const struct tapir_spec *spec)
{
	const struct tapir_layout_provider *p;

	for (unsigned i = 0; !spec->path && (p = tapir_dotnet_provider__at(i)); i++)
		if (tapir_glob__match(spec->provider, p->name))
			return true;
	return false;
}

bool tapir_dotnet_specs__is_defined(const struct tapir_spec *spec,
				    const struct tapir_layout_provider *providers, size_t cnt)
{
	if (tapir_dotnet_specs__is_known(spec))
		return true;
	for (size_t i = 0; i < cnt; i++)
		if (tapir_dotnet_suggest__has(&providers[i], spec))
			return true;
	return false;
}

bool tapir_dotnet_specs__need_sources(const struct tapir_spec_list *specs)
{
	for (size_t i = 0; i < specs->cnt; i++) {
		const struct tapir_spec *spec = specs->data[i];

		if (tapir_dotnet_specs__is_for(spec) && !tapir_dotnet_specs__is_known(spec) &&
		    (!spec->is_silent || !tapir_glob__is_plain(spec->provider)))
			return true;
	}
	return false;
}

struct selector {
	struct tapir_ring_request *out;
	unsigned used;
	struct tapir_dotnet_skipped *skipped;
};

/* The keywords and the level that are requested of a native provider. */
struct native_request {
	uint64_t keywords;
	unsigned level;
};

static void ask_event(const struct tapir_spec *spec, const struct tapir_layout_event *event,
		      struct native_request *request)
{
	request->keywords |=
		event->keywords ? event->keywords & ~TAPIR_DOTNET_HEAP_COLLECT : NO_KEYWORD;
	if (spec->level < 0 && event->level > request->level)
		request->level = event->level;
}

static void ask_item(const struct tapir_spec *spec, const struct tapir_layout_provider *p,
		     const struct tapir_spec_item *item, struct native_request *request)
{
	struct tapir_spec one = *spec;

	one.items.data = (struct tapir_spec_item *)item;
	one.items.cnt = 1;
	if (item->kind == TAPIR_SPEC_MASK) {
		request->keywords |= item->mask ? item->mask : NO_KEYWORD;
		request->level = LEVEL_MAX;
		return;
	}
	for (size_t i = 0; i < p->event_cnt; i++)
		if (tapir_spec__matches(&one, NULL, p->name, p->events[i].name))
			ask_event(spec, &p->events[i], request);
	if (!strncmp(item->text, "EventID", 7)) {
		request->keywords |= ~TAPIR_DOTNET_HEAP_COLLECT;
		request->level = LEVEL_MAX;
	}
}

static uint64_t negated_keywords(const struct tapir_spec *spec)
{
	const struct tapir_spec_item *item;
	uint64_t mask = 0;

	tapir_vec_for_each (item, &spec->items)
		if (item->negated && item->kind == TAPIR_SPEC_MASK)
			mask |= item->mask;
	return mask;
}

/* Level 0 of a selection is all: Critical events, which 1 adds, are discarded on arrival. */
static unsigned requested_level(const struct tapir_spec *spec)
{
	return spec->level ? (unsigned)spec->level : 1;
}

/* true: something is asked of it. */
static bool ask_native(const struct tapir_spec *spec, const struct tapir_layout_provider *p,
		       struct native_request *request)
{
	bool is_named = tapir_glob__is_plain(spec->provider), wants_some = false;
	const struct tapir_spec_item *item;

	*request = (struct native_request){};
	tapir_vec_for_each (item, &spec->items) {
		wants_some |= !item->negated;
		if (!item->negated)
			ask_item(spec, p, item, request);
	}
	if (!wants_some) {
		request->keywords = ~(TAPIR_DOTNET_HEAP_COLLECT | (is_named ? 0 : HEAVY_KEYWORDS));
		request->level = LEVEL_MAX;
	}
	request->keywords &= ~negated_keywords(spec);
	if (spec->level >= 0)
		request->level = requested_level(spec);
	return request->keywords != 0;
}

static void leave_out(struct selector *s, const char *provider)
{
	if (!s->skipped->cnt++)
		s->skipped->first = provider;
}

static struct tapir_ring_selection *add_selection(struct selector *s, const char *provider,
						  unsigned level)
{
	struct tapir_ring_selection *one;

	if (s->used == TAPIR_RING_SELECTIONS) {
		leave_out(s, provider);
		return NULL;
	}
	one = &s->out->all[s->used++];
	*one = (struct tapir_ring_selection){.used = 1, .level = (uint8_t)level};
	snprintf(one->provider, sizeof(one->provider), "%s", provider);
	return one;
}

/* One a provider and level, so that a long list of SPECs has room. */
static void add_native(struct selector *s, const char *provider,
		       const struct native_request *request)
{
	struct tapir_ring_selection *one = NULL;

	for (unsigned i = 0; i < s->used && !one; i++)
		if (!strcmp(s->out->all[i].provider, provider) &&
		    s->out->all[i].level == request->level)
			one = &s->out->all[i];
	if (!one)
		one = add_selection(s, provider, request->level);
	if (one)
		one->keywords |= request->keywords;
}

static void select_natives(struct selector *s, const struct tapir_spec *spec)
{
	const struct tapir_layout_provider *p;
	struct native_request request;

	for (size_t i = 0; (p = tapir_dotnet_provider__at((unsigned)i)); i++)
		if (is_native(p) && tapir_glob__match(spec->provider, p->name) &&
		    ask_native(spec, p, &request))
			add_native(s, p->name, &request);
}

/* Returns true if only keywords 0 are requested: events without keywords. */
static bool has_no_mask(const struct tapir_spec *spec)
{
	const struct tapir_spec_item *item;
	bool has_zero = false;

	tapir_vec_for_each (item, &spec->items) {
		if (item->negated)
			continue;
		if (item->kind != TAPIR_SPEC_MASK || item->mask)
			return false;
		has_zero = true;
	}
	return has_zero;
}

static void select_sources(struct selector *s, const struct tapir_spec *spec)
{
	tapir_autofree struct tapir_ring_request *some = malloc(sizeof(*some));
	struct tapir_spec *specs[] = {(struct tapir_spec *)spec};
	const struct tapir_spec_list one = {.data = specs, .cnt = 1, .cap = 1};

	if (!some || strlen(spec->provider) >= sizeof(some->all[0].provider) ||
	    !tapir_ring_select__fill(&one, some)) {
		leave_out(s, spec->provider);
		return;
	}
	for (unsigned i = 0; i < TAPIR_RING_SELECTIONS && some->all[i].used; i++) {
		struct tapir_ring_selection *one_of = &some->all[i];

		if (!spec->level)
			one_of->level = (uint8_t)requested_level(spec);
		if (!one_of->keywords && !*one_of->event && has_no_mask(spec))
			one_of->keywords = NO_KEYWORD;
		if (s->used == TAPIR_RING_SELECTIONS ||
		    !tapir_ring_request__add_args(s->out, spec, &some->all[i])) {
			leave_out(s, spec->provider);
			return;
		}
		s->out->all[s->used++] = some->all[i];
	}
}

void tapir_dotnet_specs__warn_of_zeros(const struct tapir_spec_list *specs)
{
	for (size_t i = 0; i < specs->cnt; i++) {
		const struct tapir_spec *spec = specs->data[i];

		if (spec->is_silent || !tapir_dotnet_specs__is_for(spec) ||
		    !tapir_spec__has_zero(spec))
			continue;
		tapir_warn(
			"%s: of .NET, level 0 is LogAlways alone and keywords 0 are events without "
			"keywords, as in other tools (for tapir both were all until 0.1): for all "
			"write PROVIDER:kw=all:all",
			spec->text);
		return;
	}
}

unsigned tapir_dotnet_specs__select(const struct tapir_spec_list *specs,
				    struct tapir_ring_request *out,
				    struct tapir_dotnet_skipped *skipped)
{
	struct selector s = {.out = out, .skipped = skipped};

	tapir_ring_request__clear(out);
	*skipped = (struct tapir_dotnet_skipped){};
	for (size_t i = 0; i < specs->cnt; i++) {
		const struct tapir_spec *spec = specs->data[i];

		if (!tapir_dotnet_specs__is_for(spec))
			continue;
		select_natives(&s, spec);
		if (!is_native(tapir_dotnet_provider__find(tapir_sv__of(spec->provider))))
			select_sources(&s, spec);
	}
	return s.used;
}
