/* SPDX-License-Identifier: MIT */
/*
 * counter_publish.c - counters by provider, and the end of their intervals, which each session has
 * for itself. A provider's counters have a second registration of its name, with the EventCounters
 * events. The library's thread comes when the next interval ends; nothing of the user's, and no
 * session, is called under the lock.
 */
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "counter_impl.h"

#define KEY	"EventCounterIntervalSec="
#define LEAST_S 0.1
#define MAX_S	3600.0
#define LOOK_MS 100 /* how soon a change of what is requested is seen */

/* A session that asks for a group's intervals. */
struct counter_clock {
	uint64_t interval_ns, next_ns; /* 0: it does not */
	uint64_t session_id;	       /* of the session with this number */
};

struct counter_group {
	struct counter_group *next;
	struct tapir_provider *provider; /* ours */
	struct tapir_counter *counters;	 /* the newest last */
	struct tapir_event mean, increment, histogram;
	struct counter_clock
		clocks[TAPIR_SESSION_MAX]; /* of sessions: those of the ring lane first */
};

static struct counter_group *groups;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

const char *counter_group__provider(const struct counter_group *group)
{
	return tapir_provider__name(group->provider);
}

/* ---- what is requested -------------------------------------------------------------------- */

/* A decimal number, without the locale. */
static double to_seconds(const char *text)
{
	double value = 0, scale = 1;
	int is_fraction = 0;

	for (; (*text >= '0' && *text <= '9') || (*text == '.' && !is_fraction); text++) {
		if (*text == '.') {
			is_fraction = 1;
			continue;
		}
		value = value * 10 + (*text - '0');
		scale = is_fraction ? scale * 10 : scale;
	}
	return value / scale;
}

/* Key=Value;...: the value of the key; 0 without it. */
static double interval_of(const char *filter)
{
	const size_t len = sizeof(KEY) - 1;

	while (filter && *filter) {
		const char *end = strchr(filter, ';');

		if (!strncmp(filter, KEY, len)) {
			double s = to_seconds(filter + len);

			if (!(s > 0))
				return 0;
			return s < LEAST_S ? LEAST_S : s > MAX_S ? MAX_S : s;
		}
		filter = end ? end + 1 : NULL;
	}
	return 0;
}

static double requested_interval_s(const char *provider, uint32_t session, uint64_t *session_id)
{
	static struct tapir_ring_requested requested; /* under the lock */
	struct last_notified now = {0};
	const char *filter = "";

	if (session < TAPIR_RING_SESSIONS) {
		tapir_ring__requested(session, provider, &requested);
		*session_id = requested.session_id;
		return interval_of(requested.is_served ? requested.filter : "");
	}
	session -= TAPIR_RING_SESSIONS;
	provider_sessions__requested(session, provider, &now, &filter);
	*session_id = provider_sessions__opened_cnt(session);
	return interval_of(filter);
}

/* Counters begin their first interval where a session begins to ask. */
static void follow_session(struct counter_group *g, uint32_t session, uint64_t time_ns)
{
	struct counter_clock *clock = &g->clocks[session];
	uint64_t id = 0;
	uint64_t interval_ns =
		(uint64_t)(requested_interval_s(counter_group__provider(g), session, &id) * 1e9);

	if (interval_ns == clock->interval_ns && (!interval_ns || id == clock->session_id))
		return;
	*clock = (struct counter_clock){interval_ns, interval_ns ? time_ns + interval_ns : 0, id};
	for (struct tapir_counter *c = g->counters; c && interval_ns; c = c->next)
		counter_view__begin(c, session);
}

/* ---- an interval's end -------------------------------------------------------------------- */

static void take_polled(struct counter_view *v, double value, struct counter_report *r)
{
	r->mean = r->min = r->max = value;
	r->count = 1;
	r->increment = v->has_polled ? value - v->polled : 0;
	v->polled = value;
	v->has_polled = 1;
}

/* Calls poll without the lock; the counter is busy, so it stays. */
static double poll_unlocked(struct tapir_counter *c)
{
	double value;

	provider_unlock();
	value = c->poll(c->ctx);
	provider_lock();
	return value;
}

/* A sum that was not polled since the session subscribed; NULL: none. */
static struct tapir_counter *next_unpolled(const struct counter_group *g, uint32_t session)
{
	if (!g->clocks[session].interval_ns)
		return NULL;
	for (struct tapir_counter *c = g->counters; c; c = c->next)
		if (c->type == TAPIR_COUNTER_INCREMENTING_POLLING && c->views[session] &&
		    !c->views[session]->has_polled && !c->is_busy && !c->is_leaving)
			return c;
	return NULL;
}

