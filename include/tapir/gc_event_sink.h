/* SPDX-License-Identifier: MIT */
/*
 * gc_event_sink.h - events of a garbage collector that may not link the runtime: everything goes
 * through two tables of functions. The collector includes this header and links nothing of tapir's;
 * the runtime links libtapir.
 *
 * COLLECTOR. It keeps a struct tapir_gc_status, which the runtime sets through control_events and
 * control_private_events; a query reads that, and crosses no interface:
 *
 *	if (tapir_gc_status__is_on(&status, TAPIR_GC_DEFAULT, KEYWORD_GC, TAPIR_INFORMATIONAL))
 *		sink->gc_start(sink, count, depth, reason, type);
 *
 * The runtime adds what a collector cannot know (its instance, names of types, a client's sequence
 * number). An event that the runtime never heard of is described by the collector:
 *
 *	#define SWEPT(X) X(U64, Bytes) X(U32, Objects) X(UTF8, Phase)
 *	TAPIR_GC_EVENT(Swept, TAPIR_GC_DEFAULT, TAPIR_INFORMATIONAL, KEYWORD_GC, SWEPT)
 *	...
 *	Swept_fire(sink, bytes, objects, "sweep");
 *
 * and listed in struct tapir_gc_collector: it is a typed event of the runtime's provider, which
 * tools show with its fields. One that is not listed arrives as GCDynamicEvent(Name, DataSize,
 * Data). The functions of a sink work in any thread, also while the world is stopped: they lock
 * and allocate nothing and call no code of the program.
 *
 * RUNTIME. tapir_gc_host__new makes its two providers, tapir_gc_host__attach takes a collector's
 * table. Enablement is the union of all sessions and of the semaphores of all events, the
 * collector's own included; the library's thread notifies the collector within TAPIR_POLL_MS.
 *
 * C11 and C++11, GNU extensions as in provider.h. No privileges; any kernel (there, too).
 */
#ifndef TAPIR_GC_EVENT_SINK_H
#define TAPIR_GC_EVENT_SINK_H

#include "provider.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TAPIR_GC_SINK_VERSION  1u
#define TAPIR_GC_PAYLOAD_BYTES 2048u /* of an event of the collector's own */
#define TAPIR_GC_OFF	       (-1)

enum tapir_gc_provider { TAPIR_GC_DEFAULT, TAPIR_GC_PRIVATE, TAPIR_GC_PROVIDER_CNT };

/* ---- enablement, on the collector's side ------------------------------------------------ */

/* All zero: off. */
struct tapir_gc_status {
	uint64_t keywords[TAPIR_GC_PROVIDER_CNT];
	uint32_t levels[TAPIR_GC_PROVIDER_CNT]; /* highest level that is on, plus 1; 0: off */
};

/* The body of control_events and control_private_events. */
static inline __attribute__((unused)) void tapir_gc_status__set(struct tapir_gc_status *status,
								enum tapir_gc_provider provider,
								uint64_t keywords, int level)
{
	__atomic_store_n(&status->levels[provider], 0u, __ATOMIC_RELAXED);
	__atomic_store_n(&status->keywords[provider], keywords, __ATOMIC_RELEASE);
	__atomic_store_n(&status->levels[provider], (uint32_t)(level + 1), __ATOMIC_RELEASE);
}

/* 1: an event with one of these keywords (0: with none) and that level is wanted. Any thread. */
static inline __attribute__((unused)) int
tapir_gc_status__is_on(const struct tapir_gc_status *status, enum tapir_gc_provider provider,
		       uint64_t keywords, uint32_t level)
{
	if (__builtin_expect(__atomic_load_n(&status->levels[provider], __ATOMIC_RELAXED) <= level,
			     1))
		return 0;
	return !keywords ||
	       (__atomic_load_n(&status->keywords[provider], __ATOMIC_RELAXED) & keywords);
}

/* ---- what a collector gives the runtime ------------------------------------------------- */

/* An event that the runtime does not know. Static storage. */
struct tapir_gc_event {
	const char *name; /* letters, digits, '.', '_', '-' */
	const struct tapir_event_field *fields;
	uint64_t keywords;
	uint32_t provider; /* enum tapir_gc_provider */
	uint16_t field_cnt;
	uint8_t level;
	uint8_t pad0;
};

/* Borrowed until the host is freed. */
struct tapir_gc_collector {
	uint32_t size;	  /* sizeof this */
	uint32_t version; /* TAPIR_GC_SINK_VERSION */
	void *ctx;	  /* for the two functions */
	/* level: TAPIR_GC_OFF or the highest that is wanted; keywords: all that are wanted */
	void (*control_events)(void *ctx, uint64_t keywords, int level);
	void (*control_private_events)(void *ctx, uint64_t keywords, int level);
	const struct tapir_gc_event *const *events;
	uint64_t event_cnt;
};

/* ---- what the runtime gives a collector ------------------------------------------------- */

struct tapir_gc_heap_stats {
	uint64_t generation_bytes[5], promoted_bytes[5]; /* 0, 1, 2, large, pinned */
	uint64_t finalization_bytes, finalization_cnt;
	uint32_t pinned_cnt, sync_block_cnt, handle_cnt;
	uint32_t pad0;
};

