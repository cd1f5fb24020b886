// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Compares what each view needs with the SPECs of the file. A view may be fed by several runtimes,
 * so it lacks something only if no runtime that the file shows could have reported it.
 */
#include "analyze/capture_check.h"

#include <string.h>

#include "spec/spec.h"
#include "base/diag.h"
#include "base/reader_words.h"
#include "decode/dotnet_tables.h"
#include "decode/profiles.h"
#include "trace/family.h"

#define CLR	    TAPIR_DOTNET_RUNTIME
#define ANY_RUNTIME UINT32_MAX

/* ---- whose events there are ------------------------------------------------------------------ */

static unsigned runtime_bit(struct tapir_sv provider)
{
	int idx = tapir_lore__of_provider(provider.data, provider.len);

	return idx < 0 ? 0 : 1u << idx;
}

void tapir_capture_check__add(struct tapir_capture_check *r, const struct tapir_rec *rec)
{
	struct tapir_probe_view probe;

	if (rec->type != TAPIR_REC_PROBE)
		return;
	tapir_probe_view__of(rec, &probe);
	r->runtimes_seen |= runtime_bit(probe.provider);
}

/* ---- what was requested ---------------------------------------------------------------------- */

struct requested {
	struct tapir_sv specs; /* one line each */
	unsigned runtimes;     /* that count */
	bool has_probes;
};

static bool item_takes(const struct tapir_spec_item *item, const struct tapir_layout_provider *p,
		       const struct tapir_layout_event *e)
{
	uint64_t mask = item->kind == TAPIR_SPEC_MASK ? item->mask : 0;

	if (item->kind == TAPIR_SPEC_WORD || item->kind == TAPIR_SPEC_KEYWORD)
		(void)tapir_dotnet_keyword__find(p, tapir_sv__of(item->text), &mask);
	if (mask)
		return mask & e->keywords;
	return (item->kind == TAPIR_SPEC_WORD || item->kind == TAPIR_SPEC_EVENT) &&
	       (tapir_glob__match(item->text, e->name) || tapir_glob__match(item->text, e->symbol));
}

static bool takes(const struct tapir_spec *spec, const struct tapir_layout_provider *p,
		  const struct tapir_layout_event *e)
{
	const struct tapir_spec_item *item;
	bool wants_some = false, wanted = false;

	if (spec->level >= 0 && e->level > spec->level)
		return false;
	tapir_vec_for_each (item, &spec->items) {
		bool match = item_takes(item, p, e);

		if (item->negated && match)
			return false;
		wants_some |= !item->negated;
		wanted |= !item->negated && match;
	}
	return wanted || !wants_some;
}

/* The runtime's own events: by keyword, level or name. */
static bool takes_dotnet(const struct tapir_spec *spec, const char *event)
{
	const struct tapir_layout_provider *p = tapir_dotnet_provider__find(tapir_sv__of(CLR));

	if (!p || !tapir_spec__matches_provider(spec, NULL, CLR))
		return false;
	for (unsigned i = 0; i < p->event_cnt; i++)
		if (!strcmp(p->events[i].name, event) && takes(spec, p, &p->events[i]))
			return true;
	return false;
}

static bool is_requested(const struct requested *requested, const char *provider, const char *event)
{
	bool is_dotnet = !strcmp(provider, CLR), is_taken = false;
	unsigned bit = runtime_bit(tapir_sv__of(provider));
	char text[TAPIR_SPEC_MAX_BYTES + 1];

	if ((requested->runtimes != ANY_RUNTIME && !(requested->runtimes & bit)) ||
	    (!is_dotnet && !requested->has_probes))
		return false;
	for (size_t at = 0; !is_taken && at < requested->specs.len;) {
		const char *line = requested->specs.data + at;
		const char *end = memchr(line, '\n', requested->specs.len - at);
		size_t len = end ? (size_t)(end - line) : requested->specs.len - at;
		struct tapir_spec *spec = NULL;
		int mark = tapir_diag__cnt();

		at += len + 1;
		if (len >= sizeof(text))
			continue;
		memcpy(text, line, len);
		text[len] = '\0';
		if (!tapir_spec__parse(text, &spec))
			is_taken = is_dotnet ? takes_dotnet(spec, event)
					     : tapir_spec__matches(spec, NULL, provider, event);
		/*
		 * A SPEC of another version, which this one cannot read, is no error of the
		 * reader's.
		 */
		tapir_diag__rewind(mark);
		tapir_spec__free(spec);
	}
	return is_taken;
}

static bool is_any_requested(const struct requested *requested, const struct tapir_view_source *s)
{
	const struct tapir_counted_event *counted;
	const struct tapir_pair *pair;

	for (size_t i = 0; (counted = tapir_lore__counted_event(s->counts, i)); i++)
		if (is_requested(requested, counted->provider, counted->event))
			return true;
	for (const struct tapir_view_event *e = s->events; e && e->provider; e++)
		if (is_requested(requested, e->provider, e->event))
			return true;
	for (size_t i = 0; s->cause != TAPIR_CAUSE_NONE && (pair = tapir_lore__pair(i)); i++)
		if (pair->cause == s->cause && is_requested(requested, pair->provider, pair->begin))
			return true;
	return false;
}

