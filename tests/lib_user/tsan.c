// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program under the thread sanitizer with a libtapir that is not: threads start, fire and end
 * while listeners are opened, read and closed. The sanitizer reports no race for what the library
 * does.
 */
#include <pthread.h>
#include <stdlib.h>

#include <tapir/counter.h>
#include <tapir/dynamic.h>
#include <tapir/listener.h>
#include <tapir/logger.h>

#define ROUNDS 20
#define FIRERS 4
#define FIRED  200

TAPIR_EVENT(Said, "User-Tsan", "Said", 1, 0, TAPIR_INFORMATIONAL, 0x1, (U32, Number), (UTF8, Text));
static struct tapir_event *const events[] = {&Said};
static struct tapir_counter *counter;
static struct tapir_event *defined;
static struct tapir_dynamic *dynamic;

/* The first of a kind defines an event, whichever thread it is. */
static void describe(unsigned nr)
{
	char name[] = "Described-0";
	const struct tapir_event_about described = {.name = name, .level = 4};

	name[sizeof(name) - 2] = (char)('0' + nr);
	if (tapir_described__fire(dynamic, &described, NULL, 0))
		abort();
}

static void *fire(void *text)
{
	for (unsigned i = 0; i < FIRED; i++) {
		TAPIR_FIRE(Said, i, text);
		tapir_event__fire(defined, text, 4);
		tapir_counter__write(counter, i);
		describe(i % 8);
	}
	return NULL;
}

static void log_it(const struct tapir_event_record *record, void *ctx)
{
	__atomic_fetch_add((uint64_t *)ctx, 1 + record->payload_bytes, __ATOMIC_RELAXED);
}

/* Plain memory of the program's: what the library's threads do for it is ordered. */
static void see(const struct tapir_event_record *record, void *ctx)
{
	*(uint64_t *)ctx += record->payload_bytes;
	if (record->payload_bytes)
		*(uint64_t *)ctx += record->payload[0] + strlen(record->kind->about->name);
}

static void round_of(const struct tapir_selection *all, unsigned nr)
{
	const struct tapir_listener_opts opts = {.size = sizeof(opts),
						 .interval_ms = 1,
						 .flags = nr % 2 ? TAPIR_LISTENER_POLLED : 0};
	struct tapir_listener *listener;
	struct tapir_logger *logger = NULL;
	pthread_t threads[FIRERS];
	uint64_t seen = 0, logged = 0;

	if (tapir_listener__open(all, 1, see, &seen, &opts, &listener) ||
	    (nr % 4 == 3 && tapir_logger__open(all, 1, log_it, &logged, NULL, &logger)))
		abort();
	for (int i = 0; i < FIRERS; i++)
		if (pthread_create(&threads[i], NULL, fire, "abc"))
			abort();
	for (int i = 0; nr % 2 && i < 50; i++)
		tapir_listener__poll(listener);
	for (int i = 0; i < FIRERS; i++)
		pthread_join(threads[i], NULL);
	if (tapir_listener__close(listener) || !seen || (logger && !logged))
		abort();
	tapir_logger__close(logger);
}

int main(void)
{
	static const struct tapir_selection all = {"User-*", NULL, NULL, 0, 0, {0}};
	static const struct tapir_counter_opts opts = {
		.size = sizeof(opts), .type = TAPIR_COUNTER_EVENT, .name = "numbers"};
	static const struct tapir_event_field field = {
		"Text", NULL, 0, 0, TAPIR_TYPE_UTF8, TAPIR_REPEAT_NONE, {0, 0}};
	static const struct tapir_event_about about = {
		.name = "Defined", .fields = &field, .field_cnt = 1, .level = 4};
	struct tapir_provider *provider;

	if (tapir_provider__new("User-Tsan", NULL, events, 1, NULL, &provider) ||
	    tapir_counter__new(provider, &opts, &counter) ||
	    tapir_dynamic__new("User-Tsan-Later", NULL, NULL, &dynamic) ||
	    tapir_event__define(dynamic, &about, &defined))
		return 1;
	for (unsigned i = 0; i < ROUNDS; i++)
		round_of(&all, i);
	tapir_counter__free(counter);
	tapir_dynamic__free(dynamic);
	tapir_provider__free(provider);
	return tapir_library__fini() != 0;
}
