// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Files are opened when the first of their addresses is looked up; what is found is kept, once per
 * address, because a recording repeats its hot addresses a thousand times.
 */
#include "symbol/source_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/log.h"
#include "base/keyed.h"
#include "base/str.h"
#include "elf/debug_file.h"
#include "elf/demangle.h"
#include "elf/image.h"
#include "base/file.h"
#include "symbol/line_helper.h"
#include "symbol/mapping_bias.h"

#define MAX_ADDRESSES (1u << 20)
#define MAX_BYTES     (256ull << 20) /* of names and places */

struct file {
	struct tapir_elf *elf, *alt; /* elf NULL: it is no longer read */
	struct tapir_line_file in_helper;
	uint64_t bias;
};

struct tapir_source_lines {
	struct tapir_source_lines_opts opts;
	struct tapir_line_helper *helper;
	struct tapir_map by_id; /* file_id -> index of a file + 1; 0: it has no lines */
	struct tapir_vec(struct file) files;
	struct tapir_keyed(struct tapir_source_locations) locations; /* by address */
	struct tapir_arena arena;
	struct tapir_map texts; /* hash -> address in the arena */
	struct tapir_source_line_counts counts;
};

int tapir_source_lines__new(const struct tapir_source_lines_opts *opts,
			    struct tapir_source_lines **out)
{
	struct tapir_source_lines *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return -ENOMEM;
	l->opts = *opts;
	l->arena.max_bytes = MAX_BYTES;
	err = tapir_line_helper__new(&l->helper);
	if (err) {
		tapir_source_lines__free(l);
		return err;
	}
	*out = l;
	return 0;
}

static void close_file(struct file *file)
{
	tapir_elf__free(file->elf);
	tapir_elf__free(file->alt);
	file->elf = file->alt = NULL;
}

void tapir_source_lines__free(struct tapir_source_lines *l)
{
	struct file *file;

	if (!l)
		return;
	tapir_line_helper__free(l->helper);
	tapir_vec_for_each (file, &l->files)
		close_file(file);
	tapir_vec__fini(&l->files);
	tapir_keyed__fini(&l->locations);
	tapir_map__fini(&l->by_id);
	tapir_map__fini(&l->texts);
	tapir_arena__fini(&l->arena);
	free(l);
}

/* ---- files -------------------------------------------------------------------------------- */

static bool open_lines_file(struct tapir_source_lines *l, const struct tapir_rec_mapping *mapping,
			    struct file *file)
{
	struct tapir_str path = {};
	int mark = tapir_diag__cnt();
	struct tapir_symbol_key key = tapir_symbol_key__of(mapping, &path);

	key.with_lines = true;
	if (tapir_symbol_files__open(l->opts.files, &key, &file->elf))
		file->elf = NULL;
	else
		(void)tapir_symbol_files__open_alt(l->opts.files, file->elf, &file->alt);
	tapir_diag__rewind(mark);
	tapir_str__fini(&path);
	return file->elf;
}

/* The file's index + 1; 0: it has no lines. */
static uint64_t add_file(struct tapir_source_lines *l, const struct tapir_rec_mapping *mapping,
			 const struct tapir_rec_symbol *range)
{
	struct file file = {.bias = tapir_mapping__bias(mapping, range)};
	struct tapir_mapping_view view;

	tapir_mapping_view__of(&mapping->h, &view);
	if (!view.path.len || *view.path.data != '/')
		return 0; /* "[vdso]" */
	if (!mapping->build_id_bytes) {
		l->counts.no_build_id_cnt++;
		return 0;
	}
	if (l->files.cnt == TAPIR_LINE_HELPER_FILES) {
		l->counts.dropped_cnt++;
		return 0;
	}
	if (!open_lines_file(l, mapping, &file)) {
		l->counts.lineless_cnt++;
		return 0;
	}
	file.in_helper = (struct tapir_line_file){
		.fd = tapir_elf__fd(file.elf),
		.alt_fd = file.alt ? tapir_elf__fd(file.alt) : -1,
		.slot = (uint32_t)l->files.cnt,
	};
	if (!tapir_vec__push(&l->files, file)) {
		close_file(&file);
		return 0;
	}
	l->counts.file_cnt++;
	return l->files.cnt;
}

/* NULL: it has no lines. */
static struct file *file_of(struct tapir_source_lines *l, const struct tapir_rec_mapping *mapping,
			    const struct tapir_rec_symbol *range)
{
	bool is_new = false;
	uint64_t *idx =
		mapping->file_id ? tapir_map__put(&l->by_id, mapping->file_id, &is_new) : NULL;

	if (idx && is_new)
		*idx = add_file(l, mapping, range);
	return idx && *idx && l->files.data[*idx - 1].elf ? &l->files.data[*idx - 1] : NULL;
}

