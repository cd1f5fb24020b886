/* SPDX-License-Identifier: MIT */
/*
 * provider_registry.c - providers come and go, and the table of all events, which a forked child
 * walks without the lock: its slots are stored whole, and cleared before an event's memory may go.
 */
#include <pthread.h>
#include <stdlib.h>

#include "provider_impl.h"

#define KNOWN_FLAGS (TAPIR_PROVIDER_NO_THREAD | TAPIR_PROVIDER_CHILD_THREAD)

struct tapir_provider *provider_list;
struct tapir_event *provider_table[TAPIR_MAX_EVENTS];
uint32_t provider_table_cnt;
uint32_t provider_json_cnt;
int (*provider_json_is_on)(uint8_t level);
int (*provider_loggers_changed)(void);
void (*provider_on_first)(void);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

void provider_lock(void)
{
	pthread_mutex_lock(&lock);
}

int provider_trylock(void)
{
	return !pthread_mutex_trylock(&lock);
}

void provider_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

void provider_wait(void)
{
	pthread_cond_wait(&changed, &lock);
}

void provider_broadcast(void)
{
	pthread_cond_broadcast(&changed);
}

/* ---- fork --------------------------------------------------------------------------------- */

/*
 * In the child, maybe within a signal handler: no lock, no call that could need one. The lock's
 * holder, if there was one, is not here; the list is whole at any time, since links are stored
 * last.
 */
static void forked(void)
{
	static const pthread_mutex_t open = PTHREAD_MUTEX_INITIALIZER;
	static const pthread_cond_t quiet = PTHREAD_COND_INITIALIZER;

	memcpy(&lock, &open, sizeof(lock));
	memcpy(&changed, &quiet, sizeof(changed));
	provider_poller__forked();
	provider_sessions__forked();
	provider_counters__forked();
	for (uint32_t i = 0; i < prov_load(&provider_table_cnt); i++) {
		struct tapir_event *event = prov_load(&provider_table[i]);

		if (!event)
			continue;
		prov_store(&event_state__of(event)->wants, 0);
		prov_store(&event->word.half.sessions, TAPIR_SESSIONS_CHECK);
	}
}

static void watch_forks(void)
{
	static int is_watched;

	if (!is_watched)
		is_watched = !pthread_atfork(NULL, NULL, forked);
}

/* ---- the table ---------------------------------------------------------------------------- */

static uint32_t first_free; /* no slot below it is */

static int add_to_table(struct tapir_event *event)
{
	for (; first_free < TAPIR_MAX_EVENTS; first_free++) {
		uint32_t i = first_free;

		if (provider_table[i])
			continue;
		event_state__of(event)->table_idx = i;
		prov_store_release(&provider_table[i], event);
		if (i >= provider_table_cnt)
			prov_store_release(&provider_table_cnt, i + 1);
		return 0;
	}
	return -ENOSPC;
}

static void remove_from_table(struct tapir_event *event)
{
	uint32_t idx = event_state__of(event)->table_idx;

	prov_store_release(&provider_table[idx], NULL);
	first_free = idx < first_free ? idx : first_free;
	while (provider_table_cnt && !provider_table[provider_table_cnt - 1])
		prov_store(&provider_table_cnt, provider_table_cnt - 1);
}

/* ---- an event ----------------------------------------------------------------------------- */

static int describe_event(const struct tapir_provider *p, struct provider_event *pe,
			  struct tapir_event *event)
{
	const struct tapir_event_about *about = event ? event->about : NULL;
	uint32_t bytes = 0;
	int err;

	if (!about || !about->name || !*about->name || about->level > TAPIR_VERBOSE)
		return -EINVAL;
	err = provider_metadata__make(about, &pe->metadata, &bytes);
	if (err)
		return err;
	pe->about = (struct tapir_ring_about){
		.provider = p->name,
		.event = about->name,
		.keywords = about->keywords,
		.event_id = about->id,
		.version = about->version,
		.level = about->level,
		.encoding = TAPIR_ENCODING_PACKED,
		.metadata = pe->metadata,
		.metadata_bytes = bytes,
		.metadata_format = 2,
	};
	return 0;
}

