// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A list of queries; its thread owns those that are ASKING or dropped, the other threads the rest.
 */
#include "record/names/runtime_query.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "attach/proc.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"
#include "base/map.h"
#include "runtime/peer/peer_ability.h"

/* A JVM that has just begun does not listen yet: it is asked again, each time after twice as long.
 */
#define FIRST_WAIT_NS (250 * TAPIR_NS_PER_MS)
#define TRIES	      6
#define ENDING_MS     500 /* from SIGKILL until all threads have ended, on a busy machine */

enum state { WAITING, ASKING, ANSWERED };

struct tapir_runtime_query {
	struct tapir_runtime_queries *queries;
	struct tapir_runtime_query *next;
	const struct tapir_runtime_ops *runtime;
	uint32_t tgid;
	uint64_t start_ticks; /* of the process, to distinguish it from a later one with its id */
	enum state state;
	bool is_dropped;
	unsigned try_cnt;
	uint64_t next_try_ns;
	int err;      /* of an answered one */
	void *answer; /* answer_bytes of its runtime; valid without err */
};

struct tapir_runtime_queries {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct tapir_runtime_query *first, **last;
	pthread_t thread;
	bool has_thread, has_ended;
	int cancel_fd;
	struct tapir_map unable; /* tgids that could not answer, each reported once; its thread's */
};

int tapir_runtime_queries__new(struct tapir_runtime_queries **out)
{
	struct tapir_runtime_queries *a = calloc(1, sizeof(*a));
	pthread_condattr_t attr;

	if (!a)
		return -ENOMEM;
	a->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (a->cancel_fd < 0) {
		free(a);
		return -errno;
	}
	pthread_mutex_init(&a->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&a->changed, &attr);
	pthread_condattr_destroy(&attr);
	a->last = &a->first;
	*out = a;
	return 0;
}

/* ---- the thread ------------------------------------------------------------------------- */

/* The query that is due first, now or later; a dropped one before all. Lock held. */
static struct tapir_runtime_query *next_to_do(const struct tapir_runtime_queries *a)
{
	struct tapir_runtime_query *next = NULL;

	for (struct tapir_runtime_query *q = a->first; q; q = q->next) {
		if (q->is_dropped)
			return q;
		if (q->state == WAITING && (!next || q->next_try_ns < next->next_try_ns))
			next = q;
	}
	return next;
}

/* Until there is news, or the question's time has come (NULL: no time). Lock held. */
static void wait_for(struct tapir_runtime_queries *a, const struct tapir_runtime_query *q)
{
	struct timespec until = tapir_clock__timespec(q ? q->next_try_ns : 0);

	if (q)
		pthread_cond_timedwait(&a->changed, &a->lock, &until);
	else
		pthread_cond_wait(&a->changed, &a->lock);
}

static void unlink_question(struct tapir_runtime_queries *a, struct tapir_runtime_query *q)
{
	struct tapir_runtime_query **at = &a->first;

	while (*at != q)
		at = &(*at)->next;
	*at = q->next;
	if (!q->next)
		a->last = at;
}

static void discard_query(struct tapir_runtime_query *q)
{
	if (!q->err)
		q->runtime->discard_names(q->tgid, q->answer);
	tapir_diag__clear();
	free(q->answer);
	free(q);
}

/*
 * Does not listen, and would not survive SIGQUIT: that is so at the start, and with -Xrs. Or
 * another tapir asked at the same moment, made the file first, or took the map away that was for
 * both.
 */
static bool may_answer_later(const struct tapir_runtime_query *q, int err)
{
	return (err == -EOPNOTSUPP || err == -EIO || err == -EEXIST || err == -EBUSY) &&
	       q->try_cnt < TRIES;
}

static bool process_has_ended(const struct tapir_runtime_query *q)
{
	uint64_t now_ticks = tapir_proc__start_ticks(q->tgid);

	return now_ticks == UINT64_MAX || now_ticks != q->start_ticks;
}

/*
 * Returns true if a process that did not answer is being killed: its files fail one after the
 * other, as if this user might not open them, before it is seen to have ended.
 */
static bool is_ending(const struct tapir_runtime_queries *a, const struct tapir_runtime_query *q)
{
	tapir_autofd int fd = (int)syscall(SYS_pidfd_open, q->tgid, 0);
	struct pollfd ends[] = {{.fd = fd, .events = POLLIN},
				{.fd = a->cancel_fd, .events = POLLIN}};

	return process_has_ended(q) || (poll(ends, 2, ENDING_MS) > 0 && process_has_ended(q));
}

static void warn_without_names(struct tapir_runtime_queries *a, const struct tapir_runtime_query *q,
			       int err)
{
	bool is_new = true;

	if (err == -EAGAIN && tapir_map__put(&a->unable, q->tgid, &is_new) && !is_new)
		return;
	tapir_warn("%s %u: %s: %s", q->runtime->kind, q->tgid, q->runtime->no_names,
		   tapir_diag__cnt() ? tapir_diag__line(0) : tapir_errno__text(err));
}

