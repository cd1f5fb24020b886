/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * proc.h - what /proc knows of a process. Every process may end, exec or be hostile while it is
 * inspected: reads are bounded, go through one fd of its directory (so that a reused pid is not
 * mixed in), and -ESRCH is an ordinary answer. No state; any thread.
 */
#ifndef TAPIR_USER_PROC_H
#define TAPIR_USER_PROC_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/maps.h"
#include "base/str.h"
#include "base/vec.h"
#include "tapir/abi.h"

#define TAPIR_PROC_MAX_CMDLINE_BYTES 32768 /* longer is cut */

struct tapir_proc {
	uint32_t tgid;
	uint32_t parent_tgid;
	uint32_t ns_tgid;  /* in its innermost pid namespace */
	uint32_t uid;	   /* effective */
	uint64_t start_ns; /* CLOCK_MONOTONIC, as exact as the kernel's clock tick (10 ms) */
	char comm[TAPIR_COMM_BYTES];
	char *exe;     /* as the process sees it; NULL: none, or not readable */
	char *cmdline; /* arguments separated by NUL; never NULL */
	size_t cmdline_len;
	char *cgroup; /* v2 path; "" where there is none */
	bool is_kernel_thread;
	bool is_zombie; /* all of its threads have ended; its parent has not waited for it */
};

/*
 * -ESRCH: no such process. -EINVAL: tgid names a thread that is not its process's first.
 * Both with a line. On success out needs __fini.
 */
int tapir_proc__read(uint32_t tgid, struct tapir_proc *out);
/* Reads as __read does, but a zombie is -ESRCH as well: nothing happens in it any longer. */
int tapir_proc__read_running(uint32_t tgid, struct tapir_proc *out);
/* Reads only what a record of the kernel does not have: exe, cmdline, cgroup. Needs __fini, too. */
int tapir_proc__read_program(uint32_t tgid, struct tapir_proc *out);
void tapir_proc__fini(struct tapir_proc *proc);

/*
 * Returns the path of its cgroup of version 2, which the caller frees; "" where there is none,
 * NULL: it has ended.
 */
char *tapir_proc__read_cgroup(uint32_t tgid);
/*
 * Returns the path of its program, which the caller frees; NULL: it has ended, has none, or may not
 * be inspected.
 */
char *tapir_proc__read_exe(uint32_t tgid);

/*
 * Returns true if two readings of when a process began, in ms of CLOCK_MONOTONIC, are of the same
 * process. Those of one differ by what lies between readings of two clocks, those of two by a clock
 * tick, 10 ms.
 */
static inline bool tapir_proc__is_same_start(uint64_t a_ms, uint64_t b_ms)
{
	return (a_ms > b_ms ? a_ms - b_ms : b_ms - a_ms) < 5;
}

/* Returns true if it has ended, even if its parent has not waited for it. */
bool tapir_proc__has_ended(uint32_t tgid);

/*
 * Returns when it began, in clock ticks since boot: the same at each reading, as start_ns is not,
 * which is computed from the difference of two clocks. UINT64_MAX: it has ended.
 */
uint64_t tapir_proc__start_ticks(uint32_t tgid);

/*
 * The memory that it has mapped, in pages: as long as that is the same, hardly anything was mapped
 * since. Takes 3 us, reading its mappings 20 to 250. 0: none, as kernel threads and zombies. -errno
 * without a line.
 */
int tapir_proc__mapped_pages(uint32_t tgid, uint64_t *pages);

/*
 * The process's name, and the CPU time of all its threads, as exact as the kernel's clock tick.
 * -errno without a line.
 */
int tapir_proc__read_cpu(uint32_t tgid, char comm[TAPIR_COMM_BYTES], uint64_t *cpu_ns);
/* The same and its resident memory, by one reading. -ESRCH: it has ended, or is the kernel's. */
int tapir_proc__read_usage(uint32_t tgid, char comm[TAPIR_COMM_BYTES], uint64_t *cpu_ns,
			   uint64_t *resident_bytes);

/*
 * Returns true if pids here are those that the kernel records: not in a container's pid namespace.
 */
bool tapir_proc__sees_kernel_pids(void);

