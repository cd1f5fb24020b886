/* SPDX-License-Identifier: MIT */
/*
 * provider.h - events of a program that links libtapir: providers with keywords and levels, seen at
 * once by any USDT tool (each event is a typed probe with a semaphore), by tapir through the ring
 * lane (no trap), and by consumers inside the process.
 *
 *	TAPIR_EVENT(OrderPlaced, "Demo-Shop", "OrderPlaced", 1, 0, TAPIR_INFORMATIONAL, 0x1,
 *		    (U64, Order), (UTF8, Customer), (F64, Total));
 *
 *	static struct tapir_event *const events[] = {&OrderPlaced};
 *
 *	tapir_provider__new("Demo-Shop", NULL, events, 1, NULL, &shop);
 *	TAPIR_FIRE(OrderPlaced, order->id, order->customer, order->total);
 *	tapir_provider__free(shop);
 *
 * ENABLED. TAPIR_EVENT_ENABLED() is one load and one branch: the USDT semaphore (u16, counted by
 * the kernel in steps of 1) and "a session wants it" (u16, written by the library alone) share an
 * aligned 32-bit word, so that either makes it true. The word is in a writable, privately mapped
 * part of an ELF file, since the kernel accepts a semaphore nowhere else.
 *
 * THE SESSIONS' HALF. Tracers of the ring lane write interest words in memory that they
 * share with the process (ring.h). One thread of the library, named "tapir", waits there
 * (FUTEX_WAIT on `generation`), copies what they ask for into the words of events, runs the
 * callbacks of providers, and then stores `applied`: what fires later is missed by no session that
 * was open. Semaphores are polled every TAPIR_POLL_MS for callbacks only; firing needs no poll.
 *
 * FORK. A child has no such thread. pthread_atfork marks each event TAPIR_SESSIONS_CHECK: it then
 * reads the shared words itself, 2 ns instead of 0.3, and its first event creates a ring lane for
 * the child; the kernel raises semaphores there as everywhere. So no event is missed; but no
 * callback comes and no counter is published until tapir_provider__poll, or any function below that
 * opens or closes something, starts the child's thread, which ends the checking, too. Firing starts
 * no thread, unless a provider sets TAPIR_PROVIDER_CHILD_THREAD: then an event of the child does so
 * where something is polled (a callback, counters), the first one that is certainly fired outside
 * signal handlers: no signal is blocked and no handler is installed with SA_NODEFER. That event
 * alone calls pthread_create, so a program that fires inside its malloc leaves the flag out. Events
 * are marked in the same way where the thread cannot be started.
 *
 * PAYLOAD. Packed, little-endian, in the order of the fields, byte by byte EventPipe's EventData
 * of the same manifest event:
 *
 *	U8..I64, F32, F64	as they are; CHAR16 2 bytes
 *	PTR			8 bytes
 *	BOOL			4 bytes, 0 or 1 (BOOL8: 1 byte, of self-describing events)
 *	FILETIME		8 bytes, 100 ns since 1601; SYSTEMTIME 16
 *	GUID			16 bytes, as on the wire: u32, u16, u16, 8 bytes
 *	UTF16, UTF8		NUL-terminated; a NULL pointer is written as an empty string
 *	array			u16 count, then the elements (TAPIR_REPEAT_COUNT_U16), or as often
 *				as an earlier field says (_COUNT_FIELD), or a fixed number of times
 *	STRUCT			its members, packed
 *
 * The serializer runs once whatever the number of sessions: tapir_event__begin gives room in the
 * first session's own buffer, tapir_event__commit copies from there to the others. At most
 * TAPIR_PAYLOAD_BYTES; a larger event is refused and counted for each session.
 *
 * WHAT IS PUBLISHED, for readers of the protocol (sources: include/tapir/{usdt,ring,abi}.h,
 * systemtap's <sys/sdt.h> note format, .NET's EventPipe format):
 *
 *	.note.stapsdt	provider, name, operands of the arguments; semaphore: &event.word
 *	.note.tapir	type 1: kinds and names of the arguments (usdt.h)
 *	.note.tapir	type 2: u64 site, u64 keywords, u16 id, u8 version, u8 level, u32 0
 *	.note.tapir	type 3, of TAPIR_EVENT with less than 12 fields: u64 site, and an operand as
 *			of .note.stapsdt: which sessions of the ring lane have taken this very event
 *			before the site was reached, a bit each, added to the address of their ctl
 *			(ring.h); 0: none
 *	ring lane	PROBE (encoding PACKED, no fields), METADATA of format 2:
 *			u16 field_cnt, u8 opcode, u8 0, u16 task, u16 0, then the fields in order:
 *			u8 type (enum tapir_type), u8 repeat (enum tapir_repeat), u16 count,
 *			u16 member_cnt, u16 name_len, name; members follow their field
 *
 * SAFETY. Firing works in any thread at any time: in signal handlers, before main, after exit
 * began, in the child of fork or vfork. It takes no lock, allocates nothing (but for one
 * event of a forked child with TAPIR_PROVIDER_CHILD_THREAD: FORK), writes no descriptor, preserves
 * errno, and makes no system call but those of ring_writer.h (a thread's first event, a check of
 * tracers each 200 ms). Nothing is ever printed. All other functions lock and allocate: any thread,
 * not in a signal handler, not while writing an event. No lock of the library's is held while a
 * callback of yours runs.
 *
 * dlclose of a library that has providers: free them first. If libtapir.a is linked into that
 * library, then call tapir_library__fini.
 *
 * KERNEL. Every function of the library works on any Linux that runs the program. The ring lane
 * exists from 5.1 on (F_SEAL_FUTURE_WRITE) and is safe where memory runs out from 5.14 on
 * (MADV_POPULATE_WRITE); before, events reach USDT tracers, listeners and loggers. Tracers raise
 * semaphores from 4.20 on (ref_ctr_offset of uprobes). user_events: logger.h.
 *
 * C11 and C++11; x86_64 and aarch64. Link libtapir and -pthread. No privileges.
 */
