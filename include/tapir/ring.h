/* SPDX-License-Identifier: MIT */
/*
 * ring.h - the ring lane's protocol: how events leave a process through shared memory, without
 * a trap or a system call. The process side is usdt/ring, the tracer's side user/attach/rings.
 *
 * VERSION 4. Both files start with a magic and TAPIR_RING_VERSION. A tracer that finds another
 * version touches nothing and reports both numbers; every layout change raises the version.
 *
 * The process makes memfds: one named TAPIR_RING_CTL_NAME ("tapir-ctl") and up to
 * TAPIR_RING_ARENAS named TAPIR_RING_DATA_NAME plus their index ("tapir-ring.0"). A tracer finds
 * them among the links of /proc/PID/fd ("/memfd:tapir-ctl (deleted)") or, where the program has
 * closed its descriptors, of /proc/PID/map_files; it opens the link itself (data O_RDONLY, ctl
 * O_RDWR; never by pidfd_getfd, which shares the lock of the life line with the process). Several
 * copies of the library in one process make several ctl: `key` joins a ctl with its data.
 *
 *	data N	written by the process alone. Sealed SHRINK | GROW | SEAL | FUTURE_WRITE
 *		after it was mapped: no other process, root included, can write or truncate it.
 *	ctl	written by tracers; the process writes only its header and takes sessions of dead
 *		tracers out. Sealed SHRINK | GROW | SEAL.
 *
 * THE PROCESS TRUSTS NOTHING in ctl: it masks session bits, bounds strings, and takes a tail only
 * if last tail <= tail <= head. Any content costs events, never the process.
 * A TRACER TRUSTS NOTHING at all. Before it maps or reads: fstatfs says tmpfs; F_GET_SEALS has all
 * of TAPIR_RING_DATA_SEALS / TAPIR_RING_CTL_SEALS (more may be set); magic, version, every size and
 * offset of the header equal to the values in this header or within the file's size; owner_tgid is
 * the process's innermost NSpid (else it is a parent's, seen in a forked child that has no lane of
 * its own yet). It loads each word once, range-checks it, and parses its own copy only.
 *
 * Words are aligned; each is written by one store and read by one load (__atomic_*). "release"
 * and "acquire" below are the memory orders of the pair; words without a remark are relaxed.
 *
 * A THREAD'S RING. Positions are counts of bytes since the slot was made, never reset, multiples
 * of 8. The byte of position p is at p % cap_bytes of the slot's ring. Records are abi.h's, each
 * in one piece: a record that does not fit before cap_bytes is preceded by one of type NONE that
 * fills the rest (if less than 16 bytes are left, they are skipped without). cap_bytes grows by
 * TAPIR_RING_CHUNK_BYTES while head <= cap_bytes, up to ring_bytes, and is final when head first
 * passes it: so a reader that loads head (acquire) and then cap_bytes is right in both cases. (A
 * reader that copies slots in bulk takes head of a first copy and cap_bytes of a later one.)
 *
 *	THREAD	once for each owner of a slot and epoch, before its events. tgid, tid and ns_*
 *		are all those of the process's pid namespace; start_ns and leader_* are 0.
 *	STACK	once per slot and epoch (or again: readers must not mind), before its event.
 *	EVENT	lane RING, cpu unknown, tgid and tid of the process's pid namespace, probe_id =
 *		TAPIR_RING_ID(idx, generation) of the event's entry. pad0 holds the sessions it is
 *		for, bit n session n: a reader skips others' and clears pad0 before it hands the
 *		record on. payload_bytes <= TAPIR_RING_PAYLOAD_BYTES.
 * time_ns is CLOCK_MONOTONIC *of the process*: in a time namespace the reader subtracts the offset
 * of /proc/PID/timens_offsets. Stack ids are those of the BPF walker: hash 0, for each address
 * h = (h ^ ip) * 0x9e3779b97f4a7c15, h ^= h >> 32; 0 becomes 1.
 *
 * ENTRIES. An event that registers takes an entry: its PROBE record (probe_id as in its events) and
 * maybe METADATA in the catalog, an interest word, a row of losses. An event that is gone returns
 * its entry (TAPIR_RING_ENTRY_GONE), and a later one takes it with the next generation, but only
 * after every session that was open has completed two drains since (`drains`, below), so that no
 * record of the old event is left in a ring. `changes` in data 0 is raised after each entry was
 * filled or returned: a reader reads the entries again when it has changed, and compares an entry's
 * generation to learn that it is another event now. When no entry is free the event has none: its
 * occurrences are counted in the row of losses with index TAPIR_RING_EVENTS.
 *
 * A SESSION, as a tracer opens it (slot s; all in ctl unless said otherwise):
 *	1. F_OFD_SETLK, F_WRLCK, byte s of ctl: the holder owns session s until its descriptor
 *	   is closed. Busy: another session. It is the life line: each TAPIR_RING_LIFE_NS, a thread
 *	   of the process whose event fires asks F_OFD_GETLK and ends sessions without a holder,
 *	   with their lock in its own hands for that moment.
 *	   (If the program closed the descriptor it reads `beat`, which the tracer raises with
 *	   each drain: unchanged for TAPIR_RING_BEAT_NS is dead.) No thread is started for it.
 *	2. Clear the session's bits in words[], whatever its state: its last owner may have died,
 *	   or an event may have registered while it closed.
 *	3. Fill the session, its selections and its text; state = OPENING, all tails[slot][s] = that
 *	   slot's head (data), state = OPEN (seq_cst), then the tails again: a writer that did not
 *	   know of the session may have continued. A slot never used before has head and
 *	   tail 0.
 *	4. Raise epoch: threads send names and frames again.
 *	5. By compare-and-exchange (seq_cst), set the session's bits in words[] of every event it
 *	   wants, by the PROBE records of the catalog, only while the word still has the entry's
 *	   generation. Events registered later are judged by the process, which reads the
 *	   selections of OPEN sessions (so fill them, too).
 *	6. Raise generation and FUTEX_WAKE it (shared): a runtime that must open a source of its own
 *	   may wait there, and stores in `applied` which one it has followed: from then on nothing
 *	   that was requested is missed.
 * Drain: acquire head, copy [tail, head), then tail = head (release). head < tail or head - tail >
 * cap_bytes: corrupt, count it, tail = head. Raise `beat` before and, when every slot was read up
 * to the heads of its beginning, `drains` after it. Closing: clear the bits in words[]; wait 1 ms,
 * then for each slot until `writing` is 0 or has changed (at most some 200 ms: a hostile process
 * writes what it likes); drain a last time; read losses[]; state = FREE; raise generation, wake;
 * unlock. state ENDED means that the process considered the session dead: close, and report it.
 *
 * FORK. A child has the parent's words and never writes the parent's rings: at its first event it
 * opens its own lane. Sessions of the parent that were OPEN with TAPIR_RING_WANTS_CHILDREN are
 * INHERITED there: with the parent's session_id, selections and words, so that the child's events
 * are in its rings when the tracer arrives. It finds the child by children[] and child_cnt of the
 * parent's ctl (pids of the process's namespace, the last TAPIR_RING_CHILDREN of them; a child is
 * there once its own ctl has its magic, unless it had no memory to wait for that), takes the
 * lock of that session, reads `inherited` and stores OPEN over INHERITED; its tails begin at 0.
 * Each event that a child fires into an inherited session is counted twice: in the parent's
 * child_fired[s] and in the child's own inherited[s] (data 0). So child_fired[s] minus all
 * inherited[s] that the tracer has read is the number lost with children that ended too early. A
 * child that cannot open a lane counts in child_fired alone. INHERITED ends after
 * TAPIR_RING_INHERIT_NS; other tracers leave such a session alone while there is another one.
 *
 * WHAT IS LOST is counted by the process where it happens, in data 0: losses[event].cnt[s][cause],
 * since the process began: a session subtracts what was there when it opened. For session s:
 * events read + cnt[s][*] since then = events that fired while its bit was on.
 *
 * C11 and C++11; depends on abi.h.
 */
