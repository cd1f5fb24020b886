// SPDX-License-Identifier: GPL-2.0-or-later
/* A probe and an event, for all models of code: the notes name their semaphores. */
#include <tapir/provider.h>
#include <tapir/usdt.h>
TAPIR_EVENT(Sold, "NAME", "Sold", 1, 0, TAPIR_INFORMATIONAL, 0x1, (U32, Number), (I64, Price),
	    (UTF8, Text), (F64, Sum));
static struct tapir_event *const events[] = {&Sold};
TAPIR_PROBE_DEFINE_SEMAPHORE(shop, order);
int main(void)
{
	struct tapir_provider *shop;
	if (tapir_provider__new("NAME", NULL, events, 1, NULL, &shop))
		return 1;
	TAPIR_PROBE_SEM(shop, order, 1, "x");
	TAPIR_FIRE(Sold, 1, 2, "x", 0.5);
	tapir_provider__free(shop);
	return 0;
}
