/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * memo_logic.bpf.h - when a kernel stack is the one that was walked before, without any way to
 * read memory, so that it runs in BPF and in host tests alike.
 *
 * A walk is a function of where it begins and of the return addresses it finds: each one decides
 * where the next is. So a stack that has the same words in every place where the last walk found a
 * return address is the same stack. A memo holds these places, counted from the stack pointer, and
 * their words.
 *
 * The walk reports addresses, not positions: every position with one of the addresses is kept. Some
 * only have what an earlier call left there; they differ at the next walk of the same stack, and
 * are dropped. A position that the walk uses never is, as long as the frames keep their sizes. The
 * outermost address is kept by its position at the top: a system call begins at a random distance
 * from there (randomize_kstack_offset).
 *
 * What this does not see: a frame whose size is in a register. The kernel has few; one match in
 * TAPIR_MEMO_CHECK is walked anyway, and a difference is counted.
 */
#ifndef TAPIR_BPF_MEMO_LOGIC_H
#define TAPIR_BPF_MEMO_LOGIC_H

#include "tapir/abi.h"

#define TAPIR_MEMO_WORDS    256u /* of a stack, from its pointer up; a power of two */
#define TAPIR_MEMO_SLOTS    40u
#define TAPIR_MEMO_CHECK    1024u
#define TAPIR_MEMO_PATIENCE 16u /* walks without a match, before few are learned from */

struct tapir_memo {
	uint64_t key; /* of the thread and what it does, mixed; 0: not in use */
	uint64_t stack_id;
	uint64_t epoch;	 /* in which the stack was sent */
	uint64_t top_va; /* the word at the top, if it is the outermost frame; or 0 */
	uint32_t match_cnt;
	uint32_t walk_cnt; /* since the last match */
	uint32_t slot_cnt;
	uint32_t word_cnt; /* words of the stack, as far as the last slot */
	uint64_t words[TAPIR_MEMO_SLOTS];
	uint8_t slots[TAPIR_MEMO_SLOTS]; /* where the words are */
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_memo) == 48 + 9 * TAPIR_MEMO_SLOTS, "tapir_memo");

/* The state of a walk's frames while their words are searched. */
struct tapir_memo_search {
	uint64_t low_va, high_va; /* of all frames */
	uint64_t bits;		  /* one for each frame, by its address */
	uint32_t found_cnt;	  /* frames found, in their order */
	uint32_t is_full;
};

static inline __attribute__((always_inline)) uint64_t tapir_memo__bit(uint64_t va)
{
	return 1ull << ((va * 0x9e3779b97f4a7c15ull) >> 58);
}

static inline __attribute__((always_inline)) void
tapir_memo__look_for(struct tapir_memo_search *search, uint64_t va)
{
	search->bits |= tapir_memo__bit(va);
	if (va < search->low_va)
		search->low_va = va;
	if (va > search->high_va)
		search->high_va = va;
}

/* The word of the stack at slot, one after the other; next_va: the frame that was not found yet. */
static inline __attribute__((always_inline)) void
tapir_memo__learn(struct tapir_memo *memo, struct tapir_memo_search *search, uint32_t slot,
		  uint64_t word, uint64_t next_va)
{
	uint32_t cnt = memo->slot_cnt;

	if (word < search->low_va || word > search->high_va ||
	    !(search->bits & tapir_memo__bit(word)))
		return;
	search->found_cnt += word == next_va;
	if (cnt >= TAPIR_MEMO_SLOTS) {
		search->is_full = 1;
		return;
	}
	memo->words[cnt] = word;
	memo->slots[cnt] = (uint8_t)slot;
	memo->slot_cnt = cnt + 1;
	memo->word_cnt = slot + 1;
}

/* Is that the stack the memo is of? words: memo->word_cnt of it. */
static inline __attribute__((always_inline)) int tapir_memo__matches(const struct tapir_memo *memo,
								     const uint64_t *words)
{
	uint64_t differences = 0;

	for (uint32_t i = 0; i < TAPIR_MEMO_SLOTS && i < memo->slot_cnt; i++)
		differences |= words[memo->slots[i]] ^ memo->words[i];
	return !differences;
}

/* The same stack was walked again: keeps slot nr i of the memo, as number kept, if it holds. */
static inline __attribute__((always_inline)) uint64_t
tapir_memo__keep(struct tapir_memo *memo, uint64_t i, uint64_t kept, const uint64_t *words)
{
	uint32_t slot;

	if (i >= TAPIR_MEMO_SLOTS || kept >= TAPIR_MEMO_SLOTS)
		return kept;
	slot = memo->slots[i];
	if (words[slot] != memo->words[i])
		return kept;
	memo->words[kept] = memo->words[i];
	memo->slots[kept] = (uint8_t)slot;
	memo->word_cnt = slot + 1;
	return kept + 1;
}

#endif