/* All functions are there, whatever the runtime does in them. */
struct tapir_gc_sink {
	uint32_t size;	  /* sizeof this, as the runtime was compiled */
	uint32_t version; /* TAPIR_GC_SINK_VERSION */
	void *runtime;
	void (*gc_start)(const struct tapir_gc_sink *sink, uint32_t count, uint32_t depth,
			 uint32_t reason, uint32_t type);
	void (*gc_end)(const struct tapir_gc_sink *sink, uint32_t count, uint32_t depth);
	void (*gc_triggered)(const struct tapir_gc_sink *sink, uint32_t reason);
	void (*gc_mark_with_type)(const struct tapir_gc_sink *sink, uint32_t heap, uint32_t type,
				  uint64_t bytes);
	void (*gc_generation_range)(const struct tapir_gc_sink *sink, uint8_t generation,
				    const void *start, uint64_t used_bytes,
				    uint64_t reserved_bytes);
	void (*gc_heap_stats)(const struct tapir_gc_sink *sink,
			      const struct tapir_gc_heap_stats *stats);
	void (*gc_create_segment)(const struct tapir_gc_sink *sink, const void *at, uint64_t bytes,
				  uint32_t type);
	void (*gc_free_segment)(const struct tapir_gc_sink *sink, const void *at);
	/* type: the runtime's own pointer to the type of the object */
	void (*gc_allocation_tick)(const struct tapir_gc_sink *sink, uint64_t bytes, uint32_t kind,
				   uint32_t heap, const void *object, const void *type);
	void (*pin_object)(const struct tapir_gc_sink *sink, const void *object,
			   const void *const *slot);
	void (*set_handle)(const struct tapir_gc_sink *sink, const void *handle, const void *object,
			   uint32_t kind, uint32_t generation);
	void (*destroy_handle)(const struct tapir_gc_sink *sink, const void *handle);
	/* payload: packed as provider.h says, by the fields of the event with that name */
	void (*fire_dynamic_event)(const struct tapir_gc_sink *sink, const char *name,
				   const void *payload, uint32_t bytes);
};

/* ---- events of the collector's own ------------------------------------------------------ */

#define TAPIR_GC_PARAM_(type, name) , TAPIR_EV_C_##type name

/*
 * TAPIR_GC_EVENT(symbol, provider, level, keywords, list): defines struct tapir_gc_event
 * symbol_event and symbol_fire(sink, fields...). list(X) is X(TYPE, Name) for each field, with the
 * types of TAPIR_EVENT; lists can be made of lists. An event larger than TAPIR_GC_PAYLOAD_BYTES is
 * cut to nothing: its payload is left out, and tools show its fields as missing. At file scope.
 */
#define TAPIR_GC_EVENT(symbol, provider, level, keywords, list)                                    \
	static const struct tapir_event_field symbol##_fields[] = {                                \
		list(TAPIR_EV_ROW_){NULL, NULL, 0, 0, 0, 0, {0, 0}}};                              \
	static const struct tapir_gc_event symbol##_event = {                                      \
		#symbol,                                                                           \
		symbol##_fields,                                                                   \
		keywords,                                                                          \
		provider,                                                                          \
		(uint16_t)(sizeof(symbol##_fields) / sizeof(symbol##_fields[0]) - 1),              \
		level,                                                                             \
		0};                                                                                \
	static inline __attribute__((unused)) void symbol##_fire(                                  \
		const struct tapir_gc_sink *tapir_sink_ list(TAPIR_GC_PARAM_))                     \
	{                                                                                          \
		uint8_t tapir_room_[TAPIR_GC_PAYLOAD_BYTES], *tapir_at_ = tapir_room_;             \
		list(TAPIR_EV_LEN_) const size_t tapir_bytes_ = 0 list(TAPIR_EV_SIZE_);            \
		if (tapir_bytes_ <= sizeof(tapir_room_)) {                                         \
			list(TAPIR_EV_PUT_)                                                        \
		}                                                                                  \
		tapir_sink_->fire_dynamic_event(tapir_sink_, symbol##_event.name, tapir_room_,     \
						(uint32_t)(tapir_at_ - tapir_room_));              \
	}                                                                                          \
	typedef int symbol##_is_a_gc_event

/* ---- the runtime's side, in libtapir ---------------------------------------------------- */

struct tapir_gc_host;

struct tapir_gc_host_opts {
	size_t size; /* sizeof this */
	/* Names and events by provider: as of tapir_dynamic__new and tapir_provider__new */
	const char *names[TAPIR_GC_PROVIDER_CNT];
	const uint8_t *guids[TAPIR_GC_PROVIDER_CNT];
	struct tapir_event *const *events[TAPIR_GC_PROVIDER_CNT];
	uint32_t event_cnts[TAPIR_GC_PROVIDER_CNT];
};

/* The two providers of a runtime. 0, or -errno of tapir_provider__new and tapir_dynamic__new. */
TAPIR_API int tapir_gc_host__new(const struct tapir_gc_host_opts *opts, struct tapir_gc_host **out);

/*
 * Defines the collector's own events and notifies it of their enablement, now and whenever it
 * changes. Once per host. 0, or -errno of tapir_event__define; -EINVAL: another version, or a
 * second collector. Not while the world is stopped.
 */
TAPIR_API int tapir_gc_host__attach(struct tapir_gc_host *host,
				    const struct tapir_gc_collector *collector);

/* For a sink's fire_dynamic_event: any thread, any time, after __attach. */
TAPIR_API void tapir_gc_host__fire_dynamic(struct tapir_gc_host *host, const char *name,
					   const void *payload, uint32_t bytes);

/*
 * The collector is notified that all events are off. No thread may fire an event from now on. NULL
 * is allowed.
 */
TAPIR_API void tapir_gc_host__free(struct tapir_gc_host *host);

#ifdef __cplusplus
}
#endif
#endif /* TAPIR_GC_EVENT_SINK_H */
