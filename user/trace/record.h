/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record.h - checks, views and names of records.
 *
 * Records come from BPF, from rings other processes write, and from files: all of them are checked
 * by tapir_record__ok before anything after the header is read. A view names the variable parts of
 * a checked record; its strings are borrowed from the record, bounded, not NUL-terminated and any
 * bytes. Building records is recbuf.h.
 */
#ifndef TAPIR_USER_RECORD_H
#define TAPIR_USER_RECORD_H

#include <stdbool.h>

#include "tapir/abi.h"

/* A borrowed string that knows its length. */
struct tapir_sv {
	const char *data;
	size_t len;
};

struct tapir_sv tapir_sv__of(const char *text); /* NULL: empty */
/* Returns true if the view is exactly that text. */
bool tapir_sv__is(struct tapir_sv sv, const char *text);
/* Returns true if the view begins with that text. */
bool tapir_sv__starts_with(struct tapir_sv text, const char *start);
/* Returns true if the view begins with one of starts, which end with NULL; NULL: there are none. */
bool tapir_sv__starts_with_any(struct tapir_sv text, const char *const *starts);
bool tapir_sv__ends_with(struct tapir_sv text, const char *end);
/* Returns the part after the last '/'; all of it, if there is none. */
struct tapir_sv tapir_sv__base_name(struct tapir_sv path);
int tapir_sv__compare(struct tapir_sv a, struct tapir_sv b); /* as strcmp */
/* Takes the first line off a text, or all of it if that has no end; returns it without '\n'. */
struct tapir_sv tapir_sv__next_line(struct tapir_sv *text);
/* Returns a copy as a string, also of an empty text; the caller frees it. NULL: no memory. */
char *tapir_sv__dup(struct tapir_sv text);
/* Copies the text as a string, cut to out_bytes - 1. */
void tapir_sv__copy(struct tapir_sv text, char *out, size_t out_bytes);

/* The check of every type but EVENT; rec->size is already known to be sound. */
bool tapir_record__fits(const struct tapir_rec *rec);

/*
 * True when a whole, well-formed record starts at rec, of which avail bytes may be read:
 * size, the type's fixed part and every length inside. rec is 8-aligned. An unknown type
 * is well-formed by its size. Constant time.
 */
static inline bool tapir_record__ok(const struct tapir_rec *rec, size_t avail)
{
	if (avail < sizeof(*rec) || rec->size > avail || rec->size < sizeof(*rec) ||
	    rec->size > TAPIR_MAX_RECORD_BYTES || rec->size % 8)
		return false;
	if (rec->type == TAPIR_REC_EVENT) {
		const struct tapir_rec_event *ev = (const struct tapir_rec_event *)rec;

		return rec->size >= sizeof(*ev) &&
		       (uint64_t)ev->payload_bytes + tapir_event__optional_bytes(ev->flags) +
				       tapir_event__trailing_bytes(ev->flags) <=
			       rec->size - sizeof(*ev);
	}
	return tapir_record__fits(rec);
}

/*
 * Returns the span for which the record's thread worked, of a checked record of a family; NULL: not
 * known. Borrowed.
 */
const struct tapir_trace_ids *tapir_rec__trace_ids(const struct tapir_rec *rec);

/* Write the ids in lower-case hex, as W3C Trace Context does, and return text. */
#define TAPIR_TRACE_ID_TEXT 33
/* Write the ids in lower-case hex, as W3C Trace Context does, into text, which is returned. */
const char *tapir_trace_id__text(const struct tapir_trace_ids *ids, char text[TAPIR_TRACE_ID_TEXT]);
const char *tapir_span_id__text(const struct tapir_trace_ids *ids, char text[TAPIR_TRACE_ID_TEXT]);

/* Returns true for the types that are stored in DESCRIPTIONS chunks (trace_format.h). */
bool tapir_rec_type__describes(unsigned type);

/*
 * In an address of a user stack, made while a file is read (record/async_stacks/await_stacks.h):
 * this function does not run, it awaits what is further in. No program has such addresses.
 */
#define TAPIR_VA_AWAITS (1ull << 62)

static inline bool tapir_va__awaits(uint64_t va)
{
	return va >> 62 == 1;
}

/* ---- views of checked records ---------------------------------------------------------- */

struct tapir_event_view {
	const struct tapir_rec_event *rec;
	uint64_t kstack_id;	    /* 0: none */
	const uint8_t *activity_id; /* 16 bytes; NULL: none */
	const uint8_t *related_id;
	const uint8_t *payload;
	size_t payload_bytes;
	const struct tapir_trace_ids *trace; /* NULL: none */
};

struct tapir_probe_view {
	const struct tapir_rec_probe *rec;
	const struct tapir_field *fields; /* rec->field_cnt of them */
	struct tapir_sv provider, event, file, build_id;
	const char *names; /* of all fields; see tapir_probe_view__name */
};

struct tapir_metadata_view {
	const struct tapir_rec_metadata *rec;
	struct tapir_sv blob;
};

struct tapir_stack_view {
	const struct tapir_rec_stack *rec;
	const uint64_t *frames_va; /* rec->frame_cnt of them, innermost first */
};

