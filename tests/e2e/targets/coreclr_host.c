// SPDX-License-Identifier: GPL-2.0-or-later
// build: -ldl
/*
 * coreclr_host.c - plays the runtime to libtapir-coreclr.so, and the tracer too: loads it, attaches
 * it, asks for events, delivers them, closes, and takes it down, with checks on the way.
 *	coreclr_host FILE.so attach|start [keys]
 * keys: the process has taken those keys whose values the C library keeps in the thread itself.
 * Also built by musl-gcc: what it shows there is that the library needs nothing that musl lacks.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "../../unit/ring_taker.h"
#include "coreclr_runtime.h"
#include "tapir/coreclr.h"

/* ---- loading --------------------------------------------------------------------------------- */

static void load(const char *path)
{
	static const uint8_t clsid[] = TAPIR_CORECLR_CLSID_BYTES;
	static const uint8_t factory_iid[] = {1, 0, 0, 0, 0, 0, 0, 0, 0xc0, 0, 0, 0, 0, 0, 0, 0x46};
	static const uint8_t callback2[] = {0x29, 0xc8, 0x8c, 0x8a, 0xf2, 0xcc, 0xfe, 0x49,
					    0xbb, 0xae, 0x0f, 0x02, 0x22, 0x28, 0x07, 0x1a};
	static const uint8_t callback11[] = {0x46, 0x08, 0x35, 0x42, 0xed, 0xaa, 0xf7, 0x47,
					     0xb1, 0x28, 0xfd, 0x0c, 0x98, 0x88, 0x1c, 0xde};
	int32_t (*get)(const void *, const void *, void *);
	void *factory = NULL, *object = NULL;
	int32_t only = 0;

	host.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!host.library)
		printf("%s\n", dlerror());
	CHECK(host.library);
	get = (int32_t(*)(const void *, const void *, void *))dlsym(host.library,
								    "DllGetClassObject");
	CHECK(get);
	CHECK(get(factory_iid, factory_iid, &factory) < 0 && !factory);
	CHECK(get(clsid, callback2, &factory) < 0);
	CHECK(!get(clsid, factory_iid, &factory) && factory);
	CHECK(((int32_t(*)(void *, void *, const void *, void *))slots(factory)[3])(
		      factory, factory, callback2, &object) < 0);
	CHECK(!((int32_t(*)(void *, void *, const void *, void *))slots(factory)[3])(
		factory, NULL, callback2, &object));
	CHECK(((query_fn)slots(object)[0])(object, clsid, &object) < 0 && !object);
	((int32_t(*)(void *, void *, const void *, void *))slots(factory)[3])(factory, NULL,
									      callback2, &object);
	CHECK(!((query_fn)slots(object)[0])(object, callback11, &host.callback));
	CHECK(!((int32_t(*)(void *, int32_t *))slots(host.callback)[97])(host.callback, &only) &&
	      only);
	host.deliver = (deliver_fn)slots(host.callback)[95];
	/* A session that somebody left behind delivers before Initialize. */
	CHECK(!host.deliver(host.callback, PROVIDER_A, 1, 0, 0, NULL, 3, "abc", NULL, NULL, 0, 0,
			    NULL));
	CHECK(!((int32_t(*)(void *, uintptr_t))slots(host.callback)[96])(host.callback,
									 PROVIDER_A));
	for (int i = 4; i < 95; i++)
		if (i != 80 && i != 82 && i != 4)
			CHECK(!((int32_t(*)(void *))slots(host.callback)[i])(host.callback));
}

static void attach(void)
{
	int32_t (*begin)(void *, void *, const void *, uint32_t) =
		(int32_t(*)(void *, void *, const void *, uint32_t))slots(host.callback)[80];
	struct tapir_coreclr_client client = {TAPIR_CORECLR_MAGIC, TAPIR_CORECLR_VERSION, KEY}, bad;

	CHECK(begin(host.callback, info, NULL, 0) < 0);
	CHECK(begin(host.callback, info, &client, 8) < 0);
	bad = client;
	bad.magic++;
	CHECK(begin(host.callback, info, &bad, sizeof(bad)) < 0);
	bad = client;
	bad.key = 0;
	CHECK(begin(host.callback, info, &bad, sizeof(bad)) < 0);
	CHECK(!begin(host.callback, info, &client, sizeof(client)));
	CHECK(begin(host.callback, info, &client, sizeof(client)) < 0);
}

