// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A choice becomes one SPEC a provider for its EventCounters, and one for all meters. The metrics
 * session knows instruments by name, meters by name and prefix: what it sends too much is left out
 * by the choice. Its limits (histograms, time series) are left as they are: tools that share a
 * session have to agree on them.
 */
#include "record/counter_choice.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/str.h"
#include "decode/dotnet_counters.h"

#define PART_BYTES    90	  /* a selection has no room for more */
#define EVENTS	      "Event?ou*" /* EventCounters and EventSourceMessage, in one selection */
#define METRICS_BYTES 4096	  /* of all meters together */

static int fail_counter_choice(const char *glob, const char *why)
{
	return tapir_diag__fail(
		-EINVAL,
		"--counters '%.200s': %s; use PROVIDER or PROVIDER/COUNTER, both globs, such as System.Runtime/gc-* (a '/' in a provider's name is written '\\/')",
		glob, why);
}

/* Length up to the first '/' without a '\\' before it. */
static size_t provider_len(const char *glob)
{
	size_t len = 0;

	while (glob[len] && glob[len] != '/')
		len += glob[len] == '\\' && glob[len + 1] ? 2 : 1;
	return len;
}

int tapir_counter_choice__add(struct tapir_counter_choice *choice, const char *glob)
{
	size_t len = provider_len(glob);
	struct tapir_counter_glob one = {};

	if (!len || (glob[len] && !glob[len + 1]))
		return fail_counter_choice(glob, "a name is missing");
	if (strpbrk(glob, ":;,="))
		return fail_counter_choice(glob, "a name cannot contain ':', ';', ',' or '='");
	if (len >= PART_BYTES || strlen(glob + len) > PART_BYTES)
		return fail_counter_choice(glob, "it is too long");
	one.text = strdup(glob);
	one.provider = strndup(glob, len);
	one.counter = strdup(glob[len] ? glob + len + 1 : "*");
	if (one.text && one.provider && one.counter && tapir_vec__push(&choice->globs, one))
		return 0;
	free(one.text);
	free(one.provider);
	free(one.counter);
	return -ENOMEM;
}

void tapir_counter_choice__fini(struct tapir_counter_choice *choice)
{
	struct tapir_counter_glob *glob;

	tapir_vec_for_each (glob, &choice->globs) {
		free(glob->text);
		free(glob->provider);
		free(glob->counter);
	}
	tapir_vec__fini(&choice->globs);
}

int tapir_counter_choice__find(const struct tapir_counter_choice *choice, struct tapir_sv provider,
			       struct tapir_sv counter)
{
	char provider_text[1024], counter_text[1024];

	tapir_sv__copy(provider, provider_text, sizeof(provider_text));
	tapir_sv__copy(counter, counter_text, sizeof(counter_text));
	for (size_t i = 0; i < choice->globs.cnt; i++)
		if (tapir_glob__match(choice->globs.data[i].provider, provider_text) &&
		    tapir_glob__match(choice->globs.data[i].counter, counter_text))
			return (int)i;
	return -1;
}

/* ---- SPECs ---------------------------------------------------------------------------------- */

/* text: a SPEC, whose provider is replaced: names may have blanks and '/', which no SPEC has. */
static int add_spec(struct tapir_spec_list *specs, struct tapir_str *text, const char *provider)
{
	struct tapir_spec *spec = NULL;
	char *name = strdup(provider);
	int err = text->failed || !text->data || !name ? -ENOMEM
						       : tapir_spec__parse(text->data, &spec);

	tapir_str__fini(text);
	if (err) {
		free(name);
		return err;
	}
	free(spec->provider);
	spec->provider = name;
	spec->is_silent = true; /* the counter maker reports globs without values */
	if (tapir_vec__push(specs, spec))
		return 0;
	tapir_spec__free(spec);
	return -ENOMEM;
}

/* Seconds; .NET reads no more digits than it needs. */
static void add_seconds(struct tapir_str *out, uint64_t ns)
{
	tapir_str__addf(out, "%.10g", (double)ns / 1e9);
}

