/* SPDX-License-Identifier: MIT */
/*
 * counter.h - measured values: written as often as the program likes, published once an interval as
 * the self-describing `EventCounters` events that .NET uses, so that whatever reads those reads
 * these (tapir record, tapir report; dotnet-counters' fields).
 *
 *	static const struct tapir_counter_opts opts = {
 *		.size = sizeof(opts), .type = TAPIR_COUNTER_INCREMENTING, .name = "requests"};
 *
 *	tapir_counter__new(shop, &opts, &requests);
 *	tapir_counter__write(requests, 1);
 *
 * A session asks for values by its filter, EventCounterIntervalSec=N (0.1 to 3600). Its intervals
 * are its own, whatever others ask for: they begin when it asks, and what was written before is in
 * none of them. One that asks for no interval gets no values.
 *
 *	tapir record 'Demo-Shop:ev=EventCounters::EventCounterIntervalSec=1' -p PID
 *
 * An update takes no lock and no atomic operation: each of the first 62 threads that live at a time
 * has a cell of its own in every counter (64 bytes; 4 KiB a counter). Threads beyond those, and a
 * signal handler that interrupts an update, share one cell by compare-and-exchange. Nothing is lost
 * in either. A value written at the very end of an interval may be counted in it or in the next.
 * A value that is not finite, or beyond +-1e150, is left out. Sums are kept as doubles for the
 * counter's life, of differences from its first value: after a value 1e16 times as far from that as
 * the others are, means are not exact, and a deviation within the rounding error is 0.
 *
 * A histogram also has percentiles of each interval. It counts values by their power of two in 16
 * equal parts: a percentile is within 3.2 % of a value that was written, between the least and the
 * greatest. Magnitudes below 2^-32 count as that, above 2^64 as that. It takes up to 12 KiB a
 * thread that writes it, as pages are touched.
 *
 * FROM OUTSIDE. `tapir list -p PID` shows the counters of a process: each has an entry in the ring
 * lane's catalog that no event ever has, with METADATA of format 3: u8 type, u8 0, u16 name_len,
 * u16 display_name_len, u16 unit_len, u16 tags_len, and these texts.
 *
 * WHAT IS PUBLISHED. Provider: the counter's; event EventCounters, level LogAlways, no keywords;
 * one field, Payload, a structure, texts in UTF-16:
 *
 *	mean values	Name, DisplayName, f64 Mean, f64 StandardDeviation, i32 Count, f64 Min,
 *			f64 Max, f32 IntervalSec, Series ("Interval=MS"), CounterType ("Mean"),
 *			Metadata (tags), DisplayUnits; of histograms also f64 P50, f64 P95,
 *			f64 P99
 *	increments	Name, DisplayName, DisplayRateTimeScale, f64 Increment, f32 IntervalSec,
 *			Metadata, Series, CounterType ("Sum"), DisplayUnits
 *
 * Thread safety: tapir_counter__write any thread, any time, signal handlers too, until the counter
 * is freed. The others any thread, not in a signal handler. No lock is held while `poll` runs; it
 * runs on the library's thread (or in tapir_provider__poll). C11 and C++11. No
 * privileges; any kernel (provider.h).
 */
#ifndef TAPIR_COUNTER_H
#define TAPIR_COUNTER_H

#include "listener.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tapir_counter;

enum tapir_counter_type {
	TAPIR_COUNTER_EVENT = 1,	/* a value each time: mean, deviation, min, max */
	TAPIR_COUNTER_INCREMENTING = 2, /* added up: the increment of the interval */
	TAPIR_COUNTER_POLLING = 3,	/* poll() gives a value at each interval's end */
	/* poll() gives a sum: its increment; also polled when a session subscribes */
	TAPIR_COUNTER_INCREMENTING_POLLING = 4,
	TAPIR_COUNTER_HISTOGRAM = 5 /* as EVENT, with percentiles */
};

struct tapir_counter_opts {
	size_t size;   /* sizeof this */
	uint32_t type; /* enum tapir_counter_type */
	uint32_t pad0;
	const char *name;	  /* required. Texts are UTF-8 and copied; NULL: "" */
	const char *display_name; /* NULL or "": the name */
	const char *unit;
	const char *tags; /* "key:value,key:value" */
	double (*poll)(void *ctx);
	void *ctx;
};

/* A counter as it is now, since it was made. */
struct tapir_counter_value {
	const char *provider, *name, *display_name, *unit, *tags; /* borrowed: until it is freed */
	uint32_t type;
	uint32_t pad0;
	uint64_t count; /* updates; 0 for those that are polled */
	double sum, mean, deviation;
	double p50, p95, p99; /* of histograms, else 0 */
};

/*
 * A counter of a provider, which must live longer. 0, -EINVAL, -ENOMEM, and what
 * tapir_provider__new returns.
 */
TAPIR_API int tapir_counter__new(struct tapir_provider *provider,
				 const struct tapir_counter_opts *opts, struct tapir_counter **out);

/* poll is not running and will not run. No thread may write it from now on. NULL is allowed. */
TAPIR_API void tapir_counter__free(struct tapir_counter *counter);

/* A value, or what is added. */
TAPIR_API void tapir_counter__write(struct tapir_counter *counter, double value);

/* Up to max counters of all providers, in the order in which they were made; how many there are. */
TAPIR_API uint32_t tapir_counters__list(struct tapir_counter_value *out, uint32_t max);

/* ---- counters consumed inside the process ----------------------------------------------- */

/* A counter's interval. Texts are borrowed for the call. */
struct tapir_counter_sample {
	const char *provider, *name, *display_name, *unit, *tags;
	uint64_t time_ns;  /* CLOCK_MONOTONIC, of its end */
	double interval_s; /* how long it was */
	double mean, deviation, min, max;
	double increment;
	double p50, p95, p99; /* where has_percentiles */
	uint32_t count;	      /* updates in it */
	uint8_t is_increment; /* 1: increment alone counts; 0: it is 0 */
	uint8_t has_percentiles;
	uint8_t pad0[2];
};

typedef void (*tapir_counter_sample_fn)(const struct tapir_counter_sample *sample, void *ctx);

struct tapir_counter_listener;

/*
 * Counters of the providers that match the glob, each once an interval (0.1 to 3600 s), on a thread
 * of the library's or in __poll, as listener.h has it. opts may be NULL. 0, -EINVAL, and what
 * tapir_listener__open returns. *out is the caller's to close.
 */
TAPIR_API int tapir_counter_listener__open(const char *provider, double interval_s,
					   tapir_counter_sample_fn fn, void *ctx,
					   const struct tapir_listener_opts *opts,
					   struct tapir_counter_listener **out);
/* These do what tapir_listener__poll, __lost and __close do. */
TAPIR_API int tapir_counter_listener__poll(struct tapir_counter_listener *listener);
TAPIR_API uint64_t tapir_counter_listener__lost(const struct tapir_counter_listener *listener);
TAPIR_API int tapir_counter_listener__close(struct tapir_counter_listener *listener);

#ifdef __cplusplus
}
#endif
#endif /* TAPIR_COUNTER_H */