/*
 * An increment counts from when the session subscribed, so a sum is polled then, too: of one
 * counter for one session. Returns 0 when none is left.
 */
static int begin_one(void)
{
	for (struct counter_group *g = groups; g; g = g->next)
		for (uint32_t s = 0; s < TAPIR_SESSION_MAX; s++) {
			struct tapir_counter *c = next_unpolled(g, s);

			if (c) {
				c->is_busy = 1;
				c->views[s]->polled = poll_unlocked(c);
				c->views[s]->has_polled = 1;
				c->is_busy = 0;
				provider_broadcast();
				return 1;
			}
		}
	return 0;
}

/* Outside the lock; the counter is busy, so it stays. */
static void publish_report(struct tapir_counter *c, uint32_t session,
			   const struct counter_report *report)
{
	struct tapir_event *event = counter__is_increment(c) ? &c->group->increment
				    : c->buckets	     ? &c->group->histogram
							     : &c->group->mean;
	size_t bytes;
	void *payload;

	if (!TAPIR_EVENT_ENABLED(*event))
		return;
	payload = counter_payload__make(c, report, &bytes);
	if (payload)
		provider_event__write_to(event, payload, bytes, 1ull << session);
	free(payload);
}

/* Under the lock, which is released for a while. */
static void end_interval(struct tapir_counter *c, uint32_t session, uint64_t time_ns)
{
	struct counter_view *v = c->views[session];
	uint64_t interval_ns = c->group->clocks[session].interval_ns;
	int is_first = !v->published_ns;
	uint64_t since_ns = is_first ? time_ns - interval_ns : v->published_ns;
	struct counter_report report = {
		.interval_s = (double)(time_ns - since_ns) / 1e9,
		.requested_ms = (uint32_t)(interval_ns / 1000000),
	};

	v->published_ns = time_ns;
	c->is_busy = 1;
	if (c->poll)
		take_polled(v, poll_unlocked(c), &report);
	else
		counter_view__take(c, session, &report);
	provider_unlock();
	publish_report(c, session, &report);
	provider_lock();
	c->is_busy = 0;
	provider_broadcast();
}

/* The next counter whose interval has ended for the session; NULL: none. */
static struct tapir_counter *next_due(const struct counter_group *g, uint32_t session,
				      uint64_t time_ns)
{
	const struct counter_clock *clock = &g->clocks[session];

	if (!clock->interval_ns || time_ns < clock->next_ns)
		return NULL;
	for (struct tapir_counter *c = g->counters; c; c = c->next)
		if (c->views[session] && c->views[session]->published_ns < clock->next_ns &&
		    !c->is_busy && !c->is_leaving)
			return c;
	return NULL;
}

/* Ends one interval of any group and session: a group may go while the lock is released. */
static int end_one(uint64_t time_ns)
{
	for (struct counter_group *g = groups; g; g = g->next)
		for (uint32_t s = 0; s < TAPIR_SESSION_MAX; s++) {
			struct tapir_counter *c = next_due(g, s, time_ns);

			if (c) {
				end_interval(c, s, time_ns);
				return 1;
			}
		}
	return 0;
}

/* The next end of an interval that is not over; milliseconds until then. */
static uint64_t ms_until(struct counter_clock *clock, uint64_t time_ns)
{
	if (!clock->interval_ns)
		return INT32_MAX;
	while (clock->next_ns <= time_ns)
		clock->next_ns += clock->interval_ns;
	return (clock->next_ns - time_ns) / 1000000 + 1;
}

int provider_counters__tick(void)
{
	uint64_t time_ns = now_ns(), least = groups ? LOOK_MS : INT32_MAX;

	for (struct counter_group *g = groups; g; g = g->next)
		for (uint32_t s = 0; s < TAPIR_SESSION_MAX; s++)
			follow_session(g, s, time_ns);
	while (begin_one() || end_one(time_ns))
		;
	for (struct counter_group *g = groups; g; g = g->next)
		for (uint32_t s = 0; s < TAPIR_SESSION_MAX; s++) {
			uint64_t ms = ms_until(&g->clocks[s], time_ns);

			least = ms < least ? ms : least;
		}
	return (int)least;
}

int provider_counters__are_there(void)
{
	return groups != NULL;
}

