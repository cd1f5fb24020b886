// SPDX-License-Identifier: GPL-2.0-or-later
/* LuaJIT. */
#include "spec/runtime_db/hint_table.h"

static const struct tapir_lore_module modules[] = {{"libluajit", TAPIR_LORE_PREFIX}, {}};

const struct tapir_lore tapir_lore_luajit = {
	.name = "LuaJIT",
	.modules = modules,
};
