/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nettrace_impl.h - the exporter's inside; for nettrace*.c only. */
#ifndef TAPIR_USER_NETTRACE_IMPL_H
#define TAPIR_USER_NETTRACE_IMPL_H

#include "base/map.h"
#include "base/vec.h"
#include "output/export/nettrace.h"
#include "output/export/nettrace_kind.h"
#include "output/export/record_window.h"
#include "symbol/frame.h"
#include "symbol/stack_cache.h"
#include "trace/ordset.h"

/*
 * Limits of what a file can make the exporter remember. Beyond them, threads have no rows of their
 * own, processes no names, and events of more probes are left out.
 */
#define TAPIR_NETTRACE_THREADS_MAX   (1u << 21)
#define TAPIR_NETTRACE_PROCESSES_MAX (1u << 19)
#define TAPIR_NETTRACE_RANGES_MAX    (1u << 21)
#define TAPIR_NETTRACE_KINDS_MAX     (1u << 16)

/* Ids of the rows that describe tapir's own events, also their order; those of probes follow. */
enum tapir_nettrace_own {
	TAPIR_NETTRACE_CPU = 1,
	TAPIR_NETTRACE_CSWITCH,
	TAPIR_NETTRACE_EXISTING_PROCESS,
	TAPIR_NETTRACE_PROCESS_CREATE,
	TAPIR_NETTRACE_PROCESS_EXIT,
	TAPIR_NETTRACE_PROCESS_MAPPING,
	TAPIR_NETTRACE_PROCESS_SYMBOL,
	TAPIR_NETTRACE_MAPPING_METADATA,
	TAPIR_NETTRACE_LOSS,
	TAPIR_NETTRACE_GAP,
	TAPIR_NETTRACE_COUNTER,
	TAPIR_NETTRACE_FINDING,
	TAPIR_NETTRACE_OWN_END
};

/* A probe, or one description of it. */
struct tapir_nettrace_event_kind {
	uint32_t metadata_id;
	uint64_t hash;		     /* of the descriptions it was made by */
	uint64_t version;	     /* of the catalog, when they were last checked */
	struct tapir_rec_probe *rec; /* owned; NULL: never described */
	struct tapir_probe_view view;
};

/* A thread left the CPU: when, where, in which span. */
struct tapir_nettrace_absence {
	uint64_t time_ns, stack_id, kstack_id;
	bool has_ids;
	struct tapir_trace_ids ids;
};

/* A program in a process: exec makes another. */
struct tapir_nettrace_process {
	uint32_t tgid;
	bool is_written, has_ended;
	uint64_t program; /* a number of its own */
	struct tapir_ordset mappings, code;
	uint64_t moved_va, moved_end_va; /* free room for code that was moved */
	uint64_t moved_mapping_id;
	size_t kernel_cnt; /* of the kernel's mappings, known to be in it */
};

/* A mapping of the kernel, which every process with kernel stacks has. */
struct tapir_nettrace_kernel_mapping {
	uint64_t start_va, end_va, file_off;
};

/* Stacks or labels of the block that is made, and the ids they have. */
struct tapir_nettrace_list {
	struct tapir_str bytes;
	uint32_t first_id, cnt; /* of this block */
};

struct tapir_nettrace {
	struct tapir_reader *reader; /* borrowed */
	const struct tapir_catalog *catalog;
	const char *head; /* borrowed; NULL: none */
	struct tapir_record_window window;
	struct tapir_nettrace_stats stats;
	bool has_started, failed;
	bool samples_time; /* a sample's period is a time */
	uint64_t now_ns;   /* of the record at hand: never less than the one before */

	/* blocks in the making */
	struct tapir_nettrace_rows rows;
	struct tapir_str metadata, threads, payload;
	struct tapir_nettrace_list stacks, labels;
	uint32_t sequence;

	struct tapir_map thread_by_id;
	uint64_t next_thread_idx;
	struct tapir_map kind_by_probe;
	struct tapir_vec(struct tapir_nettrace_event_kind) kinds;
	uint32_t next_metadata_id, next_event_id;
	struct tapir_value *values;
	unsigned value_cap;
	struct tapir_map label_by_ids;
	struct tapir_map sampled_remainder; /* thread -> sampled time that is in no row yet */
	struct tapir_map absence_by_tid;    /* tid -> index in absences */
	struct tapir_vec(struct tapir_nettrace_absence) absences;

