/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Nonsense in ctl, the file that any tracer may write: eight threads fire, a tracer reads (the
 * one of user/record), and a third process rewrites every word, again and again. Nobody crashes
 * or hangs, and whoever comes afterwards is served to the event. (Nonsense in the data that a
 * hostile process writes: test_ring_reader.c, fuzz_ring.c.)
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <cmocka.h>

#include "spec/spec.h"
#include "base/clock.h"
#include "base/vec.h"
#include "queue_drain.h"
#include "attach/rings/ring_reader.h"
#include "ring_taker.h"
#include "trace/record.h"
#include "usdt/ring/ring_writer.h"

#define EVENTS	     4
#define FIRING	     8
#define SECONDS	     3
#define UNSEEN_EPOCH 0x5eed0000u /* as good as never in nonsense() */

static struct tapir_ring_event events[EVENTS];
static const struct tapir_ring_about about = {.provider = "shop", .event = "sold"};

/* Between the processes. */
static struct shared {
	uint64_t fired[FIRING], rewritten;
	int noise, stop_noise, pause, paused_cnt, end;
} * shared;

static int flag(const int *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void fire(unsigned e, uint32_t bytes)
{
	struct tapir_ring_write write;

	if (tapir_ring__wanted(&events[e]) && tapir_ring__begin(&write, &events[e], bytes)) {
		memset(write.payload, 0x5a, bytes);
		tapir_ring__commit(&write);
	}
}

/* ---- the process that is traced -------------------------------------------------------------- */

static void *fire_for_ever(void *own)
{
	for (unsigned i = 0; !flag(&shared->end); i++) {
		fire(i % EVENTS, i % 3000);
		__atomic_fetch_add((uint64_t *)own, 1, __ATOMIC_RELAXED);
		if (!flag(&shared->pause))
			continue;
		__atomic_fetch_add(&shared->paused_cnt, 1, __ATOMIC_ACQ_REL);
		while (flag(&shared->pause))
			usleep(1000);
	}
	return NULL;
}

static void be_traced(void)
{
	pthread_t threads[FIRING];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (tapir_ring__init())
		_exit(1);
	for (unsigned i = 0; i < EVENTS; i++)
		if (tapir_ring__register(&events[i], &about))
			_exit(1);
	for (unsigned i = 0; i < FIRING; i++)
		pthread_create(&threads[i], NULL, fire_for_ever, &shared->fired[i]);
	for (unsigned i = 0; i < FIRING; i++)
		pthread_join(threads[i], NULL);
	_exit(0);
}

/* ---- the one that writes nonsense --------------------------------------------------------------- */

static uint64_t next_random(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

/* Numbers that mean something to somebody, as often as any. */
static uint64_t nonsense(uint64_t *x)
{
	uint64_t value = next_random(x);

	switch (next_random(x) % 6) {
	case 0:
		return value;
	case 1:
		return ~0ull;
	case 2:
		return value % 4 * 0x100000001ull; /* states, epochs */
	case 3:
		return value % TAPIR_RING_MAX_BYTES & ~7ull; /* tails */
	case 4:
		return 0x2a2a2a2a2a2a2a2aull; /* globs: "********" */
	default:
		return value << 16; /* words of events */
	}
}

/* Each word in its turn, and those that matter most often. */
static void rewrite(struct tapir_ring_ctl *ctl)
{
	const size_t cnt = sizeof(*ctl) / 8;
	uint64_t x = 88172645463325252ull, *words = (uint64_t *)(void *)ctl;

	for (size_t at = 0; !flag(&shared->stop_noise); at = (at + 1) % cnt) {
		uint64_t value = nonsense(&x);
		struct tapir_ring_session *s = &ctl->sessions[value % TAPIR_RING_SESSIONS];

		__atomic_store_n(&words[at], value, __ATOMIC_RELAXED);
		__atomic_store_n(&ctl->words[value % EVENTS], nonsense(&x), __ATOMIC_RELAXED);
		__atomic_store_n(&ctl->tails[value % 16][value / 16 % 8], nonsense(&x),
				 __ATOMIC_RELAXED);
		__atomic_store_n(&ctl->epoch, (uint32_t)value, __ATOMIC_RELAXED);
		__atomic_store_n(&s->state, (uint32_t)(value >> 40) % 4, __ATOMIC_RELAXED);
		__atomic_store_n(&s->rate_hz, (uint32_t)nonsense(&x), __ATOMIC_RELAXED);
		__atomic_fetch_add(&shared->rewritten, 1, __ATOMIC_RELAXED);
	}
}

static void be_hostile(int target)
{
	struct taker t;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (taker_init(&t, target, 0))
		_exit(1);
	while (!flag(&shared->noise))
		usleep(1000);
	rewrite(t.ctl);
	_exit(0);
}

/* ---- the one that reads ------------------------------------------------------------------------- */

static struct tapir_queue *queue;
static uint64_t taken_cnt, malformed_cnt;

static bool count(const struct tapir_rec *rec, size_t left_bytes)
{
	if (left_bytes && !tapir_record__ok(rec, left_bytes)) {
		malformed_cnt++;
		return false;
	}
	taken_cnt += left_bytes > 0;
	return true;
}

static void *consume(void *arg)
{
	(void)arg;
	queue_drain(queue, count);
	return NULL;
}

static void read_in_noise(int target)
{
	struct tapir_ring_reader_opts opts = {.sz = sizeof(opts), .with_stack = true};
	struct tapir_spec_list specs = {};
	struct tapir_ring_reader *reader;
	struct tapir_spec *spec;
	pthread_t consumer;

	assert_int_equal(tapir_spec__parse("shop:*", &spec), 0);
	assert_true(tapir_vec__push(&specs, spec));
	assert_int_equal(tapir_queue__new(8, &queue), 0);
	opts.queue = queue;
	opts.specs = &specs;
	assert_int_equal(tapir_ring_reader__start(&opts, &reader), 0);
	assert_int_equal(pthread_create(&consumer, NULL, consume, NULL), 0);
	assert_int_equal(tapir_ring_reader__add(reader, (uint32_t)target), 1);
	usleep(50000);
	__atomic_store_n(&shared->noise, 1, __ATOMIC_RELEASE);
	for (time_t until = time(NULL) + SECONDS; time(NULL) < until; usleep(20000))
		tapir_ring_reader__add(reader, (uint32_t)target); /* again: found or refused */
	tapir_ring_reader__free(reader);
	tapir_queue__close(queue);
	pthread_join(consumer, NULL);
	tapir_queue__free(queue);
	tapir_spec__free(spec);
	tapir_vec__fini(&specs);
}

/* ---- */

static int has_ended(pid_t pid)
{
	int status;

	for (unsigned ms = 0; ms < 10000; ms++, usleep(1000))
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status == 0;
	return 0;
}

static uint64_t sum_fired(void)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < FIRING; i++)
		sum += __atomic_load_n(&shared->fired[i], __ATOMIC_RELAXED);
	return sum;
}

