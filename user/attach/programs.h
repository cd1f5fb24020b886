/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * programs.h - the BPF object: loaded with its maps sized for this session, its switches and
 * counters mapped, its tracepoint programs attached. links.h attaches the sites.
 *
 * Needs CAP_BPF and CAP_PERFMON (or root), Linux 6.1 (sleepable uprobes: commit 8c7dcb84e3b7
 * of 6.0). One thread uses it, except where said.
 */
#ifndef TAPIR_USER_PROGRAMS_H
#define TAPIR_USER_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/control.h"
#include "bpf/question_logic.bpf.h"
#include "trace/family.h"

struct tapir_programs;
struct tapir_tracepoint;

/* The system calls that are counted, and those that have a stack. */
struct tapir_call_choice {
	uint8_t flags[TAPIR_CALL_NUMBERS]; /* TAPIR_CALL_* */
	uint64_t long_ns; /* from which on a call has a stack; one that failed has it in any case */
	uint32_t key_cap; /* threads x calls x results at a time */
	uint32_t file_cap; /* processes x calls x results x files in a second; 0: not by file */
	bool with_stacks;
};

/* Numbers of system calls by file: two tables, one of which is added to, and names of files. */
struct tapir_call_file_tables {
	int counts_fds[2], names_fd; /* borrowed */
	volatile uint32_t *turn;     /* which of the two is added to */
	uint32_t anonymous_dev;	     /* of files without an inode of their own */
};

/* A question whose values are added up in the kernel: each of its probes has as many of them. */
struct tapir_sums_opts {
	bool is_on;
	uint32_t column_cnt, key_cnt;
	bool has_steps;	    /* of histograms */
	bool has_pairs;	    /* it is about intervals */
	size_t table_bytes; /* room for rows */
};

/* Returns true if a row's hits are those of its histogram, and counted there alone. */
static inline bool tapir_sums_opts__count_by_steps(const struct tapir_sums_opts *sums)
{
	return sums->has_steps && sums->column_cnt == 1 && !sums->key_cnt;
}

/* Samples of malloc's blocks; of the family NATIVE. */
struct tapir_native_choice {
	uint64_t mean_bytes; /* between two samples */
	uint64_t limit_hz;   /* calls per second from which on they are not probed; 0: none */
};

struct tapir_programs_opts {
	size_t sz; /* of this struct */
	struct tapir_filter filter;
	uint32_t site_cap;    /* sites this session can ever have, 1 … 65,535 */
	size_t ring_bytes;    /* each ring's size to begin with: a power of two >= 4096 */
	uint32_t process_cap; /* processes that can be listed at a time; 0: 65,536 */
	uint32_t frames;      /* of a user stack, at most TAPIR_MAX_FRAMES; 0: TAPIR_FRAMES */
	bool use_multi;	      /* programs will be attached by uprobe_multi links */
	bool families[TAPIR_FAMILY_CNT]; /* load what captures them; events: always */
	bool with_threads;		 /* load the iterator over threads, too */
	bool with_uses;			 /* and the one over what all threads have used */
	bool with_holds;		 /* load what asks the holder to hold, too */
	bool no_processes; /* neither what probes run nor what captures processes: of one moment */
	bool probes_later; /* the threads that load what probes and samples run may continue after
			      __load: no process is forked until they have ended */
	bool with_questions; /* hits can be rejected or added up: __set_question */
	struct tapir_sums_opts sums;
	uint32_t machine_cap; /* sites of the machine: 0: none, and nothing of them is loaded */
	bool with_tracepoints, with_functions, with_calls, with_counters; /* of those */
	bool with_machine_stacks;
	const struct tapir_call_choice *call_counts; /* borrowed; of the family CALLS; NULL: none */
	uint32_t wait_sum_cap; /* of the family SWITCH: threads whose short waits are summed; 0:
				  each switch is recorded */
	const struct tapir_native_choice *native; /* borrowed; NULL: no blocks are sampled */
	uint32_t kernel_kinds;	 /* of the family KERNEL: TAPIR_KERNEL_HAS_*; 0: none */
	uint32_t kernel_row_cap; /* of its sums: a power of two */
	bool use_sessions;	 /* probes of entries decide if their return is probed */
	bool probes_unlikely; /* with probes_later: what probes run is loaded when it is asked for
			       */
};

/* Loads everything; nothing is attached or enabled yet. *out is yours. */
int tapir_programs__load(const struct tapir_programs_opts *opts, struct tapir_programs **out);
void tapir_programs__free(struct tapir_programs *p); /* detaches what is attached */