#ifndef TAPIR_PROVIDER_H
#define TAPIR_PROVIDER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "usdt.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TAPIR_API	    __attribute__((visibility("default")))

#define TAPIR_PAYLOAD_BYTES 65536u
#define TAPIR_POLL_MS	    100
#define TAPIR_SESSION_MAX   64u /* 8 of the ring lane, 56 inside the process */
#define TAPIR_MAX_EVENTS    16384u
#define TAPIR_MAX_FIELDS    255u /* of an event, members of structures counted */

#define TAPIR_LOGALWAYS	    0
#define TAPIR_CRITICAL	    1
#define TAPIR_ERROR	    2
#define TAPIR_WARNING	    3
#define TAPIR_INFORMATIONAL 4
#define TAPIR_VERBOSE	    5

/* ---- what an event is ----------------------------------------------------------------- */

/* Numbers are part of METADATA format 2: append only. */
enum tapir_type {
	TAPIR_TYPE_U8,
	TAPIR_TYPE_I8,
	TAPIR_TYPE_U16,
	TAPIR_TYPE_I16,
	TAPIR_TYPE_U32,
	TAPIR_TYPE_I32,
	TAPIR_TYPE_U64,
	TAPIR_TYPE_I64,
	TAPIR_TYPE_F32,
	TAPIR_TYPE_F64,
	TAPIR_TYPE_PTR,
	TAPIR_TYPE_BOOL,
	TAPIR_TYPE_BOOL8,
	TAPIR_TYPE_CHAR16,
	TAPIR_TYPE_GUID,
	TAPIR_TYPE_FILETIME,
	TAPIR_TYPE_SYSTEMTIME,
	TAPIR_TYPE_DECIMAL,
	TAPIR_TYPE_UTF16,
	TAPIR_TYPE_UTF8,
	TAPIR_TYPE_UTF16N, /* without a NUL: the repetition gives the number of characters */
	TAPIR_TYPE_UTF8N,
	TAPIR_TYPE_BINARY, /* the repetition gives the number of bytes */
	TAPIR_TYPE_STRUCT,
	TAPIR_TYPE_CNT
};