static void start(void)
{
	int32_t (*begin)(void *, void *) = (int32_t(*)(void *, void *))slots(host.callback)[3];

	unsetenv(TAPIR_CORECLR_KEY_ENV);
	CHECK(begin(host.callback, info) < 0);
	setenv(TAPIR_CORECLR_KEY_ENV, "no key", 1);
	CHECK(begin(host.callback, info) < 0);
	setenv(TAPIR_CORECLR_KEY_ENV, "1234ABCD5678", 1);
	CHECK(!begin(host.callback, info));
}

/* ---- events ----------------------------------------------------------------------------------- */

/* id, name, keywords, version, level, no parameters */
static uint32_t make_blob(uint8_t *out, uint32_t id, const char *name, uint64_t keywords,
			  uint32_t version, uint32_t level)
{
	uint8_t *at = out + 4;
	const uint32_t none = 0;

	memcpy(out, &id, 4);
	for (const char *c = name;; c++) {
		*at++ = (uint8_t)*c;
		*at++ = 0;
		if (!*c)
			break;
	}
	memcpy(at, &keywords, 8);
	memcpy(at + 8, &version, 4);
	memcpy(at + 12, &level, 4);
	memcpy(at + 16, &none, 4);
	return (uint32_t)(at + 20 - out);
}

static void fire(uintptr_t provider, uint32_t id, const char *name, uint64_t keywords,
		 uint32_t level, const void *data, uint32_t len, const void *activity,
		 const void *related)
{
	uint8_t blob[300];
	uint32_t bytes = make_blob(blob, id, name, keywords, 2, level);
	int32_t result;

	is_delivering = 1;
	result = host.deliver(host.callback, provider, id, 2, bytes, blob, len, data, activity,
			      related, 0, 0, NULL);
	is_delivering = 0;
	CHECK(!result);
}

static void *flood(void *unused)
{
	for (uint64_t i = 0; i < PER_THREAD; i++)
		fire(PROVIDER_A, 1, "First", 1, 4, &i, sizeof(i), NULL, NULL);
	return unused;
}

static void see(const struct tapir_rec_event *event, const uint8_t *rest)
{
	(void)rest;
	host.seen_activity += !!(event->flags & TAPIR_EVENT_ACTIVITY);
	host.seen_related += !!(event->flags & TAPIR_EVENT_RELATED);
	host.seen_plain += !(event->flags & (TAPIR_EVENT_ACTIVITY | TAPIR_EVENT_RELATED));
}

static void announce(struct taker *t)
{
	__atomic_fetch_add(&t->ctl->generation, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &t->ctl->generation, 1 /* FUTEX_WAKE */, 64, NULL, NULL, 0);
}

static void select_one(struct taker *t, unsigned i, const char *provider, uint64_t keywords,
		       uint8_t level, const char *args)
{
	struct tapir_ring_selection *sel = &t->ctl->selections[t->s][i];
	uint32_t at = 1000 * i;

	sel->used = 1;
	sel->keywords = keywords;
	sel->level = level;
	snprintf(sel->provider, sizeof(sel->provider), "%s", provider);
	sel->args_off = at;
	sel->args_bytes = (uint32_t)strlen(args);
	memcpy(t->ctl->text[t->s] + at, args, strlen(args));
}

