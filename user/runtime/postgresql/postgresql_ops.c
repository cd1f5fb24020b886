// SPDX-License-Identifier: GPL-2.0-or-later
/* PostgreSQL is known by its names and asked nothing; its memory says what its processes wait for.
 */
#include "runtime/postgresql/postgresql_ops.h"

const struct tapir_runtime_ops tapir_runtime_postgresql = {
	.locks = &tapir_postgresql_lock_ops,
	.watch = &tapir_postgresql_watch_ops,
};