enum tapir_repeat {
	TAPIR_REPEAT_NONE,	  /* one value */
	TAPIR_REPEAT_COUNT_FIXED, /* count times */
	TAPIR_REPEAT_COUNT_FIELD, /* as often as the earlier sibling number `count` says */
	TAPIR_REPEAT_COUNT_U16,	  /* a u16 before the elements */
	TAPIR_REPEAT_COUNT_U32
};

struct tapir_event_field {
	const char *name;
	const struct tapir_event_field *members; /* STRUCT; else NULL */
	uint16_t member_cnt;
	uint16_t count; /* see enum tapir_repeat */
	uint8_t type;	/* enum tapir_type */
	uint8_t repeat; /* enum tapir_repeat */
	uint8_t pad0[2];
};

/* All of it is the caller's and stays until the event's provider is freed. */
struct tapir_event_about {
	const char *provider; /* as the USDT note has it */
	const char *name;
	const struct tapir_event_field *fields;
	uint64_t keywords; /* 0: selected whatever keywords are requested */
	uint16_t id;
	uint8_t version;
	uint8_t level; /* TAPIR_LOGALWAYS to TAPIR_VERBOSE */
	uint16_t field_cnt;
	uint16_t task;
	uint8_t opcode; /* 1 start, 2 stop: see activity.h */
	uint8_t pad0[7];
};

/* The sessions' half of the word; only the library writes it. */
#define TAPIR_SESSIONS_RING    (1u << 0)  /* a tracer of the ring lane */
#define TAPIR_SESSIONS_PROCESS (1u << 1)  /* a listener, a logger */
#define TAPIR_SESSIONS_CHECK   (1u << 15) /* not known: firing looks for itself */

union tapir_event_word {
	struct {
		volatile uint16_t semaphore; /* only the kernel writes it */
		volatile uint16_t sessions;
	} half;
	volatile uint32_t either;
};

/*
 * An event. Static storage in section .probes (TAPIR_EVENT does that), or the data page of an
 * image that the process maps privately. The storage stays while any thread may test or fire it,
 * which may be longer than its provider lives: an event without a provider is off, but for its
 * USDT probe. One event belongs to one provider at a time.
 */
struct tapir_event {
	union tapir_event_word word; /* first: its address is the semaphore's */
	uint32_t flags;		     /* 0 */
	const struct tapir_event_about *about;
	uint64_t private_words[6]; /* the library's; 0 in the beginning */
};

/* ---- providers ------------------------------------------------------------------------ */

struct tapir_provider;

enum tapir_session_kind {
	TAPIR_SESSION_RING = 1, /* tapir, through the ring lane */
	TAPIR_SESSION_USDT =
		2, /* some tool has raised a semaphore; which and how many is not known */
	TAPIR_SESSION_LISTENER = 3, /* listener.h */
	TAPIR_SESSION_LOGGER = 4,   /* logger.h */
};

/* A change of what one session asks of a provider. Borrowed for the call. */
struct tapir_enablement {
	uint32_t size;	  /* sizeof this, as the library was compiled */
	uint32_t kind;	  /* enum tapir_session_kind */
	uint32_t session; /* its number within its kind */
	uint8_t is_on;	  /* 0: it no longer requests the provider */
	uint8_t level;	  /* highest level it asks for; 5 where it asks for all */
	uint8_t pad0[2];
	uint64_t keywords;  /* ~0 where it asks for all */
	const char *filter; /* Key=Value;... of the SPEC; "" without one */
	/* The union of all sessions, semaphores among them, after the change. */
	uint64_t all_keywords;
	uint8_t all_is_on;
	uint8_t all_level;
	uint8_t pad1[6];
};

typedef void (*tapir_enablement_fn)(struct tapir_provider *provider,
				    const struct tapir_enablement *change, void *ctx);

/* Start no thread for it: call tapir_provider__poll. */
#define TAPIR_PROVIDER_NO_THREAD    (1u << 0)
/* Start it in a forked child, too, by an event that is fired there: see FORK. */
#define TAPIR_PROVIDER_CHILD_THREAD (1u << 1)