static void abandon_file(struct tapir_source_lines *l, struct file *file, int err)
{
	if (err != -ENODATA)
		tapir_warn("%s has no source lines: the process that read its debug information %s",
			   tapir_elf__name(file->elf),
			   err == -ETIMEDOUT ? "took too long"
			   : err == -ELOOP   ? "ended too often"
					     : "ended");
	close_file(file);
	l->counts.file_cnt--;
	l->counts.lineless_cnt++;
}

/* ---- what was found ----------------------------------------------------------------------- */

/* One copy of each; NULL: unknown, or no memory. */
static const char *keep_text(struct tapir_source_lines *l, const char *text)
{
	size_t len = strlen(text);
	bool is_new = false;
	uint64_t *at = tapir_map__put(&l->texts, tapir_hash__bytes(3, text, len), &is_new);

	if (at && is_new)
		*at = (uintptr_t)tapir_arena__text(&l->arena, text, len);
	return at ? (const char *)(uintptr_t)*at : NULL;
}

static const char *keep_name(struct tapir_source_lines *l, const char *name)
{
	char *demangled = tapir_demangle(name);
	const char *kept = keep_text(l, demangled ? demangled : name);

	free(demangled);
	return kept;
}

static const char *text_at(const struct tapir_lines_answer *answer, uint32_t at)
{
	return at == TAPIR_LINES_NO_TEXT ? NULL : answer->texts + at;
}

static struct tapir_source_location location_of_frame(struct tapir_source_lines *l,
						      const struct tapir_lines_answer *answer,
						      unsigned idx)
{
	const struct tapir_lines_frame *frame = &answer->frames[idx];
	const char *function = text_at(answer, frame->function),
		   *file = text_at(answer, frame->file);
	struct tapir_source_location location = {};

	if (idx + 1 < answer->cnt)
		location.function = keep_name(l, function ? function : "?");
	if (l->opts.with_lines && file && frame->line) {
		location.file = keep_text(l, file);
		location.line = frame->line;
	}
	return location;
}

/* Without inlined functions, the line is that of the outermost, where the inlined were called. */
static struct tapir_source_locations keep_answer(struct tapir_source_lines *l,
						 const struct tapir_lines_answer *answer)
{
	unsigned first = l->opts.with_inlined || !answer->cnt ? 0 : answer->cnt - 1;
	unsigned cnt = answer->cnt - first;
	struct tapir_source_location *locations =
		cnt ? tapir_arena__alloc(&l->arena, cnt * sizeof(*locations)) : NULL;

	if (!locations) {
		l->counts.dropped_cnt += cnt != 0;
		return (struct tapir_source_locations){};
	}
	for (unsigned i = 0; i < cnt; i++)
		locations[i] = location_of_frame(l, answer, first + i);
	return (struct tapir_source_locations){locations, cnt};
}

static struct tapir_source_locations look_up(struct tapir_source_lines *l, struct file *file,
					     uint64_t off)
{
	const struct tapir_lines_answer *answer;
	int err = tapir_line_helper__find(l->helper, &file->in_helper, off + file->bias, &answer);

	if (!err)
		return keep_answer(l, answer);
	abandon_file(l, file, err);
	return (struct tapir_source_locations){};
}

/*
 * A look-up asks a helper process and takes long: each address is looked up once. Beyond
 * MAX_ADDRESSES, addresses have no lines and are counted.
 */
static struct tapir_source_locations find_locations(void *ctx,
						    const struct tapir_rec_mapping *mapping,
						    uint64_t off,
						    const struct tapir_rec_symbol *range)
{
	struct tapir_source_lines *l = ctx;
	struct tapir_source_locations found = {};
	struct file *file;
	uint64_t key = tapir_hash__mix(tapir_hash__mix(5, mapping->file_id), off);
	const struct tapir_source_locations *known = tapir_keyed__get(&l->locations, key);

	if (known)
		return *known;
	file = file_of(l, mapping, range);
	if (!file)
		return found;
	if (l->locations.cnt == MAX_ADDRESSES) {
		l->counts.dropped_cnt++;
		return found;
	}
	found = look_up(l, file, off);
	(void)tapir_keyed__add(&l->locations, key, MAX_ADDRESSES,
			       found); /* else it is asked again */
	return found;
}

struct tapir_line_source tapir_source_lines__source(struct tapir_source_lines *l)
{
	return (struct tapir_line_source){.find = find_locations, .ctx = l};
}

struct tapir_source_line_counts tapir_source_lines__counts(const struct tapir_source_lines *l)
{
	return l->counts;
}
