// SPDX-License-Identifier: GPL-2.0-or-later
/* Rust: functions of its standard library and of the usual executors. */
#include "lore/hint_table.h"

const struct tapir_lore tapir_lore_rust = {
	.name = "Rust",
	.is_library = true,
	.native_library_code =
		TAPIR_LIST_OF("core::", "alloc::", "hashbrown::", "tokio::", "rayon::",
			      "rayon_core::", "parking_lot::", "parking_lot_core::", "futures_",
			      "<core::", "<alloc::", "<std::", "<hashbrown::", "<tokio::", "<rayon",
			      "__rust_", "__rdl_", "rust_begin_unwind", "rust_panic"),
};