struct tapir_provider_opts {
	size_t size; /* sizeof this */
	/*
	 * Called from the library's thread when enablement changes, also for the state found at
	 * the beginning, within TAPIR_POLL_MS. NULL: not called. May fire events, open sessions
	 * and make providers; may not free its own provider.
	 */
	tapir_enablement_fn changed;
	void *ctx;
	uint32_t flags; /* TAPIR_PROVIDER_* */
	uint32_t pad0;
};

/*
 * A provider and its events, on from here.
 *
 *	name	copied. What SPECs, sessions and selections call it; the same as in the events'
 *		TAPIR_EVENT, else USDT tools see another name than the ring lane.
 *	guid	16 bytes as on the wire, or NULL; copied
 *	events	the array is read during the call only; the events are borrowed until __free
 *	opts	NULL: none; copied
 *	out	the provider, the caller's to free
 *
 * 0, or -errno and nothing changed: -EINVAL (a name that is empty or longer than 191 bytes, opts
 * without their size or with unknown flags, an event without description, with a wrong field
 * list, in another provider, or of another provider's name by its own description; two events of
 * one id and version that differ in name or fields), -ENOMEM, -ENOSPC (TAPIR_MAX_EVENTS). Without a
 * memfd or address space there is no ring lane and the rest works: tapir_provider__ring_error.
 *
 * The call goes to tapir_provider__create; `part` lists the events of this linked file. The
 * library's function of this name, for programs that were compiled with an earlier header, accepts
 * the last two mistakes and reports each as a warning: tapir_library__warnings.
 */
struct tapir_program_part {
	uint32_t size; /* sizeof this */
	uint32_t pad0;
	struct tapir_event *const *from, *const *to; /* all that TAPIR_EVENT defines in the file */
};

TAPIR_API int tapir_provider__create(const char *name, const uint8_t *guid,
				     struct tapir_event *const *events, uint32_t event_cnt,
				     const struct tapir_provider_opts *opts,
				     const struct tapir_program_part *part,
				     struct tapir_provider **out);

extern struct tapir_event *const __start_tapir_events[] __attribute__((weak, visibility("hidden")));
extern struct tapir_event *const __stop_tapir_events[] __attribute__((weak, visibility("hidden")));

static inline int tapir_provider__new(const char *name, const uint8_t *guid,
				      struct tapir_event *const *events, uint32_t event_cnt,
				      const struct tapir_provider_opts *opts,
				      struct tapir_provider **out)
{
	static const struct tapir_program_part part = {(uint32_t)sizeof(part), 0,
						       __start_tapir_events, __stop_tapir_events};

	return tapir_provider__create(name, guid, events, event_cnt, opts, &part, out);
}

/*
 * Reports mistakes in how the current providers were made that no call has returned as an error, a
 * sentence each: those above of programs that were compiled with an earlier header; an event of
 * TAPIR_EVENT that is in no provider's array, which no session ever receives; two events of
 * one id and version that were defined at run time. Calls fn for each, without a lock, unless it is
 * NULL; returns their number. Any thread, not in a signal handler.
 */
typedef void (*tapir_warning_fn)(const char *text, void *ctx);
TAPIR_API uint32_t tapir_library__warnings(tapir_warning_fn fn, void *ctx);

/*
 * Frees the provider. When this returns its events are off (but for their USDT probes), its
 * callback is not running and will not run. Other threads may fire at the same time and later. NULL
 * is allowed.
 */
TAPIR_API void tapir_provider__free(struct tapir_provider *provider);

/* Borrowed until the provider is freed. Any thread, any time. */
TAPIR_API const char *tapir_provider__name(const struct tapir_provider *provider);

/*
 * Returns 1 if an event of the provider is on whose level is `level` or a more detailed one and
 * which has one of the keywords (0: any event): then work for such events is needed. Exact at any
 * time, semaphores included, since it reads the events themselves (some ns each). Where events
 * check for themselves (FORK) it may be 1 although no session wants them. Any thread, any time,
 * signal handlers too.
 */
