/* SPDX-License-Identifier: MIT */
/*
 * counter.c - updates of a counter, and the cells that they are in. The first threads that write
 * take a cell each, in which only they add: a plain store. All others share one cell, with atomic
 * operations. A reader adds up the cells (counter_publish.c); what a thread has added stays when it
 * ends.
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "counter_impl.h"

#define INLINE_KEYS 32u /* of glibc: setting one of them never allocates */
#define TEXT_MAX    1024u
#define VALUE_MAX   1e150 /* whose square is a double */

/* Bit n: cell n has a thread. No thread has 0 or the shared one. */
static uint64_t taken = 1ull | 1ull << COUNTER_SHARED;
static pthread_key_t exit_key;
static uint32_t has_key; /* 1: made; 2: not available */

static __thread struct {
	uint32_t cell; /* 0: none yet */
	uint32_t is_busy;
} self;

#define store_double(to, from) __atomic_store(&(to), &(from), __ATOMIC_RELAXED)
#define compiler_fence()       __atomic_signal_fence(__ATOMIC_SEQ_CST)

/* ---- cells -------------------------------------------------------------------------------- */

static void leave_cell(void *cell)
{
	self.cell = COUNTER_SHARED;
	__atomic_fetch_and(&taken, ~(1ull << (uintptr_t)cell), __ATOMIC_RELEASE);
}

static void make_key(void)
{
	if (has_key)
		return;
	has_key = pthread_key_create(&exit_key, leave_cell) ? 2 : 1;
	if (has_key == 1 && exit_key >= INLINE_KEYS) {
		pthread_key_delete(exit_key);
		has_key = 2;
	}
}

/* Threads that exit from now on keep their cells: their destructor may be unloaded. */
void provider_counters__fini(void)
{
	if (has_key == 1)
		pthread_key_delete(exit_key);
	prov_store_release(&has_key, 0);
}