#ifndef TAPIR_RING_H
#define TAPIR_RING_H

#include "abi.h"

#define TAPIR_RING_CTL_NAME	    "tapir-ctl"
#define TAPIR_RING_DATA_NAME	    "tapir-ring."

#define TAPIR_RING_DATA_MAGIC	    0x31474e5250415421ull /* "!TAPRNG1" */
#define TAPIR_RING_CTL_MAGIC	    0x314c544350415421ull /* "!TAPCTL1" */
#define TAPIR_RING_VERSION	    4

/* Seals as <linux/fcntl.h> has them: SEAL 1, SHRINK 2, GROW 4, FUTURE_WRITE 16. */
#define TAPIR_RING_CTL_SEALS	    0x07u
#define TAPIR_RING_DATA_SEALS	    0x17u

#define TAPIR_RING_ARENAS	    16u
#define TAPIR_RING_ARENA_SLOTS	    256u
#define TAPIR_RING_SLOTS	    (TAPIR_RING_ARENAS * TAPIR_RING_ARENA_SLOTS)
#define TAPIR_RING_SESSIONS	    8u
#define TAPIR_RING_SELECTIONS	    128u /* a process has some 40 EventSources */
#define TAPIR_RING_EVENTS	    16384u
#define TAPIR_RING_CHUNK_BYTES	    (32u * 1024u)
#define TAPIR_RING_MAX_BYTES	    (4u * 1024u * 1024u) /* of a thread; less under RLIMIT_AS */
#define TAPIR_RING_PAYLOAD_BYTES    (64u * 1024u)	 /* of an event; EventPipe has no larger */
#define TAPIR_RING_RECORD_BYTES	    (TAPIR_RING_PAYLOAD_BYTES + 104u) /* the largest: with all ids */
#define TAPIR_RING_ARGS_BYTES	    (16u * 1024u) /* of a selection, its NUL among them */
#define TAPIR_RING_TEXT_BYTES	    (256u * 1024u) /* of a session: the arguments of its selections */
#define TAPIR_RING_CHILDREN	    64u
#define TAPIR_RING_LIFE_NS	    200000000ull
#define TAPIR_RING_BEAT_NS	    5000000000ull
#define TAPIR_RING_INHERIT_NS	    5000000000ull

