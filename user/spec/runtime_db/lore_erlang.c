// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Erlang's BEAM: its files, and the function that its interpreter is. Functions of Erlang have no
 * names here; stacks end in process_main.
 */
#include "spec/runtime_db/hint_table.h"

static const struct tapir_lore_file files[] = {{"beam.smp", "", NULL}, {}};

static const struct tapir_lore_module modules[] = {
	{"beam.smp", TAPIR_LORE_WHOLE}, {"beam.emu", TAPIR_LORE_WHOLE}, {}};

const struct tapir_lore tapir_lore_erlang = {
	.name = "Erlang",
	.files = files,
	.modules = modules,
	.interpreter_loops = TAPIR_LIST_OF("process_main"),
};
