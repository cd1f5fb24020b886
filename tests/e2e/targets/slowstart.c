/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slowstart --wait COUNT - a program that links libtapir and whose enablement callback holds up the
 * library's thread: until a tracer has opened a session in the ring lane, and 200 ms more. Then,
 * at SIGUSR1, it fires COUNT events Begun of Tapir-Test-Slow.
 */
// build: -I.
#include "target.h"
#include "tapir/listener.h"
#include "tests/unit/ring_taker.h"

#define SLOW	   "Tapir-Test-Slow"
#define HELD_UP_NS 200000000ull
#define TRIES	   3000 /* of 10 ms */

TAPIR_EVENT(Begun, SLOW, "Begun", 1, 0, TAPIR_INFORMATIONAL, 0x1, (U32, Number));

static struct tapir_event *const events[] = {&Begun};

static bool has_tracer(const struct tapir_ring_ctl *ctl)
{
	for (unsigned s = 0; s < TAPIR_RING_SESSIONS; s++)
		if (__atomic_load_n(&ctl->sessions[s].state, __ATOMIC_ACQUIRE) == TAPIR_RING_OPEN)
			return true;
	return false;
}

static void hold_up(struct tapir_provider *provider, const struct tapir_enablement *change,
		    void *ctx)
{
	static struct taker lane; /* larger than the stack of this thread */

	(void)provider, (void)ctx;
	if (change->kind != TAPIR_SESSION_LISTENER || taker_init(&lane, getpid(), 0))
		return;
	for (int i = 0; i < TRIES && !has_tracer(lane.ctl); i++)
		target__sleep_ns(10000000);
	target__sleep_ns(HELD_UP_NS);
}

static void ignore(const struct tapir_event_record *record, void *ctx)
{
	(void)record, (void)ctx;
}

int main(int argc, char **argv)
{
	const struct tapir_provider_opts opts = {.size = sizeof(opts), .changed = hold_up};
	const struct tapir_selection other = {"Tapir-Test-Slow", "Other", NULL, 0, 0, {0}};
	struct tapir_listener *listener;
	struct tapir_provider *provider;
	long count;

	if (tapir_provider__new(SLOW, NULL, events, 1, &opts, &provider) ||
	    tapir_listener__open(&other, 1, ignore, NULL, NULL, &listener))
		return 1;
	target__start(&argc, argv);
	count = target__number(argc, argv, 1, 10);
	for (long i = 0; i < count; i++)
		TAPIR_FIRE(Begun, (uint32_t)i);
	tapir_listener__close(listener);
	tapir_provider__free(provider);
	printf("{\"begun\":%ld}\n", count);
	return 0;
}
