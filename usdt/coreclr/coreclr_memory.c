/* SPDX-License-Identifier: MIT */
/*
 * coreclr_memory.c - address space taken once, handed out by one addition, given back as a whole:
 * what an event's first sight needs, where malloc may be held by a thread that is suspended.
 * Also the gate, a page that the kernel wipes in a forked child. It is part of the library's own
 * data, because a callback may look at it until the library is unloaded.
 */
#include <errno.h>
#include <sys/mman.h>

#include "../ring/ring_sys.h"
#include "coreclr_impl.h"

#define ARENA_BYTES (24ull << 20) /* address space: pages come as they are used */
#define PAGE_BYTES  4096ull

static uint32_t gate[PAGE_BYTES / sizeof(uint32_t)] __attribute__((aligned(PAGE_BYTES)));
struct coreclr_state coreclr = {.gate = gate};

static struct {
	uint8_t *at;
	uint64_t used;
} arena;

static void *map(uint64_t bytes)
{
	long va = ring_sys6(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return ring_sys_failed(va) ? NULL : (void *)va;
}

int coreclr_memory__init(void)
{
	if (ring_sys3(SYS_madvise, gate, PAGE_BYTES, MADV_WIPEONFORK))
		return -ENOMEM;
	arena.at = map(ARENA_BYTES);
	arena.used = 0;
	return arena.at ? 0 : -ENOMEM;
}

void coreclr_memory__fini(void)
{
	if (!arena.at)
		return;
	ring_sys3(SYS_munmap, arena.at, ARENA_BYTES, 0);
	arena.at = NULL;
}

void *coreclr_memory__take(uint64_t bytes)
{
	uint64_t need = (bytes + 15) & ~15ull, at;

	if (!arena.at || need > ARENA_BYTES || coreclr_load(&arena.used) > ARENA_BYTES - need)
		return NULL;
	at = __atomic_fetch_add(&arena.used, need, __ATOMIC_RELAXED);
	return at <= ARENA_BYTES - need ? arena.at + at : NULL;
}
