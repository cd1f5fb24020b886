/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * coreclr_runtime.h - the runtime as coreclr_host.c plays it: ICorProfilerInfo12, the providers
 * that it has, and memory that may not be allocated while an event is delivered.
 */
#ifndef TAPIR_TESTS_CORECLR_RUNTIME_H
#define TAPIR_TESTS_CORECLR_RUNTIME_H

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEY	   0x1234abcd5678ull
#define PROVIDER_A 0xa0
#define PROVIDER_G 0xb0
#define RUNTIME	   0xc0
#define PROVIDER_S 0xd0 /* its name is a long time coming */
#define PER_THREAD 20000

typedef int32_t (*query_fn)(void *, const void *, void *);
typedef int32_t (*deliver_fn)(void *, uintptr_t, uint32_t, uint32_t, uint32_t, const void *,
			      uint32_t, const void *, const void *, const void *, uintptr_t,
			      uint32_t, const void *);

struct config {
	const uint16_t *name;
	uint64_t keywords;
	uint32_t level, pad0;
	const uint16_t *filter;
};

static struct {
	void *library, **callback;
	deliver_fn deliver;
	uint32_t mask_low, mask_high, starts, stops, detach_ms;
	uint64_t sessions[16], stopped[16];
	char started[16][400]; /* "name:keywords:level:filter " of each provider */
	int refuse;
	const char *name_of_a;
	uint32_t seen_activity, seen_related, seen_plain;
	uint32_t is_asked, may_answer, has_returned; /* PROVIDER_S */
} host = {.name_of_a = "Prov-A"};

#define CHECK(x)                                                                                   \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			printf("line %d: not so: %s\n", __LINE__, #x);                             \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static void **slots(void *object)
{
	return *(void ***)object;
}

/* Within 10 s. */
static int comes(const uint32_t *word, uint32_t value)
{
	for (int i = 0; i < 10000 && __atomic_load_n(word, __ATOMIC_ACQUIRE) < value; i++)
		usleep(1000);
	return __atomic_load_n(word, __ATOMIC_ACQUIRE) >= value;
}

/* ---- memory: none is taken from the C library while an event is delivered -------------------- */

static __thread int is_delivering;
static uint32_t allocation_cnt;

#ifdef __GLIBC__
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t cnt, size_t bytes);

void *malloc(size_t bytes)
{
	__atomic_fetch_add(&allocation_cnt, is_delivering, __ATOMIC_RELAXED);
	return __libc_malloc(bytes);
}

void *calloc(size_t cnt, size_t bytes)
{
	__atomic_fetch_add(&allocation_cnt, is_delivering, __ATOMIC_RELAXED);
	return __libc_calloc(cnt, bytes);
}
#endif

static void take_keys(void)
{
	pthread_key_t key;

	for (int i = 0; i < 40; i++)
		CHECK(!pthread_key_create(&key, NULL));
}

/* ---- ICorProfilerInfo12 -------------------------------------------------------------------- */

static void narrow(char *out, const uint16_t *text)
{
	while (text && *text)
		*out++ = (char)*text++;
	*out = 0;
}

static int32_t info_query(void *self, const void *iid, void **out)
{
	static const uint8_t info12[] = {0xcd, 0x4c, 0xb2, 0x27, 0xb1, 0x1c, 0xc5, 0x47,
					 0x96, 0xee, 0x98, 0x19, 0x0d, 0xc3, 0x09, 0x59};

	*out = memcmp(iid, info12, 16) ? NULL : self;
	return *out ? 0 : (int32_t)0x80004002;
}

static int32_t set_mask(void *self, uint32_t low, uint32_t high)
{
	(void)self;
	host.mask_low = low;
	host.mask_high = high;
	return 0;
}

static int32_t start_session(void *self, uint32_t cnt, const struct config *configs,
			     int32_t rundown, uint64_t *session)
{
	uint32_t n = host.starts;

	(void)self;
	if (host.refuse || rundown)
		return (int32_t)0x80004005;
	for (uint32_t i = 0; i < cnt; i++) {
		char name[100], filter[300], *end = host.started[n] + strlen(host.started[n]);

		narrow(name, configs[i].name);
		narrow(filter, configs[i].filter);
		snprintf(end, (size_t)(host.started[n] + 400 - end), "%s:%llx:%u:%s ", name,
			 (unsigned long long)configs[i].keywords, configs[i].level, filter);
	}
	*session = host.sessions[n] = 0x1000 + n;
	__atomic_store_n(&host.starts, n + 1, __ATOMIC_RELEASE);
	return 0;
}

static int32_t stop_session(void *self, uint64_t session)
{
	(void)self;
	host.stopped[host.stops] = session;
	__atomic_store_n(&host.stops, host.stops + 1, __ATOMIC_RELEASE);
	return 0;
}

static int32_t provider_info(void *self, uintptr_t provider, uint32_t room, uint32_t *cnt,
			     uint16_t *out)
{
	const char *name = provider == PROVIDER_A   ? host.name_of_a
			   : provider == PROVIDER_G ? "Glob-1"
			   : provider == PROVIDER_S ? "Slow"
			   : provider == RUNTIME    ? "Microsoft-Windows-DotNETRuntime"
						    : NULL;
	uint32_t n = 0;

	(void)self;
	if (!name)
		return (int32_t)0x80070057;
	if (provider == PROVIDER_S) { /* a lock of the runtime's */
		__atomic_store_n(&host.is_asked, 1, __ATOMIC_RELEASE);
		while (!__atomic_load_n(&host.may_answer, __ATOMIC_ACQUIRE))
			usleep(1000);
	}
	while (n < room && (out[n] = (uint16_t)name[n]))
		n++;
	*cnt = n + 1;
	return 0;
}

static int32_t request_detach(void *self, uint32_t ms)
{
	(void)self;
	__atomic_store_n(&host.detach_ms, ms ? ms : 1, __ATOMIC_RELEASE);
	return 0;
}

static void *info_slots[115];
static void *info[] = {info_slots};

static void make_info(void)
{
	info_slots[0] = (void *)info_query;
	info_slots[82] = (void *)set_mask;
	info_slots[101] = (void *)start_session;
	info_slots[103] = (void *)stop_session;
	info_slots[105] = (void *)provider_info;
	info_slots[58] = (void *)request_detach;
}

#endif