/* The answer is no longer awaited; if the process cannot answer, that is why it has no names. */
static void explain_unasked(struct tapir_runtime_queries *a, const struct tapir_runtime_query *q)
{
	int err = process_has_ended(q) ? 0 : tapir_peer__check_able_now(q->tgid, "ask for names");

	if (err == -EAGAIN)
		warn_without_names(a, q, err);
	tapir_diag__clear();
}

/*
 * A map that the runtime writes unrequested (-EALREADY) is read where it is. A process that ended
 * during the query needs no message, and its id may be another's by now.
 */
static int run_query(struct tapir_runtime_queries *a, struct tapir_runtime_query *q)
{
	int err = process_has_ended(q) ? -ESRCH
				       : q->runtime->ask_names(q->tgid, a->cancel_fd, q->answer);

	if (err && err != -ECANCELED && process_has_ended(q))
		err = -ESRCH;
	if (err && err != -ECANCELED && err != -ESRCH && err != -EALREADY &&
	    !may_answer_later(q, err) && (err == -EAGAIN || !is_ending(a, q)))
		warn_without_names(a, q, err);
	return err;
}

/* Lock held, but released during the query: one that is ASKING belongs to this thread. */
static void answer_query(struct tapir_runtime_queries *a, struct tapir_runtime_query *q)
{
	q->state = ASKING;
	q->try_cnt++;
	pthread_mutex_unlock(&a->lock);
	q->err = run_query(a, q);
	tapir_diag__clear();
	pthread_mutex_lock(&a->lock);
	q->state = may_answer_later(q, q->err) ? WAITING : ANSWERED;
	q->next_try_ns = tapir_clock__now_ns() + (FIRST_WAIT_NS << (q->try_cnt - 1));
}

static void *run_queries(void *arg)
{
	struct tapir_runtime_queries *a = arg;

	pthread_mutex_lock(&a->lock);
	for (;;) {
		struct tapir_runtime_query *q = next_to_do(a);

		if (q && q->is_dropped) {
			unlink_question(a, q);
			pthread_mutex_unlock(&a->lock);
			if (q->state == WAITING)
				explain_unasked(a, q);
			discard_query(q);
			pthread_mutex_lock(&a->lock);
		} else if (a->has_ended) {
			break;
		} else if (q && q->next_try_ns <= tapir_clock__now_ns()) {
			answer_query(a, q);
		} else {
			wait_for(a, q);
		}
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

/* ---- its callers ------------------------------------------------------------------------ */

struct tapir_runtime_query *tapir_runtime_queries__ask(struct tapir_runtime_queries *a,
						       const struct tapir_runtime_ops *runtime,
						       uint32_t tgid)
{
	struct tapir_runtime_query *q = calloc(1, sizeof(*q));

	if (q)
		q->answer = calloc(1, runtime->answer_bytes);
	if (!q || !q->answer) {
		free(q);
		return NULL;
	}
	q->queries = a;
	q->runtime = runtime;
	q->err = -EAGAIN; /* not asked yet */
	q->tgid = tgid;
	q->start_ticks = tapir_proc__start_ticks(tgid);
	pthread_mutex_lock(&a->lock);
	*a->last = q;
	a->last = &q->next;
	if (!a->has_thread)
		a->has_thread = !pthread_create(&a->thread, NULL, run_queries, a);
	if (!a->has_thread) {
		q->state = ANSWERED;
		tapir_warn("%s %u: %s: no thread could be started to ask it", runtime->kind, tgid,
			   runtime->no_names);
	}
	pthread_cond_signal(&a->changed);
	pthread_mutex_unlock(&a->lock);
	return q;
}

bool tapir_runtime_query__is_answered(struct tapir_runtime_query *q)
{
	bool is_answered;

	pthread_mutex_lock(&q->queries->lock);
	is_answered = q->state == ANSWERED;
	pthread_mutex_unlock(&q->queries->lock);
	return is_answered;
}

const void *tapir_runtime_query__answer(const struct tapir_runtime_query *q)
{
	return q->err ? NULL : q->answer;
}

int tapir_runtime_query__error(const struct tapir_runtime_query *q)
{
	return q->err;
}

void tapir_runtime_query__drop(struct tapir_runtime_query *q)
{
	struct tapir_runtime_queries *a;

	if (!q)
		return;
	a = q->queries;
	pthread_mutex_lock(&a->lock);
	q->is_dropped = true;
	pthread_cond_signal(&a->changed);
	pthread_mutex_unlock(&a->lock);
}

void tapir_runtime_queries__free(struct tapir_runtime_queries *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	for (struct tapir_runtime_query *q = a->first; q; q = q->next)
		q->is_dropped = true;
	a->has_ended = true;
	pthread_cond_signal(&a->changed);
	pthread_mutex_unlock(&a->lock);
	eventfd_write(a->cancel_fd, 1);
	if (a->has_thread)
		pthread_join(a->thread, NULL);
	while (a->first) { /* there never was a thread */
		struct tapir_runtime_query *q = a->first;

		a->first = q->next;
		free(q->answer);
		free(q);
	}
	tapir_map__fini(&a->unable);
	pthread_cond_destroy(&a->changed);
	pthread_mutex_destroy(&a->lock);
	tapir_guard__fd(&a->cancel_fd);
	free(a);
}
