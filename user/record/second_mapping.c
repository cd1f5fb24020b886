// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds a process in which a file with semaphores is mapped a second time while the first mapping
 * is there. Bounded: where the table is full, it begins anew, and a warning may be given twice or
 * missed.
 */
#include "record/second_mapping.h"

#include "attach/proc.h"
#include "base/diag.h"

#define FIRST_MAX 65536u

void tapir_second_mappings__fini(struct tapir_second_mappings *s)
{
	tapir_map__fini(&s->first);
}

static bool has_semaphores(const struct tapir_image *image)
{
	for (size_t i = 0; i < image->site_cnt; i++)
		if (image->semaphore_offs[i])
			return true;
	return false;
}

struct search {
	const struct tapir_mapping_line *other;
	bool found;
};

static int is_second_mapping(const struct tapir_mapping_line *line, void *ctx)
{
	struct search *s = ctx;

	s->found = line->is_executable && line->inode == s->other->inode &&
		   line->file_off == s->other->file_off;
	return 1;
}

/* Returns true if the mapping still exists: dlclose, for example, removes it. */
static bool is_there(uint32_t tgid, uint64_t va, const struct tapir_mapping_line *line)
{
	struct search s = {.other = line};
	int mark = tapir_diag__cnt();

	(void)tapir_proc__mapping_at(tgid, va, is_second_mapping, &s);
	tapir_diag__rewind(mark);
	return s.found;
}

bool tapir_second_mappings__see(struct tapir_second_mappings *s, uint32_t tgid,
				const struct tapir_image *image,
				const struct tapir_mapping_line *line)
{
	uint64_t key, *first;
	bool is_new;

	if (!has_semaphores(image))
		return false;
	if (s->first.cnt >= FIRST_MAX)
		tapir_map__clear(&s->first);
	/* The place in the file is part of the key: a file may have code in several segments. */
	key = tapir_hash__mix(tapir_hash__mix((uintptr_t)image, tgid), line->file_off);
	first = tapir_map__put(&s->first, key, &is_new);
	if (!first)
		return false;
	if (is_new || !is_there(tgid, *first, line))
		*first = line->start_va;
	return *first != line->start_va &&
	       tapir_map__put(&s->first, tapir_hash__mix(key, line->start_va), &is_new) && is_new;
}
