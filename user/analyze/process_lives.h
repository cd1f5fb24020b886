/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * process_lives.h - when each process began and ended, of which parent, what it executed, how it
 * ended and who killed it, as a listener of a timeline. Of the whole recording, whatever part of it
 * the views are asked for. Bounded; what finds no room is counted. One thread.
 */
#ifndef TAPIR_USER_PROCESS_LIVES_H
#define TAPIR_USER_PROCESS_LIVES_H

#include "analyze/view.h"
#include "base/arena.h"
#include "base/keyed.h"

#define TAPIR_LIVES_MAX		 65536u
#define TAPIR_LIFE_COMMAND_BYTES 512u
#define TAPIR_NO_LIFE		 UINT32_MAX

struct tapir_life {
	uint32_t pid, parent_pid;
	uint32_t parent;		  /* index of its life, or TAPIR_NO_LIFE */
	uint64_t begin_ns;		  /* 0: before the recording */
	uint64_t end_ns;		  /* 0: it lives */
	int status;			  /* as wait(2) has it; once it has ended */
	bool is_oom_victim;		  /* the kernel killed it for want of memory */
	char comm[TAPIR_COMM_TEXT_BYTES]; /* the last one */
	const char *command;		  /* the arena's: what it executed last; NULL: not known */
	/* The sender of the signal that killed it, where signals were recorded; pid 0: the kernel.
	 */
	bool has_killer;
	uint32_t killer_pid;
	char killer[TAPIR_COMM_TEXT_BYTES];
	const char *way; /* tapir_signal__way */
};

/* A signal that ends a process which does not handle it. */
struct tapir_deadly {
	uint64_t time_ns;
	uint32_t to_pid, from_pid;
	int code;
	uint8_t number;
	char from[TAPIR_COMM_TEXT_BYTES];
};

/* Set tl and wants_commands, and zero the others. */
struct tapir_lives {
	struct tapir_timeline *tl;
	bool wants_commands; /* what each process executed last, too */
	/* In the order in which they were seen; by pid, the latest of each. */
	struct tapir_keyed(struct tapir_life) all;
	struct tapir_vec(struct tapir_deadly) deadly;
	struct tapir_arena texts;
	uint64_t more; /* records of processes, and signals, without room */
	bool failed;   /* out of memory */
};

extern const struct tapir_timeline_fns tapir_lives_fns; /* ctx: the lives */
/* Finds parents and killers. Call it after the timeline is finished. */
void tapir_lives__finish(struct tapir_lives *lives);
void tapir_lives__fini(struct tapir_lives *lives);

/* Adds "exit 3", "SIGKILL by sh (123)" or, while it lives, nothing. */
void tapir_life__add_end(struct tapir_str *out, const struct tapir_life *life);
/* Returns true if a signal ended it. */
bool tapir_life__was_killed(const struct tapir_life *life);

#endif
