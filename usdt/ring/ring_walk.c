/* SPDX-License-Identifier: MIT */
/*
 * ring_walk.c - the calling thread's stack by frame pointers. It reads only between the frame it
 * starts at and the end of the thread's own stack, at rising, aligned places: memory that is
 * there whatever the program keeps in its frame-pointer register. Rules and hash are those of
 * bpf/walk_logic.bpf.h, so that both walkers give a stack the same id.
 */
#include "ring_impl.h"

#define MAX_FRAME_BYTES (1ull << 20)

static inline uint64_t hash_step(uint64_t hash, uint64_t ip)
{
	hash = (hash ^ ip) * 0x9e3779b97f4a7c15ull;
	return hash ^ (hash >> 32);
}

static inline int is_code(uint64_t ip)
{
	return ip >= 4096 && !(ip >> 56);
}

/* The return address that the function at ip hides; 0: none. */
static __attribute__((noinline, no_sanitize("address"), no_sanitize("thread"))) uint64_t
hidden_caller(const struct tapir_ring_repair *repair, uint64_t ip, uint64_t fp, uint64_t above,
	      uint64_t high)
{
	uint64_t at = repair->find(ip, fp, above, high);

	if (!at || (at & 7) || at < above || at >= high || high - at < 8)
		return 0;
	/* A helper that set its frame pointer after all: the next frame is the one found. */
	if (fp >= above && at == fp + 8)
		return 0;
	return *(const uint64_t *)(uintptr_t)at;
}

/*
 * From the frame record at fp: frames into w->frames, their number returned, 0 if there is
 * none. The first is the return address of the frame at fp.
 */
__attribute__((no_sanitize("address"), no_sanitize("thread"))) uint32_t
ring_walk(struct ring_writer *w, uint64_t fp, uint64_t *id, uint16_t *flags)
{
	const struct tapir_ring_repair *repair = ring_load_acquire(&ring_process.repair);
	uint64_t high = w->stack_high, above = fp, hash = 0;
	uint32_t cnt = 0;

	if (high < 16)
		return 0;
	high -= 16;
	while (fp >= above && fp <= high && fp - above <= MAX_FRAME_BYTES && !(fp & 7)) {
		const uint64_t *pair = (const uint64_t *)(uintptr_t)fp;
		uint64_t ip = pair[1];

		if (!is_code(ip))
			break;
		if (cnt == TAPIR_MAX_FRAMES) {
			*flags |= TAPIR_STACK_MORE;
			break;
		}
		w->frames[cnt++] = ip;
		hash = hash_step(hash, ip);
		above = fp + 16;
		fp = pair[0];
		if (__builtin_expect(
			    repair && ip - repair->low_va < repair->high_va - repair->low_va, 0)) {
			uint64_t extra = hidden_caller(repair, ip, fp, above, high + 16);

			if (extra && is_code(extra) && cnt < TAPIR_MAX_FRAMES) {
				w->frames[cnt++] = extra;
				hash = hash_step(hash, extra);
			}
		}
	}
	*id = hash ? hash : 1;
	return cnt;
}

void tapir_ring__set_repair(const struct tapir_ring_repair *repair)
{
	ring_store_release(&ring_process.repair, repair);
}
