// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Call sites of awaits: each await that ends is counted, and kept with its times, since the time in
 * which all are known is determined at the end. Sites of a method that was compiled again are one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/awaits_impl.h"
#include "analyze/view.h"
#include "attach/rings/event_budget.h"
#include "base/keyed.h"

/* ---- counting ----------------------------------------------------------------------------------- */

struct tapir_await_site *tapir_awaits__site_of(struct tapir_awaits *a,
					       const struct tapir_await_task *t)
{
	struct tapir_await_site made = {.tgid = (uint32_t)(t->id >> 32),
					.name = t->method - 1,
					.offset = t->offset,
					.code_va = t->code_va};
	uint64_t key = tapir_hash__mix(tapir_hash__mix(made.tgid, made.name), made.offset);
	struct tapir_await_site *site;

	key = tapir_hash__mix(key, made.code_va);
	site = tapir_keyed__add(&a->sites, key, TAPIR_AWAITS_MAX_SITES, made);
	if (site && !site->took)
		site->took = calloc(1, sizeof(*site->took));
	if (site && site->took)
		return site;
	a->failed |= site != NULL;
	a->dropped_cnt++;
	return NULL;
}

/* A ValueTask that completes on no stack is a channel's, as far as is known. */
static enum tapir_awaited_queue queue_of(const struct tapir_lore_awaited *awaited, bool is_taskless)
{
	if (awaited)
		return awaited->queue;
	return is_taskless ? TAPIR_QUEUE_ONCE : TAPIR_QUEUE_NONE;
}

bool tapir_awaits__count(struct tapir_awaits *a, const struct tapir_await_task *t, uint64_t from_ns,
			 uint64_t until_ns, uint8_t kind)
{
	bool is_taskless = !t->from_ns;
	struct tapir_await_site *site = until_ns > from_ns ? tapir_awaits__site_of(a, t) : NULL;
	struct tapir_await_span span = {.from_ns = from_ns, .until_ns = until_ns};

	if (!site || a->full_ns)
		return false;
	span.site = (uint32_t)(site - a->sites.data);
	span.is_joint = kind && a->kinds.data[kind]->is_joint;
	span.is_taskless = is_taskless && !kind;
	if (a->spans.cnt == TAPIR_AWAITS_MAX_SPANS || !tapir_vec__push(&a->spans, span)) {
		a->full_ns = until_ns;
		return false;
	}
	site->cnt++;
	site->sum_ns += until_ns - from_ns;
	site->kinds[kind]++;
	site->taskless_cnt += is_taskless && !kind;
	site->passed_cnt += t->is_passed && !is_taskless;
	site->again_cnt += t->got == t->method;
	tapir_histogram__add(site->took, until_ns - from_ns);
	if (a->ended)
		a->ended(a->ended_ctx, is_taskless ? a->request : t->request, &span);
	return queue_of(a->kinds.data[kind], is_taskless) != TAPIR_QUEUE_NONE;
}

/* ---- the end ------------------------------------------------------------------------------------ */

static uint64_t meta_number(const struct tapir_awaits *a, const char *key, uint32_t tgid)
{
	char name[64], digits[32] = "";
	struct tapir_sv value;

	snprintf(name, sizeof(name), "%s%u", key, tgid);
	value = tapir_catalog__meta_value(tapir_timeline__catalog(a->tl), name);
	if (value.len < sizeof(digits))
		memcpy(digits, value.data, value.len);
	return strtoull(digits, NULL, 10);
}

bool tapir_awaits__is_brief(const struct tapir_awaits *a, uint32_t tgid)
{
	return meta_number(a, TAPIR_BUDGET_META, tgid);
}

/* All are known from when the longest of them could have begun in the recording. */
static void find_time(const struct tapir_awaits *a, struct tapir_await_site *site)
{
	const uint64_t *first_ns = tapir_map__get(&a->first_ns, site->tgid);
	uint64_t over_ns = meta_number(a, TAPIR_BUDGET_META_UNTIL, site->tgid), half_ns;
	uint64_t until_ns = tapir_timeline__stats(a->tl)->last_ns;

	if (a->full_ns && a->full_ns < until_ns)
		until_ns = a->full_ns;
	if (over_ns && over_ns < until_ns)
		until_ns = over_ns;
	site->known_from_ns = first_ns && *first_ns < until_ns ? *first_ns : until_ns;
	site->seen_ns = until_ns - site->known_from_ns;
	half_ns = (until_ns - site->known_from_ns) / 2;
	site->known_from_ns += site->took->max < half_ns ? site->took->max : half_ns;
	site->known_until_ns = until_ns;
}