/*
 * For users who may not load any: an empty object, with which the functions below do nothing and
 * lose nothing; __usdt_fd, __sample_fd and __control_ring_fd must not be called.
 */
int tapir_programs__new_without(struct tapir_programs **out);
/* Returns false for the object of __new_without. */
bool tapir_programs__are_there(const struct tapir_programs *p);

/* Attaches the programs of a family that was loaded, in the order of its row. */
int tapir_programs__attach_family(struct tapir_programs *p, enum tapir_family_id family);

/* The table of numbers of system calls; borrowed. -1: none are counted. */
int tapir_programs__call_counts_fd(const struct tapir_programs *p);
/* A descriptor to read struct tapir_call_open from, one per thread; the caller's. No line. */
int tapir_programs__iterate_open_calls(struct tapir_programs *p);

/* Returns false where calls are not counted by file. */
bool tapir_programs__call_files(const struct tapir_programs *p, struct tapir_call_file_tables *out);

/* The table of summed waits, by thread; borrowed. -1: each switch is recorded. */
int tapir_programs__wait_sums_fd(const struct tapir_programs *p);

/* The sums of the kernel's work, *cnt of them, shared with the programs; borrowed. NULL: none. */
struct tapir_kernel_row *tapir_programs__kernel_rows(const struct tapir_programs *p, size_t *cnt);

/* The program that malloc and its like run; borrowed. -1: none does. */
int tapir_programs__native_fd(const struct tapir_programs *p);
/* Returns how often it ran so far, at entries and returns. */
uint64_t tapir_programs__native_hits(const struct tapir_programs *p);

/*
 * A word that the reader of ring lanes sets to 1 before it sleeps. The next traced thread that runs
 * clears it, which wakes the waiter for the ring buffers. Only once switches are attached. NULL:
 * there are no programs.
 */
volatile uint32_t *tapir_programs__readers_idle(struct tapir_programs *p);

/* Fork, exec, exit of processes; with hold also what asks the holder to hold (holder.h). Nothing
 * with no_processes. */
int tapir_programs__attach_process(struct tapir_programs *p, bool hold);

/*
 * A descriptor to read struct tapir_thread_seen from, one per thread of the process; the caller's.
 * -EOPNOTSUPP: not loaded. No line.
 */
int tapir_programs__iterate_threads(struct tapir_programs *p, uint32_t tgid);

/* The same to read struct tapir_thread_use from, of all threads of the machine. Any thread. */
int tapir_programs__iterate_uses(struct tapir_programs *p);
/* Runs the iterator of a family that is captured, if it has one. 0 or -errno without a line. */
int tapir_programs__run_last(struct tapir_programs *p, enum tapir_family_id family);

/* Replaces the filter of opts, before anything is attached. */
int tapir_programs__set_filter(struct tapir_programs *p, const struct tapir_filter *filter);

/* Borrowed. With probes_later it waits, or is -errno, with a line. */
int tapir_programs__usdt_fd(struct tapir_programs *p);
int tapir_programs__sample_fd(struct tapir_programs *p); /* TAPIR_FAMILY_SAMPLE only */
uint32_t tapir_programs__site_cap(const struct tapir_programs *p);

/* The switch that lets records out. Any thread. */
void tapir_programs__enable(struct tapir_programs *p, bool on);

/* A new epoch: stacks and threads are sent again. Any thread. */
void tapir_programs__next_epoch(struct tapir_programs *p);

/* Hits that a session of the ring lane with this id has taken are not recorded. 0: all are. */
void tapir_programs__set_ring_session(struct tapir_programs *p, uint64_t session_id);

/* Puts a site where programs find it, before its probe is attached. 0 or -errno with a line. */
int tapir_programs__set_site(struct tapir_programs *p, uint32_t idx, const struct tapir_site *site);
/* The highest idx of a site that was set, and one. Any thread. */
uint32_t tapir_programs__site_cnt(const struct tapir_programs *p);

/*
 * Hits of a probe that it rejects or adds up are counted, not recorded, from now on. Any thread.
 * __rejected: how many were, so far.
 */
int tapir_programs__set_question(struct tapir_programs *p, uint32_t probe_id,
				 const struct tapir_hit_question *question);
