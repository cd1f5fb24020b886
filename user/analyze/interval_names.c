// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A name is made of the runtime's and the interval's; two pairs may share it. Events of
 * DiagnosticSource are named by its filter, so their SPECs are those of the profile.
 */
#include "analyze/interval_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spec/expression.h"

#define NAME_COLUMNS 28

/* Intervals of several runtimes at once; cause: those with it, 0: those of that kind. */
static const struct {
	const char *name, *kind, *description;
	uint8_t cause;
} joined[] = {
	{"request", "request", "requests that a server answers", 0},
	{"http_request", "http_request", "HTTP requests that it makes", 0},
	{"locks", NULL, "waits for locks, of any runtime", TAPIR_CAUSE_LOCK},
};

#define JOINED_CNT (sizeof(joined) / sizeof(*joined))

static bool has_pair(const struct tapir_lore *lore, const struct tapir_pair *pair)
{
	return pair >= lore->pairs.pairs && pair < lore->pairs.pairs + lore->pairs.cnt;
}

/* "postgresql", "dotnet". */
static const char *runtime_of(const struct tapir_pair *pair)
{
	tapir_lore_for_each (lore)
		if (lore->pairs.cnt && has_pair(lore, pair))
			return lore->short_name ? lore->short_name : lore->providers[0];
	return pair->provider;
}

static bool is_joined_name(const struct tapir_pair *pair, const char *name)
{
	const char *runtime = runtime_of(pair);
	size_t len = strlen(runtime);

	for (size_t i = 0; i < JOINED_CNT; i++)
		if (!strcmp(joined[i].name, name))
			return joined[i].cause ? pair->cause == joined[i].cause
					       : !strcmp(pair->kind, joined[i].kind);
	return !strncmp(name, runtime, len) && name[len] == ':' &&
	       !strcmp(name + len + 1, pair->kind);
}

bool tapir_interval_name__is_known(const char *name)
{
	const struct tapir_pair *p;

	for (size_t i = 0; (p = tapir_lore__pair(i)); i++)
		if (is_joined_name(p, name))
			return true;
	return false;
}

bool tapir_interval_name__means(const char *name, const struct tapir_interval_kind *kind)
{
	const struct tapir_pair *p;

	if (!tapir_interval_name__is_known(name))
		return tapir_interval_kind__is_called(kind, name);
	for (size_t i = 0; (p = tapir_lore__pair(i)); i++)
		if (!strcmp(p->provider, kind->provider) && !strcmp(p->kind, kind->name) &&
		    is_joined_name(p, name))
			return true;
	return false;
}

int tapir_interval_specs__add(struct tapir_interval_specs *out, const char *spec)
{
	char *copy = strdup(spec);

	if (copy && tapir_vec__push(out, copy))
		return 0;
	free(copy);
	return -ENOMEM;
}

static bool is_of_profile(const struct tapir_pair *pair)
{
	return !strncmp(pair->begin, "Activity", 8);
}

/*
 * DiagnosticSource says of the same requests what EventSources of .NET do. Its pairs have a key:
 * an EventSource's events have no activity id unless the ids of tasks flow, and a request that
 * continues on another thread would then have no end.
 */
static bool is_in_profile_too(const struct tapir_pair *pair)
{
	const struct tapir_pair *p;

	for (size_t i = 0; (p = tapir_lore__pair(i)); i++)
		if (is_of_profile(p) && !strcmp(p->kind, pair->kind) &&
		    runtime_of(p) == runtime_of(pair))
			return !is_of_profile(pair);
	return false;
}

/* Events of DiagnosticSource are named by its filter, so the SPECs are those of the profile. */
static int add_profile(const struct tapir_pair *pair, struct tapir_interval_specs *out)
{
	tapir_lore_for_each (lore) {
		const char *const *spec = lore->specs[TAPIR_PROFILE_ID_REQUESTS];

		if (!has_pair(lore, pair))
			continue;
		for (; spec && *spec; spec++)
			if (tapir_interval_specs__add(out, *spec))
				return -ENOMEM;
	}
	return 0;
}

static int add_events(const struct tapir_pair *pair, struct tapir_interval_specs *out)
{
	const struct tapir_pair_more *more = tapir_lore__pair_more(pair);
	struct tapir_str spec = {};
	int err;

	tapir_str__addf(&spec, "%s:ev=%s", pair->provider, pair->begin);
	for (int i = 0; i < 2; i++) {
		const char *words = i ? (more ? more->aborted_by : NULL) : pair->end;

		for (size_t len; words && *words; words += len + (words[len] == '|')) {
			len = strcspn(words, "|");
			tapir_str__addf(&spec, ",ev=%.*s", (int)len, words);
		}
	}
	err = spec.failed ? -ENOMEM : tapir_interval_specs__add(out, spec.data);
	tapir_str__fini(&spec);
	return err;
}

int tapir_interval_name__add_specs(const char *name, struct tapir_interval_specs *out)
{
	const struct tapir_pair *p;
	bool has_profile = false;
	int err = 0;

	for (size_t i = 0; !err && (p = tapir_lore__pair(i)); i++) {
		if (!is_joined_name(p, name) || is_in_profile_too(p) ||
		    (is_of_profile(p) && has_profile))
			continue;
		has_profile |= is_of_profile(p);
		err = is_of_profile(p) ? add_profile(p, out) : add_events(p, out);
	}
	return err;
}

int tapir_pair_text__add_specs(const char *text, struct tapir_interval_specs *out)
{
	for (int end = 0; end < 2; end++) {
		size_t len = tapir_expression__part_len(text, ',');
		bool is_spec = memchr(text, ':', len);
		char *copy = is_spec ? strndup(text, len) : NULL;

		if (is_spec && (!copy || !tapir_vec__push(out, copy))) {
			free(copy);
			return -ENOMEM;
		}
		text += len + (text[len] == ',');
	}
	return 0;
}

void tapir_interval_names__add_list(struct tapir_str *out)
{
	const struct tapir_pair *p;

	for (size_t i = 0; (p = tapir_lore__pair(i)); i++) {
		size_t from = out->len;

		tapir_str__addf(out, "  %s:%s", runtime_of(p), p->kind);
		tapir_str__pad(out, from, NAME_COLUMNS);
		tapir_str__addf(out, " from %s\n", p->begin);
	}
	for (size_t i = 0; i < JOINED_CNT; i++) {
		size_t from = out->len;

		tapir_str__addf(out, "  %s", joined[i].name);
		tapir_str__pad(out, from, NAME_COLUMNS);
		tapir_str__addf(out, " %s\n", joined[i].description);
	}
}