/*
 * The interest word of an event, u64: the sessions that want it. "None" is one load of its low
 * half: (u32)word == 0.
 *   bits 0-15   a USDT semaphore, in words that are part of an ELF file; 0 in ctl
 *   bits 16-31  "a session wants it": 16-23 sessions of the ring lane, 24-31 consumers inside the
 *               process (in words of its own; 0 in ctl)
 *   bits 32-39  ring sessions that want its stack
 *   bits 40-47  ring sessions that want at most rate_hz of it
 *   bits 48-63  the entry's generation: written by the process alone
 *
 * The low half is what code that fires tests: semaphore and sessions at once. Session bits are
 * written by tracers (compare-and-exchange with the generation, or fetch_and); by the process for
 * an event that registers while sessions are open and when it ends a session.
 */
#define TAPIR_RING_WANT_SHIFT	    16
#define TAPIR_RING_STACK_SHIFT	    32
#define TAPIR_RING_RATE_SHIFT	    40
#define TAPIR_RING_GENERATION_SHIFT 48
#define TAPIR_RING_SESSION_BITS(s)                                                                 \
	((1ull << (TAPIR_RING_WANT_SHIFT + (s))) | (1ull << (TAPIR_RING_STACK_SHIFT + (s))) |      \
	 (1ull << (TAPIR_RING_RATE_SHIFT + (s))))