static __attribute__((noinline)) uint32_t take_cell(void)
{
	uint64_t seen = prov_load(&taken);
	uint32_t cell;

	self.cell = COUNTER_SHARED;
	if (prov_load_acquire(&has_key) != 1)
		return COUNTER_SHARED;
	do {
		if (!~seen)
			return COUNTER_SHARED; /* permanently: a search on each update costs more */
		cell = (uint32_t)__builtin_ctzll(~seen);
	} while (!__atomic_compare_exchange_n(&taken, &seen, seen | 1ull << cell, 1,
					      __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
	if (pthread_setspecific(exit_key, (void *)(uintptr_t)cell)) { // NOLINT
		__atomic_fetch_and(&taken, ~(1ull << cell), __ATOMIC_RELEASE);
		return COUNTER_SHARED;
	}
	self.cell = cell;
	return cell;
}

/* Threads of the parent are not here; their cells keep what they counted. */
void provider_counters__forked(void)
{
	uint64_t own = self.cell ? 1ull << self.cell : 0;

	taken = 1ull | 1ull << COUNTER_SHARED | own;
	counter_groups__forked();
}

/* ---- updates ------------------------------------------------------------------------------ */

static void add_shared(double *to, double value)
{
	double seen, sum;

	counter_load(*to, seen);
	do {
		sum = seen + value;
	} while (
		!__atomic_compare_exchange(to, &seen, &sum, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

static void bound_shared(double *bound, double value, int is_max)
{
	double seen;

	counter_load(*bound, seen);
	while ((is_max ? value > seen : value < seen) &&
	       !__atomic_compare_exchange(bound, &seen, &value, 1, __ATOMIC_RELAXED,
					  __ATOMIC_RELAXED))
		;
}

/* The first of its values, whichever thread is the first. */
static double origin_of(struct tapir_counter *c, double value)
{
	double origin;

	counter_load(c->origin, origin);
	if (__builtin_expect(isnan(origin), 0) &&
	    __atomic_compare_exchange(&c->origin, &origin, &value, 0, __ATOMIC_RELAXED,
				      __ATOMIC_RELAXED))
		return value;
	return origin;
}

static __attribute__((noinline)) void write_shared(struct tapir_counter *c, double value)
{
	double distance = value - origin_of(c, value);
	struct counter_cell *cell = &c->cells[COUNTER_SHARED];
	uint32_t round = prov_load(&c->round), was = prov_load(&cell->round);

	if (was != round && __atomic_compare_exchange_n(&cell->round, &was, round, 0,
							__ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
		store_double(cell->min, value);
		store_double(cell->max, value);
	}
	bound_shared(&cell->min, value, 0);
	bound_shared(&cell->max, value, 1);
	add_shared(&cell->sum, distance);
	add_shared(&cell->square_sum, distance * distance);
	if (c->buckets)
		__atomic_fetch_add(counter_bucket__of(&c->buckets[COUNTER_SHARED], value), 1,
				   __ATOMIC_RELAXED);
	__atomic_fetch_add(&cell->count, 1, __ATOMIC_RELEASE);
}

static inline void write_own(struct tapir_counter *c, uint32_t idx, double value)
{
	struct counter_cell *cell = &c->cells[idx];
	uint32_t round = prov_load(&c->round);
	double distance = value - origin_of(c, value);
	double sum = cell->sum + distance, square_sum = cell->square_sum + distance * distance;
	int is_first = cell->round != round;

	if (is_first || value < cell->min)
		store_double(cell->min, value);
	if (is_first || value > cell->max)
		store_double(cell->max, value);
	if (is_first)
		prov_store_release(&cell->round, round);
	store_double(cell->sum, sum);
	store_double(cell->square_sum, square_sum);
	if (c->buckets) {
		uint32_t *bucket = counter_bucket__of(&c->buckets[idx], value);

		prov_store(bucket, *bucket + 1);
	}
	prov_store_release(&cell->count, cell->count + 1);
}

void tapir_counter__write(struct tapir_counter *counter, double value)
{
	uint32_t idx = self.cell;

	if (__builtin_expect(!(value > -VALUE_MAX && value < VALUE_MAX), 0)) /* or it is NaN */
		return;
	if (__builtin_expect(!idx, 0))
		idx = take_cell();
	if (__builtin_expect(idx == COUNTER_SHARED || self.is_busy, 0)) {
		write_shared(counter, value);
		return;
	}
	self.is_busy = 1;
	compiler_fence();
	write_own(counter, idx, value);
	compiler_fence();
	self.is_busy = 0;
}

/* ---- life --------------------------------------------------------------------------------- */

static int copy_text(char **to, const char *text)
{
	*to = strdup(text ? text : "");
	return *to ? 0 : -ENOMEM;
}

static int fill_counter(struct tapir_counter *c, const struct tapir_counter_opts *opts)
{
	const char *shown =
		opts->display_name && *opts->display_name ? opts->display_name : opts->name;

	c->type = opts->type;
	c->poll = opts->poll;
	c->ctx = opts->ctx;
	c->round = 1;
	c->origin = c->type == TAPIR_COUNTER_EVENT || c->type == TAPIR_COUNTER_HISTOGRAM
			    ? (double)NAN
			    : 0;
	if (c->type == TAPIR_COUNTER_HISTOGRAM && counter_histogram__init(c))
		return -ENOMEM;
	return copy_text(&c->name, opts->name) || copy_text(&c->display_name, shown) ||
			       copy_text(&c->unit, opts->unit) || copy_text(&c->tags, opts->tags)
		       ? -ENOMEM
		       : 0;
}

static void release_counter(struct tapir_counter *c)
{
	counter_histogram__fini(c);
	counter_views__free(c);
	free(c->name);
	free(c->display_name);
	free(c->unit);
	free(c->tags);
	free(c);
}

static int is_short(const char *text)
{
	return !text || strnlen(text, TEXT_MAX + 1) <= TEXT_MAX;
}

static int is_valid(const struct tapir_counter_opts *opts)
{
	int is_polled;

	if (!opts || opts->size < sizeof(*opts) || !opts->name || !*opts->name)
		return 0;
	is_polled = opts->type == TAPIR_COUNTER_POLLING ||
		    opts->type == TAPIR_COUNTER_INCREMENTING_POLLING;
	return opts->type >= TAPIR_COUNTER_EVENT && opts->type <= TAPIR_COUNTER_HISTOGRAM &&
	       is_polled == !!opts->poll && is_short(opts->name) && is_short(opts->display_name) &&
	       is_short(opts->unit) && is_short(opts->tags);
}

int tapir_counter__new(struct tapir_provider *provider, const struct tapir_counter_opts *opts,
		       struct tapir_counter **out)
{
	int saved = errno, err = provider && out && is_valid(opts) ? 0 : -EINVAL;
	struct tapir_counter *c = NULL;

	if (!err)
		c = aligned_alloc(64, sizeof(*c));
	if (!err && !c)
		err = -ENOMEM;
	if (!err) {
		memset(c, 0, sizeof(*c));
		provider_lock();
		make_key();
		provider_unlock();
		err = fill_counter(c, opts);
		if (!err)
			err = counter_group__join(c, provider);
		if (!err)
			counter_entry__open(c);
	}
	if (err && c)
		release_counter(c);
	if (!err)
		*out = c;
	errno = saved;
	return err;
}

void tapir_counter__free(struct tapir_counter *counter)
{
	int saved = errno;

	if (!counter)
		return;
	counter_entry__close(counter);
	counter_group__leave(counter);
	release_counter(counter);
	errno = saved;
}
