/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * catalog_impl.h - the inside of the catalog, for catalog.c (remember), catalog_entry.c (memory),
 * lookup.c (find), name_changes.c and segment.c (repeat, forget). Entries belong to the catalog;
 * every pointer to one is borrowed until the next describe or new_segment.
 */
#ifndef TAPIR_USER_CATALOG_IMPL_H
#define TAPIR_USER_CATALOG_IMPL_H

#include "base/map.h"
#include "base/vec.h"
#include "trace/catalog.h"
#include "trace/clock_pairs.h"
#include "trace/ordset.h"
#include "trace/stack_store.h"

/* A remembered record. */
struct entry {
	struct tapir_ordset_node node; /* MAPPING, JIT, SYMBOL: in their owner's set; first */
	struct entry *older;	       /* THREAD, PROCESS: the earlier one with this id */
	uint64_t until_ns;	       /* MAPPING: when another took its place; 0: it is there.
					  THREAD, PROCESS: TAPIR_EARLIER_DROPPED or 0 */
	uint32_t used_gen;	       /* segment in which it was described or used last */
	uint32_t put_gen;	       /* segment in which it was written last; 0: never */
	struct tapir_rec rec[];	       /* the whole record */
};

/* There were earlier ones with this id, which are not remembered. */
#define TAPIR_EARLIER_DROPPED UINT64_MAX

struct process {
	struct entry *newest;
	struct entry *resource;	      /* the newest */
	struct tapir_ordset mappings; /* by start_va and the time from which they hold */
	struct tapir_ordset jits;     /* by start_va and from_ns */
	struct tapir_ordset inlined;  /* by the same, too */
	bool asks_for_inlined;
	uint64_t exit_ns;		  /* 0: it lives */
	uint64_t first_ns;		  /* of its first record; 0: none */
	struct tapir_vec(uint64_t) lives; /* when one began that has the id of one before, rising */
	uint32_t exit_gen;
	uint32_t put_gen; /* its mappings are in this segment */
	uint32_t
		names_cnt; /* grows when a JIT name ends: its stacks may mean others from then on */
};

struct file {
	struct tapir_ordset symbols; /* by start_off */
};

struct stack_use {
	uint32_t tgid;
	uint64_t stack_id, time_ns;
};

/* About the bytes that a map slot and malloc add to each remembered record. */
#define TAPIR_CATALOG_OVERHEAD_BYTES 64

#define META_CNT		     256 /* remembered at most */
#define THREAD_CACHE		     64
#define STACK_CACHE		     1024
#define ASK_AGAIN_MAX		     4096 /* stacks that wait for a name */
#define LIVES_MAX		     4096
#define INSTANCES_MAX		     256 /* remembered uses of one thread or process id */

struct tapir_catalog {
	enum tapir_catalog_mode mode;
	struct tapir_writer *writer;
	uint32_t gen;	/* number of the segment, from 1 */
	uint64_t bytes; /* of all entries, about; those of stacks are counted by themselves */
	uint64_t refused;
	uint64_t version; /* entries made and freed, not of stacks */
	struct tapir_map probes, metadata, threads, processes, files;
	struct tapir_stack_store stacks;
	struct entry *clock; /* the newest, to be repeated */
	struct tapir_clock_pairs clock_pairs;
	struct tapir_vec(struct entry *) metas;
	struct tapir_vec(struct entry *) hosts; /* by number less 1; NULL: not described */
	/* (tgid, stack) pairs used in this segment, and those whose names are not requested */
	struct tapir_map used;
	struct tapir_vec(struct stack_use) unnamed, again;
	size_t unnamed_head;
	struct tapir_offline_source late; /* find NULL: none */
	struct tapir_line_source lines;	  /* find NULL: none */
	/* the last few found in `used` and written: hits cost no hashing */
	struct {
		uint32_t tgid, tid, gen;
	} thread_cache[THREAD_CACHE];
	struct {
		uint64_t stack_id;
		uint32_t tgid, gen;
	} stack_cache[STACK_CACHE];
};

uint64_t tapir_catalog__max_bytes(const struct tapir_catalog *c); /* of its mode */
/* Copies the record into a new entry, *out. -ENOSPC: the bound of memory; -ENOMEM. */
int tapir_catalog__new_entry(struct tapir_catalog *c, const struct tapir_rec *rec,
			     struct entry **out);
/* Remembers a stack in this segment. 0, -ENOSPC or -ENOMEM. */
int tapir_catalog__keep_stack(struct tapir_catalog *c, const struct tapir_rec_stack *rec);
/* Writes the entry if this segment lacks it. */
int tapir_catalog__put_entry(struct tapir_catalog *c, struct entry *e);
/* Free the entry, or the chain of it and all older ones, and give the memory back to the bound. */
void tapir_catalog__free_entry(struct tapir_catalog *c, struct entry *e);
void tapir_catalog__free_chain(struct tapir_catalog *c, struct entry *newest); /* NULL: none */
/* The two below accept NULL: a slot whose owner was freed already. */
void tapir_catalog__free_file(struct tapir_catalog *c, struct file *f);
void tapir_catalog__free_process(struct tapir_catalog *c, struct process *p);
/*
 * Return the entry that was at va (a symbol: that is at off) at time_ns; NULL: none is remembered.
 */
struct entry *tapir_catalog__find_mapping(const struct tapir_catalog *c, uint32_t tgid, uint64_t va,
					  uint64_t time_ns);
struct entry *tapir_catalog__find_jit(const struct tapir_catalog *c, uint32_t tgid, uint64_t va,
				      uint64_t time_ns);
/* The INLINED record for va in the code of that JIT entry; NULL: there is none. */
struct entry *tapir_catalog__find_inlined(const struct tapir_catalog *c, const struct entry *jit,
					  uint64_t va, uint64_t time_ns);
struct entry *tapir_catalog__find_symbol(const struct tapir_catalog *c, uint64_t file_id,
					 uint64_t off);
/* When the program that ran at time_ns began: its EXEC or FORK, else 0. */
uint64_t tapir_catalog__image_ns(const struct process *p, uint64_t time_ns);

static inline void *tapir_catalog__in(const struct tapir_map *map, uint64_t key)
{
	const uint64_t *value = tapir_map__get(map, key);

	return value ? (void *)(uintptr_t)*value : NULL;
}

#endif