/* An event's id in its records: never 0, since generations begin at 1 and skip 0. */
#define TAPIR_RING_ID(idx, generation) ((uint32_t)(generation) << 16 | (uint32_t)(idx))
#define TAPIR_RING_ID_IDX(id)	       ((id)&0xffffu)
#define TAPIR_RING_ID_GENERATION(id)   ((id) >> 16)

/* ---- data: the process writes, tracers read ------------------------------------------- */

/*
 * Offset 0 of each data file. All but the counters are written once, before `magic` (release).
 * The areas marked (0) exist in arena 0 only; elsewhere their offsets are 0.
 */
struct tapir_ring_data {
	uint64_t magic;
	uint32_t version;
	uint32_t header_bytes; /* sizeof this */
	uint64_t key;	       /* the same in ctl */
	uint64_t file_bytes;
	uint32_t owner_tgid; /* innermost pid namespace */
	uint32_t arena_idx;
	uint32_t slot_cnt;    /* TAPIR_RING_ARENA_SLOTS */
	uint32_t slot_bytes;  /* sizeof(struct tapir_ring_slot) */
	uint64_t slots_off;   /* slot_cnt x struct tapir_ring_slot */
	uint64_t rings_off;   /* slot_cnt x ring_bytes */
	uint64_t ring_bytes;  /* multiple of the chunk, <= TAPIR_RING_MAX_BYTES */
	uint64_t entries_off; /* (0) TAPIR_RING_EVENTS x struct tapir_ring_entry */
	uint64_t losses_off;  /* (0) TAPIR_RING_EVENTS + 1 x struct tapir_ring_losses */
	uint64_t catalog_off; /* (0) PROBE and METADATA records */
	uint64_t catalog_bytes;
	uint32_t event_max;	/* TAPIR_RING_EVENTS */
	uint32_t arena_cnt;	/* (0) arenas made so far, itself counted; release */
	uint32_t event_cnt;	/* (0) entries begun so far; release. Some may still be empty */
	uint32_t slots_used;	/* slots that ever had an owner: those below; release */
	uint64_t budget_bytes;	/* (0) what all rings together may take, when last computed */
	uint64_t charged_bytes; /* (0) what they have taken: all cap_bytes, and the writers */
	uint64_t changes;	/* (0) entries filled or given back so far; release */
	uint64_t inherited[TAPIR_RING_SESSIONS]; /* (0) events fired while INHERITED */
	uint64_t made_ns; /* CLOCK_MONOTONIC of the process, when the file was made */
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_ring_data) == 216, "tapir_ring_data");

/*
 * One writer at a time: the owning thread (also for drops in its signal handlers). Its handlers
 * that interrupt the writing of an event write into a second slot of the thread, whose records have
 * the same tid, and for which rate_hz counts anew.
 */
struct tapir_ring_slot {
	uint64_t head;	    /* release, after the record's bytes */
	uint64_t cap_bytes; /* 0: no memory yet; stored before the head that needs it */
	uint32_t writing;   /* odd while an event is being written, changes with each; 0 idle */
	uint32_t owner_tid; /* 0 none. For people: records carry the tid */
	uint64_t dropped;   /* events not written for lack of space */
	uint64_t nested;    /* events not written because one was written here, one inside that */
	uint64_t owners;    /* threads that have had the slot */
	uint64_t pad0[2];
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_ring_slot) == 64, "tapir_ring_slot");

#define TAPIR_RING_ENTRY_GONE (1u << 0) /* given back: its module was unloaded, or it was idle */

struct tapir_ring_entry {
	uint32_t catalog_off; /* from catalog_off of the header; meaningful when bytes is not 0 */
	uint32_t bytes;	      /* one PROBE, maybe one METADATA; release, after their bytes */
	uint32_t flags;
	uint32_t generation; /* 1 ... 65535; changes before bytes is stored again */
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_ring_entry) == 16, "tapir_ring_entry");

