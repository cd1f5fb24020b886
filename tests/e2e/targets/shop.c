/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shop [--wait] [--lasts] COUNT [THREADS] - a program that links libtapir: THREADS threads each
 * fire COUNT OrderPlaced and OrderShipped of provider Tapir-Test-Shop, and ShopOpened for each
 * second order. With
 * --wait it starts at SIGUSR1. Each thread is an activity; counter `orders` counts the orders,
 * histogram `totals` what they cost.
 */
// build: -I.
#include <pthread.h>

#include "target.h"
#include "tapir/activity.h"
#include "tapir/counter.h"

#define SHOP "Tapir-Test-Shop"

TAPIR_EVENT(OrderPlaced, SHOP, "OrderPlaced", 1, 0, TAPIR_INFORMATIONAL, 0x1, (U64, Order),
	    (UTF8, Customer), (F64, Total), (BOOL, Paid), (I16, Delta));
TAPIR_EVENT(OrderShipped, SHOP, "OrderShipped", 2, 3, TAPIR_VERBOSE, 0x2, (U64, Order), (GUID, Key),
	    (UTF16, Town), (F32, Weight), (FILETIME, At));
TAPIR_EVENT(ShopOpened, SHOP, "ShopOpened", 3, 0, TAPIR_WARNING, 0x4);

static struct tapir_event *const events[] = {&OrderPlaced, &OrderShipped, &ShopOpened};
static const uint8_t key[16] = {0x33, 0x22, 0x11, 0x00, 0x55, 0x44, 0x77, 0x66,
				0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff};
static const uint16_t town[] = {'K', 0xf6, 'l', 'n', 0};
static long count, thread_cnt;
static uint64_t opened;
static struct tapir_counter *orders, *totals;

__attribute__((noipa)) static void sell(uint64_t order)
{
	char customer[32];

	tapir_counter__write(orders, 1);
	tapir_counter__write(totals, (double)order / 4);
	snprintf(customer, sizeof(customer), "customer %" PRIu64, order % 7);
	TAPIR_FIRE(OrderPlaced, order, customer, (double)order / 4, order % 2 == 1, -3);
	TAPIR_FIRE(OrderShipped, order, key, town, 1.5f, 133000000000000000ull + order);
	if (order % 2)
		__atomic_fetch_add(&opened, 1, __ATOMIC_RELAXED);
	if (order % 2)
		TAPIR_FIRE(ShopOpened);
}

static void *run(void *arg)
{
	uint64_t first = (uint64_t)(uintptr_t)arg * (uint64_t)count;
	struct tapir_activity activity;

	tapir_activity__start(&activity);
	for (long i = 0; i < count; i++) {
		sell(first + (uint64_t)i);
		if (i % 64 == 63)
			target__sleep_ns(1000000);
	}
	tapir_activity__stop(&activity);
	return NULL;
}

int main(int argc, char **argv)
{
	const struct tapir_counter_opts opts = {.size = sizeof(opts),
						.type = TAPIR_COUNTER_INCREMENTING,
						.name = "orders",
						.unit = "pcs"};
	const struct tapir_counter_opts spread = {.size = sizeof(spread),
						  .type = TAPIR_COUNTER_HISTOGRAM,
						  .name = "totals",
						  .display_name = "Order totals",
						  .unit = "EUR",
						  .tags = "shop:1"};
	bool lasts = target__option(&argc, argv, "--lasts");
	struct tapir_provider *shop;
	pthread_t threads[16];

	if (tapir_provider__new(SHOP, NULL, events, 3, NULL, &shop))
		return 1;
	if (tapir_counter__new(shop, &opts, &orders) || tapir_counter__new(shop, &spread, &totals))
		return 1;
	target__start(&argc, argv);
	count = target__number(argc, argv, 1, 10);
	thread_cnt = target__number(argc, argv, 2, 1);
	if (thread_cnt > 16)
		return 1;
	for (long i = 0; i < thread_cnt; i++)
		if (pthread_create(&threads[i], NULL, run, (void *)(uintptr_t)i)) // NOLINT
			target__die("pthread_create");
	for (long i = 0; i < thread_cnt; i++)
		pthread_join(threads[i], NULL);
	if (lasts) /* until the counter's interval has ended */
		target__sleep_ns(300000000);
	tapir_counter__free(totals);
	tapir_counter__free(orders);
	tapir_provider__free(shop);
	printf("{\"placed\":%ld,\"opened\":%" PRIu64 "}\n", count * thread_cnt, opened);
	return 0;
}
