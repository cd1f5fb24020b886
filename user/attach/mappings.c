// SPDX-License-Identifier: GPL-2.0-or-later
/* The lines of /proc/PID/maps, copied. */
#include "attach/mappings.h"

#include <errno.h>

#include "attach/proc.h"

#define IS_TOO_MUCH 1

static int keep(const struct tapir_mapping_line *line, void *ctx)
{
	struct tapir_mappings *m = ctx;

	if (m->lines.cnt == TAPIR_MAPPINGS_MAX ||
	    m->paths.len + line->path_len >= TAPIR_MAPPINGS_MAX_BYTES)
		return IS_TOO_MUCH;
	tapir_str__add(&m->paths, line->path, line->path_len + 1);
	return !m->paths.failed && tapir_vec__push(&m->lines, *line) ? 0 : -ENOMEM;
}

int tapir_mappings__read(uint32_t tgid, struct tapir_mappings *m)
{
	struct tapir_mapping_line *line;
	const char *path;
	int err;

	tapir_str__clear(&m->paths);
	m->lines.cnt = 0;
	m->tgid = tgid;
	err = tapir_proc__each_mapping(tgid, keep, m);
	m->is_cut = err == IS_TOO_MUCH;
	if (err < 0 || m->is_cut)
		m->lines.cnt = 0;
	path = m->paths.data; /* which no longer moves */
	tapir_vec_for_each (line, &m->lines) {
		line->path = path;
		path += line->path_len + 1;
	}
	return err < 0 ? err : 0;
}

int tapir_mappings__each(const struct tapir_mappings *m, tapir_mapping_fn fn, void *ctx)
{
	const struct tapir_mapping_line *line;
	int err = 0;

	if (m->is_cut)
		return tapir_proc__each_mapping(m->tgid, fn, ctx);
	tapir_vec_for_each (line, &m->lines) {
		err = fn(line, ctx);
		if (err)
			break;
	}
	return err;
}

void tapir_mappings__fini(struct tapir_mappings *m)
{
	tapir_vec__fini(&m->lines);
	tapir_str__fini(&m->paths);
}