/* Each but LIMITED is a cause of loss in abi.h: RING_LANE_*. */
enum tapir_ring_cause {
	TAPIR_RING_NO_SPACE = 0,  /* DROP: the thread's ring is full, or is too small for it */
	TAPIR_RING_NESTED = 1,	  /* NESTED: fired inside the writing of two of the thread's */
	TAPIR_RING_LIMITED = 2,	  /* over rate_hz: asked for, not lost */
	TAPIR_RING_TOO_LARGE = 3, /* TOO_LARGE: more than TAPIR_RING_PAYLOAD_BYTES */
	TAPIR_RING_NO_SLOT = 4,	  /* NO_SLOT: no ring for the thread: all taken, or no memory */
	TAPIR_RING_NO_ENTRY = 5,  /* NO_ENTRY, in row TAPIR_RING_EVENTS: no entry was free */
	TAPIR_RING_NO_PROVIDER =
		6, /* NO_PROVIDER, in the same way: a source has no place for one more */
	TAPIR_RING_CAUSE_CNT = 8
};

struct tapir_ring_losses {
	uint64_t cnt[TAPIR_RING_SESSIONS][TAPIR_RING_CAUSE_CNT]; /* fetch_add by any thread */
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_ring_losses) == 512, "tapir_ring_losses");

/* ---- ctl: tracers write, the process reads ---------------------------------------------- */

enum tapir_ring_state {
	TAPIR_RING_FREE = 0,
	TAPIR_RING_OPENING = 1,
	TAPIR_RING_OPEN = 2,
	TAPIR_RING_ENDED = 3,	 /* by the process: its tracer is dead */
	TAPIR_RING_INHERITED = 4 /* by a forked child: its parent's tracer may come */
};

/*
 * The request of a session to one provider. Strings end with NUL or with their array. Globs as a
 * SPEC has them: * and ? only. A single event is one selection with its name.
 */
struct tapir_ring_selection {
	uint64_t keywords; /* 0: all. Else an event with keywords must share one */
	uint8_t used;	   /* 0: skip this one */
	uint8_t level;	   /* an event of a higher one is left out; 0: all */
	uint8_t pad0[6];
	/*
	 * Key=Value;... for the provider, in the session's text; the ring does not read it. Text
	 * that is not within TAPIR_RING_TEXT_BYTES, or longer than TAPIR_RING_ARGS_BYTES, is
	 * ignored.
	 */
	uint32_t args_off;
	uint32_t args_bytes; /* without a NUL; 0: none */
	char provider[192];
	char event[96]; /* empty: all */
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_ring_selection) == 312, "tapir_ring_selection");

#define TAPIR_RING_WANTS_STACKS	  (1u << 0)
/*
 * The session's events are to be probes, too, for other tools (libtapir-coreclr.so alone does it):
 * memfds named TAPIR_RING_PROBES_NAME, the lane's key in 16 hex digits, ':' and the provider, each
 * an ELF file with USDT notes, mapped by the process.
 */
#define TAPIR_RING_WANTS_PROBES	  (1u << 1)
#define TAPIR_RING_PROBES_NAME	  "tapir-usdt."

/* Forked children are requested as well: they inherit the session. */
#define TAPIR_RING_WANTS_CHILDREN (1u << 2)
/*
 * The tracer has probes at USDT sites, too, also in forked children. While a session with this flag
 * is INHERITED, a child leaves events whose site is attached to the probes: in neither count.
 */
#define TAPIR_RING_HAS_PROBES	  (1u << 3)

/* Owned by the holder of the lock on byte s; the process changes `state` alone, OPEN to ENDED. */
struct tapir_ring_session {
	uint32_t state; /* enum tapir_ring_state; release */
	uint32_t flags;
	uint64_t session_id;  /* the tracer's own; another one is another session */
	uint32_t tracer_tgid; /* in the tracer's pid namespace, for people */
	uint32_t rate_hz;     /* events per second per thread; 0 all. Used where the rate bit is */
	uint64_t beat;	      /* raised when a drain begins */
	uint64_t drains;      /* raised when a drain has read every slot; release */
	char tracer_comm[TAPIR_COMM_BYTES];
	/*
	 * A thread that finds no room waits for the tracer to read, all threads together at most
	 * this long while the session is open; then, or if 0, the event is dropped and counted. A
	 * session that has ended, or no longer wants the event, is not waited for.
	 */
	uint32_t wait_ms;
	uint8_t pad0[196];
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_ring_session) == 256, "tapir_ring_session");

