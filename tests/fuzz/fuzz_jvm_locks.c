// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Thread dumps of JVMs, whatever is in them: no thread waits for itself, or for none; rows
 * of virtual threads have no more of them than there are.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/jvm/heap/jvm_virtual.h"
#include "runtime/jvm/jvm_locks.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

static void read_virtual(const char *dump, size_t len)
{
	const struct tapir_suspended_row *row;
	struct tapir_suspended found = {};
	uint64_t cnt = 0;

	if (!tapir_jvm_virtual__parse(dump, len, &found)) {
		tapir_vec_for_each (row, &found.rows) {
			cnt += row->cnt;
			if (row->parked_cnt > row->cnt || strlen(row->frames) > 2 * len)
				abort();
		}
		if (cnt > found.cnt || found.parked_cnt > found.cnt)
			abort();
	}
	tapir_suspended__fini(&found);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	struct tapir_lock_waits waits = {};
	const struct tapir_lock_wait *wait;

	if (!tapir_jvm_locks__parse((const char *)input, len, &waits))
		tapir_vec_for_each (wait, &waits)
			if (!wait->tid || !wait->owner_tid || wait->tid == wait->owner_tid)
				abort();
	tapir_vec__fini(&waits);
	read_virtual((const char *)input, len);
	return 0;
}
