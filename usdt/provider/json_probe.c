/* SPDX-License-Identifier: MIT */
/*
 * json_probe.c - events as JSON, by the static probes tapir_event:LEVEL (../text/json_probes.h). In
 * a file of its own: a program without such events does not link the probes, so that tools do not
 * list them.
 */
#include <string.h>

#include "../text/json_probes.h"
#include "dynamic_impl.h"
#include "provider_impl.h"
#include "tapir/activity.h"

JSON_PROBES(tapir_event);

_Static_assert(TAPIR_VERBOSE + 1 == JSON_PROBE_LEVELS, "levels");

int tapir_json__is_on(uint8_t level)
{
	return level <= TAPIR_VERBOSE && *json_probes[level].semaphore;
}

void tapir_json__fire(const char *provider, const char *event, uint8_t level, uint64_t keywords,
		      const char *json)
{
	if (!tapir_json__is_on(level))
		return;
	json_probes[level].fire(&(struct json_event){
		.provider = provider ? provider : "",
		.name = event ? event : "",
		.json = json ? json : "",
		.json_bytes = json ? (uint32_t)strlen(json) : 0,
		.keywords = keywords,
		.activity = tapir_activity__current(),
	});
}

void dynamic_json__fire(const struct tapir_event *event, const char *json, uint32_t bytes)
{
	const struct tapir_event_about *about = event->about;
	struct json_event e = {
		.provider = about->provider,
		.name = about->name,
		.json = json,
		.json_bytes = bytes,
		.id = about->id,
		.keywords = about->keywords,
		.version = about->version,
	};

	if (!tapir_json__is_on(about->level))
		return;
	provider_activity__of(event, &e.activity, &e.related);
	json_probes[about->level].fire(&e);
}
