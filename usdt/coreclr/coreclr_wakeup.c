/* SPDX-License-Identifier: MIT */
/* coreclr_wakeup.c - wakes the control thread where it waits. For those that it calls itself, too.
 */
#include <linux/futex.h>

#include "../ring/ring_sys.h"

#include "coreclr_impl.h"

#define FUTEX_SHARED 0

static const struct tapir_ring_ctl *waits_at;

void coreclr_wakeup__at(const struct tapir_ring_ctl *ctl)
{
	coreclr_store_release(&waits_at, ctl);
}

void coreclr_wakeup(void)
{
	const struct tapir_ring_ctl *ctl = coreclr_load_acquire(&waits_at);

	if (ctl && coreclr_load(coreclr.gate))
		ring_sys4(SYS_futex, &ctl->generation, FUTEX_WAKE | FUTEX_SHARED, 1, 0);
}