static void test_flood(struct taker *t)
{
	pthread_t threads[4];

	/* Threads that see an event first at once register it each, and keep one: not here. */
	fire(PROVIDER_A, 1, "First", 1, 4, "x", 1, NULL, NULL);
	for (int i = 0; i < 4; i++)
		CHECK(!pthread_create(&threads[i], NULL, flood, NULL));
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	taker_take(t);
	taker_losses(t, t->after);
	CHECK(t->read[0] + t->after[0][TAPIR_RING_NO_SPACE] == 4 * PER_THREAD + 1);
	CHECK(t->read[0] > 0 && !t->bad);
	printf("read %llu\n", (unsigned long long)t->read[0]);
}

static void *fire_once(void *unused)
{
	fire(PROVIDER_A, 1, "First", 1, 4, "x", 1, NULL, NULL);
	return unused;
}

/* More threads than there are slots, and places for what is kept of a thread; each event is read.
 */
static void test_short_threads(struct taker *t)
{
	uint64_t before = t->read[0];
	pthread_t threads[8];

	for (unsigned n = 0; n < TAPIR_RING_SLOTS + 800; n += 8) {
		for (int i = 0; i < 8; i++)
			CHECK(!pthread_create(&threads[i], NULL, fire_once, NULL));
		for (int i = 0; i < 8; i++)
			pthread_join(threads[i], NULL);
		if (n % 512 == 0)
			taker_take(t);
	}
	taker_take(t);
	CHECK(t->read[0] - before == TAPIR_RING_SLOTS + 800 && !t->bad);
}

static void test_ids(struct taker *t)
{
	static const uint8_t none[16], some[16] = {1};

	host.seen_activity = host.seen_related = host.seen_plain = 0;
	fire(PROVIDER_A, 1, "First", 1, 4, "x", 1, none, NULL);
	fire(PROVIDER_A, 1, "First", 1, 4, "x", 1, some, none);
	fire(PROVIDER_A, 1, "First", 1, 4, NULL, 7, some, some);
	taker_take(t);
	CHECK(host.seen_plain == 1 && host.seen_activity == 2 && host.seen_related == 1);
}

/* A level or keywords that nobody asked for, a payload too long, descriptions cut anywhere. */
static void test_refused(struct taker *t)
{
	static uint8_t large[TAPIR_RING_PAYLOAD_BYTES + 1];
	uint64_t before = t->read[0], missed;
	uint8_t blob[100];
	uint32_t whole = make_blob(blob, 77, "Cut", 1, 1, 1);

	fire(PROVIDER_A, 2, "TooFine", 1, 5, "x", 1, NULL, NULL);
	fire(PROVIDER_A, 3, "Other", 2, 4, "x", 1, NULL, NULL);
	taker_losses(t, t->after);
	missed = t->after[0][TAPIR_RING_TOO_LARGE];
	fire(PROVIDER_A, 1, "First", 1, 4, large, sizeof(large), NULL, NULL);
	taker_take(t);
	taker_losses(t, t->after);
	CHECK(t->read[0] == before && !t->read[1] && !t->read[2]);
	CHECK(t->after[0][TAPIR_RING_TOO_LARGE] == missed + 1);
	fire(PROVIDER_A, 1, "First", 1, 4, large, sizeof(large) - 1, NULL, NULL);
	taker_take(t);
	CHECK(t->read[0] == before + 1);
	for (uint32_t len = 0; len <= whole; len++) {
		uint8_t *exact = malloc(len ? len : 1);

		memcpy(exact, blob, len);
		host.deliver(host.callback, PROVIDER_A, 1000 + len, 1, len, len ? exact : NULL, 1,
			     "x", NULL, NULL, 0, 0, NULL);
		free(exact);
	}
	CHECK(!host.deliver(host.callback, 0xdead, 1, 1, whole, blob, 1, "x", NULL, NULL, 0, 0,
			    NULL));
}