uint64_t tapir_programs__rejected(const struct tapir_programs *p, uint32_t probe_id);
/* The maps of what is added up (sums.h), borrowed. */
struct tapir_sums_fds {
	int row, steps, rows, row_steps, texts, state;
	struct tapir_sums_opts opts;
};
/* Returns the maps; -1: nothing is added up in the kernel. */
struct tapir_sums_fds tapir_programs__sums_fds(const struct tapir_programs *p);
/* Begins another interval of what is added up; returns the one that ends. Any thread. */
uint64_t tapir_programs__next_interval(struct tapir_programs *p);

/*
 * Sources of the machine. __set_machine_site: puts a site in its place; __set_call: by which system
 * call it is reached; __attach_*: what runs them. 0 or -errno with a line.
 */
int tapir_programs__set_machine_site(struct tapir_programs *p, uint32_t idx,
				     const struct tapir_machine_site *site);
int tapir_programs__set_call(struct tapir_programs *p, uint32_t nr, uint32_t idx);
int tapir_programs__attach_tracepoint(struct tapir_programs *p,
				      const struct tapir_tracepoint *tracepoint, uint32_t idx);
int tapir_programs__attach_calls(struct tapir_programs *p);
/* The program that a sampler runs with idx as its cookie; borrowed. */
int tapir_programs__counter_fd(const struct tapir_programs *p);

/* Makes a process a named target: its hits count from now on. 0 or -errno with a line. */
int tapir_programs__add_tgid(struct tapir_programs *p, uint32_t tgid);
/* Removes the process that began at start_ns; 0: any process that has this id. */
void tapir_programs__del_tgid(struct tapir_programs *p, uint32_t tgid, uint64_t start_ns);

/* Get and set where a process publishes trace ids (otel_tls_locations.h). False: not known. */
bool tapir_programs__otel_tls_location(const struct tapir_programs *p, uint32_t tgid,
				       struct tapir_otel_tls_location *out);
int tapir_programs__set_otel_tls_location(struct tapir_programs *p, uint32_t tgid,
					  const struct tapir_otel_tls_location *location);

/* For the holder; shared by the kernel and tapir, borrowed. NULL without programs. */
struct tapir_holds *tapir_programs__holds(struct tapir_programs *p);
/* 0: no thread is held from here on. */
void tapir_programs__set_holder(struct tapir_programs *p, uint32_t tgid);

/*
 * Gets the key of a file, as it is now: the same for all overlay mounts of it. Call it before the
 * file is read: what is changed after it has another key. -ENODATA: it is not known; no line.
 */
int tapir_programs__file_key(struct tapir_programs *p, int fd, struct tapir_file_key *key);
/* Notes that the file's probes are attached: a thread that maps it need not be held. */
int tapir_programs__set_known_file(struct tapir_programs *p, const struct tapir_file_key *key);
/* Notes that they are no longer attached. */
void tapir_programs__forget_file(struct tapir_programs *p, const struct tapir_file_key *key);

/* The maps of bpf/unwind.h, borrowed; -1: there are no programs. */
struct tapir_unwind_fds {
	int tables, files, spaces;
};
/* Returns the maps, which unwind_maps.h alone fills. */
struct tapir_unwind_fds tapir_programs__unwind_fds(const struct tapir_programs *p);

/* Counts of one probe (0: of no probe) by cause: borrowed, live. Any thread. */
const uint64_t *tapir_programs__losses(const struct tapir_programs *p, uint32_t probe_id);

/* The number of block requests that their devices have had for a second or longer. */
uint64_t tapir_programs__unfinished(const struct tapir_programs *p);

/*
 * The number of times that the kernel skipped a program because another one was running, by the
 * kind of loss: RECURSION, SAMPLE_SKIPPED or SWITCH_SKIPPED. No kernel up to 6.18 counts it for a
 * sampler (bpf_overflow_handler checks bpf_prog_active and returns): there it is 0, although it
 * happens while a kprobe or perf tracepoint program, or a bpf() call that updates a map, runs on
 * that CPU.
 */
uint64_t tapir_programs__misses(const struct tapir_programs *p, enum tapir_loss_cause cause);

/* Rings: borrowed fds. */
unsigned tapir_programs__ring_cnt(const struct tapir_programs *p);
int tapir_programs__ring_fd(const struct tapir_programs *p, unsigned pair);

/*
 * A bigger ring, of tapir_bpf_ring__new, takes the place of the one of a CPU pair, when its reader
 * is ready. The old one, whose fd becomes yours, stays readable: programs that run now may still
 * write to it. It fails with a line and changes nothing.
 */
int tapir_programs__use_ring(struct tapir_programs *p, unsigned pair, int fd, int *old_fd);
int tapir_programs__control_ring_fd(const struct tapir_programs *p);

#endif