/*
 * Made for one tracer, which chose the key and knows it (libtapir-coreclr.so, a copy a tracer).
 * Others leave it alone: they would get what that tracer asked for, not what they did.
 */
#define TAPIR_RING_CTL_PRIVATE (1u << 0)
/*
 * The lane's source of events has ended permanently; the files remain because a thread of the
 * process may still be inside the library (stopped, for example). Set late.
 */
#define TAPIR_RING_CTL_IDLE    (1u << 1)
/*
 * A thread of the process waits at `generation` and stores `applied`: until then what a tracer asks
 * for may be missed, so a tracer that reports that it is ready waits first. Set and cleared late.
 */
#define TAPIR_RING_CTL_FOLLOWS (1u << 2)

struct tapir_ring_ctl {
	uint64_t magic; /* release; this part is the process's, written once */
	uint32_t version;
	uint32_t header_bytes; /* offsetof sessions */
	uint64_t key;
	uint64_t file_bytes; /* sizeof this */
	uint32_t owner_tgid;
	uint32_t slot_cnt;    /* TAPIR_RING_SLOTS */
	uint32_t session_cnt; /* TAPIR_RING_SESSIONS */
	uint32_t event_max;   /* TAPIR_RING_EVENTS */
	uint32_t flags;	      /* TAPIR_RING_CTL_* */
	uint8_t pad0[12];
	uint32_t epoch;	     /* tracers: fetch_add, seq_cst */
	uint32_t generation; /* tracers: fetch_add, then FUTEX_WAKE */
	uint32_t applied;    /* the process: the generation that its own source follows; release */
	/* The process, for TAPIR_RING_WANTS_PROBES: events that are probes, those that found no
	   room for it, and the errno for which the last of these did not. For people. */
	uint32_t published_cnt, unpublished_cnt, publish_errno;
	/* The process: providers that a selection names or matches and that found no place among
	   those its source can ask for. Their events are in no ring and in no count. */
	uint32_t unserved_cnt, pad2;
	/* The process's forked children, added by themselves (fetch_add, then the pid). */
	uint64_t child_cnt;
	uint64_t child_fired[TAPIR_RING_SESSIONS];
	uint32_t children[TAPIR_RING_CHILDREN];
	uint8_t pad1[3672];
	struct tapir_ring_session sessions[TAPIR_RING_SESSIONS];
	uint8_t pad3[2048];
	struct tapir_ring_selection selections[TAPIR_RING_SESSIONS][TAPIR_RING_SELECTIONS];
	/* [slot][session]: position up to which a session has read; release. Slot = 256 x arena +
	   the slot's index there. */
	uint64_t tails[TAPIR_RING_SLOTS][TAPIR_RING_SESSIONS];
	uint64_t words[TAPIR_RING_EVENTS];
	char text[TAPIR_RING_SESSIONS][TAPIR_RING_TEXT_BYTES]; /* arguments of selections */
};
TAPIR_STATIC_ASSERT(offsetof(struct tapir_ring_ctl, sessions) == 4096, "tapir_ring_ctl.sessions");
TAPIR_STATIC_ASSERT(offsetof(struct tapir_ring_ctl, selections) == 8192,
		    "tapir_ring_ctl.selections");
TAPIR_STATIC_ASSERT(sizeof(struct tapir_ring_ctl) ==
			    8192 + 8 * 128 * 312 + 4096 * 64 + 16384 * 8 + 8 * 262144,
		    "tapir_ring_ctl");

#endif /* TAPIR_RING_H */
