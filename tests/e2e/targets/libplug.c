/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libplug - a library with libtapir.a and a provider in it: starts when it is loaded, fires for
 * whoever calls, and can be unloaded after plug_stop() has returned 0. For test_lib_faults.
 */
// build: -I. -shared -fPIC
#include "tapir/counter.h"
#include "tapir/listener.h"

TAPIR_EVENT(Plugged, "Tapir-Test-Plug", "Plugged", 1, 0, TAPIR_INFORMATIONAL, 0, (U32, Number));

static struct tapir_event *const events[] = {&Plugged};
static struct tapir_provider *provider;
static struct tapir_listener *listener;
static struct tapir_counter *counter;
static uint32_t seen_cnt;

uint32_t plug_fire(uint32_t number);
int plug_stop(void);

static void see(const struct tapir_event_record *record, void *ctx)
{
	(void)record;
	__atomic_fetch_add((uint32_t *)ctx, 1, __ATOMIC_RELAXED);
}

static __attribute__((constructor)) void start(void)
{
	static const struct tapir_counter_opts opts = {
		.size = sizeof(opts), .type = TAPIR_COUNTER_EVENT, .name = "numbers"};
	const struct tapir_selection all = {"Tapir-Test-*", NULL, NULL, 0, 0, {0}};

	if (!tapir_provider__new("Tapir-Test-Plug", NULL, events, 1, NULL, &provider) &&
	    !tapir_counter__new(provider, &opts, &counter))
		tapir_listener__open(&all, 1, see, &seen_cnt, NULL, &listener);
}

/* Events that have arrived. */
uint32_t plug_fire(uint32_t number)
{
	TAPIR_FIRE(Plugged, number);
	if (counter)
		tapir_counter__write(counter, number);
	return __atomic_load_n(&seen_cnt, __ATOMIC_RELAXED);
}

int plug_stop(void)
{
	tapir_listener__close(listener);
	tapir_counter__free(counter);
	tapir_provider__free(provider);
	return tapir_library__fini();
}