static bool is_repeated(const struct tapir_counter_choice *choice, size_t idx)
{
	for (size_t i = 0; i < idx; i++)
		if (!strcmp(choice->globs.data[i].provider, choice->globs.data[idx].provider))
			return true;
	return false;
}

static int add_sources(const struct tapir_counter_choice *choice, struct tapir_spec_list *specs)
{
	int err = 0;

	for (size_t i = 0; i < choice->globs.cnt && !err; i++) {
		struct tapir_str text = {};

		if (is_repeated(choice, i))
			continue;
		tapir_str__adds(&text, "*:ev=" EVENTS ":Error:EventCounterIntervalSec=");
		add_seconds(&text, choice->interval_ns);
		err = add_spec(specs, &text, choice->globs.data[i].provider);
	}
	return err;
}

static bool is_exact(const struct tapir_counter_glob *glob)
{
	return tapir_glob__is_plain(glob->provider) && tapir_glob__is_plain(glob->counter);
}

static void add_one(struct tapir_str *out, const char *meter, size_t meter_len, const char *rest)
{
	tapir_str__adds(out, out->len ? "," : "");
	tapir_str__add(out, meter, meter_len);
	tapir_str__adds(out, rest);
}

/* "meter\\instrument": counts and bounds of a histogram are named after it. */
static void add_instrument(struct tapir_str *out, const struct tapir_counter_glob *glob)
{
	static const char *const parts[] = {".count", ".sum", ".min", ".max"};
	size_t meter_len = strlen(glob->provider), len = strlen(glob->counter);
	char name[2 * PART_BYTES];

	snprintf(name, sizeof(name), "\\%s", glob->counter);
	add_one(out, glob->provider, meter_len, name);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		size_t part_len = strlen(parts[i]);

		if (len <= part_len || strcmp(glob->counter + len - part_len, parts[i]) != 0)
			continue;
		name[1 + len - part_len] = '\0';
		add_one(out, glob->provider, meter_len, name);
	}
}

/* A name, a prefix with a star, or all meters. */
static void add_meter(struct tapir_str *out, const char *glob)
{
	size_t plain = strcspn(glob, "*?[\\");

	add_one(out, glob, plain, glob[plain] ? "*" : "");
}

/* Returns true if a glob of the choice selects more of this meter than one instrument. */
static bool has_whole_meter(const struct tapir_counter_choice *choice, const char *provider)
{
	const struct tapir_counter_glob *glob;

	tapir_vec_for_each (glob, &choice->globs)
		if (!is_exact(glob) && !strcmp(glob->provider, provider))
			return true;
	return false;
}

/*
 * Without a ClientId: with one, the source counts its users by it, and the end of the EventPipe
 * session that tapir's replaced would end the metrics. Without, it ends when no session enables it.
 */
static int add_meters(const struct tapir_counter_choice *choice, struct tapir_spec_list *specs)
{
	struct tapir_str text = {}, meters = {};

	for (size_t i = 0; i < choice->globs.cnt; i++) {
		const struct tapir_counter_glob *glob = &choice->globs.data[i];

		if (!has_whole_meter(choice, glob->provider))
			add_instrument(&meters, glob);
		else if (!is_repeated(choice, i))
			add_meter(&meters, glob->provider);
	}
	if (meters.len > METRICS_BYTES) {
		tapir_str__clear(&meters);
		tapir_str__addc(&meters, '*');
	}
	tapir_str__adds(&text, TAPIR_DOTNET_METRICS
			":0x2:Informational:SessionId=" TAPIR_COUNTER_SESSION ";RefreshInterval=");
	add_seconds(&text, choice->interval_ns);
	tapir_str__addf(&text, ";Metrics=%s", meters.data ? meters.data : "");
	text.failed |= meters.failed;
	tapir_str__fini(&meters);
	return add_spec(specs, &text, TAPIR_DOTNET_METRICS);
}

int tapir_counter_choice__add_specs(const struct tapir_counter_choice *choice,
				    struct tapir_spec_list *specs)
{
	int err = add_sources(choice, specs);

	return err || !choice->globs.cnt ? err : add_meters(choice, specs);
}
