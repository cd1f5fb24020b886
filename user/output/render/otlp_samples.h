/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * otlp_samples.h - a recording's CPU samples and the times its threads did not run as OpenTelemetry
 * has them: a row for each stack, process and span, with a value for each observation. Of files
 * without samples: the events that have stacks, counted.
 *
 * Bounded: beyond TAPIR_OTLP_MAX_ROWS rows the span, then the observation is left out, beyond
 * TAPIR_OTLP_MAX_OWNERS processes the observation; beyond TAPIR_OTLP_MAX_POINTS observations, each
 * row keeps its sum without times. One thread.
 */
#ifndef TAPIR_USER_OTLP_SAMPLES_H
#define TAPIR_USER_OTLP_SAMPLES_H

#include "base/keyed.h"
#include "analyze/offcpu.h"
#include "analyze/stack_tree.h"
#include "trace/trace_filter.h"

#define TAPIR_OTLP_MAX_OWNERS (1u << 16)
#define TAPIR_OTLP_MAX_ROWS   (1u << 20)
#define TAPIR_OTLP_MAX_POINTS (1u << 22)
#define TAPIR_OTLP_NO_NODE    TAPIR_STACK_TREE_ROOT /* no stack is known */

enum tapir_otlp_kind {
	TAPIR_OTLP_CPU,	   /* nanoseconds, or what samples count */
	TAPIR_OTLP_OFFCPU, /* nanoseconds */
	TAPIR_OTLP_EVENTS, /* how many */
	TAPIR_OTLP_KIND_CNT
};

/* A process between two execs. */
struct tapir_otlp_owner {
	uint32_t tgid;
	char *comm, *exe, *cgroup; /* NULL: not known */
	struct tapir_sv resource;  /* what it says of itself (decode/otel_resource.h); its own */
	uint64_t sums[TAPIR_OTLP_KIND_CNT];
	size_t row_cnts[TAPIR_OTLP_KIND_CNT];
};

struct tapir_otlp_row {
	uint32_t node, owner;
	uint32_t link; /* 1 + its place in links; 0: no span */
	enum tapir_otlp_kind kind;
	size_t cnt; /* of its points */
	uint64_t sum;
};

struct tapir_otlp_point {
	uint32_t row;
	uint64_t utc_ns, value;
};

struct tapir_otlp_samples {
	const struct tapir_catalog *catalog;
	const struct tapir_trace_filter *trace; /* borrowed; NULL: of every trace */
	uint64_t begin_ns, begin_utc_ns;	/* of the recording */
	struct tapir_stack_tree tree;		/* of the stacks of all processes */
	struct tapir_keyed(struct tapir_otlp_owner) owners;
	struct tapir_keyed(struct tapir_otlp_row) rows;
	struct tapir_keyed(struct tapir_trace_ids) links;
	struct tapir_vec(struct tapir_otlp_point) points;
	uint64_t first_utc_ns, end_utc_ns; /* of all observations; end: behind the last */
	uint64_t period;		   /* of CPU samples, of the last one */
	bool periods_differ;
	size_t sample_cnt;    /* of CPU samples that have a row */
	uint64_t skipped_cnt; /* observations for which there was no row */
	uint64_t untied;      /* those whose row has no span for that reason */
	bool has_samples;
	bool has_no_times; /* too many points */
	/* for the samples alone */
	struct tapir_offcpu *offcpu;
	bool failed;
};

/* catalog is borrowed until __fini. 0 or -ENOMEM. */
int tapir_otlp_samples__init(struct tapir_otlp_samples *s, const struct tapir_catalog *catalog,
			     uint64_t begin_ns, uint64_t begin_utc_ns);
void tapir_otlp_samples__fini(struct tapir_otlp_samples *s);
/* Takes any record. 0 or -ENOMEM. */
int tapir_otlp_samples__add(struct tapir_otlp_samples *s, const struct tapir_rec *rec);
/* Ends what is open, after the last record. */
int tapir_otlp_samples__finish(struct tapir_otlp_samples *s);

#endif
