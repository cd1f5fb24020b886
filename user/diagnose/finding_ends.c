// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The findings on ends of processes: crashes and kills. A signal that ends a process in order
 * (SIGTERM of a shutdown) is no finding; a kill by the kernel for want of memory counts as a crash.
 */
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

/* One process has a name and an end; of several the first are listed, each with its end. */
static void emit_ends(struct tapir_diagnosis *f, enum end end, enum tapir_rule_fact_kind fact_kind,
		      struct tapir_findings *list)
{
	struct tapir_rule_fact fact = {.fact_kind = fact_kind};
	const struct tapir_life *life;
	unsigned named = 0;

	tapir_vec_for_each (life, &f->lives.all)
		fact.cnt += end_of(life) == end;
	fact.other = fact.cnt > NAMED_MAX ? fact.cnt - NAMED_MAX : 0;
	tapir_vec_for_each (life, &f->lives.all) {
		struct tapir_str *name = fact.cnt > 1 ? &fact.more : &fact.who;

		if (end_of(life) != end || named++ >= NAMED_MAX)
			continue;
		tapir_str__adds(name, named > 1 ? "; " : "");
		add_ended_process_name(life, name);
		tapir_str__adds(name, fact.cnt > 1 ? ": " : "");
		tapir_life__add_end(fact.cnt > 1 ? name : &fact.does, life);
	}
	tapir_rules__judge(f, list, fact);
}

void tapir_finding_ends__list(struct tapir_diagnosis *f, struct tapir_findings *list)
{
	emit_ends(f, END_CRASH, TAPIR_FACT_CRASHES, list);
	emit_ends(f, END_KILLED, TAPIR_FACT_KILLS, list);
}
