/* SPDX-License-Identifier: MIT */
/*
 * json_probe.c - events as JSON, by one static probe for each level:
 *
 *	tapir_event:LEVEL(char *provider, char *event, char *json, u32 json_bytes, u64 keywords)
 *
 * LEVEL is logalways, critical, error, warning, informational or verbose.
 */
#include <string.h>

#include "tapir/dynamic.h"

TAPIR_PROBE_DEFINE_SEMAPHORE(tapir_event, logalways);
TAPIR_PROBE_DEFINE_SEMAPHORE(tapir_event, critical);
TAPIR_PROBE_DEFINE_SEMAPHORE(tapir_event, error);
TAPIR_PROBE_DEFINE_SEMAPHORE(tapir_event, warning);
TAPIR_PROBE_DEFINE_SEMAPHORE(tapir_event, informational);
TAPIR_PROBE_DEFINE_SEMAPHORE(tapir_event, verbose);

/* Functions of their own, so that each probe has one site. */
#define JSON_PROBE(level)                                                                          \
	static __attribute__((noipa)) void fire_##level(const char *provider, const char *event,   \
							const char *json, uint32_t bytes,          \
							uint64_t keywords)                         \
	{                                                                                          \
		TAPIR_PROBE_SEM(tapir_event, level, provider, event, json, bytes, keywords);       \
	}

JSON_PROBE(logalways)
JSON_PROBE(critical)
JSON_PROBE(error)
JSON_PROBE(warning)
JSON_PROBE(informational)
JSON_PROBE(verbose)

static const struct {
	const volatile uint16_t *semaphore;
	void (*fire)(const char *provider, const char *event, const char *json, uint32_t bytes,
		     uint64_t keywords);
} probes[TAPIR_VERBOSE + 1] = {
	{&TAPIR_USDT_SEMAPHORE(tapir_event, logalways), fire_logalways},
	{&TAPIR_USDT_SEMAPHORE(tapir_event, critical), fire_critical},
	{&TAPIR_USDT_SEMAPHORE(tapir_event, error), fire_error},
	{&TAPIR_USDT_SEMAPHORE(tapir_event, warning), fire_warning},
	{&TAPIR_USDT_SEMAPHORE(tapir_event, informational), fire_informational},
	{&TAPIR_USDT_SEMAPHORE(tapir_event, verbose), fire_verbose},
};

int tapir_json__is_on(uint8_t level)
{
	return level <= TAPIR_VERBOSE && *probes[level].semaphore;
}

void tapir_json__fire(const char *provider, const char *event, uint8_t level, uint64_t keywords,
		      const char *json)
{
	if (tapir_json__is_on(level))
		probes[level].fire(provider ? provider : "", event ? event : "", json ? json : "",
				   json ? (uint32_t)strlen(json) : 0, keywords);
}
