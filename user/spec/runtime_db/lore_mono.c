// SPDX-License-Identifier: GPL-2.0-or-later
/* Mono. */
#include "spec/runtime_db/hint_table.h"

static const struct tapir_lore_module modules[] = {{"mono-sgen", TAPIR_LORE_VERSION},
						   {"mono", TAPIR_LORE_VERSION},
						   {"libmono", TAPIR_LORE_PREFIX},
						   {}};

static const struct tapir_lore_work threads[] = {{"SGen worker", TAPIR_CAUSE_GC}, {}};

static const struct tapir_lore_work functions[] = {{"sgen_perform_collection", TAPIR_CAUSE_GC}, {}};

const struct tapir_lore tapir_lore_mono = {
	.name = "Mono",
	.modules = modules,
	.threads = threads,
	.functions = functions,
	.interpreter_loops = TAPIR_LIST_OF("mono_interp_exec_method", "interp_exec_method"),
};
