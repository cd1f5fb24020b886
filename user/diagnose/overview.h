/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * overview.h - the figures on the first screen of a report, in addition to the findings: the
 * requests that took most time, the functions that used most CPU time and the places where threads
 * waited longest. They are derived from what the findings count, so both agree. One thread.
 */
#ifndef TAPIR_USER_OVERVIEW_H
#define TAPIR_USER_OVERVIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "diagnose/failed_calls.h"

#define TAPIR_OVERVIEW_ROWS 3 /* of each kind */

struct tapir_diagnosis;

/* The overview owns all strings except const ones. */
struct tapir_overview_request {
	char *name;    /* "GET /tax/{n}"; with its process if several have requests */
	char *spent;   /* "97% HTTP in Shop.Ask (async)", most of their time; NULL: not known */
	uint32_t pid;  /* 0: of several processes, or not known */
	bool is_route; /* a row of --view requests; else a kind of intervals, or a port */
	uint64_t cnt, p50_ns, p99_ns, sum_ns;
	double per_second;
};

struct tapir_overview_function {
	char *name;
	double percent; /* of the samples */
};

struct tapir_overview_site {
	char *name;	    /* NULL: none of the program's own functions was on the stack */
	char *thread;	    /* then: a thread that waited, "java", "clerk-*" */
	const char *reason; /* "socket"; NULL: unknown */
	char *ended_by;	    /* "a timer", "clerk-*"; NULL: unknown */
	bool is_open;	    /* most of the time is of waits that did not end in the recording */
	uint64_t ns;
};

/* Waits that lead through processes, the same ones for the same reasons (chain_sums.h). */
struct tapir_overview_chain {
	char *text;
	uint64_t ns, cnt;
};

/* Bytes of one process and file. */
struct tapir_overview_io {
	char *requester, *file;
	uint32_t pid; /* 0: no process */
	uint64_t read_bytes, written_bytes;
};

/* Calls of one peer. */
struct tapir_overview_call {
	char *peer, *waiters;		 /* waiters: "8 threads wait in ask_rates", or "" */
	uint64_t cnt, timed_cnt, sum_ns; /* timed_cnt: whose time is known, which is sum_ns */
	uint64_t unanswered_cnt, unanswered_ns;
};

struct tapir_overview {
	struct tapir_overview_request requests[TAPIR_OVERVIEW_ROWS];
	struct tapir_overview_function functions[TAPIR_OVERVIEW_ROWS];
	struct tapir_overview_site sites[TAPIR_OVERVIEW_ROWS];
	struct tapir_overview_chain chains[TAPIR_OVERVIEW_ROWS];
	struct tapir_overview_io ios[TAPIR_OVERVIEW_ROWS];
	struct tapir_overview_call calls[TAPIR_OVERVIEW_ROWS];
	struct tapir_failed_call failed_calls[TAPIR_OVERVIEW_ROWS];
	size_t request_cnt, function_cnt, site_cnt, chain_cnt, io_cnt, call_cnt, failed_call_cnt;
	uint64_t io_requests, io_read_bytes, io_written_bytes; /* of all */
	uint64_t syscalls_made, syscalls_failed;	       /* of all */
	uint64_t sample_cnt, span_ns;
	char *looked_at; /* "most in draw shop.py (72 of 72 times ...)" of an interpreter; NULL */
	bool has_shares; /* there are enough samples for shares of functions */
	bool failed;	 /* out of memory */
};

/* Makes the overview, after the timeline is finished. */
void tapir_overview__make(struct tapir_diagnosis *f, struct tapir_overview *overview);
void tapir_overview__fini(struct tapir_overview *overview);

#endif
