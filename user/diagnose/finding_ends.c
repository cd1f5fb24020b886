// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The findings on ends of processes: crashes and kills. A signal that ends a process in order
 * (SIGTERM of a shutdown) is no finding; a kill by the kernel for want of memory counts as a crash.
 */
#include <inttypes.h>
#include <string.h>

#include "diagnose/diagnosis_impl.h"
#include "trace/signals.h"

#define NAMED_MAX 3u

enum end { END_IN_ORDER, END_CRASH, END_KILLED };

static enum end end_of(const struct tapir_life *life)
{
	if (!tapir_life__was_killed(life))
		return END_IN_ORDER;
	if (life->is_oom_victim)
		return END_CRASH;
	switch (tapir_signal__severity(life->status & 0x7f)) {
	case TAPIR_SIGNAL_IS_CRASH:
		return END_CRASH;
	case TAPIR_SIGNAL_IS_KILL:
		return END_KILLED;
	default:
		return END_IN_ORDER;
	}
}

static void add_ended_process_name(const struct tapir_life *life, struct tapir_str *out)
{
	tapir_str__add_printable(out, life->comm, strlen(life->comm));
	tapir_str__addf(out, " (%u)", life->pid);
}

/* "worker (4711) crashed: SIGSEGV, core dumped", or "3 processes crashed: worker (4711): ...". */
static uint64_t add_ends(const struct tapir_diagnosis *f, enum end end, const char *one,
			 const char *many, struct tapir_str *out)
{
	const struct tapir_life *life;
	uint64_t cnt = 0, named = 0;

	tapir_vec_for_each (life, &f->lives.all)
		cnt += end_of(life) == end;
	if (cnt > 1)
		tapir_str__addf(out, "%" PRIu64 " processes %s: ", cnt, many);
	tapir_vec_for_each (life, &f->lives.all) {
		if (end_of(life) != end || named++ >= NAMED_MAX)
			continue;
		tapir_str__adds(out, named > 1 ? "; " : "");
		add_ended_process_name(life, out);
		tapir_str__addf(out, cnt > 1 ? ": " : " %s: ", one);
		tapir_life__add_end(out, life);
	}
	if (cnt > NAMED_MAX)
		tapir_str__addf(out, "; and %" PRIu64 " more", cnt - NAMED_MAX);
	return cnt;
}

static void emit_ends(struct tapir_diagnosis *f, enum end end, enum tapir_rule_fact_kind fact_kind,
		      const char *one, const char *many, struct tapir_findings *list)
{
	struct tapir_str text = {};
	uint64_t cnt = add_ends(f, end, one, many, &text);

	tapir_rules__judge(
		f, list,
		(struct tapir_rule_fact){.fact_kind = fact_kind, .cnt = (double)cnt, .more = text});
}

void tapir_finding_ends__list(struct tapir_diagnosis *f, struct tapir_findings *list)
{
	emit_ends(f, END_CRASH, TAPIR_FACT_CRASHES, "crashed", "crashed", list);
	emit_ends(f, END_KILLED, TAPIR_FACT_KILLS, "was killed", "were killed", list);
}
