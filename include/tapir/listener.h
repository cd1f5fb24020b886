/* SPDX-License-Identifier: MIT */
/*
 * listener.h - events consumed inside the process that fires them.
 *
 *	static void seen(const struct tapir_event_record *record, void *ctx);
 *
 *	const struct tapir_selection all = {"Demo-Shop", NULL, NULL, 0, 0, {0}};
 *	tapir_listener__open(&all, 1, seen, ctx, NULL, &listener);
 *	...
 *	tapir_listener__close(listener);
 *
 * The thread that fires never blocks, allocates, takes a lock or runs the consumer's code: it
 * copies the event into one of 16 buffers of the listener (chosen by thread, so that few threads
 * share one) and continues. So an event may be fired while a collector has stopped all other
 * threads, or in a signal handler. A buffer that is full loses the event for this listener, counted
 * by provider; other sessions get it.
 *
 * Events arrive on a thread of the library, or in tapir_listener__poll, ordered by time across
 * threads: what is delivered in one round is older than the moment at which the round began, and
 * any event older than that was in a buffer by then (its time is taken after its place in the
 * buffer). Only a thread that was stopped for more than 5 ms in the middle of writing an event
 * comes late, and is delivered out of order then.
 *
 * In a forked child the parent's listeners have ended; closing one there frees its memory.
 *
 * Thread safety: tapir_listener__lost any thread, any time. The others any thread, not in a signal
 * handler. C11 and C++11. No privileges; any kernel (provider.h).
 */
#ifndef TAPIR_LISTENER_H
#define TAPIR_LISTENER_H

#include "provider.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tapir_listener;

/* record: borrowed for the call. May fire events and open or close other listeners. */
typedef void (*tapir_listener_fn)(const struct tapir_event_record *record, void *ctx);

#define TAPIR_LISTENER_POLLED (1u << 0) /* no thread: tapir_listener__poll */

struct tapir_listener_opts {
	size_t size; /* sizeof this */
	/*
	 * The size of each of the 16 buffers; a power of two, 4 KiB to 64 MiB; 0: 64 KiB. An event
	 * takes 40 to 72 bytes and its payload, rounded up to 8; one that takes more than half a
	 * buffer is lost: with 256 KiB none does. Pages are used as events come.
	 */
	uint32_t buffer_bytes;
	uint32_t interval_ms; /* between two rounds of the thread: 1 to 10000; 0: 10 */
	uint32_t flags;	      /* TAPIR_LISTENER_* */
	uint32_t pad0;
};

/*
 * Opens one: events that match a selection come from now on. selections are copied; ctx is borrowed
 * until __close. 0, or -errno: -EINVAL (no selection or function, opts out of
 * their range or with unknown flags), -ENOMEM, -EBUSY (56 sessions are open in the process),
 * -EAGAIN (no thread can be started).
 */
TAPIR_API int tapir_listener__open(const struct tapir_selection *selections, uint32_t cnt,
				   tapir_listener_fn fn, void *ctx,
				   const struct tapir_listener_opts *opts,
				   struct tapir_listener **out);

/*
 * POLLED: delivers what has come, in this thread; the number of events. -EBUSY: another thread is
 * at it, or this one, in the callback. -EINVAL: the listener has a thread.
 */
TAPIR_API int tapir_listener__poll(struct tapir_listener *listener);

/*
 * Delivers what was fired before the call, ends the listener and frees it: fn is not running and
 * will not run. NULL is allowed. 0; -EDEADLK: called from its own callback, nothing was done.
 */
TAPIR_API int tapir_listener__close(struct tapir_listener *listener);

/* Events that were selected and not delivered, of a provider or (NULL) of all. */
TAPIR_API uint64_t tapir_listener__lost(const struct tapir_listener *listener,
					const char *provider);

#ifdef __cplusplus
}
#endif
#endif /* TAPIR_LISTENER_H */
