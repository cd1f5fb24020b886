/* SPDX-License-Identifier: MIT */
/*
 * dynamic.h - events that a program did not know when it was compiled.
 *
 *	static const struct tapir_event_field fields[] = {
 *		{"Order", NULL, 0, 0, TAPIR_TYPE_U64, TAPIR_REPEAT_NONE, {0, 0}},
 *		{"Customer", NULL, 0, 0, TAPIR_TYPE_UTF8, TAPIR_REPEAT_NONE, {0, 0}}};
 *	struct tapir_event_about about = {"My-Plugin", "OrderPlaced", fields, 0x1, 1, 0,
 *					  TAPIR_INFORMATIONAL, 2, 0, 0, {0}};
 *
 *	tapir_dynamic__new("My-Plugin", NULL, NULL, &plugin);
 *	tapir_event__define(plugin, &about, &placed);
 *	tapir_event__fire(placed, payload, bytes);
 *	tapir_dynamic__free(plugin);
 *
 * A defined event is an event as of provider.h: sessions, keywords, levels, the ring lane, losses.
 * It also is a typed USDT probe with a semaphore of its own, which tapir, bpftrace and perf list
 * and attach one by one: an ELF image in a memfd (named TAPIR_DYNAMIC_IMAGE_NAME and the provider
 * whose event is the first in it), one for each 256 events of all providers, three mappings of the
 * process. Names of providers and events consist of letters, digits, '.', '_' and '-'.
 *
 * The probe's arguments are the first 12 fields: numbers by value, strings, arrays, structures,
 * GUIDs as addresses in the payload. With a payload that ends early the rest is 0.
 *
 * WITHOUT A TYPED PROBE. Where executable memfds are forbidden (vm.memfd_noexec, seccomp, SELinux)
 * a defined event has its sessions as always; to USDT tools it is an occurrence of the JSON probe
 * of its level (below), from TAPIR_POLL_MS after they have attached to that.
 * tapir_dynamic__probe_error says why, and `tapir list -p` reports it.
 *
 * All functions but tapir_event__fire lock and allocate: any thread, not in a signal handler. They
 * print nothing and preserve errno. C11 and C++11. No privileges; any kernel (provider.h).
 */
#ifndef TAPIR_DYNAMIC_H
#define TAPIR_DYNAMIC_H

#include "provider.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TAPIR_DYNAMIC_IMAGE_NAME "tapir-events."

struct tapir_dynamic;

/*
 * A provider without events, to which they are added by tapir_event__define. Arguments and errors
 * as of tapir_provider__new; -EINVAL also for a name with other characters. *out is the caller's
 * to free.
 */
TAPIR_API int tapir_dynamic__new(const char *name, const uint8_t *guid,
				 const struct tapir_provider_opts *opts,
				 struct tapir_dynamic **out);

/*
 * Frees all its events and their memory: no thread may test or fire one afterwards. Tools see the
 * probes, which never fire again, until the last event of the image is freed, or an equal one is
 * defined and reuses the probe of its predecessor. NULL is allowed.
 */
TAPIR_API void tapir_dynamic__free(struct tapir_dynamic *dynamic);

/*
 * Adds an event.
 *
 *	about	copied with its fields and names; about->provider is ignored
 *	out	borrowed until the provider is freed
 *
 * 0, or -errno and nothing changed: -EINVAL (a malformed list of fields, a name with other
 * characters), -ENOMEM, -ENOSPC (TAPIR_MAX_EVENTS).
 */
TAPIR_API int tapir_event__define(struct tapir_dynamic *dynamic,
				  const struct tapir_event_about *about, struct tapir_event **out);

/* 0: each of its events is a typed probe. -errno: the first that is not, for this reason. */
TAPIR_API int tapir_dynamic__probe_error(const struct tapir_dynamic *dynamic);

/* Does what tapir_provider__is_on does, for all events defined so far. */
TAPIR_API int tapir_dynamic__is_on(const struct tapir_dynamic *dynamic, uint8_t level,
				   uint64_t keywords);

/* The probe alone of an event that was defined, for tapir_event__fire. */
TAPIR_API void tapir_event__fire_probe(struct tapir_event *event, const void *payload,
				       size_t bytes);

/*
 * Fires an event that was defined. Any thread, any time; see SAFETY in provider.h. Off: one load
 * and one branch, which a caller that has to make the payload first does by itself:
 * TAPIR_EVENT_ENABLED(*event). tapir_event__emit is the same as a function of the library.
 */
static inline __attribute__((unused)) void tapir_event__fire(struct tapir_event *event,
							     const void *payload, size_t bytes)
{
	if (!TAPIR_EVENT_ENABLED(*event))
		return;
	if (TAPIR_EVENT_PROBED(*event))
		tapir_event__fire_probe(event, payload, bytes);
	if (TAPIR_EVENT_RECORDED(*event))
		tapir_event__write(event, payload, bytes);
}

/*
 * Fires an event whose description is given with it, as TraceLogging does: fields, structures in
 * structures too. The first with a description defines the event, which then is one of
 * tapir_event__define's; later ones with an equal description (the name, id, version, level,
 * keywords and all fields) are occurrences of it. about and payload are read during the call only.
 *
 * 0, or -errno of tapir_event__define. Any thread, not in a signal handler: the first locks and
 * allocates, others compare the description (some 100 ns). Where each name is another one, use
 * tapir_json__fire: events are kept until the provider is freed.
 */
TAPIR_API int tapir_described__fire(struct tapir_dynamic *dynamic,
				    const struct tapir_event_about *about, const void *payload,
				    size_t bytes);

/* ---- events without a type ------------------------------------------------------------- */

/*
 * An event as JSON, for what is too short-lived to be defined: by the static probe of its level,
 *
 *	tapir_event:LEVEL(provider, event, json, json_bytes, id, keywords, version, activity,
 *			  related)
 *
 * with LEVEL logalways, critical, error, warning, informational or verbose; activity and related
 * are the addresses of 16 bytes, or 0; the thread's current activity travels with it, id and
 * version are 0. Events that were defined and have no typed probe come here, too, with their id and
 * version: an object of at most 3.5 KB, which has "tapir_cut":true where fields were left out. USDT
 * tools alone receive it, no session does. Any thread, any time; strings are read during the call
 * only, NULL is "".
 */
TAPIR_API void tapir_json__fire(const char *provider, const char *event, uint8_t level,
				uint64_t keywords, const char *json);
/* 1: some tool is attached to the probe of that level. For code that makes the JSON only then. */
TAPIR_API int tapir_json__is_on(uint8_t level);

#ifdef __cplusplus
}
#endif
#endif /* TAPIR_DYNAMIC_H */