static void add_span(struct tapir_await_site *site, uint64_t from_ns, uint64_t until_ns)
{
	site->known_cnt += until_ns > site->known_from_ns && until_ns <= site->known_until_ns;
	from_ns = from_ns > site->known_from_ns ? from_ns : site->known_from_ns;
	until_ns = until_ns < site->known_until_ns ? until_ns : site->known_until_ns;
	site->within_ns += until_ns > from_ns ? until_ns - from_ns : 0;
}

static struct tapir_await_site *site_of_open(struct tapir_awaits *a,
					     const struct tapir_await_task *t)
{
	return t->id && t->from_ns && tapir_await_task__is_own(t) && !t->is_covered
		       ? tapir_awaits__site_of(a, t)
		       : NULL;
}

/* A loop that awaits something without a task once more: the site where it had done so; or NULL. */
static struct tapir_await_site *site_of_again(struct tapir_awaits *a,
					      const struct tapir_await_task *t)
{
	struct tapir_await_task at = *t;

	at.offset = at.code_va = 0;
	return t->id && !t->from_ns && t->idle_ns && tapir_await_task__is_own(t) &&
			       t->got == t->method
		       ? tapir_awaits__site_of(a, &at)
		       : NULL;
}

static void count_open(struct tapir_awaits *a)
{
	const struct tapir_await_task *t;
	struct tapir_await_site *site;

	tapir_vec_for_each (t, &a->tasks) {
		site = site_of_open(a, t);
		if (site)
			site->open_cnt++;
		site = site_of_again(a, t);
		if (site)
			site->again_cnt++;
	}
}

static struct tapir_await_site *merged(struct tapir_awaits *a, struct tapir_await_site *site)
{
	return site && site->into ? &a->sites.data[site->into - 1] : site;
}

/* An await that does not end counts where others did: else it is for work that never comes. */
static void add_open(struct tapir_awaits *a)
{
	const struct tapir_await_task *t;
	struct tapir_await_site *site;

	tapir_vec_for_each (t, &a->tasks) {
		site = merged(a, site_of_open(a, t));
		if (site && site->cnt)
			add_span(site, t->from_ns, t->done_ns ? t->done_ns : UINT64_MAX);
	}
}

static void find_awaited(const struct tapir_awaits *a, struct tapir_await_site *site)
{
	uint32_t top = 0;

	for (unsigned i = 1; i < TAPIR_AWAITED_KINDS && i < a->kinds.cnt; i++)
		if (site->kinds[i] > site->kinds[top] || (!top && site->kinds[i]))
			top = i;
	site->awaited = a->kinds.data[top];
}

static bool is_of_one_method(const struct tapir_await_site *x, const struct tapir_await_site *y)
{
	return x->tgid == y->tgid && x->name == y->name && x->awaited == y->awaited;
}

/* Returns true if that code of the method has one such call site, which is this. */
static bool is_only_one(const struct tapir_awaits *a, const struct tapir_await_site *one)
{
	const struct tapir_await_site *site;

	tapir_vec_for_each (site, &a->sites)
		if (site != one && site->code_va == one->code_va && is_of_one_method(site, one) &&
		    site->cnt)
			return false;
	return one->code_va && one->cnt;
}

/* The newest code has the sum. */
static void merge_into(struct tapir_awaits *a, struct tapir_await_site *into,
		       struct tapir_await_site *from)
{
	from->into = (uint32_t)(into - a->sites.data) + 1;
	into->cnt += from->cnt;
	into->sum_ns += from->sum_ns;
	into->connection_ns += from->connection_ns;
	into->open_cnt += from->open_cnt;
	into->taskless_cnt += from->taskless_cnt;
	into->passed_cnt += from->passed_cnt;
	into->again_cnt += from->again_cnt;
	tapir_histogram__merge(into->took, from->took);
	from->cnt = from->open_cnt = 0;
}

/*
 * A method that is compiled again, optimized, has the same call site elsewhere. Those of one method
 * that await the same are one, if no code of it has two.
 */
static void merge_sites(struct tapir_awaits *a)
{
	struct tapir_await_site *site, *other;

	for (size_t i = a->sites.cnt; i-- > 1;) {
		site = &a->sites.data[i];
		if (!is_only_one(a, site))
			continue;
		for (other = a->sites.data; other < site; other++)
			if (other->code_va != site->code_va && is_of_one_method(other, site) &&
			    is_only_one(a, other))
				merge_into(a, site, other);
	}
}

