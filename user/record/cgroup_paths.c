// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Paths of cgroups by their ids. One allocation per path; all of them are dropped when PATHS_MAX is
 * reached: it costs a few reads of /proc, and needs no order of use.
 */
#include "record/cgroup_paths.h"

#include <stdlib.h>
#include <string.h>

#include "attach/cgroup.h"
#include "attach/proc.h"
#include "base/diag.h"

#define PATHS_MAX 4096 /* cgroups come and go with their services */
#define ROOT_ID	  1u

static void forget_all(struct tapir_cgroup_paths *paths)
{
	char **text;

	tapir_vec_for_each (text, &paths->texts)
		free(*text);
	paths->texts.cnt = 0;
	tapir_map__clear(&paths->by_id);
}

void tapir_cgroup_paths__fini(struct tapir_cgroup_paths *paths)
{
	forget_all(paths);
	tapir_vec__fini(&paths->texts);
	tapir_map__fini(&paths->by_id);
	free(paths->other);
	paths->other = NULL;
}

/* The process may have been moved to another one since: then the path is that one's. */
static bool is_path_of_cgroup(const char *path, uint64_t id)
{
	struct tapir_cgroup cgroup;
	int mark = tapir_diag__cnt();

	if (id == ROOT_ID)
		return !path[0] || !strcmp(path, "/");
	if (tapir_cgroup__find(path, &cgroup)) {
		tapir_diag__rewind(mark);
		return false;
	}
	return cgroup.is_v2 && cgroup.id == id;
}

static bool keep_path(struct tapir_cgroup_paths *paths, uint64_t id, char *text)
{
	uint64_t *idx;

	if (paths->texts.cnt >= PATHS_MAX)
		forget_all(paths);
	if (!tapir_vec__push(&paths->texts, text))
		return false;
	idx = tapir_map__put(&paths->by_id, id, NULL);
	if (!idx) {
		paths->texts.cnt--;
		return false;
	}
	*idx = paths->texts.cnt - 1;
	return true;
}

const char *tapir_cgroup_paths__of(struct tapir_cgroup_paths *paths, uint64_t id, uint32_t tgid)
{
	const uint64_t *idx = tapir_map__get(&paths->by_id, id);
	int mark = tapir_diag__cnt();
	char *text;

	if (idx)
		return paths->texts.data[*idx];
	text = tapir_proc__read_cgroup(tgid);
	if (!text) {
		tapir_diag__rewind(mark);
		return "";
	}
	if (is_path_of_cgroup(text, id) && keep_path(paths, id, text))
		return text;
	free(paths->other);
	paths->other = text;
	return text;
}