/*
 * Returns true if tapir may read its mappings and memory. Not those of another user without
 * CAP_SYS_PTRACE.
 */
bool tapir_proc__is_open(uint32_t tgid);

struct tapir_thread {
	uint32_t tid, ns_tid;
	uint64_t start_ns;
	char comm[TAPIR_COMM_BYTES];
};

/* -ESRCH without a line: threads come and go. */
int tapir_thread__read(uint32_t tgid, uint32_t tid, struct tapir_thread *out);

/* At most bytes - 1 of the start of /proc/TGID/task/TID/name, terminated; its length, or -errno. */
int tapir_thread__read_file(uint32_t tgid, uint32_t tid, const char *name, char *out, size_t bytes);

/*
 * CLOCK_MONOTONIC as the process reads it, minus tapir's: the offset of its time namespace. -errno
 * without a line.
 */
int tapir_proc__clock_offset(uint32_t tgid, int64_t *offset_ns);

/* Anything but 0 ends the walk and is returned. */
typedef int (*tapir_pid_fn)(uint32_t pid, void *ctx);

/* 0, or -errno with a line: there is no /proc, without which nothing is known of any process. */
int tapir_proc__check(void);

int tapir_proc__each(tapir_pid_fn fn, void *ctx); /* processes, not threads */
/*
 * Calls fn with the id of each thread until it returns other than 0, and returns that. -ESRCH with
 * a line: the process has ended.
 */
int tapir_proc__each_thread(uint32_t tgid, tapir_pid_fn fn, void *ctx);
/*
 * Calls fn with each line of /proc/TGID/maps until it returns other than 0, and returns that. Takes
 * 20 to 250 us.
 */
int tapir_proc__each_mapping(uint32_t tgid, tapir_mapping_fn fn, void *ctx);
typedef int (*tapir_fd_link_fn)(const char *fd, const char *target, void *ctx);
/*
 * Calls fn with number and link text, cut at 1,023 bytes, of a process's descriptors until it
 * returns other than 0, and returns that. dir: its /proc/TGID/fd, closed here; NULL: -errno. max:
 * entries that are read.
 */
int tapir_proc__each_fd_link(DIR *dir, unsigned max, tapir_fd_link_fn fn, void *ctx);
/* Only the one that begins at va, if there is one. */
int tapir_proc__mapping_at(uint32_t tgid, uint64_t va, tapir_mapping_fn fn, void *ctx);

/*
 * A copy of what a process maps, for callers that go through it more than once: the kernel writes
 * the text of /proc/PID/maps anew for each reading, which costs more than any search in it.
 */
/* A process that maps more, or has longer paths in all, is read anew each time. */
#define TAPIR_MAPPINGS_MAX	 16384
#define TAPIR_MAPPINGS_MAX_BYTES (1u << 20)

struct tapir_mappings {
	uint32_t tgid;
	bool is_truncated; /* there is no copy: too much */
	struct tapir_vec(struct tapir_mapping_line) lines;
	struct tapir_str paths; /* those of lines, each with its NUL */
};

/* Replaces what m (zeroed at first) holds. As tapir_proc__each_mapping: 0, or -errno with a line.
 */
int tapir_mappings__read(uint32_t tgid, struct tapir_mappings *m);
/*
 * Calls fn for each of them until it returns other than 0, and returns that. __fini frees the copy.
 */
int tapir_mappings__each(const struct tapir_mappings *m, tapir_mapping_fn fn, void *ctx);
void tapir_mappings__fini(struct tapir_mappings *m);

/*
 * Opens the very file that is mapped: /proc/PID/map_files where we may, else the path below the
 * process's root, without leaving it, and only if it is still that file. Regular files only; never
 * blocks. Returns a handle (base/foreign/foreign_file.h: its content is read by tapir_elf__open_fd
 * or tapir_foreign__content, not by read(2)) or -errno with a line; *openable (may be NULL, at
 * least TAPIR_PROC_OPENABLE_BYTES) names the file for others as long as the process keeps the
 * mapping.
 */
#define TAPIR_PROC_OPENABLE_BYTES 4200
int tapir_proc__open_mapped(uint32_t tgid, const struct tapir_mapping_line *mapping,
			    char *openable);

#endif