/* Every thread continues. */
static void assert_all_fire(void)
{
	for (unsigned i = 0; i < FIRING; i++) {
		uint64_t before = __atomic_load_n(&shared->fired[i], __ATOMIC_RELAXED);
		unsigned ms = 0;

		while (__atomic_load_n(&shared->fired[i], __ATOMIC_RELAXED) == before &&
		       ms++ < 5000)
			usleep(1000);
		assert_true(__atomic_load_n(&shared->fired[i], __ATOMIC_RELAXED) > before);
	}
}

static void pause_all(int on)
{
	__atomic_store_n(&shared->paused_cnt, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&shared->pause, on, __ATOMIC_RELEASE);
	for (unsigned ms = 0; on && flag(&shared->paused_cnt) < FIRING && ms < 10000; ms++)
		usleep(1000);
	assert_true(!on || flag(&shared->paused_cnt) == FIRING);
}

/* ctl as it was, but for the epoch: then a session that must lose nothing uncounted. */
static void assert_next_is_served(int target, const struct tapir_ring_ctl *kept)
{
	struct taker t;
	uint64_t before;

	assert_int_equal(taker_init(&t, target, 0), 0);
	pause_all(1);
	memset((uint8_t *)t.ctl, 0, sizeof(*t.ctl));
	memcpy(t.ctl, kept, offsetof(struct tapir_ring_ctl, epoch));
	t.ctl->epoch = UNSEEN_EPOCH; /* else writers may take it for one they have spoken in */
	before = sum_fired();
	assert_int_equal(taker_open(&t, 0, EVENTS, 1), 0);
	pause_all(0);
	for (unsigned i = 0; i < 50; i++, usleep(2000))
		taker_take(&t);
	pause_all(1);
	taker_close(&t);
	assert_int_equal(t.bad, 0);
	assert_int_equal(t.unnamed, 0);
	for (unsigned e = 0; e < EVENTS; e++)
		before += t.read[e] + taker_missed(&t, e);
	assert_int_equal(before, sum_fired());
	assert_true(t.read[0] > 0);
	taker_fini(&t);
	pause_all(0);
}

static void nonsense_in_ctl_harms_nobody(void **state)
{
	struct tapir_ring_ctl *kept = malloc(4096);
	pid_t target, hostile;
	struct taker t;

	(void)state;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	assert_ptr_not_equal(shared, MAP_FAILED);
	target = fork();
	if (!target)
		be_traced();
	for (unsigned ms = 0; taker_init(&t, target, 0) && ms < 2000; ms++)
		usleep(1000);
	assert_all_fire();
	memcpy(kept, t.ctl, 4096);
	hostile = fork();
	if (!hostile)
		be_hostile(target);
	read_in_noise(target);
	assert_all_fire();
	__atomic_store_n(&shared->stop_noise, 1, __ATOMIC_RELEASE);
	assert_true(has_ended(hostile));
	assert_true(shared->rewritten > sizeof(*t.ctl) / 8); /* each word at least once */
	assert_true(taken_cnt > 100);
	assert_int_equal(malformed_cnt, 0);
	taker_fini(&t);
	assert_next_is_served(target, kept);
	__atomic_store_n(&shared->end, 1, __ATOMIC_RELEASE);
	assert_true(has_ended(target));
	free(kept);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nonsense_in_ctl_harms_nobody),
	};

	alarm(100);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
