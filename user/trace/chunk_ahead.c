// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The chunk belongs to the thread while a job is LOADING, else to the caller: the lock is for the
 * state alone.
 */
#include "trace/chunk_ahead.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "base/diag.h"

#define STACK_BYTES (256u * 1024u) /* zstd needs a few KB; a default stack has 8 MB */

enum state { IDLE, LOADING, LOADED, ENDING };

struct tapir_chunk_ahead {
	int fd;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	enum state state; /* with the lock */
	struct tapir_chunk_ref ref;
	struct tapir_chunk chunk;
	int loaded; /* as tapir_chunk__unpack returns */
};

static void set_state(struct tapir_chunk_ahead *a, enum state state)
{
	pthread_mutex_lock(&a->lock);
	a->state = state;
	pthread_cond_broadcast(&a->changed);
	pthread_mutex_unlock(&a->lock);
}

/* Waits while the state is this one, and returns the one after it. */
static enum state wait_while(struct tapir_chunk_ahead *a, enum state state)
{
	enum state next;

	pthread_mutex_lock(&a->lock);
	while (a->state == state)
		pthread_cond_wait(&a->changed, &a->lock);
	next = a->state;
	pthread_mutex_unlock(&a->lock);
	return next;
}

/* Waits until there is something to do. False: it is the end. */
static bool wait_for_job(struct tapir_chunk_ahead *a)
{
	enum state state = IDLE;

	while (state == IDLE || state == LOADED)
		state = wait_while(a, state);
	return state == LOADING;
}

static void *run_ahead(void *arg)
{
	struct tapir_chunk_ahead *a = arg;

	pthread_setname_np(pthread_self(), "tapir-chunks");
	while (wait_for_job(a)) {
		a->loaded = tapir_chunk__unpack(&a->chunk, a->fd, &a->ref);
		tapir_diag__clear(); /* the caller meets the same failure */
		set_state(a, LOADED);
	}
	return NULL;
}

/* No signal is handled here: those of the process are for its main thread. */
static int make_thread(struct tapir_chunk_ahead *a)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	int err = pthread_attr_init(&attributes);

	if (err)
		return -err;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_attr_setstacksize(&attributes, STACK_BYTES);
	if (!err)
		err = pthread_create(&a->thread, &attributes, run_ahead, a);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return -err;
}

struct tapir_chunk_ahead *tapir_chunk_ahead__start(int fd)
{
	struct tapir_chunk_ahead *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->fd = fd;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->changed, NULL);
	if (!make_thread(a))
		return a;
	free(a);
	return NULL;
}

void tapir_chunk_ahead__stop(struct tapir_chunk_ahead *a)
{
	if (!a)
		return;
	(void)wait_while(a, LOADING);
	set_state(a, ENDING);
	pthread_join(a->thread, NULL);
	pthread_cond_destroy(&a->changed);
	pthread_mutex_destroy(&a->lock);
	tapir_chunk__fini(&a->chunk);
	free(a);
}

void tapir_chunk_ahead__want(struct tapir_chunk_ahead *a, const struct tapir_chunk_ref *ref)
{
	(void)wait_while(a, LOADING);
	a->ref = *ref;
	a->loaded = tapir_chunk__prepare(&a->chunk, ref);
	set_state(a, a->loaded == 1 ? LOADING : IDLE);
}

bool tapir_chunk_ahead__take(struct tapir_chunk_ahead *a, const struct tapir_chunk_ref *ref,
			     struct tapir_chunk *chunk)
{
	struct tapir_chunk mine = *chunk;

	if (wait_while(a, LOADING) != LOADED)
		return false;
	set_state(a, IDLE);
	if (a->loaded != 1 || a->ref.off != ref->off)
		return false;
	*chunk = a->chunk;
	a->chunk = mine;
	return true;
}