/* Another provider at the place of the first. */
static void test_place_used_again(struct taker *t)
{
	uint32_t cnt = taker_arena(t, 0)->event_cnt;
	uint64_t before = t->read[0];

	host.name_of_a = "Prov-B";
	((int32_t(*)(void *, uintptr_t))slots(host.callback)[96])(host.callback, PROVIDER_A);
	fire(PROVIDER_A, 1, "First", 1, 4, "x", 1, NULL, NULL);
	taker_take(t);
	CHECK(taker_arena(t, 0)->event_cnt == cnt + 1 && t->read[0] == before);
	host.name_of_a = "Prov-A";
	for (int i = 0; i < 3; i++) { /* the first one again: known, and no new event */
		((int32_t(*)(void *, uintptr_t))slots(host.callback)[96])(host.callback,
									  PROVIDER_A);
		fire(PROVIDER_A, 1, "First", 1, 4, "x", 1, NULL, NULL);
	}
	taker_take(t);
	CHECK(taker_arena(t, 0)->event_cnt == cnt + 1 && t->read[0] == before + 3);
}

static uint64_t all_heads(struct taker *t)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < taker_arena(t, 0)->slots_used; i++)
		sum += taker_slot(t, 0, i).head;
	return sum;
}

/* A child that continues writes nothing into its parent's rings and makes no lane of its own. */
static void test_fork(struct taker *t)
{
	uint64_t before = all_heads(t);
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		struct taker child;

		for (int i = 0; i < 100; i++)
			fire(PROVIDER_A, 1, "First", 1, 4, "x", 1, NULL, NULL);
		fire(PROVIDER_A, 9, "Ninth", 1, 4, "x", 1, NULL, NULL);
		_exit(!taker_init(&child, getpid(), 0) &&
		      child.ctl->owner_tgid != (uint32_t)getppid());
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status);
	CHECK(all_heads(t) == before);
}

static int is_mapped(const char *what)
{
	char line[600];
	FILE *maps = fopen("/proc/self/maps", "re");
	int found = 0;

	while (maps && fgets(line, sizeof(line), maps))
		found |= strstr(line, what) != NULL;
	if (maps)
		fclose(maps);
	return found;
}

/* A tracer that wants probes: the event's image is mapped, and says nothing is left out. */
static void test_probes(struct taker *t)
{
	CHECK(!is_mapped("/memfd:tapir-usdt."));
	__atomic_fetch_or(&taker_session(t)->flags, TAPIR_RING_WANTS_PROBES, __ATOMIC_SEQ_CST);
	announce(t);
	for (int i = 0; i < 10000 && !__atomic_load_n(&t->ctl->published_cnt, __ATOMIC_ACQUIRE);
	     i++) {
		fire(PROVIDER_A, 1, "First", 1, 4, "x", 1, NULL, NULL);
		fire(PROVIDER_A, 1, "First", 1, 4, NULL, 0, NULL, NULL);
		usleep(1000);
	}
#ifdef __x86_64__
	CHECK(t->ctl->published_cnt == 1 && !t->ctl->unpublished_cnt && !t->ctl->publish_errno);
	CHECK(is_mapped("/memfd:tapir-usdt.00001234abcd5678:Prov-A"));
#endif
	taker_take(t);
}

/* A provider that a glob stands for comes: the new session is on before the old one goes. */
static void test_change(struct taker *t)
{
	CHECK(host.starts == 1);
	((int32_t(*)(void *, uintptr_t))slots(host.callback)[96])(host.callback, PROVIDER_G);
	CHECK(comes(&host.starts, 2) && comes(&host.stops, 1));
	CHECK(host.stopped[0] == host.sessions[0]);
	CHECK(strstr(host.started[1], "Glob-1:ffffffffffffffff:3: "));
	CHECK(strstr(host.started[1], "Prov-A:1:4:k=v "));
	select_one(t, 2, "Microsoft-Windows-DotNETRuntime", 0, 0, "");
	announce(t);
	CHECK(comes(&host.starts, 3) && comes(&host.stops, 2));
	CHECK(strstr(host.started[2], "Microsoft-Windows-DotNETRuntime:ffffffffff7fffff:5: "));
	select_one(t, 2, "Microsoft-Windows-DotNETRuntime", 0x800001, 9, "");
	host.refuse = 1;
	announce(t);
	usleep(300000);
	CHECK(host.starts == 3 && host.stops == 2);
	host.refuse = 0; /* and it tries again */
	CHECK(comes(&host.starts, 4) && comes(&host.stops, 3));
	CHECK(strstr(host.started[3], "Microsoft-Windows-DotNETRuntime:800001:5: "));
}