/*
 * Moves the sites at which tasks were counted together. sites_now has, for each former index, the
 * new one from 1 on, for a site that was merged that of the other; 0: it is dropped.
 */
static void drop_empty(struct tapir_awaits *a)
{
	size_t kept = 0;
	uint32_t *now;

	for (size_t i = 0; i < a->sites.cnt; i++) {
		struct tapir_await_site *site = &a->sites.data[i];

		now = tapir_vec__add(&a->sites_now);
		a->failed |= !now;
		if (now)
			*now = site->cnt || site->open_cnt ? (uint32_t)++kept : 0;
	}
	for (size_t i = 0; i < a->sites_now.cnt; i++)
		if (a->sites.data[i].into)
			a->sites_now.data[i] = a->sites_now.data[a->sites.data[i].into - 1];
	kept = 0;
	for (size_t i = 0; i < a->sites.cnt; i++) {
		struct tapir_await_site *site = &a->sites.data[i];

		if (site->cnt || site->open_cnt)
			a->sites.data[kept++] = *site;
		else
			free(site->took);
	}
	a->sites.cnt = kept;
}

const struct tapir_await_site *tapir_awaits__site(const struct tapir_awaits *a, uint32_t site)
{
	uint32_t now = site < a->sites_now.cnt ? a->sites_now.data[site] : 0;

	return now ? &a->sites.data[now - 1] : NULL;
}

void tapir_awaits__finish(struct tapir_awaits *a)
{
	const struct tapir_await_span *span;
	struct tapir_await_site *site;

	if (!a->has_events || a->is_finished)
		return;
	a->is_finished = true;
	count_open(a);
	tapir_vec_for_each (site, &a->sites)
		find_awaited(a, site);
	merge_sites(a);
	tapir_vec_for_each (site, &a->sites)
		find_time(a, site);
	tapir_vec_for_each (span, &a->spans)
		add_span(merged(a, &a->sites.data[span->site]), span->from_ns, span->until_ns);
	add_open(a);
	drop_empty(a);
}

/* Per nanosecond of the time in which all are known. */
static double while_known(const struct tapir_await_site *site, uint64_t sum)
{
	uint64_t known_ns = site->known_until_ns - site->known_from_ns;

	return known_ns ? (double)sum / (double)known_ns : 0;
}

double tapir_await_site__at_once(const struct tapir_await_site *site)
{
	return while_known(site, site->within_ns);
}

double tapir_await_site__per_second(const struct tapir_await_site *site)
{
	return while_known(site, site->known_cnt) * 1e9;
}

void tapir_await_site__add_queue(const struct tapir_await_site *site, struct tapir_str *out)
{
	double rate = tapir_await_site__per_second(site);
	char each[TAPIR_NS_TEXT_BYTES];

	if (!tapir_await_site__is_queue(site) || rate <= 0)
		return;
	tapir_str__addf(out, "; one %s each %s: %.1f a second", site->awaited ? "gets it" : "ends",
			tapir_ns__text((uint64_t)(1e9 / rate), each), rate);
}

static bool is_for_connection(const struct tapir_await_site *site)
{
	return site->connection_ns * 2 > site->sum_ns;
}

/* Only channels make many wait without a task whose source would be known. */
static bool is_taskless(const struct tapir_await_site *site)
{
	return !site->awaited && site->taskless_cnt * 2 > site->cnt;
}

bool tapir_await_site__is_queue(const struct tapir_await_site *site)
{
	switch (is_for_connection(site) ? TAPIR_QUEUE_ALWAYS
					: queue_of(site->awaited, is_taskless(site))) {
	case TAPIR_QUEUE_ALWAYS:
		return true;
	case TAPIR_QUEUE_HANDOFF: /* the first ones may have got it before the recording */
		return site->passed_cnt * 4 >= site->cnt;
	case TAPIR_QUEUE_ONCE:
		return site->again_cnt * 2 <= site->cnt;
	default:
		return false;
	}
}

const char *tapir_await_site__answer(const struct tapir_await_site *site)
{
	return site->awaited ? site->awaited->awaited : "a task";
}

const char *tapir_await_site__label(const struct tapir_await_site *site)
{
	if (is_for_connection(site))
		return TAPIR_AWAITED_CONNECTION;
	if (is_taskless(site))
		return "a ValueTask, such as a channel's,";
	return site->awaited ? site->awaited->awaited : "a task";
}
