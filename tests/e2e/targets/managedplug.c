/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * managedplug - a native library of a managed program, with libtapir.a in it, whose functions it
 * shows: managed_start(), managed_fire(COUNT, THREADS), managed_stop(). Its events are received by
 * usdt/managed; for tests/e2e/programs/Listen.cs.
 */
// build: -I. -shared -fPIC -Wl,-u,tapir_listener__open -Wl,-u,tapir_payload__locate
#include <pthread.h>

#include "tapir/activity.h"

#define PLUG "Tapir-Test-Managed"

TAPIR_EVENT(Sold, PLUG, "Sold", 3, 1, TAPIR_WARNING, 0x2, (U64, Order), (UTF8, Customer),
	    (UTF16, Town), (F64, Total), (GUID, Key), (BOOL, IsPaid));
TAPIR_EVENT(Detail, PLUG, "Detail", 4, 0, TAPIR_VERBOSE, 0x4, (U32, Number));

static struct tapir_event *const events[] = {&Sold, &Detail};
static struct tapir_provider *provider;
static uint32_t fire_cnt;

int managed_start(void);
void managed_fire(uint32_t cnt, uint32_t thread_cnt);
void managed_stop(void);

static void *run(void *arg)
{
	static const uint8_t key[16] = {0x33, 0x22, 0x11, 0x00, 0x55, 0x44, 0x77, 0x66,
					0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff};
	static const uint16_t town[] = {'K', 0xf6, 'l', 'n', 0};
	uint64_t first = (uint64_t)(uintptr_t)arg * fire_cnt;

	for (uint64_t i = first; i < first + fire_cnt; i++) {
		TAPIR_FIRE(Sold, i, "Caf\u00e9", town, (double)i / 2, key, i % 2);
		TAPIR_FIRE(Detail, (uint32_t)i);
	}
	return NULL;
}

int managed_start(void)
{
	return tapir_provider__new(PLUG, NULL, events, 2, NULL, &provider);
}

void managed_fire(uint32_t cnt, uint32_t thread_cnt)
{
	pthread_t threads[16];

	fire_cnt = cnt;
	for (uintptr_t i = 0; i < thread_cnt && i < 16; i++)
		if (pthread_create(&threads[i], NULL, run, (void *)i)) // NOLINT
			return;
	for (uint32_t i = 0; i < thread_cnt && i < 16; i++)
		pthread_join(threads[i], NULL);
}

void managed_stop(void)
{
	tapir_provider__free(provider);
}
