// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds views by name. The table comes from TAPIR_VIEWS (analyze/view.h); an argument follows the
 * name, as in "slow=EVENT", and a view takes one or takes none.
 */
#include "output/render/views.h"

#include <stdio.h>
#include <string.h>

const struct tapir_view *const tapir_views[] = {
#define TAPIR_X(name) &tapir_view_##name,
	TAPIR_VIEWS(TAPIR_X)
#undef TAPIR_X
		NULL};

static bool is_called(const char *name, const char *text, size_t len)
{
	return name && strlen(name) == len && !memcmp(name, text, len);
}

const struct tapir_view *tapir_view__find(const char *text, const char **arg)
{
	size_t len = strcspn(text, "=");

	for (const struct tapir_view *const *v = tapir_views; *v; v++) {
		if (!is_called((*v)->name, text, len) && !is_called((*v)->other_name, text, len))
			continue;
		if (!text[len] != !(*v)->arg || (text[len] && !text[len + 1]))
			return NULL;
		*arg = text[len] ? text + len + 1 : NULL;
		return *v;
	}
	return NULL;
}

const char *tapir_view__usage(size_t i)
{
	static char usage[32];

	if (i >= sizeof(tapir_views) / sizeof(tapir_views[0]) || !tapir_views[i])
		return NULL;
	if (!tapir_views[i]->arg)
		return tapir_views[i]->name;
	snprintf(usage, sizeof(usage), "%s=%s", tapir_views[i]->name, tapir_views[i]->arg);
	return usage;
}