TAPIR_API int tapir_provider__is_on(const struct tapir_provider *provider, uint8_t level,
				    uint64_t keywords);

/* 0: all its events are in the ring lane. -errno: the first that is not, for this reason. */
TAPIR_API int tapir_provider__ring_error(const struct tapir_provider *provider);

/*
 * Looks now: interest of sessions, semaphores, callbacks (in this thread). In a forked child, or
 * where the thread could not be started before: starts it. 0, or -errno of pthread_create.
 */
TAPIR_API int tapir_provider__poll(void);

/*
 * Before dlclose of a library that libtapir.a is linked into: no provider, session or counter is
 * left, no thread is firing or will. Ends the thread and the ring lane; takes some 3 ms. Providers
 * can be made again afterwards. -EBUSY: there is a provider left, nothing was done.
 */
TAPIR_API int tapir_library__fini(void);

/* ---- sessions inside the process ------------------------------------------------------ */

/* The events that a session requests. An event is in it if one of its selections has it. */
struct tapir_selection {
	const char *provider; /* a glob: * and ? */
	const char *event;    /* borrowed as well; NULL: all */
	const char *filter;   /* for the provider's callback; NULL: none */
	uint64_t keywords;    /* 0: all. Else an event with keywords must share one */
	uint8_t level;	      /* events of a higher one are left out; 0: all */
	uint8_t pad0[7];
};

/* The description of an event, for consumers. Lives until the consumer's session is closed. */
struct tapir_event_kind {
	const char *provider;
	const struct tapir_event_about *about; /* a copy: the provider may be gone */
	uint8_t guid[16];
	uint8_t has_guid;
	uint8_t pad0[3];
	uint32_t idx; /* a number of its own, from 0 on, while a session is open */
};

/* An event as a consumer gets it. Borrowed for the call. */
struct tapir_event_record {
	const struct tapir_event_kind *kind;
	const uint8_t *payload;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t payload_bytes;
	uint32_t tid;		 /* of the process's pid namespace */
	const uint8_t *activity; /* 16 bytes, or NULL */
	const uint8_t *related;
	/*
	 * The stack, for loggers that request it: the id is that of the ring lane and of tapir's
	 * files.
	 */
	const uint64_t *stack; /* return addresses, innermost first; NULL: none */
	uint64_t stack_id;     /* 0: none */
	uint32_t stack_cnt;
	uint32_t pad0;
};

/* ---- firing --------------------------------------------------------------------------- */

/* 1 or 0. One load, one branch. event: an lvalue, TAPIR_EVENT_ENABLED(OrderPlaced). */
#define TAPIR_EVENT_ENABLED(event)                                                                 \
	__builtin_expect(__atomic_load_n(&(event).word.either, __ATOMIC_RELAXED) != 0, 0)
/* True if a tool is attached to its USDT probe. */
#define TAPIR_EVENT_PROBED(event)                                                                  \
	__builtin_expect(__atomic_load_n(&(event).word.half.semaphore, __ATOMIC_RELAXED) != 0, 0)
/* A session wants its payload. */
#define TAPIR_EVENT_RECORDED(event)                                                                \
	__builtin_expect(__atomic_load_n(&(event).word.half.sessions, __ATOMIC_RELAXED) != 0, 1)

/* An event being written. Uninitialised storage of the caller's. */
struct tapir_event_write {
	uint8_t *payload; /* fill all bytes that were requested, in any order */
	uint64_t private_words[18];
	uint64_t taken; /* set by the library at begin: for note.tapir type 3 */
};

/*
 * Begins an event of `bytes` of payload, and takes its stack if a session wants it: the stack
 * begins in the caller. 1: fill write->payload, then commit; between the two call nothing that may
 * fire an event, and do not leave by longjmp or an exception. 0: no session wants it, or all that
 * did have lost it, counted. Any thread, any time; see SAFETY.
 */
TAPIR_API int tapir_event__begin(struct tapir_event_write *write, struct tapir_event *event,
				 size_t bytes);
