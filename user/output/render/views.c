// SPDX-License-Identifier: GPL-2.0-or-later
/* See views.h. The registry of views, in the order in which help and errors list them. */
#include "output/render/views.h"

#include <stdio.h>
#include <string.h>

#include "analyze/spans/view_requests.h"

const struct tapir_view *const tapir_views[] = {
	&tapir_view_cpu,	 &tapir_view_gc,	 &tapir_view_jit,
	&tapir_view_exceptions,	 &tapir_view_contention, &tapir_view_offcpu,
	&tapir_view_stacks,	 &tapir_view_stacks_end, &tapir_view_threadpool,
	&tapir_view_allocations, &tapir_view_memory,	 &tapir_view_counters,
	&tapir_view_requests,	 &tapir_view_slow,	 NULL};

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