struct tapir_thread_view {
	const struct tapir_rec_thread *rec;
	struct tapir_sv comm, leader_comm;
};

struct tapir_process_view {
	const struct tapir_rec_process *rec;
	struct tapir_sv comm, exe, cmdline, cgroup;
};

struct tapir_resource_view {
	const struct tapir_rec_resource *rec;
	struct tapir_sv payload; /* decode/otel_resource.h */
};

struct tapir_mapping_view {
	const struct tapir_rec_mapping *rec;
	struct tapir_sv path, build_id;
};

struct tapir_symbol_view {
	const struct tapir_rec_symbol *rec;
	struct tapir_sv name;
};

struct tapir_jit_view {
	const struct tapir_rec_jit *rec;
	struct tapir_sv name;
};

struct tapir_counter_view {
	const struct tapir_rec_counter *rec;
	struct tapir_sv provider, name, unit, tags;
};

struct tapir_gap_view {
	const struct tapir_rec_gap *rec;
	struct tapir_sv path;
};

struct tapir_wait_view {
	const struct tapir_rec_wait *rec;
	struct tapir_sv text, object, statement, holder_statement, session, holder_session;
};

struct tapir_io_view {
	const struct tapir_rec_io *rec;
	struct tapir_sv disk, path;
};

struct tapir_meta_view {
	const struct tapir_rec_meta *rec;
	struct tapir_sv key, value;
};

/* Each takes a record of its type that tapir_record__ok accepted. */
void tapir_event_view__of(const struct tapir_rec *rec, struct tapir_event_view *view);
void tapir_probe_view__of(const struct tapir_rec *rec, struct tapir_probe_view *view);
void tapir_metadata_view__of(const struct tapir_rec *rec, struct tapir_metadata_view *view);
void tapir_stack_view__of(const struct tapir_rec *rec, struct tapir_stack_view *view);
void tapir_thread_view__of(const struct tapir_rec *rec, struct tapir_thread_view *view);
void tapir_process_view__of(const struct tapir_rec *rec, struct tapir_process_view *view);
void tapir_resource_view__of(const struct tapir_rec *rec, struct tapir_resource_view *view);
void tapir_mapping_view__of(const struct tapir_rec *rec, struct tapir_mapping_view *view);
void tapir_symbol_view__of(const struct tapir_rec *rec, struct tapir_symbol_view *view);
void tapir_jit_view__of(const struct tapir_rec *rec, struct tapir_jit_view *view);
void tapir_counter_view__of(const struct tapir_rec *rec, struct tapir_counter_view *view);
void tapir_gap_view__of(const struct tapir_rec *rec, struct tapir_gap_view *view);
void tapir_wait_view__of(const struct tapir_rec *rec, struct tapir_wait_view *view);
void tapir_io_view__of(const struct tapir_rec *rec, struct tapir_io_view *view);
void tapir_meta_view__of(const struct tapir_rec *rec, struct tapir_meta_view *view);

/*
 * Returns the name of field idx, empty if it has none ("argN"). It walks the names before it: cache
 * it for a hot path.
 */
struct tapir_sv tapir_probe_view__name(const struct tapir_probe_view *view, unsigned idx);

/* ---- what things are called -------------------------------------------------------------- */

/* Static strings; a value outside the enum gives "unknown". */
const char *tapir_rec_type__name(unsigned type); /* "event" */
const char *tapir_loss__name(unsigned cause);	 /* "ring_full" */
const char *tapir_loss__text(unsigned cause);	 /* "no space in the ring buffer" */
int tapir_loss__kind(unsigned cause);		 /* TAPIR_LOSS_KIND_*; -1 unknown */

/* Returns true if a complete event, sample, switch or block request is missing, not only a part of
 * one. */
bool tapir_loss__is_complete(unsigned cause);

/* The address of the futex for which the thread that leaves its CPU waits; 0: none. */
uint64_t tapir_switch__futex_va(const struct tapir_rec_switch *rec);
/* When the thread left its CPU whose whole wait the record is; 0: it is not one. */
uint64_t tapir_switch__since_ns(const struct tapir_rec_switch *rec);
/* Why a thread left the CPU: "sleeping", "uninterruptible", "preempted", "runnable", ... */
const char *tapir_switch__state_name(const struct tapir_rec_switch *rec);

/* "read"; a value outside the enum gives "unknown". */
const char *tapir_io_op__name(unsigned op);

/*
 * Returns true if META's sample_event (empty: the default one) counts time, so that a sample's
 * period is in ns.
 */
bool tapir_sample_event__is_clock(struct tapir_sv event);

/*
 * Returns true for losses of processes or mappings: events of processes that were unknown for that
 * reason are counted nowhere.
 */
bool tapir_loss__hides_events(unsigned cause);
/* Any reason but ATTACH_FAILED has the text of ATTACH_LATE. */
const char *tapir_gap__name(unsigned reason); /* "attach_late" */
const char *tapir_gap__text(unsigned reason); /* "probes were attached late to", a path follows */

#endif
