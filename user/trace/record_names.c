// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Words for states, causes and reasons in records. The enums of include/tapir/ have X-macros: a
 * cause that is added there has its name here. Names are part of --json.
 */
#include <ctype.h>
#include <string.h>

#include "trace/record.h"

static const struct tapir_switch_wait *wait_of(const struct tapir_rec_switch *rec)
{
	return rec->flags & TAPIR_SWITCH_WAITED &&
			       rec->h.size >= sizeof(*rec) + sizeof(struct tapir_switch_wait)
		       ? (const struct tapir_switch_wait *)(rec + 1)
		       : NULL;
}

uint64_t tapir_switch__futex_va(const struct tapir_rec_switch *rec)
{
	const struct tapir_switch_wait *wait = wait_of(rec);
	uint64_t va = 0;

	if (wait)
		return wait->futex_va;
	if (rec->flags & TAPIR_SWITCH_HAS_FUTEX && rec->h.size >= sizeof(*rec) + sizeof(va))
		memcpy(&va, rec + 1, sizeof(va));
	return va;
}

uint64_t tapir_switch__since_ns(const struct tapir_rec_switch *rec)
{
	const struct tapir_switch_wait *wait = wait_of(rec);

	return wait && wait->since_ns <= rec->h.time_ns ? wait->since_ns : 0;
}

const char *tapir_switch__state_name(const struct tapir_rec_switch *rec)
{
	static const struct {
		unsigned bit;
		const char *name;
	} states[] = {
		{TAPIR_STATE_DEAD, "dead"},
		{TAPIR_STATE_STOPPED, "stopped"},
		{TAPIR_STATE_TRACED, "traced"},
		{TAPIR_STATE_UNINTERRUPTIBLE, "uninterruptible"},
		{TAPIR_STATE_SLEEPING, "sleeping"},
		{TAPIR_STATE_PARKED, "parked"},
	};

	if (rec->flags & TAPIR_SWITCH_PREEMPTED)
		return "preempted";
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (rec->out_state & states[i].bit)
			return states[i].name;
	return rec->out_state ? "waiting" : "runnable";
}

const char *tapir_io_op__name(unsigned op)
{
	static const char *const names[TAPIR_IO_OP_CNT] = {
#define TAPIR_X(name, text) [TAPIR_IO_##name] = text,
		TAPIR_IO_OPS(TAPIR_X)
#undef TAPIR_X
	};

	return op < TAPIR_IO_OP_CNT ? names[op] : "unknown";
}

struct loss_entry {
	const char *upper; /* as the enum spells it */
	const char *text;
	int kind;
};

static const struct loss_entry losses[TAPIR_LOSS_CAUSE_CNT] = {
#define TAPIR_X(name, kind, text) {#name, text, TAPIR_LOSS_KIND_##kind},
	TAPIR_LOSS_CAUSES(TAPIR_X)
#undef TAPIR_X
};

/* Lower-case copies, made before main so that no caller needs a lock. */
static char loss_names[TAPIR_LOSS_CAUSE_CNT][32];

__attribute__((constructor)) static void make_loss_names(void)
{
	for (unsigned i = 0; i < TAPIR_LOSS_CAUSE_CNT; i++)
		for (unsigned j = 0; losses[i].upper[j] && j < sizeof(loss_names[i]) - 1; j++)
			loss_names[i][j] = (char)tolower((unsigned char)losses[i].upper[j]);
}

const char *tapir_loss__name(unsigned cause)
{
	return cause < TAPIR_LOSS_CAUSE_CNT ? loss_names[cause] : "unknown";
}

const char *tapir_loss__text(unsigned cause)
{
	return cause < TAPIR_LOSS_CAUSE_CNT ? losses[cause].text : "unknown";
}

bool tapir_loss__is_complete(unsigned cause)
{
	int kind = tapir_loss__kind(cause);

	return kind >= 0 && kind != TAPIR_LOSS_KIND_PART && kind != TAPIR_LOSS_KIND_INFO;
}

int tapir_loss__kind(unsigned cause)
{
	return cause < TAPIR_LOSS_CAUSE_CNT ? losses[cause].kind : -1;
}

bool tapir_loss__hides_events(unsigned cause)
{
	return cause == TAPIR_LOSS_PROCESS_RING_FULL || cause == TAPIR_LOSS_PERF_LOST ||
	       cause == TAPIR_LOSS_PROCESS_MAP_FULL;
}

const char *tapir_gap__name(unsigned reason)
{
	return reason == TAPIR_GAP_NOT_READ	    ? "not_read"
	       : reason == TAPIR_GAP_SECOND_MAPPING ? "second_mapping"
	       : reason == TAPIR_GAP_ATTACH_FAILED  ? "attach_failed"
	       : reason == TAPIR_GAP_RING_UNOPENED  ? "ring_unopened"
						    : "attach_late";
}

const char *tapir_gap__text(unsigned reason)
{
	return reason == TAPIR_GAP_NOT_READ
		       ? "not read (no answer from its file system, not permitted, or too large):"
	       : reason == TAPIR_GAP_SECOND_MAPPING
		       ? "mapped a second time, where the kernel turns no guarded probe on:"
	       : reason == TAPIR_GAP_RING_UNOPENED
		       ? "its ring lane was not opened before it ended, and what it fired is not known, of"
	       : reason == TAPIR_GAP_ATTACH_FAILED ? "no probes could be attached to"
						   : "probes were attached late to";
}
