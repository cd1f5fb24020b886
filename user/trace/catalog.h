/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * catalog.h - what ids mean: probes, stacks, threads, processes, mappings, names.
 *
 * It has two users. A recorder feeds it every describing record and marks what every event uses;
 * the catalog writes each description once into every segment that needs it ("a segment names
 * everything it uses"). A reader fills it from the file and looks things up while it prints, by id
 * and time.
 *
 * Memory is bounded (TAPIR_CATALOG_*MAX_BYTES): stacks and names live for this segment and the one
 * before, what belongs to a process until the segment after its EXIT; what does not fit is refused
 * and counted. Not thread-safe. Pointers to records are borrowed until the next describe or
 * new_segment.
 */
#ifndef TAPIR_USER_CATALOG_H
#define TAPIR_USER_CATALOG_H

#include <stdbool.h>

#include "base/vec.h"
#include "trace/record.h"
#include "trace/writer.h"

#define TAPIR_CATALOG_MAX_BYTES	     (256u * 1024u * 1024u)
#define TAPIR_CATALOG_READ_MAX_BYTES (192u * 1024u * 1024u) /* two segments and their tables */

struct tapir_catalog;

/*
 * LIVE: records come from a running system. A forked process inherits the mappings of its
 * parent, and what a living process owns is kept although it is not used for a while. In a
 * file both were taken care of by the recorder.
 */
enum tapir_catalog_mode { TAPIR_CATALOG_READ, TAPIR_CATALOG_LIVE };

/*
 * w: where descriptions are written, borrowed; NULL: nowhere (a reader). Returns NULL: out of
 * memory. __free accepts NULL, and does not write what waits.
 */
struct tapir_catalog *tapir_catalog__new(enum tapir_catalog_mode mode, struct tapir_writer *w);
void tapir_catalog__free(struct tapir_catalog *c);

/*
 * Remembers a well-formed describing record (copied) and writes it if this segment lacks
 * it; any other type is ignored. 1: it was news, 0: known already, -ENOSPC: the memory
 * bound, -ENOMEM, or the writer's error.
 */
int tapir_catalog__describe(struct tapir_catalog *c, const struct tapir_rec *rec);
/*
 * A record will be described soon: prefetches where its description is, and, nearer to it, what is
 * known.
 */
void tapir_catalog__expect(const struct tapir_catalog *c, const struct tapir_rec *rec,
			   bool is_near);

/* The ids by which a record that is not a description refers to descriptions. Stack ids: 0 none. */
struct tapir_use {
	uint32_t tgid, tid;
	uint64_t time_ns; /* names of the stacks' addresses are requested at this time */
	uint64_t stack_id, kstack_id;
};

/*
 * Writes what this record needs and the segment lacks: probe, thread, process with its mappings,
 * stacks. Call it before the record is put. 0 or the writer's error. Mostly a hit in a small cache:
 * it is called for each record.
 */
int tapir_catalog__use_event(struct tapir_catalog *c, const struct tapir_rec_event *ev);
int tapir_catalog__use(struct tapir_catalog *c, const struct tapir_use *use);
/* The same for a captured record that is no event: of each thread that it names. The first error.
 */
int tapir_catalog__use_record(struct tapir_catalog *c, const struct tapir_rec *rec);

/* After tapir_writer__begin_segment: everything is to be written again when it is used. */
int tapir_catalog__new_segment(struct tapir_catalog *c);

/* A stack some of whose addresses have no name yet. */
struct tapir_unnamed {
	uint32_t tgid; /* 0: a kernel stack; its mappings are the kernel and its modules */
	uint64_t stack_id;
	uint64_t time_ns;
	const struct tapir_rec_stack *stack; /* borrowed until the next describe */
};

/*
 * The next stack, used in this segment for the first time (or for the first time since a JIT
 * name of its process ended), of which a frame has no name at that time: describe the SYMBOL or
 * JIT records that name it. Known names are written on the way.
 */
bool tapir_catalog__next_unnamed(struct tapir_catalog *c, struct tapir_unnamed *out);

/*
 * A name may arrive after the record that needs it: the next round of __next_unnamed checks again.
 */
void tapir_catalog__ask_again(struct tapir_catalog *c, const struct tapir_unnamed *unnamed);

/* ---- lookups; NULL: not known ------------------------------------------------------------- */

/* The description of an event, by the id that EVENT records have. */
const struct tapir_rec_probe *tapir_catalog__probe(const struct tapir_catalog *c, uint32_t id);
/* Is any event of this provider described? */
bool tapir_catalog__has_provider(const struct tapir_catalog *c, const char *provider);
/* Returns the layout of an event of the ring or stream lanes, by the id of its probe. */
const struct tapir_rec_metadata *tapir_catalog__metadata(const struct tapir_catalog *c,
							 uint32_t probe_id);
/* Returns the addresses of a stack, by the id that records have. */
const struct tapir_rec_stack *tapir_catalog__stack(const struct tapir_catalog *c, uint64_t id);
/* Ids are used again: the newest that was there at time_ns, else the first after it. */
const struct tapir_rec_thread *tapir_catalog__thread(const struct tapir_catalog *c, uint32_t tid,
						     uint64_t time_ns);
const struct tapir_rec_process *tapir_catalog__process(const struct tapir_catalog *c, uint32_t tgid,
						       uint64_t time_ns);
/*
 * The process's description of itself (OpenTelemetry's resource): the newest that was read until
 * time_ns of the program that it ran then, else the first after that.
 */
const struct tapir_rec_resource *tapir_catalog__resource(const struct tapir_catalog *c,
							 uint32_t tgid, uint64_t time_ns);
/*
 * Distinguishes processes that had one id after another: returns the time from which the id
 * belonged to the process that had it at time_ns, as far as the records show; 0: since before them.
 */
uint64_t tapir_catalog__life(const struct tapir_catalog *c, uint32_t tgid, uint64_t time_ns);
/* The mapping that covered va at time_ns. */
const struct tapir_rec_mapping *tapir_catalog__mapping(const struct tapir_catalog *c, uint32_t tgid,
						       uint64_t va, uint64_t time_ns);
/*
 * The mappings of a process at that time, by address: the first (after: NULL), then the one behind
 * `after`; NULL: there are no more.
 */
const struct tapir_rec_mapping *tapir_catalog__next_mapping(const struct tapir_catalog *c,
							    uint32_t tgid, uint64_t time_ns,
							    const struct tapir_rec_mapping *after);
/* Returns the name of generated code that was at va at time_ns. */
const struct tapir_rec_jit *tapir_catalog__jit(const struct tapir_catalog *c, uint32_t tgid,
					       uint64_t va, uint64_t time_ns);
/* The functions inlined at va, if they were requested from the runtime; NULL: not known. */
const struct tapir_rec_jit *tapir_catalog__inlined(const struct tapir_catalog *c, uint32_t tgid,
						   uint64_t va, uint64_t time_ns);
/* Returns what the recording has for an offset of a mapped file: a symbol or a range. */
const struct tapir_rec_symbol *tapir_catalog__symbol(const struct tapir_catalog *c,
						     uint64_t file_id, uint64_t off);
/*
 * The function at an offset of a mapped file: its symbol, else what a second source of names knows,
 * else its range (TAPIR_SYMBOL_RANGE), else NULL.
 */
const struct tapir_rec_symbol *tapir_catalog__function(const struct tapir_catalog *c,
						       const struct tapir_rec_mapping *mapping,
						       uint64_t off);
/*
 * The second source, which is asked where the recording has no symbol. find: range is what the
 * recording has, or NULL; the record it returns is valid as long as the catalog. NULL: no source.
 */
struct tapir_offline_source {
	const struct tapir_rec_symbol *(*find)(void *ctx, const struct tapir_rec_mapping *mapping,
					       uint64_t off, const struct tapir_rec_symbol *range);
	void *ctx;
};
/*
 * source is copied, its ctx borrowed until the catalog is freed. It replaces the one before; NULL:
 * none.
 */
void tapir_catalog__use_source(struct tapir_catalog *c, const struct tapir_offline_source *source);

/* A function at an address, and where in its source. */
struct tapir_source_location {
	const char *function; /* inlined there; NULL: the function that is not, or unknown */
	const char *file;     /* NULL: unknown */
	uint32_t line;	      /* 0: unknown */
};

/* Innermost first; at least one. */
struct tapir_source_locations {
	const struct tapir_source_location *locations;
	unsigned cnt;
};

/*
 * A source of lines: finds the source lines of the code at an offset of a mapped file; cnt 0:
 * unknown. The result is valid as long as ctx.
 */
struct tapir_line_source {
	struct tapir_source_locations (*find)(void *ctx, const struct tapir_rec_mapping *mapping,
					      uint64_t off, const struct tapir_rec_symbol *range);
	void *ctx;
};
/* source is copied, its ctx borrowed, as above; not NULL. */
void tapir_catalog__use_lines(struct tapir_catalog *c, const struct tapir_line_source *source);
/* cnt 0: no source of lines, or nothing is known. */
struct tapir_source_locations
tapir_catalog__source_locations(const struct tapir_catalog *c,
				const struct tapir_rec_mapping *mapping, uint64_t off);
/*
 * A frame in the process's generated code counts as unnamed from now on until an INLINED record
 * describes it.
 */
void tapir_catalog__ask_for_inlined(struct tapir_catalog *c, uint32_t tgid);
/* UTC of a record's time by the CLOCK records around it; 0: there were none. */
uint64_t tapir_catalog__utc_ns(const struct tapir_catalog *c, uint64_t time_ns);
/* Returns the idx-th META record, in the order in which they came; NULL: there are fewer. */
const struct tapir_rec_meta *tapir_catalog__meta(const struct tapir_catalog *c, unsigned idx);

/*
 * The hosts of a merged recording (abi.h, HOST), numbered from 1 to __host_cnt; 0: it is of one
 * host. NULL, or an empty name: there is none of that number.
 */
const struct tapir_rec_host *tapir_catalog__host(const struct tapir_catalog *c, uint32_t number);
uint32_t tapir_catalog__host_cnt(const struct tapir_catalog *c);
struct tapir_sv tapir_catalog__host_name(const struct tapir_catalog *c, uint32_t number);

/* The value of key in META; empty: none. */
struct tapir_sv tapir_catalog__meta_value(const struct tapir_catalog *c, const char *key);
/* The same as a number from 1 to max; 0: none, or it is no such number. */
uint64_t tapir_catalog__meta_number(const struct tapir_catalog *c, const char *key, uint64_t max);

/* Returns true if the recording sums short waits: it has no record of each switch. */
#define TAPIR_META_SUMS	       "sums" /* the value of "switches" then; else "on" */
#define TAPIR_WAITS_ARE_SUMMED "waits below 1 ms are summed"
bool tapir_catalog__sums_waits(const struct tapir_catalog *c);

/* Keys of META: when the recording began and ended. */
#define TAPIR_META_BEGAN      "recording.began"
#define TAPIR_META_ENDED      "recording.ended"
/* The format of the file that 'tapir import' read; and what that file lacks, a sentence a line. */
#define TAPIR_META_IMPORTED   "imported"
#define TAPIR_META_LACKS      "imported.lacks"
/* Written by 'tapir merge': what it merged, what is not known of the clocks; a sentence a line. */
#define TAPIR_META_MERGED     "merged"
/* The cost of probes that fired very often, a sentence. */
#define TAPIR_META_PROBE_COST "probe_cost"
/* The id of the machine's boot; its clock's largest error: "1234 us", or "unsynchronized". */
#define TAPIR_META_BOOT	      "boot.id"
#define TAPIR_META_SYNC	      "clock.error"
/*
 * Returns when all that was requested was attached: what began before may have waited for that. 0:
 * not known, or long before the first record (a frozen recording).
 */
uint64_t tapir_catalog__attached_ns(const struct tapir_catalog *c);
/*
 * Returns true if not all that was requested was attached at that time, which is of a record that
 * has been read. A recording has its TAPIR_META_SPECS first, and TAPIR_META_BEGAN in the order of
 * time: until that has been read, everything precedes it.
 */
#define TAPIR_META_SPECS "specs"
bool tapir_catalog__precedes_attach(const struct tapir_catalog *c, uint64_t time_ns);
/*
 * The stretch of time that was recorded. The caller passes the times of the first and the last
 * thing that happened; they become earlier and later where the recording has when it began and
 * ended (META TAPIR_META_BEGAN and TAPIR_META_ENDED; "frozen"). A recording whose tapir was killed
 * ran until its last record, any_ns. Descriptions are written for longer than that. from 0: nothing
 * happened.
 */
void tapir_catalog__widen_span(const struct tapir_catalog *c, uint64_t any_ns, uint64_t *from_ns,
			       uint64_t *until_ns);

/*
 * A number that grows whenever something but a stack is remembered or forgotten: names that were
 * looked up hold until then. A stack's id names the same addresses for ever, but is not always
 * described.
 */
uint64_t tapir_catalog__version(const struct tapir_catalog *c);

/* A moment at which addresses of a page may change what they mean. */
struct tapir_catalog_change {
	uint64_t page; /* address / TAPIR_CHANGE_PAGE_BYTES */
	uint64_t ns;
};
#define TAPIR_CHANGE_PAGE_BYTES 4096
#define TAPIR_CHANGE_ANYWHERE	UINT64_MAX /* as a page: of any address */
struct tapir_catalog_changes tapir_vec(struct tapir_catalog_change);

/* Adds those of a process, by page, then by time. -ENOMEM: *out holds some of them. */
int tapir_catalog__name_changes(const struct tapir_catalog *c, uint32_t tgid,
				struct tapir_catalog_changes *out);

/* Returns the number of descriptions refused by the memory bound. */
uint64_t tapir_catalog__refused(const struct tapir_catalog *c);

#endif
