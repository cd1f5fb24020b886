// SPDX-License-Identifier: GPL-2.0-or-later
/* Thread dumps of JVMs, whatever is in them: nobody waits for itself, or for nobody. */
#include <stdlib.h>

#include "runtime/jvm/jvm_locks.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	struct tapir_lock_waits waits = {};
	const struct tapir_lock_wait *wait;

	if (!tapir_jvm_locks__parse((const char *)input, len, &waits))
		tapir_vec_for_each (wait, &waits)
			if (!wait->tid || !wait->owner_tid || wait->tid == wait->owner_tid)
				abort();
	tapir_vec__fini(&waits);
	return 0;
}