/* Lists are whole at any time: links are stored last. */
void counter_groups__forked(void)
{
	for (struct counter_group *g = prov_load(&groups); g; g = prov_load(&g->next))
		for (struct tapir_counter *c = prov_load(&g->counters); c; c = prov_load(&c->next))
			c->is_busy = 0;
}

/* ---- groups ------------------------------------------------------------------------------- */

static struct counter_group *find_group(const char *provider)
{
	struct counter_group *g = groups;

	while (g && strcmp(counter_group__provider(g), provider) != 0)
		g = g->next;
	return g;
}

static int make_group(const struct tapir_provider *provider, struct counter_group **out)
{
	struct counter_group *g = calloc(1, sizeof(*g));
	struct tapir_event *const events[] = {&g->mean, &g->increment, &g->histogram};
	int err;

	if (!g)
		return -ENOMEM;
	g->mean.about = &counter_mean_about;
	g->increment.about = &counter_increment_about;
	g->histogram.about = &counter_histogram_about;
	err = provider__make(provider->name, provider->has_guid ? provider->guid : NULL, events,
			     sizeof(events) / sizeof(events[0]), NULL, NULL, &g->provider);
	if (err) {
		free(g);
		return err;
	}
	*out = g;
	return 0;
}

static void append_counter(struct counter_group *g, struct tapir_counter *c)
{
	struct tapir_counter **link = &g->counters;

	while (*link)
		link = &(*link)->next;
	c->group = g;
	for (uint32_t s = 0; s < TAPIR_SESSION_MAX; s++)
		if (g->clocks[s].interval_ns)
			counter_view__begin(c, s);
	prov_store_release(link, c);
}

int counter_group__join(struct tapir_counter *c, const struct tapir_provider *provider)
{
	struct counter_group *made = NULL, *g;
	int err;

	provider_lock();
	while (!(g = find_group(provider->name)) && !made) {
		/* Other counters may appear and disappear in between. */
		provider_unlock();
		err = make_group(provider, &made);
		if (err)
			return err;
		provider_lock();
	}
	if (!g) {
		g = made;
		made = NULL;
		g->next = groups;
		prov_store_release(&groups, g);
	}
	append_counter(g, c);
	provider_poller__wake();
	provider_unlock();
	if (made) { /* another thread was quicker */
		tapir_provider__free(made->provider);
		free(made);
	}
	return 0;
}

void counter_group__leave(struct tapir_counter *c)
{
	struct counter_group **link = &groups, *g = c->group, *empty = NULL;
	struct tapir_counter **at = &g->counters;

	provider_lock();
	c->is_leaving = 1;
	while (c->is_busy)
		provider_wait();
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	while (*link != g)
		link = &(*link)->next;
	if (!g->counters) {
		*link = g->next;
		empty = g;
	}
	provider_unlock();
	if (empty)
		tapir_provider__free(empty->provider);
	free(empty);
}

/* ---- from inside -------------------------------------------------------------------------- */

static void describe_counter(struct tapir_counter *c, struct tapir_counter_value *out)
{
	double percentiles[PERCENTILE_CNT] = {0, 0, 0};
	struct counter_moments moments;
	struct counter_sums sums;

	counter__sum(c, &sums);
	*out = (struct tapir_counter_value){
		.provider = counter_group__provider(c->group),
		.name = c->name,
		.display_name = c->display_name,
		.unit = c->unit,
		.tags = c->tags,
		.type = c->type,
		.count = sums.count,
	};
	/* Without a value there is no mean: all zero, and not NaN, which readers of JSON refuse. */
	if (!sums.count)
		return;
	moments =
		counter__moments(c, (double)sums.count, sums.sum, sums.square_sum, sums.square_sum);
	out->sum = moments.sum;
	out->mean = moments.mean;
	out->deviation = moments.deviation;
	if (c->buckets)
		counter_histogram__read(c, NULL, -HUGE_VAL, HUGE_VAL, percentiles);
	out->p50 = percentiles[0];
	out->p95 = percentiles[1];
	out->p99 = percentiles[2];
}

uint32_t tapir_counters__list(struct tapir_counter_value *out, uint32_t max)
{
	uint32_t cnt = 0;

	provider_lock();
	for (const struct counter_group *g = groups; g; g = g->next)
		for (struct tapir_counter *c = g->counters; c; c = c->next, cnt++)
			if (cnt < max)
				describe_counter(c, &out[cnt]);
	provider_unlock();
	return cnt;
}
