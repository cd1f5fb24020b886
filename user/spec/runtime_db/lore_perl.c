// SPDX-License-Identifier: GPL-2.0-or-later
/* Perl. */
#include "spec/runtime_db/hint_table.h"

static const struct tapir_lore_file files[] = {{"perl", "", NULL}, {}};

static const struct tapir_lore_module modules[] = {
	{"perl", TAPIR_LORE_VERSION}, {"libperl.", TAPIR_LORE_PREFIX}, {}};

const struct tapir_lore tapir_lore_perl = {
	.name = "Perl",
	.files = files,
	.modules = modules,
	.interpreter_loops = TAPIR_LIST_OF("Perl_runops_standard"),
};
