// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rust: functions of its standard library and of the usual executors, each in two forms: a method
 * of a trait or a generic type is demangled with '<' in front.
 */
#include "spec/runtime_db/hint_table.h"

/* A row for each form of a mangled name. */
#define EITHER(row, before, after, reason)                                                         \
	row(before "*" after, reason), row("<" before "*" after, reason)

static const struct tapir_lore_wait waits[] = {
	EITHER(TAPIR_WAIT_LOCK, "std::sys", "Mutex::lock_contended", "mutex"),
	EITHER(TAPIR_WAIT_LOCK, "std::sys", "Mutex>::lock_contended", "mutex"),
	EITHER(TAPIR_WAIT_LOCK, "std::sys", "read_contended", "rwlock"),
	EITHER(TAPIR_WAIT_LOCK, "std::sys", "write_contended", "rwlock"),
	EITHER(TAPIR_WAIT_LOCK, "parking_lot::raw_mutex", "lock_slow", "mutex"),
	EITHER(TAPIR_WAIT_LOCK, "parking_lot::raw_rwlock", "lock_", "rwlock"),
	EITHER(TAPIR_WAIT_COMMON, "std::sys", "Condvar", "condition"),
	{},
};

const struct tapir_lore tapir_lore_rust = {
	.name = "Rust",
	.is_library = true,
	.waits = waits,
	.native_library_code =
		TAPIR_LIST_OF("core::", "alloc::", "hashbrown::", "tokio::", "rayon::",
			      "rayon_core::", "parking_lot::", "parking_lot_core::", "futures_",
			      "<core::", "<alloc::", "<std::", "<hashbrown::", "<tokio::", "<rayon",
			      "__rust_", "__rdl_", "rust_begin_unwind", "rust_panic"),
};
