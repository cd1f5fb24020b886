/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ringplug - a shared object with a ring lane of its own, to be loaded, used and unloaded. */
// build: -I. -shared -fPIC
#include <string.h>

#include "usdt/ring/ring_writer.h"

int plug_init(uint64_t key);
int plug_fire(uint64_t number);
void plug_fini(void);

static struct tapir_ring_event event;
static const struct tapir_ring_about about = {.provider = "plug", .event = "hit"};

int plug_init(uint64_t key)
{
	int err = tapir_ring__init_private(key);

	return err ? err : tapir_ring__register(&event, &about);
}

/* 1: written. */
int plug_fire(uint64_t number)
{
	struct tapir_ring_write write;

	if (!tapir_ring__wanted(&event) || !tapir_ring__begin(&write, &event, sizeof(number)))
		return 0;
	memcpy(write.payload, &number, sizeof(number));
	tapir_ring__commit(&write);
	return 1;
}

void plug_fini(void)
{
	tapir_ring__unregister(&event);
	tapir_ring__fini();
}