/* Under the lock. The event is claimed: it belongs to no provider, nor did it come twice. */
static int register_event(struct tapir_provider *p, struct tapir_event *event)
{
	struct provider_event *pe = &p->events[p->event_cnt];
	struct event_state *state;
	int err = describe_event(p, pe, event);

	if (err)
		return err;
	state = event_state__of(event);
	err = state->provider ? -EINVAL : add_to_table(event);
	if (err) {
		free(pe->metadata);
		return err;
	}
	pe->event = event;
	state->provider = p;
	state->provider_idx = (uint16_t)p->event_cnt++;
	err = tapir_ring__register(&state->ring, &pe->about);
	state->is_unlisted = (uint16_t)-err;
	if (err && !p->ring_error)
		p->ring_error = err;
	return 0;
}

/*
 * Off, then out of the lane and the table. A thread that is firing it has its last occurrence
 * written with the old entry, which the lane does not use again before it was drained.
 */
static void remove_event(struct provider_event *pe)
{
	struct event_state *state = event_state__of(pe->event);

	provider_sessions__leave_event(pe->event);
	remove_from_table(pe->event);
	event__set_sessions(pe->event, 0xffff, 0);
	tapir_ring__unregister(&state->ring);
	state->provider = NULL;
	free(pe->metadata);
}

/* ---- a provider --------------------------------------------------------------------------- */

static void release_provider(struct tapir_provider *p)
{
	while (p->event_cnt)
		remove_event(&p->events[--p->event_cnt]);
	free(p->name);
	free(p);
}

static int make_provider(const char *name, const uint8_t *guid, uint32_t event_cnt,
			 const struct tapir_provider_opts *opts, struct tapir_provider **out)
{
	struct tapir_provider *p =
		calloc(1, sizeof(*p) + (size_t)event_cnt * sizeof(struct provider_event));

	if (!p)
		return -ENOMEM;
	p->name = strdup(name);
	if (!p->name) {
		free(p);
		return -ENOMEM;
	}
	if (guid)
		memcpy(p->guid, guid, sizeof(p->guid));
	p->has_guid = guid != NULL;
	if (opts) {
		p->changed = opts->changed;
		p->ctx = opts->ctx;
		p->flags = opts->flags;
	}
	*out = p;
	return 0;
}

/* Under the lock. */
static int add_all(struct tapir_provider *p, struct tapir_event *const *events, uint32_t event_cnt)
{
	int err = 0;

	watch_forks();
	tapir_ring__init();
	for (uint32_t i = 0; i < event_cnt && !err; i++)
		err = register_event(p, events[i]);
	if (!err && p->part.size) /* else it is for provider_warnings.c */
		err = provider_mistakes__find(p, NULL, NULL) ? -EINVAL : 0;
	if (err)
		return err;
	if (p->flags & TAPIR_PROVIDER_CHILD_THREAD)
		prov_store(&provider_child_threads, provider_child_threads + 1);
	p->next = provider_list;
	prov_store_release(&provider_list, p);
	provider_poller__start();
	/* Applies existing interest without waiting for the thread. */
	for (uint32_t i = 0; i < p->event_cnt; i++) {
		provider_sessions__match(p->events[i].event);
		provider_poller__refresh_event(p->events[i].event);
	}
	if (p->changed || provider_json_cnt)
		provider_poller__wake(); /* it polls no semaphore without a callback: see look() */
	return 0;
}