	/* stacks and names */
	struct tapir_stack_cache stack_cache;
	struct tapir_frame_cache frame_cache;
	struct tapir_map process_by_tgid; /* -> struct tapir_nettrace_process * */
	struct tapir_map va_by_name;	  /* of a program's function -> its address for readers */
	struct tapir_map metadata_by_build_id;
	struct tapir_vec(struct tapir_nettrace_kernel_mapping) kernel_mappings;
	uint64_t next_program, next_mapping_id, next_symbol_id;
	size_t range_cnt; /* of all processes' sets */
	/* of the frame that is named */
	struct {
		uint32_t tgid, owner; /* owner: 0 for a kernel's, which is under tgid, too */
		uint64_t time_ns;
		bool is_caller; /* a return address */
	} naming;
};

struct tapir_nettrace_subject {
	uint32_t metadata_id, tgid, tid;
	uint16_t cpu;
	uint32_t stack_id, label_id;
};

/* ---- nettrace.c ------------------------------------------------------------------------------ */

/* Rows of a millisecond each for a sample. remainder_ns: its thread's sampled time that has no row
 * yet.
 */
uint64_t tapir_nettrace__sample_rows(uint64_t *remainder_ns, bool is_first, uint64_t period_ns);

/* ---- nettrace_emit.c -------------------------------------------------------------------------- */

/* An event at now_ns, with what payload holds; empties payload. */
void tapir_nettrace__put_thread(struct tapir_nettrace *n, uint64_t idx, uint32_t tgid, uint32_t tid,
				struct tapir_sv name);
void tapir_nettrace__emit(struct tapir_nettrace *n, const struct tapir_nettrace_subject *subject);

/* ---- nettrace_event.c ----------------------------------------------------------------------- */

/* Writes an event, and before it its description, at its first occurrence. */
void tapir_nettrace__add_event(struct tapir_nettrace *n, const struct tapir_rec_event *ev);

/* ---- nettrace_own.c: descriptions of tapir's own events ------------------------------------- */

/* Puts the descriptions of tapir's own events. */
void tapir_nettrace__put_own_metadata(struct tapir_str *out);

/* ---- nettrace_process.c --------------------------------------------------------------------- */

/* Write a process, and a mapping, as the events that readers take them from. */
void tapir_nettrace__write_process(struct tapir_nettrace *n, const struct tapir_rec *rec);
void tapir_nettrace__write_mapping(struct tapir_nettrace *n, const struct tapir_rec *rec);
/* A kernel stack of this process is to come: readers look its addresses up in the process. */
void tapir_nettrace__write_kernel(struct tapir_nettrace *n, uint32_t tgid);
/* The address of a frame for readers; a new name is written. Of a tapir_nettrace. */
uint64_t tapir_nettrace__assign_va(void *ctx, const struct tapir_frame *frame);
void tapir_nettrace__forget_processes(struct tapir_nettrace *n);

/* ---- nettrace_method.c ---------------------------------------------------------------------- */

/* The name of a .NET method, with a module in it. */
void tapir_nettrace__add_method(struct tapir_str *out, struct tapir_sv name);

/* ---- nettrace_stacks.c ---------------------------------------------------------------------- */

/* Ids that were given are no longer valid: write all blocks and a sequence point. */
bool tapir_nettrace__must_renew(struct tapir_nettrace *n);
/* 0: no stack. ref: ids of user and kernel stack. */
uint32_t tapir_nettrace__stack(struct tapir_nettrace *n, const struct tapir_stack_ref *ref);
/* 0: none. */
uint32_t tapir_nettrace__label(struct tapir_nettrace *n, const struct tapir_event_view *view);
/* Adds the block, if it has something. */
void tapir_nettrace_list__flush(struct tapir_nettrace_list *list, enum tapir_nettrace_block kind,
				struct tapir_str *out);

#endif
