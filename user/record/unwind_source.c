// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See unwind_source.h. A file that is rewritten in place keeps its inode: so its table is compared
 * by a hash of its blocks.
 */
#include "record/unwind_source.h"

#include <errno.h>
#include <string.h>

#include "attach/maps.h"
#include "attach/proc.h"
#include "base/diag.h"
#include "base/map.h"
#include "attach/unwind/unwind_table.h"

void tapir_unwind_source__set_mapping(struct tapir_unwind_source *s,
				      const struct tapir_rec_mapping *mapping)
{
	s->tgid = mapping->tgid;
	s->dev = mapping->dev;
	s->start_va = mapping->start_va;
	s->end_va = mapping->end_va;
	s->inode = mapping->inode;
}

int tapir_unwind_source__open(const struct tapir_unwind_source *s)
{
	struct tapir_mapping_line line = {.start_va = s->start_va,
					  .end_va = s->end_va,
					  .inode = s->inode,
					  .dev = s->dev,
					  .is_executable = true,
					  .path = s->path,
					  .path_len = strlen(s->path)};
	int mark = tapir_diag__cnt(), fd;

	fd = tapir_mapping_line__is_file(&line) ? tapir_proc__open_mapped(s->tgid, &line, NULL)
						: -ENOENT;
	tapir_diag__rewind(mark);
	return fd;
}

int tapir_unwind_source__read(struct tapir_unwind_source *s, struct tapir_unwind_cache *cache,
			      int fd, struct tapir_unwind_key *seen,
			      struct tapir_unwind_table **out, bool *is_cached)
{
	int err = fd < 0 ? 0 : tapir_unwind_key__seen(fd, seen);

	if (err)
		return err;
	if (fd >= 0 && !s->has_key)
		s->has_key = !tapir_unwind_key__of(fd, &s->key);
	return tapir_unwind_cache__make(cache, s->has_key ? &s->key : NULL, fd, out, is_cached);
}

uint64_t tapir_unwind_source__hash(const struct tapir_unwind_table *table)
{
	return tapir_hash__bytes(0, table->blocks, tapir_unwind_table__bytes(&table->shape));
}

bool tapir_unwind_source__is_rewritten(int fd, struct tapir_unwind_key *seen, uint64_t hash)
{
	struct tapir_unwind_table *table = NULL;
	struct tapir_unwind_key now;
	bool is_cached, is_same;
	int err;

	if (tapir_unwind_key__seen(fd, &now) || !memcmp(&now, seen, sizeof(now)))
		return false;
	err = tapir_unwind_cache__make(NULL, NULL, fd, &table, &is_cached);
	is_same = !err && tapir_unwind_source__hash(table) == hash;
	tapir_unwind_table__free(table);
	*seen = now;
	return !is_same;
}
