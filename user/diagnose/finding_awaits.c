// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Awaits in turns, of a semaphore or a full channel, are a cause by themselves. Of others it is not
 * known whether they are for work.
 */
#include "diagnose/finding_awaits.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analyze/view.h"
#include "diagnose/diagnosis_impl.h"

void tapir_finding_awaits__conclude(struct tapir_diagnosis *f)
{
	f->awaits.tl = f->tl;
	tapir_awaits__finish(&f->awaits);
}

/* The call site with most, of those in turns if there are enough of them; NULL: there is none. */
static const struct tapir_await_site *worst_of(const struct tapir_diagnosis *f)
{
	const struct tapir_await_site *worst = NULL, *site;
	bool in_turns, allows_barging = false;

	tapir_vec_for_each (site, &f->awaits.sites) {
		in_turns = tapir_await_site__is_queue(site) &&
			   tapir_finding__exceeds_threshold(TAPIR_FINDING_AWAIT_TURNS,
							    tapir_await_site__at_once(site));
		if (allows_barging && !in_turns)
			continue;
		if (!worst || in_turns != allows_barging ||
		    tapir_await_site__at_once(site) > tapir_await_site__at_once(worst))
			worst = site;
		allows_barging = in_turns;
	}
	return worst;
}

static void add_site(const struct tapir_diagnosis *f, const struct tapir_await_site *site,
		     struct tapir_str *out)
{
	char each[TAPIR_NS_TEXT_BYTES];

	tapir_str__addf(out, "%s in ", tapir_await_site__label(site));
	tapir_diagnosis__add_name(f, site->name, out);
	tapir_str__addf(out, ", %s each of %" PRIu64,
			tapir_ns__text(site->cnt ? site->sum_ns / site->cnt : 0, each), site->cnt);
}

static void add_worst(const struct tapir_diagnosis *f, const struct tapir_await_site *worst,
		      struct tapir_str *out)
{
	tapir_str__addf(out, "%.1f awaits at a time for ", tapir_await_site__at_once(worst));
	add_site(f, worst, out);
	tapir_await_site__add_queue(worst, out);
}

void tapir_finding_awaits__list(struct tapir_diagnosis *f, struct tapir_findings *list)
{
	const struct tapir_await_site *worst = worst_of(f);
	struct tapir_rule_fact fact = {};

	if (!worst)
		return;
	fact.rate = tapir_await_site__at_once(worst);
	fact.fact_kind = TAPIR_FACT_AWAITS_IN_TURNS;
	if (!tapir_await_site__is_queue(worst) || !tapir_rules__are_met(f, list, &fact))
		fact.fact_kind = tapir_awaits__is_brief(&f->awaits, worst->tgid)
					 ? TAPIR_FACT_BRIEF_AWAITS
					 : TAPIR_FACT_AWAITS;
	fact.subject = tapir_timeline__stacks(f->tl)->names.data[worst->name];
	add_worst(f, worst, &fact.more);
	tapir_rules__judge(f, list, fact);
}

void tapir_finding_awaits__add_few(struct tapir_diagnosis *f, struct tapir_str *out)
{
	const struct tapir_await_site *worst = worst_of(f);

	if (!worst || !tapir_finding__exceeds_threshold(TAPIR_FINDING_AWAITS,
							tapir_await_site__at_once(worst)))
		return;
	tapir_str__adds(out, "; ");
	add_worst(f, worst, out);
}

void tapir_finding_awaits__add_for_requests(struct tapir_diagnosis *f, uint64_t request_cnt,
					    uint64_t truncated_cnt, uint64_t requests_ns,
					    struct tapir_str *out)
{
	const struct tapir_await_site *worst = worst_of(f);
	uint64_t span_ns = tapir_timeline__span_ns(f->tl);
	double at_once = span_ns ? (double)requests_ns / (double)span_ns : 0;
	double calls;

	if (!worst || !request_cnt ||
	    !TAPIR_IS_SHARE(DOMINANT, tapir_await_site__at_once(worst), at_once))
		return;
	tapir_str__adds(out, ", most of it awaiting ");
	add_site(f, worst, out);
	calls = (double)worst->cnt / (double)request_cnt;
	if (calls >= TAPIR_LIMIT(CALLS_SHOWN) &&
	    request_cnt >= TAPIR_LIMIT(TRUNCATED_REQUESTS) * (double)truncated_cnt)
		tapir_str__addf(out, " (%.0f a request)", calls);
}

/* "(3 a request)", "(0.5 a request)" */
static void add_per_request(double calls, struct tapir_str *out)
{
	tapir_str__addf(out, " (%.*f a request)", calls == floor(calls) || calls >= 10 ? 0 : 1,
			calls);
}

bool tapir_finding_awaits__add_statement(const struct tapir_diagnosis *f, uint32_t kind,
					 struct tapir_str *out)
{
	struct tapir_awaited_statement s;
	char each[TAPIR_NS_TEXT_BYTES];

	if (!f->routes || !tapir_request_routes__statement(f->routes, kind, &f->awaits, &s) ||
	    !s.cnt || !s.request_cnt || !TAPIR_IS_SHARE(DOMINANT, s.ns, s.requests_ns))
		return false;
	tapir_str__adds(out, ", most of it awaiting the statement ");
	tapir_str__add_printable(out, s.text, strlen(s.text));
	if (s.site) {
		tapir_str__adds(out, " in ");
		tapir_diagnosis__add_name(f, s.site->name, out);
	}
	tapir_str__addf(out, ", %s each of %" PRIu64, tapir_ns__text(s.sum_ns / s.cnt, each),
			s.cnt);
	add_per_request((double)s.cnt / (double)s.request_cnt, out);
	return true;
}
