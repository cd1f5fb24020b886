// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A choice becomes one SPEC a provider for its EventCounters, and one for all meters. The metrics
 * session knows names and prefixes only: what it sends too much is left out by the choice.
 */
#include "dotnet/counter_choice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/str.h"
#include "decode/dotnet_counters.h"

#define PART_BYTES    90	  /* a selection has no room for more */
#define EVENTS	      "Event?ou*" /* EventCounters and EventSourceMessage, in one selection */
#define METRICS_BYTES 160	  /* likewise, of all meters together */

static int refuse(const char *glob, const char *why)
{
	return tapir_diag__fail(
		-EINVAL,
		"--counters '%.200s': %s; use PROVIDER or PROVIDER/COUNTER, both globs, such as System.Runtime/gc-*",
		glob, why);
}

int tapir_counter_choice__add(struct tapir_counter_choice *choice, const char *glob)
{
	size_t len = strcspn(glob, "/");
	struct tapir_counter_glob one = {};

	if (!len || (glob[len] && !glob[len + 1]))
		return refuse(glob, "a name is missing");
	if (strpbrk(glob, ":;,="))
		return refuse(glob, "a name cannot contain ':', ';', ',' or '='");
	if (len >= PART_BYTES || strlen(glob + len) > PART_BYTES)
		return refuse(glob, "it is too long");
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

static int add_spec(struct tapir_spec_list *specs, struct tapir_str *text)
{
	struct tapir_spec *spec = NULL;
	int err = text->failed || !text->data ? -ENOMEM : tapir_spec__parse(text->data, &spec);

	tapir_str__fini(text);
	if (err)
		return err;
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
		tapir_str__adds(&text, choice->globs.data[i].provider);
		tapir_str__adds(&text, ":ev=" EVENTS ":Error:EventCounterIntervalSec=");
		add_seconds(&text, choice->interval_ns);
		err = add_spec(specs, &text);
	}
	return err;
}

/* A name, a prefix with a star, or all meters. */
static void add_meter(struct tapir_str *out, const char *glob)
{
	size_t plain = strcspn(glob, "*?[\\");

	tapir_str__add(out, glob, plain);
	if (glob[plain])
		tapir_str__addc(out, '*');
}

/*
 * Without a ClientId: with one, the source counts its users by it, and the end of the EventPipe
 * session that tapir's replaced would end the metrics. Without, it ends when no session enables it.
 */
static int add_meters(const struct tapir_counter_choice *choice, struct tapir_spec_list *specs)
{
	struct tapir_str text = {}, meters = {};

	for (size_t i = 0; i < choice->globs.cnt; i++) {
		if (is_repeated(choice, i))
			continue;
		tapir_str__adds(&meters, meters.len ? "," : "");
		add_meter(&meters, choice->globs.data[i].provider);
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
	return add_spec(specs, &text);
}

int tapir_counter_choice__add_specs(const struct tapir_counter_choice *choice,
				    struct tapir_spec_list *specs)
{
	int err = add_sources(choice, specs);

	return err || !choice->globs.cnt ? err : add_meters(choice, specs);
}