/* ---- the end ----------------------------------------------------------------------------------- */

static int thread_cnt(void)
{
	DIR *tasks = opendir("/proc/self/task");
	int cnt = -2;

	while (tasks && readdir(tasks))
		cnt++;
	closedir(tasks);
	return cnt;
}

static void *create_slowly(void *unused)
{
	CHECK(!((int32_t(*)(void *, uintptr_t))slots(host.callback)[96])(host.callback,
									 PROVIDER_S));
	__atomic_store_n(&host.has_returned, 1, __ATOMIC_RELEASE);
	return unused;
}

/* A thread is notified of a provider, and inside the library, while the session ends: it is waited
 * for.
 */
static void test_provider_that_comes_at_the_end(pthread_t slow)
{
	usleep(2500000);
	CHECK(!host.has_returned && !host.detach_ms && is_mapped("/memfd:tapir"));
	__atomic_store_n(&host.may_answer, 1, __ATOMIC_RELEASE);
	pthread_join(slow, NULL);
	CHECK(host.has_returned);
}

static void end(struct taker *t, int is_killed)
{
	uint32_t starts = host.starts, stops = host.stops;
	pthread_t slow;

	CHECK(!pthread_create(&slow, NULL, create_slowly, NULL) && comes(&host.is_asked, 1));
	if (is_killed)
		taker_fini(t); /* its descriptor goes, and the lock with it */
	else
		taker_close(t), announce(t), taker_fini(t);
	CHECK(comes(&host.stops, stops + 1));
	CHECK(host.stopped[stops] == host.sessions[starts - 1]);
	CHECK(!host.deliver(host.callback, PROVIDER_A, 1, 2, 0, NULL, 3, "abc", NULL, NULL, 0, 0,
			    NULL));
	test_provider_that_comes_at_the_end(slow);
	CHECK(comes(&host.detach_ms, 1));
	/* One more before the library goes: nothing of it is there but its own pages. */
	CHECK(!((int32_t(*)(void *, uintptr_t))slots(host.callback)[96])(host.callback,
									 PROVIDER_A));
	CHECK(!((int32_t(*)(void *))slots(host.callback)[82])(host.callback));
	/* One that was joined may still stand in /proc for a moment. */
	for (int i = 0; i < 1000 && thread_cnt() != 1; i++)
		usleep(1000);
	CHECK(thread_cnt() == 1);
	CHECK(!is_mapped("/memfd:tapir"));
	dlclose(host.library);
	printf("still mapped %d\n", is_mapped("tapir-coreclr"));
}

int main(int argc, char **argv)
{
	int is_attach = argc > 2 && !strcmp(argv[2], "attach");
	struct taker t;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 3)
		take_keys();
	make_info();
	load(argv[1]);
	is_attach ? attach() : start();
	CHECK(host.mask_low == 0 && host.mask_high == 0x80);
	CHECK(!taker_init(&t, getpid(), 0));
	CHECK(t.ctl->key == KEY && t.ctl->flags == TAPIR_RING_CTL_PRIVATE);
	t.on_event = see;
	select_one(&t, 0, "Prov-A", 1, 4, "k=v");
	select_one(&t, 1, "Glob-*", 0, 3, "");
	CHECK(!taker_open(&t, 0, 0, 1));
	announce(&t);
	CHECK(comes(&host.starts, 1));
	CHECK(!strcmp(host.started[0], "Prov-A:1:4:k=v "));
	test_flood(&t);
	test_short_threads(&t);
	test_ids(&t);
	test_refused(&t);
	test_fork(&t);
	test_probes(&t);
	test_change(&t);
	test_place_used_again(&t);
	CHECK(!allocation_cnt);
	end(&t, !is_attach);
	printf("over\n");
	return 0;
}
