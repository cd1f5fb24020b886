// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tables of kinds.h as arrays, which the X-macros there define: kinds, limits and explanations.
 */
#include "diagnose/kinds.h"

#include <string.h>

const struct tapir_finding_kind_info tapir_finding_kinds[TAPIR_FINDING_KIND_CNT] = {
#define TAPIR_KIND_ROW(id, ...) [TAPIR_FINDING_##id] = {__VA_ARGS__},
	TAPIR_KINDS(TAPIR_KIND_ROW)
#undef TAPIR_KIND_ROW
};

const struct tapir_explanation tapir_explanations[] = {
#define TAPIR_EXPLANATION_ROW(by, of, ...) {TAPIR_FINDING_##by, TAPIR_FINDING_##of, __VA_ARGS__},
	TAPIR_EXPLANATIONS(TAPIR_EXPLANATION_ROW)
#undef TAPIR_EXPLANATION_ROW
		{}};

bool tapir_finding_kind__find(const char *name, size_t len, unsigned *kind)
{
	for (*kind = 0; *kind < TAPIR_FINDING_KIND_CNT; ++*kind)
		if (strlen(tapir_finding_kinds[*kind].name) == len &&
		    !memcmp(tapir_finding_kinds[*kind].name, name, len))
			return true;
	return false;
}

const char *tapir_finding_kind__name(size_t i)
{
	return i < TAPIR_FINDING_KIND_CNT ? tapir_finding_kinds[i].name : NULL;
}
