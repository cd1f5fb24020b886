/* SPDX-License-Identifier: GPL-2.0-or-later */
/* merge_impl.h - the inside of a merge: merge.c reads, merge_plan.c decides, merge_write.c writes.
 */
#ifndef TAPIR_USER_MERGE_IMPL_H
#define TAPIR_USER_MERGE_IMPL_H

#include "base/map.h"
#include "base/vec.h"
#include "output/export/merge.h"
#include "trace/chunk.h"
#include "trace/recbuf.h"
#include "trace/rehost.h"

/* The latest META of each key. */
struct tapir_merge_metas tapir_vec(struct tapir_rec *);

struct tapir_merge_input {
	const char *path, *given;  /* given: the host's name by the caller, or NULL */
	struct tapir_reader *scan; /* the first pass; the second opens it again */
	struct tapir_reader *reader;
	struct tapir_reader_stats stats;
	struct tapir_merge_metas metas;
	struct tapir_map kernel_files;
	uint64_t pair_cnt; /* of CLOCK */
	uint64_t offset_ns, least_ns,
		max_ns;		    /* UTC less CLOCK_MONOTONIC: last, smallest, largest */
	uint64_t first_ns, last_ns; /* of records */
	uint64_t digest;
	uint32_t probe_max;
	bool is_merged;
	uint32_t host; /* its place in hosts */
	struct tapir_rehost rehost;
	/* Used by the second pass. */
	struct tapir_merge *merge;
	const struct tapir_rec *head;
	uint64_t head_ns; /* its time in the merged recording; UINT64_MAX: there is no more */
	bool is_repeat;	  /* what descriptions are put for */
};

struct tapir_merge_host {
	char *name;
	uint32_t first_input, input_cnt, probe_cnt;
	bool has_offset, has_clock;	       /* UTC at all; CLOCK records */
	uint64_t offset_ns, first_ns, last_ns; /* of its own clock */
	struct tapir_rec_host rec;
};

struct tapir_merge {
	struct tapir_vec(struct tapir_merge_input) inputs;
	struct tapir_vec(struct tapir_merge_host) hosts;
	/* The host whose CLOCK records are those of all: its clock began first of those that have
	 * any. */
	uint32_t reference;
	struct tapir_str text;
	struct tapir_chunk room;
	struct tapir_recbuf buf;
	/* Used by the second pass. */
	struct tapir_writer *w;
	struct tapir_map in_segment; /* hashes of its descriptions */
	char *copy;		     /* of a record, to be changed */
	uint64_t segment_ns, segment_bytes, skipped_cnt;
};

static inline bool tapir_merge__has_hosts(const struct tapir_merge *m)
{
	return m->hosts.cnt > 1;
}

/* The value of a key in them; empty: none. */
struct tapir_sv tapir_merge_metas__value(const struct tapir_merge_metas *metas, const char *key);
/* Remembers a META in the place of the one with its key. 0 or -ENOMEM. */
int tapir_merge_metas__keep(struct tapir_merge_metas *metas, const struct tapir_rec *rec);
void tapir_merge_metas__fini(struct tapir_merge_metas *metas);

/*
 * Puts the METAs of recordings as those of one: of host, or of all (NULL), with times as in the
 * merged recording or (is_own) as on the host.
 */
int tapir_merge_metas__put(struct tapir_merge *m, const struct tapir_merge_host *host, bool is_own,
			   int (*put)(void *ctx, const struct tapir_rec *rec), void *ctx);

#endif
