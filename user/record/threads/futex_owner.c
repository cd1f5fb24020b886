// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The owner of a futex, by the words that C libraries keep.
 *
 * glibc's pthread_mutex_t (since 2.2.5, part of its ABI): lock, count, owner, users, kind. A thread
 * that waits for one has set lock to 2 and waits for it to be something else. Robust mutexes, and
 * musl's, hold the owner's thread id in the lock, with the bit of waiters.
 */
#include <linux/futex.h>

#include "record/threads/system_call.h"

#define LOCKED_WITH_WAITERS 2u	   /* glibc's low-level lock */
#define KIND_BITS	    0x3ffu /* of glibc's kinds and flags: types, robust, PI, elision */

enum { LOCK, COUNT, OWNER, USERS, KIND };

static uint32_t owner_in_lock(uint32_t word)
{
	return word & FUTEX_TID_MASK;
}

static uint32_t owner_of_mutex(const uint32_t words[TAPIR_FUTEX_WORDS])
{
	if (words[LOCK] != LOCKED_WITH_WAITERS || !words[USERS] || words[KIND] & ~KIND_BITS)
		return 0;
	return words[OWNER] & ~FUTEX_TID_MASK ? 0 : words[OWNER];
}

uint32_t tapir_futex__owner(uint32_t op, uint32_t value, const uint32_t words[TAPIR_FUTEX_WORDS])
{
	switch (op & FUTEX_CMD_MASK) {
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
		return owner_in_lock(words[LOCK]);
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
		if (value == LOCKED_WITH_WAITERS)
			return owner_of_mutex(words);
		if (value & FUTEX_WAITERS && words[LOCK] == value)
			return owner_in_lock(value);
		return 0;
	default:
		return 0;
	}
}
