// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads as /proc shows them to their own user. The switch count is read first: where it is the
 * same in a later list, what was read between did not change.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attach/proc.h"
#include "attach/thread_list.h"
#include "base/clock.h"
#include "base/proc_text.h"

#define SYSCALL_BYTES 512
#define STATUS_BYTES  8192
#define ARG_CNT	      6

bool tapir_thread_seen__parse_syscall(struct tapir_thread_seen *seen, const char *text)
{
	uint64_t words[ARG_CNT + 2];
	unsigned cnt = 0;
	char *end;
	long nr;

	if (!strncmp(text, "running", strlen("running"))) {
		seen->flags |= TAPIR_THREAD_ON_CPU;
		return true;
	}
	nr = strtol(text, &end, 10);
	if (end == text)
		return false;
	for (text = end; cnt < ARG_CNT + 2; cnt++, text = end) {
		words[cnt] = strtoull(text, &end, 16);
		if (end == text)
			break;
	}
	/*
	 * proc(5): a thread that waits outside of a system call has -1 and, without arguments,
	 * stack pointer and instruction pointer.
	 */
	if (cnt != (nr < 0 ? 2 : ARG_CNT + 2))
		return false;
	seen->syscall = nr;
	for (unsigned i = 0; nr >= 0 && i < sizeof(seen->args) / sizeof(seen->args[0]); i++)
		seen->args[i] = words[i];
	seen->sp = words[cnt - 2];
	seen->ip = words[cnt - 1];
	return true;
}

/* The kernel's bits of a letter of proc_pid_status(5). */
static uint32_t state_of(char letter)
{
	static const struct {
		char letter;
		uint32_t bits;
	} states[] = {{'S', TAPIR_STATE_SLEEPING}, {'D', TAPIR_STATE_UNINTERRUPTIBLE},
		      {'T', TAPIR_STATE_STOPPED},  {'t', TAPIR_STATE_TRACED},
		      {'P', TAPIR_STATE_PARKED},   {'X', TAPIR_STATE_DEAD},
		      {'Z', TAPIR_STATE_DEAD},	   {'I', TAPIR_STATE_UNINTERRUPTIBLE}};

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (states[i].letter == letter)
			return states[i].bits;
	return 0; /* R: it runs, or waits for a CPU */
}

bool tapir_thread_seen__parse_status(struct tapir_thread_seen *seen, const char *text)
{
	const char *state = tapir_proc_status__value(text, "State"),
		   *voluntary = tapir_proc_status__value(text, "voluntary_ctxt_switches"),
		   *forced = tapir_proc_status__value(text, "nonvoluntary_ctxt_switches");

	if (!state || !voluntary || !forced)
		return false;
	seen->state = state_of(*state);
	seen->switch_cnt = strtoull(voluntary, NULL, 10) + strtoull(forced, NULL, 10);
	return true;
}

static void fill_thread(struct tapir_rec_thread *rec, uint32_t tgid,
			const struct tapir_thread *thread)
{
	rec->h = (struct tapir_rec){.type = TAPIR_REC_THREAD,
				    .cpu = TAPIR_CPU_UNKNOWN,
				    .size = sizeof(*rec),
				    .time_ns = tapir_clock__now_ns()};
	rec->tgid = tgid;
	rec->tid = thread->tid;
	rec->ns_tid = thread->ns_tid;
	rec->start_ns = thread->start_ns;
	memcpy(rec->comm, thread->comm, sizeof(rec->comm));
}

struct reading {
	uint32_t tgid;
	struct tapir_thread leader;
	struct tapir_thread_list *out;
};

static int add_thread(uint32_t tid, void *ctx)
{
	const struct reading *r = ctx;
	struct tapir_thread_seen seen = {.syscall = -1};
	char status[STATUS_BYTES], call[SYSCALL_BYTES];
	struct tapir_thread thread;

	if (tapir_thread__read_file(r->tgid, tid, "status", status, sizeof(status)) < 0 ||
	    !tapir_thread_seen__parse_status(&seen, status) ||
	    tapir_thread__read(r->tgid, tid, &thread))
		return 0; /* it has ended */
	fill_thread(&seen.thread, r->tgid, &thread);
	seen.thread.ns_tgid = r->leader.ns_tid;
	seen.thread.leader_start_ns = r->leader.start_ns;
	memcpy(seen.thread.leader_comm, r->leader.comm, sizeof(seen.thread.leader_comm));
	if (tapir_thread__read_file(r->tgid, tid, "syscall", call, sizeof(call)) > 0)
		(void)tapir_thread_seen__parse_syscall(&seen, call); /* else without registers */
	return tapir_vec__push(&r->out->vec, seen) ? 0 : -ENOMEM;
}

int tapir_thread_list__read_proc(uint32_t tgid, struct tapir_thread_list *out)
{
	struct reading r = {.tgid = tgid, .out = out};
	int err = tapir_thread__read(tgid, tgid, &r.leader);

	out->vec.cnt = 0;
	return err ? err : tapir_proc__each_thread(tgid, add_thread, &r);
}
