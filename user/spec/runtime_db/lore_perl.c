// SPDX-License-Identifier: GPL-2.0-or-later
/* Perl. */
#include "spec/runtime_db/hint_table.h"

static const struct tapir_lore_file files[] = {{"perl", "", NULL}, {}};

static const char *const version_after[] = {"/libperl.so.", NULL};
static const struct tapir_lore_module modules[] = {
	{"perl", TAPIR_LORE_VERSION}, {"libperl.", TAPIR_LORE_PREFIX}, {}};

const struct tapir_lore tapir_lore_perl = {
	.name = "Perl",
	.files = files,
	.modules = modules,
	.version_after = version_after,
	.interpreter_loops = TAPIR_LIST_OF("Perl_runops_standard"),
};
