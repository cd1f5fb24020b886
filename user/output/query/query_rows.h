/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * query_rows.h - tables that are not records of the file: each is made by a pass over it, and kept
 * as long as the statement runs. For output/query alone. One thread.
 */
#ifndef TAPIR_USER_QUERY_ROWS_H
#define TAPIR_USER_QUERY_ROWS_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "output/query/query_table.h"

struct tapir_process_list_row {
	uint32_t pid;
	const char *name, *exe, *service;
	uint64_t threads, events, samples, switches;
};

struct tapir_thread_list_row {
	uint32_t pid, tid;
	const char *name;
	uint64_t events, samples, switches;
};

struct tapir_finding_list_row {
	uint32_t rank;
	const char *kind, *unit, *subject, *text, *evidence, *view;
	double severity, magnitude;
};

struct tapir_interval_list_row {
	uint64_t from_ns, until_ns, took_ns, running_ns, runnable_ns, sleeping_ns;
	uint32_t pid, tid, end_tid;
	uint8_t is_complete, is_nested;
	const char *thread, *provider, *name, *label, *cause;
};

struct tapir_wait_list_row {
	uint64_t from_ns, until_ns, took_ns, sleep_ns, runnable_ns, futex_va;
	uint32_t pid, tid, waker_tid;
	const char *thread, *state, *function;
};

#define TAPIR_REQUEST_ERRORS_UNKNOWN UINT64_MAX

struct tapir_request_list_row {
	uint64_t count, p50_ns, p99_ns, max_ns, sum_ns, incomplete, at_attach;
	uint64_t errors; /* TAPIR_REQUEST_ERRORS_UNKNOWN: their status is not known */
	double per_second;
	uint32_t pid;
	uint8_t is_call;
	const char *process, *route;
};

struct tapir_request_part_list_row {
	uint64_t ns, count, each_ns, longest_ns;
	double percent, slowest_percent, a_request, parallel; /* NAN: not known */
	uint32_t pid;
	const char *route, *part, *how;
};

struct tapir_span_list_row {
	uint64_t from_ns, until_ns, took_ns, self_ns; /* until_ns 0: it has not ended */
	uint32_t pid, tid, parent_pid, depth, status;
	const char *process, *trace_id, *span_id, *parent_id, *kind, *name;
};

struct tapir_stack_list_row {
	uint64_t stack_id, events, samples, switches;
	uint32_t pid, frame_cnt;
	uint8_t is_kernel;
	const char *end;
};

struct tapir_frame_list_row {
	uint64_t stack_id, va;
	uint32_t pid, depth;
	uint8_t is_kernel, is_named;
	const char *function, *module;
};

struct tapir_meta_list_row {
	uint32_t idx;
	const char *key, *value;
};

/* The rows are in the order of the table's key. */
struct tapir_list {
	struct tapir_vec(const void *) rows;
	bool is_made;
};

struct tapir_lists {
	struct tapir_list all[TAPIR_LIST_CNT];
	struct tapir_arena *arena; /* whose bound is that of the statement; borrowed */
	struct tapir_map texts;	   /* hash -> the text, so that names are kept once */
	/* Called every few thousand records; true: the statement's time is up. */
	bool (*has_ended)(void *ctx);
	void *ctx;
};

/*
 * Makes the list that has not been made yet; reader: before its first record. 0, -EINTR: the time
 * is up, -ENOMEM: out of memory, or the bound; -errno.
 */
int tapir_lists__make(struct tapir_lists *lists, enum tapir_list_id id,
		      struct tapir_reader *reader);
void tapir_lists__fini(struct tapir_lists *lists);

#endif