static bool says(struct tapir_sv text, const char *word)
{
	return text.len && memmem(text.data, text.len, word, strlen(word));
}

/* ---- who has such events --------------------------------------------------------------------- */

/* Bits of the runtimes whose events the view is made of. */
static unsigned reporters(const struct tapir_view_source *s)
{
	const struct tapir_counted_event *counted;
	const struct tapir_pair *pair;
	unsigned bits = 0;

	for (size_t i = 0; (counted = tapir_lore__counted_event(s->counts, i)); i++)
		bits |= runtime_bit(tapir_sv__of(counted->provider));
	for (const struct tapir_view_event *e = s->events; e && e->provider; e++)
		bits |= runtime_bit(tapir_sv__of(e->provider));
	for (size_t i = 0; s->cause != TAPIR_CAUSE_NONE && (pair = tapir_lore__pair(i)); i++)
		bits |= pair->cause == s->cause ? runtime_bit(tapir_sv__of(pair->provider)) : 0;
	return bits;
}

/* "OpenJDK and PostgreSQL", of the bits. */
static void add_runtimes(struct tapir_str *out, unsigned bits)
{
	unsigned i = 0;

	tapir_lore_for_each (lore) {
		if (bits & 1u << i++)
			tapir_str__addf(out, "%s%s", lore->name, bits >> i ? " and " : "");
	}
}

/* "collections were not recorded: `tapir record --profile gc` records them" */
static void add_how(struct tapir_str *out, const struct tapir_view_source *s)
{
	char words[TAPIR_READER_WORDS_BYTES];
	struct tapir_str how = {};

	tapir_str__adds(&how, s->how ? s->how : "`tapir record");
	if (s->profile != TAPIR_PROFILE_ID_DEFAULT)
		tapir_str__addf(&how, " --profile %s", tapir_profile__name(s->profile));
	for (const char *const *spec = s->specs; spec && *spec; spec++)
		tapir_str__addf(&how, " '%s'", *spec);
	tapir_str__adds(&how, s->how ? "" : "`");
	if (how.failed)
		out->failed = true;
	else
		tapir_str__addf(out, "%s were not recorded: %s records them", s->description,
				tapir_reader_words__of(how.data, words));
	tapir_str__fini(&how);
}

static void explain_not_recorded(const struct tapir_capture_check *r,
				 const struct tapir_view_source *s,
				 struct tapir_view_result *result)
{
	bool has_none = !s->is_alone && r->runtimes_seen && !(r->runtimes_seen & reporters(s));
	struct tapir_fact *fact;

	tapir_str__clear(&result->headline);
	if (has_none) {
		tapir_str__addf(&result->headline, "%s were not recorded: ", s->description);
		add_runtimes(&result->headline, r->runtimes_seen);
		tapir_str__adds(&result->headline, " has no events for them that tapir can record");
	} else {
		add_how(&result->headline, s);
	}
	tapir_vec_for_each (fact, &result->facts)
		fact->column.title = NULL; /* zeros for what was not counted */
	result->is_unrecorded = true;
}

static void note_not_recorded(const struct tapir_view_source *s, struct tapir_view_result *result)
{
	struct tapir_str text = {};

	add_how(&text, s);
	if (text.failed)
		result->failed = true;
	else
		tapir_view_result__note(result, "%s", text.data);
	tapir_str__fini(&text);
}

/*
 * Adds a note if the probes were recorded, but fire only in runtimes that are started with an
 * option.
 */
static void note_need(const struct requested *requested, const struct tapir_counted_event *counted,
		      struct tapir_view_result *result)
{
	const struct tapir_lore_condition *condition =
		tapir_lore__condition(counted->provider, counted->event);

	if (condition && is_requested(requested, counted->provider, counted->event))
		tapir_view_result__note(result, "%s:%s fires only %s%s", counted->provider,
					counted->event, condition->needs,
					strcmp(counted->provider, "hotspot") != 0
						? ""
						: "; 'tapir heap --live -p PID' samples objects "
						  "of any JVM");
}

void tapir_capture_check__explain(const struct tapir_capture_check *r,
				  const struct tapir_catalog *catalog,
				  const struct tapir_view *view, struct tapir_view_result *result)
{
	const struct tapir_view_source *s = &view->source;
	const struct requested requested = {
		.specs = tapir_catalog__meta_value(catalog, TAPIR_META_SPECS),
		.runtimes = r->runtimes_seen ? r->runtimes_seen : ANY_RUNTIME,
		.has_probes = says(tapir_catalog__meta_value(catalog, "lane"), "probe"),
	};
	const struct tapir_counted_event *counted;

	if (!s->description || !result->has_nothing || !requested.specs.data)
		return;
	for (size_t i = 0; (counted = tapir_lore__counted_event(s->counts, i)); i++)
		note_need(&requested, counted, result);
	if (is_any_requested(&requested, s))
		return;
	if (s->family == TAPIR_FAMILY_EVENT ||
	    !tapir_catalog__meta_value(catalog, tapir_families[s->family].meta).len)
		explain_not_recorded(r, s, result);
	else if (!s->is_alone)
		note_not_recorded(s, result);
}
