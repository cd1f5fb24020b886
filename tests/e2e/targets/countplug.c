/* SPDX-License-Identifier: GPL-2.0-or-later */
/* countplug - a library with libtapir.a in it that fires Counted:Tick as `counted` does. */
// build: -I. -shared -fPIC -Wl,--exclude-libs,ALL
#include "target.h"
#include "tapir/provider.h"

TAPIR_EVENT(Tick, "Counted", "Tick", 1, 0, TAPIR_INFORMATIONAL, 0, (U32, Pid), (U32, Who),
	    (U32, I));

static struct tapir_event *const events[] = {&Tick};
static struct tapir_provider *provider;

void count_fire(uint32_t who, uint32_t cnt, uint32_t pause_us, bool awaits);

void count_fire(uint32_t who, uint32_t cnt, uint32_t pause_us, bool awaits)
{
	if (!provider && tapir_provider__new("Counted", NULL, events, 1, NULL, &provider))
		target__die("provider");
	for (int n = 0; awaits && n < 10000 && !TAPIR_EVENT_ENABLED(Tick); n++)
		target__sleep_ns(1000000);
	for (uint32_t i = 0; i < cnt; i++) {
		TAPIR_FIRE(Tick, (uint32_t)getpid(), who, i);
		if (pause_us)
			target__sleep_ns((uint64_t)pause_us * 1000);
	}
}