int provider__make(const char *name, const uint8_t *guid, struct tapir_event *const *events,
		   uint32_t event_cnt, const struct tapir_provider_opts *opts,
		   const struct tapir_program_part *part, struct tapir_provider **out)
{
	int saved = errno, err = -EINVAL;
	struct tapir_provider *p = NULL;

	if (name && *name && strnlen(name, 192) < 192 && out && (events || !event_cnt) &&
	    event_cnt <= TAPIR_MAX_EVENTS && (!part || part->size >= sizeof(*part)) &&
	    (!opts || (opts->size >= sizeof(*opts) && !(opts->flags & ~KNOWN_FLAGS))))
		err = make_provider(name, guid, event_cnt, opts, &p);
	if (!err) {
		if (part)
			p->part = *part;
		provider_lock();
		err = add_all(p, events, event_cnt);
		if (err)
			release_provider(p);
		provider_unlock();
	}
	/*
	 * Exchanged, so that it is called once, whichever of several threads makes the first
	 * provider; after the lock, which what is called takes itself.
	 */
	if (!err && prov_load(&provider_on_first)) {
		void (*once)(void) =
			__atomic_exchange_n(&provider_on_first, NULL, __ATOMIC_ACQ_REL);

		if (once)
			once();
	}
	if (!err)
		*out = p;
	errno = saved;
	return err;
}

int tapir_provider__create(const char *name, const uint8_t *guid, struct tapir_event *const *events,
			   uint32_t event_cnt, const struct tapir_provider_opts *opts,
			   const struct tapir_program_part *part, struct tapir_provider **out)
{
	return part ? provider__make(name, guid, events, event_cnt, opts, part, out) : -EINVAL;
}

/* The library's tapir_provider__new; the header's is an inline function. */
TAPIR_API int provider__new_leniently(const char *name, const uint8_t *guid,
				      struct tapir_event *const *events, uint32_t event_cnt,
				      const struct tapir_provider_opts *opts,
				      struct tapir_provider **out) __asm__("tapir_provider__new");

int provider__new_leniently(const char *name, const uint8_t *guid,
			    struct tapir_event *const *events, uint32_t event_cnt,
			    const struct tapir_provider_opts *opts, struct tapir_provider **out)
{
	return provider__make(name, guid, events, event_cnt, opts, NULL, out);
}

void tapir_provider__free(struct tapir_provider *provider)
{
	struct tapir_provider **link = &provider_list;
	int saved = errno;

	if (!provider)
		return;
	provider_lock();
	provider->is_leaving = 1;
	provider_poller__leave(provider);
	while (*link && *link != provider)
		link = &(*link)->next;
	if (*link)
		prov_store_release(link, provider->next);
	if (provider->flags & TAPIR_PROVIDER_CHILD_THREAD)
		prov_store(&provider_child_threads, provider_child_threads - 1);
	release_provider(provider);
	provider_unlock();
	errno = saved;
}

const char *tapir_provider__name(const struct tapir_provider *provider)
{
	return provider->name;
}

static int has_one_on(const struct tapir_provider *p, uint8_t level, uint64_t keywords)
{
	for (uint32_t i = 0; i < p->event_cnt; i++) {
		const struct provider_event *pe = &p->events[i];

		if (TAPIR_EVENT_ENABLED(*pe->event) && pe->about.level >= level &&
		    (!keywords || pe->about.keywords & keywords))
			return 1;
	}
	return 0;
}

int tapir_provider__is_on(const struct tapir_provider *provider, uint8_t level, uint64_t keywords)
{
	const struct tapir_provider *m = prov_load_acquire(&provider->members);

	if (has_one_on(provider, level, keywords))
		return 1;
	while (m && !has_one_on(m, level, keywords))
		m = m->next_member;
	return m != NULL;
}

int tapir_provider__ring_error(const struct tapir_provider *provider)
{
	return provider->ring_error;
}

int tapir_provider__poll(void)
{
	int saved = errno, err;

	provider_lock();
	tapir_ring__adopt();
	if (provider_loggers_changed && provider_loggers_changed())
		provider_sessions__match_all();
	provider_poller__refresh();
	provider_poller__call_back();
	provider_counters__tick();
	err = provider_poller__start();
	provider_unlock();
	errno = saved;
	return err;
}

int tapir_library__fini(void)
{
	int saved = errno, err = 0;

	provider_lock();
	if (provider_list)
		err = -EBUSY;
	else
		provider_poller__stop();
	if (!err && !provider_list) {
		provider_counters__fini();
		provider_loggers__fini();
		tapir_ring__fini(); /* waits for threads that are about to leave */
	}
	provider_unlock();
	errno = saved;
	return err;
}
