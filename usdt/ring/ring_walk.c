/* SPDX-License-Identifier: MIT */
/*
 * ring_walk.c - the calling thread's stack by frame pointers. It reads only between the frame it
 * starts at and the end of the stack that frame is on (the thread's own or its alternate one), at
 * rising, aligned places: memory that is there whatever the program keeps in its frame-pointer
 * register. On a stack that is not the thread's (a coroutine's) it does not walk. Rules and hash
 * are those of BPF programs (stack_walk.h): both walkers give a stack the same id.
 *
 * The hash is a chain of 6 cycles a frame that nothing makes shorter. So a walk is kept: the next
 * event from the same frame only compares the words the walk had read, all at once, and has the
 * same id if they are the same: about one cycle a frame. Where a stack differs that costs little,
 * for it differs soon.
 */
#include "tapir/stack_walk.h"

#include "ring_impl.h"

#define RECORD_BYTES 16 /* saved frame pointer, return address */
#define OWN_MEMORY   __attribute__((no_sanitize("address"), no_sanitize("thread")))

/* The return address that the function at ip hides; 0: none. */
static OWN_MEMORY __attribute__((noinline)) uint64_t
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
 * Frame records from fp up to `high`, after those that the walk has; returns where the next one
 * would be. record_cnt of them have been read, the one that ended it with them: is_same_walk()
 * reads them again. If a hidden caller was inserted, ips[] does not match fps[]: that walk is not
 * kept.
 */
static OWN_MEMORY __attribute__((noinline)) uint64_t
walk_to(struct ring_walk *walk, const struct tapir_ring_repair *repair, uint64_t fp, uint64_t high)
{
	uint64_t above = fp, hash = walk->hash;
	uint32_t cnt = walk->frame_cnt, record_cnt = cnt;

	while (tapir_walk__fp_ok(fp, above) && fp <= high - RECORD_BYTES) {
		const uint64_t *pair = (const uint64_t *)(uintptr_t)fp;
		uint64_t ip = pair[1];

		walk->fps[cnt] = fp;
		walk->ips[cnt] = ip;
		above = fp + RECORD_BYTES;
		fp = pair[0];
		record_cnt = cnt + 1;
		/*
		 * The record that ended the walk is kept with the others, though its address is no
		 * frame: when it changes, the walk would not end there.
		 */
		if (cnt == TAPIR_FRAMES || !tapir_walk__ip_ok(ip)) {
			walk->flags |= tapir_walk__ip_ok(ip) ? TAPIR_STACK_MORE : 0;
			break;
		}
		cnt++;
		hash = tapir_walk__hash(hash, ip);
		if (__builtin_expect(
			    repair && ip - repair->low_va < repair->high_va - repair->low_va, 0)) {
			uint64_t extra = hidden_caller(repair, ip, fp, above, high);

			walk->is_repaired = 1;
			if (extra && tapir_walk__ip_ok(extra) && cnt < TAPIR_FRAMES) {
				walk->ips[cnt++] = extra;
				hash = tapir_walk__hash(hash, extra);
			}
		}
	}
	walk->fps[record_cnt] = fp;
	walk->record_cnt = record_cnt;
	walk->frame_cnt = cnt;
	walk->hash = hash;
	return fp;
}

/* A handler's frames on the alternate stack, and those of what it interrupted. */
static void walk_alternate(struct ring_walk *walk, const struct ring_stack *stack,
			   const struct tapir_ring_repair *repair, uint64_t fp)
{
	struct ring_stack alternate;

	if (!ring_stack__alternate(&alternate) || !ring_stack__holds(&alternate, fp))
		return;
	fp = walk_to(walk, repair, fp, alternate.high);
	if (fp >= stack->mapped && fp < stack->high && walk->frame_cnt < TAPIR_FRAMES)
		walk_to(walk, repair, fp, stack->high);
}

static __attribute__((noinline)) const struct ring_walk *
take(struct ring_stack *stack, struct ring_walk *walk, const struct tapir_ring_repair *repair,
     uint64_t fp)
{
	uint64_t from = fp;

	ring_store(&walk->from, 0); /* until it is complete: a handler may jump away */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	walk->hash = 0;
	walk->frame_cnt = walk->flags = walk->is_repaired = 0;
	walk->repair = repair;
	if (!stack->high)
		ring_stack__retry(stack, fp);
	if (ring_stack__holds(stack, fp)) {
		walk_to(walk, repair, fp, stack->high);
	} else {
		walk_alternate(walk, stack, repair, fp);
		from = 0;
	}
	if (!walk->frame_cnt)
		return NULL;
	walk->hash += !walk->hash;
	walk->end = walk->flags & TAPIR_STACK_MORE ? TAPIR_STACK_END_MORE : TAPIR_STACK_END_FP_END;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (!walk->is_repaired)
		ring_store(&walk->from, from);
	return walk;
}

/* Four records at a time: the loads wait for nothing but the walk that is kept. */
static OWN_MEMORY inline int is_same_walk(const struct ring_walk *walk)
{
	uint32_t i = 0, cnt = walk->record_cnt;
	uint64_t differs = 0;

#define DIFFERS(n)                                                                                 \
	((((const uint64_t *)(uintptr_t)walk->fps[n])[0] ^ walk->fps[(n) + 1]) |                   \
	 (((const uint64_t *)(uintptr_t)walk->fps[n])[1] ^ walk->ips[n]))
	for (; i + 4 <= cnt; i += 4) {
		differs = DIFFERS(i) | DIFFERS(i + 1) | DIFFERS(i + 2) | DIFFERS(i + 3);
		if (differs)
			return 0;
	}
	for (; i < cnt; i++)
		differs |= DIFFERS(i);
#undef DIFFERS
	return !differs;
}

/* The stack from the frame record at fp; NULL: none. Its first frame is that frame's caller. */
OWN_MEMORY const struct ring_walk *ring_walk__take(struct ring_writer *w, uint64_t fp)
{
	const struct tapir_ring_repair *repair = ring_load_acquire(&ring_process.repair);
	struct ring_walk *set = &w->walks[(fp >> 4) % RING_WALK_SETS * RING_WALK_WAYS];

	for (uint32_t way = 0; way < RING_WALK_WAYS; way++)
		if (set[way].from == fp && set[way].repair == repair && is_same_walk(&set[way]))
			return &set[way];
	return take(&w->stack, &set[w->next_way++ % RING_WALK_WAYS], repair, fp);
}

const struct ring_walk *ring_walk__once(struct ring_stack *stack, struct ring_walk *walk,
					uint64_t fp)
{
	return take(stack, walk, ring_load_acquire(&ring_process.repair), fp);
}

/* A new owner of the slot: another stack. */
void ring_walk__forget(struct ring_writer *w)
{
	for (uint32_t i = 0; i < RING_WALK_SETS * RING_WALK_WAYS; i++)
		w->walks[i].from = 0;
}

void tapir_ring__set_repair(const struct tapir_ring_repair *repair)
{
	ring_store_release(&ring_process.repair, repair);
}
