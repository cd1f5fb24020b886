// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The three parts of unwinding in the kernel, made and ended in order: the maps
 * (attach/unwind_maps.h), the tables of files, the lists of processes.
 */
#include "record/unwinding.h"

#include <errno.h>
#include <stdlib.h>

#include "attach/unwind_maps.h"
#include "base/log.h"
#include "record/unwind_spaces.h"

struct tapir_unwinding {
	struct tapir_unwind_maps *maps;
	struct tapir_unwind_tables *tables;
	struct tapir_unwind_spaces *spaces;
};

int tapir_unwinding__new(struct tapir_programs *programs, size_t table_bytes,
			 struct tapir_interp_stacks *interp_stacks, struct tapir_unwinding **out)
{
	struct tapir_unwinding *u = calloc(1, sizeof(*u));
	int err = u ? tapir_unwind_maps__new(programs, &u->maps) : -ENOMEM;

	if (!err)
		err = tapir_unwind_tables__new(u->maps, table_bytes, &u->tables);
	if (!err)
		err = tapir_unwind_spaces__new(u->maps, u->tables, interp_stacks, &u->spaces);
	if (err) {
		tapir_unwinding__free(u);
		u = NULL;
	}
	*out = u;
	return err == -ENODATA ? 0 : err;
}

void tapir_unwinding__free(struct tapir_unwinding *u)
{
	if (!u)
		return;
	tapir_unwind_spaces__free(u->spaces);
	tapir_unwind_tables__free(u->tables);
	tapir_unwind_maps__free(u->maps);
	free(u);
}

void tapir_unwinding__on_record(struct tapir_unwinding *u, const struct tapir_rec *rec, int fd)
{
	if (u)
		tapir_unwind_spaces__on_record(u->spaces, rec, fd);
}

void tapir_unwinding__flush(struct tapir_unwinding *u)
{
	if (u)
		tapir_unwind_spaces__flush(u->spaces);
}

static void keep_mapped(struct tapir_unwinding *u)
{
	uint64_t mapped[TAPIR_UNWIND_FILES / 64] = {};

	tapir_unwind_spaces__mapped(u->spaces, mapped);
	tapir_unwind_tables__keep(u->tables, mapped);
}

void tapir_unwinding__poll(struct tapir_unwinding *u)
{
	uint32_t file_idx;

	if (!u)
		return;
	tapir_unwind_tables__poll(u->tables);
	while (tapir_unwind_tables__take_changed(u->tables, &file_idx))
		tapir_unwind_spaces__renew(u->spaces, file_idx);
	tapir_unwind_spaces__poll(u->spaces);
	if (tapir_unwind_tables__are_crowded(u->tables))
		keep_mapped(u);
}

bool tapir_unwinding__is_complete(struct tapir_unwinding *u)
{
	return !u || tapir_unwind_tables__are_complete(u->tables);
}

uint64_t tapir_unwinding__left_cnt(struct tapir_unwinding *u)
{
	struct tapir_unwind_stats stats;

	if (!u)
		return 0;
	tapir_unwind_tables__stats(u->tables, &stats);
	return tapir_unwind_spaces__refused(u->spaces) + stats.evicted_cnt + stats.refused_cnt;
}

uint64_t tapir_unwinding__changed_cnt(struct tapir_unwinding *u)
{
	struct tapir_unwind_stats stats = {};

	if (u)
		tapir_unwind_tables__stats(u->tables, &stats);
	return stats.changed_cnt;
}

void tapir_unwinding__report(struct tapir_unwinding *u)
{
	struct tapir_unwind_stats stats;
	uint64_t refused;

	if (!u)
		return;
	tapir_unwind_tables__stats(u->tables, &stats);
	refused = tapir_unwind_spaces__refused(u->spaces);
	tapir_debug(
		"unwind tables: %u of files, %u of them from the cache, %zu KB, %llu ms of work; "
		"%u files without; %u rows not supported",
		stats.table_cnt, stats.cached_cnt, stats.bytes / 1024,
		(unsigned long long)(stats.build_ns / 1000000), stats.without_cnt,
		stats.unsupported_cnt);
	if (stats.evicted_cnt || stats.refused_cnt)
		tapir_warn("%u unwind tables were removed and %u left out for lack of room: some "
			   "stacks end early (raise --unwind-memory)",
			   stats.evicted_cnt, stats.refused_cnt);
	if (stats.changed_cnt)
		tapir_warn(
			"%u files were rewritten while they were mapped: stacks through them end "
			"there (restart their programs)",
			stats.changed_cnt);
	if (refused)
		tapir_warn(
			"%llu executable mappings were left out for lack of room: some stacks end "
			"early",
			(unsigned long long)refused);
}