TAPIR_API void tapir_event__commit(struct tapir_event_write *write);

/* Both at once, for a payload that is there already. */
TAPIR_API void tapir_event__write(struct tapir_event *event, const void *payload, size_t bytes);

/*
 * For bindings of languages that have no use for macros and inline functions: TAPIR_EVENT_ENABLED
 * as a function, and an event with all it does: its probe, where tapir_event__define (dynamic.h)
 * has made it one, and its sessions. Any thread, any time; see SAFETY.
 */
TAPIR_API int tapir_event__is_on(const struct tapir_event *event);
TAPIR_API void tapir_event__emit(struct tapir_event *event, const void *payload, size_t bytes);

/* A piece of a payload, as EventData of .NET's EventSource: any bytes, also none. */
struct tapir_payload_piece {
	const void *at;
	size_t bytes;
};

/*
 * Does what tapir_event__emit does for a payload in several buffers, which are concatenated. They
 * are read during the call only. The arguments of a probe that was made at run time are those
 * within the first TAPIR_PROBE_PIECES_BYTES of them, later ones are 0.
 */
#define TAPIR_PROBE_PIECES_BYTES 4096u
/* The same with a payload in cnt pieces, which are copied one after the other. */
TAPIR_API void tapir_event__emit_pieces(struct tapir_event *event,
					const struct tapir_payload_piece *pieces, uint32_t cnt);

/* Borrowed elements; at most 65,535 of them are in an event. */
struct tapir_span {
	const void *at;
	size_t cnt;
};

/* For TAPIR_FIRE: tapir_span(text, len). */
static inline struct tapir_span tapir_span(const void *at, size_t cnt)
{
	struct tapir_span span = {at, cnt};

	return span;
}

/* ---- TAPIR_EVENT, TAPIR_FIRE ---------------------------------------------------------- */

/*
 * TAPIR_EVENT(symbol, provider, name, id, version, level, keywords, fields...): defines an event
 * and symbol_fire(), the function that TAPIR_FIRE calls.
 *
 *	symbol		struct tapir_event symbol; one a program, the same definition in a header
 *			is one event in each linked file
 *	provider, name	string literals: visible ASCII without quotes and backslashes
 *	id ... keywords	constants
 *	fields		0 to 12 of (TYPE, Name): U8 I8 U16 I16 U32 I32 U64 I64 F32 F64 PTR BOOL
 *			CHAR16 GUID (const uint8_t *, 16 bytes) FILETIME UTF8 (const char *)
 *			UTF16 (const TAPIR_CHAR16 *)
 *			and, each a struct tapir_span: UTF8N, a text with its length; BINARY,
 *			bytes; U8S I8S U16S I16S U32S I32S U64S I64S F32S F64S, arrays. A probe
 *			has the address of the first element of these.
 *
 * More, or structures: as tapir-manifest writes it, with a struct tapir_event and
 * tapir_event__begin. At file scope. GNU C (the probe is asm, as usdt.h's).
 */
#define TAPIR_EVENT(...) TAPIR_EV_JOIN(TAPIR_EV_DEFINE_, TAPIR_EV_COUNT(__VA_ARGS__))(__VA_ARGS__)

/* The arguments are evaluated only while the event is on. A statement. */
#define TAPIR_FIRE(symbol, ...)                                                                    \
	do {                                                                                       \
		if (TAPIR_EVENT_ENABLED(symbol))                                                   \
			symbol##_fire(__VA_ARGS__);                                                \
	} while (0)

/*
 * TAPIR_EVENT_SITE(cnt, symbol, provider, name, id, version, level, keywords, names, values...):
 * the USDT site alone of an event whose fields do not fit TAPIR_EVENT, with cnt values (0 to 12, a
 * literal) as of TAPIR_PROBE and `names` a literal such as ".asciz \"Count\"\n.asciz \"Types\"\n".
 * In a function, to be reached only while TAPIR_EVENT_PROBED(symbol).
 */

#include "provider_macros.h"

#ifdef __cplusplus
}
#endif
#endif /* TAPIR_PROVIDER_H */
