/* SPDX-License-Identifier: MIT */
/*
 * coreclr_memory.c - address space reserved once and allocated by one addition: for the first
 * occurrence of an event, when malloc's lock may be held by a suspended thread. Small pieces can be
 * freed and reused; the whole is released at once. Also the gate, a page that the kernel wipes in a
 * forked child. It is part of the library's own data, because a callback may read it until the
 * library is unloaded.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "../ring/ring_sys.h"
#include "coreclr_impl.h"

#define ARENA_BYTES (24ull << 20) /* address space: pages come as they are used */
#define PAGE_BYTES  4096ull

static uint32_t gate[PAGE_BYTES / sizeof(uint32_t)] __attribute__((aligned(PAGE_BYTES)));
struct coreclr_state coreclr = {.gate = gate};

/* Free lists of returned memory, by its size; a list's first word is its next one's address. */
#define CLASS_BYTES 64u
#define CLASS_CNT   16u
#define LOCK_TRIES  1000u

static struct {
	uint8_t *at;
	uint64_t used;
	uint64_t out; /* used, less what was given back */
	void *given[CLASS_CNT];
	uint32_t lock;
} arena;

static void *map_pages(uint64_t bytes)
{
	long va = ring_sys6(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return ring_sys_failed(va) ? NULL : (void *)va;
}

int coreclr_memory__init(void)
{
	if (ring_sys3(SYS_madvise, gate, PAGE_BYTES, MADV_WIPEONFORK))
		return -ENOMEM;
	arena.at = map_pages(ARENA_BYTES);
	arena.used = arena.out = 0;
	memset(arena.given, 0, sizeof(arena.given));
	return arena.at ? 0 : -ENOMEM;
}

void coreclr_memory__fini(void)
{
	if (!arena.at)
		return;
	ring_sys3(SYS_munmap, arena.at, ARENA_BYTES, 0);
	arena.at = NULL;
}

/* 0: a thread that holds it does not run: then without what was given back. */
static int lock_memory(void)
{
	for (uint32_t i = 0; i < LOCK_TRIES; i++) {
		if (!__atomic_exchange_n(&arena.lock, 1, __ATOMIC_ACQUIRE))
			return 1;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
	}
	return 0;
}

/* The list of a size; NULL: such are never given back. */
static void **list_of(uint64_t bytes)
{
	uint64_t class = (bytes + CLASS_BYTES - 1) / CLASS_BYTES;

	return bytes && class < CLASS_CNT ? &arena.given[class] : NULL;
}

static void *take_given(uint64_t bytes)
{
	void **list = list_of(bytes), *first;

	if (!list || !coreclr_load(list) || !lock_memory())
		return NULL;
	first = *list;
	if (first)
		*list = *(void **)first;
	coreclr_store_release(&arena.lock, 0);
	if (!first)
		return NULL;
	memset(first, 0, bytes);
	__atomic_fetch_add(&arena.out, bytes, __ATOMIC_RELAXED);
	return first;
}

void coreclr_memory__give(void *at, uint64_t bytes)
{
	void **list = list_of(bytes);

	if (!at || !list || !lock_memory())
		return;
	*(void **)at = *list;
	*list = at;
	coreclr_store_release(&arena.lock, 0);
	__atomic_fetch_sub(&arena.out, bytes, __ATOMIC_RELAXED);
}

int coreclr_memory__is_scarce(void)
{
	return coreclr_load(&arena.out) > ARENA_BYTES / 2;
}

/* In whole classes, so that what is given back is large enough for any of its class. */
void *coreclr_memory__take(uint64_t bytes)
{
	uint64_t unit = list_of(bytes) ? CLASS_BYTES : 16, at;
	uint64_t need = (bytes + unit - 1) / unit * unit;
	void *given = take_given(bytes);

	if (given)
		return given;

	if (!arena.at || need > ARENA_BYTES || coreclr_load(&arena.used) > ARENA_BYTES - need)
		return NULL;
	at = __atomic_fetch_add(&arena.used, need, __ATOMIC_RELAXED);
	__atomic_fetch_add(&arena.out, bytes, __ATOMIC_RELAXED);
	return at <= ARENA_BYTES - need ? arena.at + at : NULL;
}
