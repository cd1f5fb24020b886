/* SPDX-License-Identifier: MIT */
/*
 * logger.h - a function of the program's that receives each selected event on the thread that fires
 * it: the way into other tracing systems (LTTng-UST, a log, a flight recorder).
 *
 *	static void log_event(const struct tapir_event_record *record, void *ctx);
 *
 *	const struct tapir_selection all = {"Demo-Shop", NULL, NULL, 0, 0, {0}};
 *	tapir_logger__open(&all, 1, log_event, ctx, NULL, &logger);
 *	...
 *	tapir_logger__close(logger);
 *
 * The function runs wherever events are fired: in signal handlers, in a collection that has stopped
 * all other threads, with the program's locks held. What it may do there is its author's decision;
 * where that is too much, a listener (listener.h) receives the events on a thread of its own. It
 * runs after all other sessions have the event, so that it delays none of them, only the thread.
 *
 * An event that is fired inside a logger's function reaches all sessions but loggers, which count
 * it as lost. So does one for which none of the 64 payload buffers is free (64 threads are inside
 * loggers' functions) and one of more than TAPIR_PAYLOAD_BYTES.
 *
 * LTTNG. tapir_lttng__open loads libtapir-lttng-PROVIDER.so, which is compiled from what
 * tapir-manifest --lttng makes of the provider's manifest, and is linked with lttng-ust; libtapir
 * itself is not. Its events are LTTng's PROVIDER:EVENT with typed fields.
 *
 * USER_EVENTS. tapir_user_events__open registers events with Linux as user_events, for perf,
 * ftrace and BPF programs that read those: user_events:PROVIDER_EVENT (with _Vn for a version
 * other than 0; what is no letter or digit is _). It takes Linux 6.4 with CONFIG_USER_EVENTS, a
 * mounted tracefs and the right to write its user_events_data. A record has the fields in order:
 * numbers; texts as UTF-8 (__rel_loc char[]; of UTF-16 1 KB in a record); everything else as it is
 * in the payload (__rel_loc u8[]). Floating-point numbers are their bits, in a field NAME_bits. An
 * event with more than 32 fields, or with a description of more than 511 bytes, has one field
 * Payload instead. An event is on from TAPIR_POLL_MS after the kernel has enabled it. Where the
 * kernel has no user_events, everything else works and the events are counted as refused.
 *
 * In a forked child the parent's loggers have ended; closing one there frees its memory.
 *
 * Thread safety: tapir_logger__lost any thread, any time. The others any thread, not in a signal
 * handler. C11 and C++11. No privileges; any kernel (provider.h).
 */
#ifndef TAPIR_LOGGER_H
#define TAPIR_LOGGER_H

#include "payload_parts.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tapir_logger;

/* record: borrowed for the call, with its payload and its stack. Must return. */
typedef void (*tapir_logger_fn)(const struct tapir_event_record *record, void *ctx);

#define TAPIR_LOGGER_STACKS (1u << 0) /* records have a stack and its id, by frame pointers */

struct tapir_logger_opts {
	size_t size;	/* sizeof this */
	uint32_t flags; /* TAPIR_LOGGER_* */
	uint32_t pad0;
};

/*
 * Opens one: events that match a selection come from now on. selections are copied; ctx is borrowed
 * until __close. opts may be NULL. 0, or -errno: -EINVAL (no selection or function, opts without
 * their size or with unknown flags), -ENOMEM, -EBUSY (56 sessions are open in the process).
 */
TAPIR_API int tapir_logger__open(const struct tapir_selection *selections, uint32_t cnt,
				 tapir_logger_fn fn, void *ctx,
				 const struct tapir_logger_opts *opts, struct tapir_logger **out);

/*
 * Ends and frees it: fn is not running and will not run. NULL is allowed. 0; -EDEADLK: called from
 * a logger's function, nothing was done; -ETIMEDOUT: fn has been running for 2 s and is still
 * running, so ctx must remain valid: the logger has ended, but its memory is kept.
 */
TAPIR_API int tapir_logger__close(struct tapir_logger *logger);

/* Events that were selected and not handed over, of a provider or (NULL) of all. */
TAPIR_API uint64_t tapir_logger__lost(const struct tapir_logger *logger, const char *provider);

/*
 * The functions of libtapir that a provider's LTTng library, which is not linked with it, uses: its
 * logger's ctx.
 */
struct tapir_lttng_tools {
	size_t size; /* sizeof this */
	uint32_t (*locate)(const struct tapir_event_about *about, const uint8_t *payload,
			   uint32_t bytes, struct tapir_payload_part *parts, uint32_t max);
};

/*
 * Loads libtapir-lttng-PROVIDER.so by the dynamic linker's rules (or from `path`, if that is not
 * NULL) and makes it a logger of the provider's events. It stays loaded. *out is the caller's to
 * close. 0, or -errno: -EINVAL (a name with a slash, a library of another provider), -ENOENT (it
 * cannot be loaded), and what tapir_logger__open returns.
 */
TAPIR_API int tapir_lttng__open(const char *provider, const char *path, struct tapir_logger **out);

struct tapir_user_events;

struct tapir_user_events_counts {
	uint64_t written_cnt;	 /* records */
	uint64_t lost_cnt;	 /* that the kernel did not take, or loggers lost */
	uint32_t registered_cnt; /* events */
	uint32_t refused_cnt;	 /* events that are not registered */
	uint32_t refused_errno;	 /* why the last of them is not; 0: none */
	uint32_t pad0;
};

/*
 * Registers the events that match a selection, those of later providers too. 0 also where the
 * kernel has no user_events. *out is the caller's to close. Errors as of tapir_logger__open.
 */
TAPIR_API int tapir_user_events__open(const struct tapir_selection *selections, uint32_t cnt,
				      struct tapir_user_events **out);
/* Does what tapir_logger__close does. */
TAPIR_API int tapir_user_events__close(struct tapir_user_events *events);
TAPIR_API void tapir_user_events__counts(struct tapir_user_events *events,
					 struct tapir_user_events_counts *out);

#ifdef __cplusplus
}
#endif
#endif /* TAPIR_LOGGER_H */
