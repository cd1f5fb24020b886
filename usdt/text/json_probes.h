/* SPDX-License-Identifier: MIT */
/*
 * json_probes.h - events as JSON, by one static probe for each level, the same in libtapir and in
 * libtapir-coreclr but for the provider's name:
 *
 *	PROVIDER:LEVEL(char *provider, char *event, char *json, u32 json_bytes, u32 id,
 *		u64 keywords, u32 version, void *activity, void *related)
 *
 * LEVEL is logalways, critical, error, warning, informational or verbose. activity and related are
 * 16 bytes each, or 0.
 *
 *	JSON_PROBES(tapir_event)	defines them, and json_probes[], for one source file
 *
 * Any thread fires.
 */
#ifndef TAPIR_USDT_JSON_PROBES_H
#define TAPIR_USDT_JSON_PROBES_H

#include <stdint.h>

#include "tapir/usdt.h"

#define JSON_PROBE_LEVELS 6u

struct json_event {
	const char *provider, *name, *json;
	uint32_t json_bytes, id;
	uint64_t keywords;
	uint32_t version;
	uint32_t pad0;
	const uint8_t *activity, *related;
};

struct json_probe {
	const volatile uint16_t *semaphore;
	void (*fire)(const struct json_event *event);
};

/* Functions of their own, never cloned, so that each probe has one site. */
#define JSON_PROBE_(in, level)                                                                     \
	TAPIR_PROBE_DEFINE_SEMAPHORE(in, level);                                                   \
	static __attribute__((noipa)) void fire_##level(const struct json_event *e)                \
	{                                                                                          \
		TAPIR_PROBE_SEM(in, level, e->provider, e->name, e->json, e->json_bytes, e->id,    \
				e->keywords, e->version, (const void *)e->activity,                \
				(const void *)e->related);                                         \
	}

#define JSON_PROBES(in)                                                                            \
	JSON_PROBE_(in, logalways)                                                                 \
	JSON_PROBE_(in, critical)                                                                  \
	JSON_PROBE_(in, error)                                                                     \
	JSON_PROBE_(in, warning)                                                                   \
	JSON_PROBE_(in, informational)                                                             \
	JSON_PROBE_(in, verbose)                                                                   \
	static const struct json_probe json_probes[JSON_PROBE_LEVELS] = {                          \
		{&TAPIR_USDT_SEMAPHORE(in, logalways), fire_logalways},                            \
		{&TAPIR_USDT_SEMAPHORE(in, critical), fire_critical},                              \
		{&TAPIR_USDT_SEMAPHORE(in, error), fire_error},                                    \
		{&TAPIR_USDT_SEMAPHORE(in, warning), fire_warning},                                \
		{&TAPIR_USDT_SEMAPHORE(in, informational), fire_informational},                    \
		{&TAPIR_USDT_SEMAPHORE(in, verbose), fire_verbose},                                \
	}

#endif
