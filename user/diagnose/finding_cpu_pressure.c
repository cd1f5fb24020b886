// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads are kept from a CPU by the quota of a cgroup, by other processes, and by each other where
 * they want more CPUs than there are. The use of others is measured by tapir each second
 * (decode/usage_text.h), not by events.
 */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "decode/usage_text.h"
#include "diagnose/diagnosis_impl.h"
#include "analyze/view.h"

/* Runnable, and no CPU for it. */
void tapir_finding_cpu_pressure__wait(struct tapir_diagnosis *f, const struct tapir_wait *w)
{
	f->cpu_pressure.runnable_ns += w->until_ns - w->wake_ns;
}

void tapir_finding_quota__list(struct tapir_diagnosis *f, struct tapir_findings *list)
{
	struct tapir_str dir = {};
	struct tapir_quota_use q;

	if (!tapir_usage_text__quota(tapir_diagnosis__meta(f, TAPIR_USAGE_QUOTA), &q))
		return;
	tapir_str__add_printable(&dir, q.dir.data, q.dir.len);
	TAPIR_JUDGE(f, list, QUOTA, .cnt = q.throttled_cnt, .of = q.period_cnt,
		    .took_s = q.throttled_ns / 1e9, .seconds = q.wall_ns / 1e9,
		    .percent = tapir_diagnosis__percent(q.throttled_ns, q.wall_ns),
		    .rest = tapir_diagnosis__percent(q.quota_us, q.period_us), .subject = "quota",
		    .object = dir);
}

/*
 * The CPU time of other processes, by the machine's clock, too: processes may have come and gone
 * within the recording.
 */
static uint64_t others_ns(const struct tapir_diagnosis *f, const struct tapir_neighbours *n)
{
	uint64_t by_machine_ns = n->machine_ns > f->cpu.ns ? n->machine_ns - f->cpu.ns : 0;

	return by_machine_ns > n->all_ns ? by_machine_ns : n->all_ns;
}

static void add_others(const struct tapir_diagnosis *f, const struct tapir_neighbours *n,
		       struct tapir_str *out)
{
	uint64_t all_ns = others_ns(f, n), ended_ns = all_ns - n->all_ns;
	double seconds = (double)n->wall_ns / 1e9;
	unsigned cnt = 0;

	tapir_str__addf(out, ": other processes used %.2f of %" PRIu64 " CPUs",
			(double)all_ns / 1e9 / seconds, n->cpu_cnt);
	for (unsigned i = 0; i < n->cnt && i < 2; i++) {
		if (!TAPIR_IS_SHARE(NEIGHBOUR_NAMED, n->rows[i].cpu_ns, all_ns))
			break; /* the busiest comes first */
		tapir_str__adds(out, cnt++ ? ", " : ", most ");
		tapir_str__add_printable(out, n->rows[i].comm,
					 strnlen(n->rows[i].comm, TAPIR_COMM_BYTES));
		tapir_str__addf(out, " (%u) %.2f", n->rows[i].tgid,
				(double)n->rows[i].cpu_ns / 1e9 / seconds);
	}
	if (!TAPIR_IS_SHARE(WORTH, ended_ns, all_ns))
		return;
	if (cnt)
		tapir_str__addf(out, ", processes that have ended %.2f",
				(double)ended_ns / 1e9 / seconds);
	else
		tapir_str__addf(out, ", %.2f of it by processes that have ended",
				(double)ended_ns / 1e9 / seconds);
}

/*
 * The CPUs in use, if other processes had most of them, not the process's own threads, and not a
 * hypervisor, whose share shows nowhere.
 */
static double busy_percent(const struct tapir_diagnosis *f, const struct tapir_neighbours *n)
{
	double all_ns = (double)n->cpu_cnt * (double)n->wall_ns;

	if (others_ns(f, n) < f->cpu.ns || all_ns <= 0)
		return 0;
	return 100 * (double)(others_ns(f, n) + f->cpu.ns) / all_ns;
}

/*
 * The time that threads which want more than all the CPUs would have waited on an otherwise idle
 * machine.
 */
static uint64_t own_wait_ns(const struct tapir_diagnosis *f, const struct tapir_neighbours *n,
			    uint64_t span_ns)
{
	double all_ns = (double)n->cpu_cnt * (double)span_ns;
	double own_ns = (double)f->cpu.ns + (double)f->cpu_pressure.runnable_ns - all_ns;

	if (own_ns <= 0)
		return 0;
	return own_ns < (double)f->cpu_pressure.runnable_ns ? (uint64_t)own_ns
							    : f->cpu_pressure.runnable_ns;
}

/* The threads' demand for CPUs, and that of other processes. False: not known. */
struct demand {
	struct tapir_neighbours others;
	uint64_t own_wait_ns; /* for one another */
	double wanted;	      /* CPUs */
};

static bool find_demand(const struct tapir_diagnosis *f, struct demand *out)
{
	uint64_t span_ns = tapir_timeline__switched_ns(f->tl);

	if (!f->has_clock || !span_ns ||
	    !tapir_usage_text__neighbours(tapir_diagnosis__meta(f, TAPIR_USAGE_NEIGHBOURS),
					  &out->others))
		return false;
	out->own_wait_ns = own_wait_ns(f, &out->others, span_ns);
	out->wanted = (double)(f->cpu.ns + f->cpu_pressure.runnable_ns) / (double)span_ns;
	return true;
}

void tapir_finding_neighbours__list(struct tapir_diagnosis *f, struct tapir_findings *list)
{
	uint64_t all_ns = f->cpu_pressure.runnable_ns, wanted_ns = f->cpu.ns + all_ns;
	struct tapir_str others = {};
	struct demand d;
	double percent;

	if (!find_demand(f, &d))
		return;
	percent = tapir_diagnosis__percent(all_ns - d.own_wait_ns, wanted_ns);
	add_others(f, &d.others, &others);
	TAPIR_JUDGE(f, list, RUNNABLE, .cnt = all_ns, .of = wanted_ns, .ns = all_ns,
		    .own_ns = d.own_wait_ns, .percent = percent,
		    .rate = d.wanted < 1 ? percent * d.wanted : percent,
		    .rest = busy_percent(f, &d.others),
		    .in_threads = all_ns / (double)tapir_timeline__switched_ns(f->tl),
		    .subject = d.others.cnt ? d.others.rows[0].comm : NULL, .more = others);
}

void tapir_finding_cpu_pressure__append_oversubscription(const struct tapir_diagnosis *f,
							 struct tapir_str *out)
{
	char text[TAPIR_NS_TEXT_BYTES];
	struct demand d;

	if (!find_demand(f, &d) ||
	    d.wanted < TAPIR_LIMIT(OVERSUBSCRIBED) * (double)d.others.cpu_cnt ||
	    !TAPIR_IS_SHARE(DOMINANT, d.own_wait_ns, f->cpu_pressure.runnable_ns))
		return;
	tapir_str__addf(
		out,
		"; its threads want %.1f CPUs of %" PRIu64 ": they waited %s for one, %s of "
		"it for one another",
		d.wanted, d.others.cpu_cnt, tapir_ns__text(f->cpu_pressure.runnable_ns, text),
		d.own_wait_ns == f->cpu_pressure.runnable_ns ? "all" : "most");
}
