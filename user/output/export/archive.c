// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Files are opened when the first of their addresses occurs, and stay open: what was counted is
 * what is put, also when a server sent it and no cache has it.
 */
#include "output/export/archive.h"

#include <errno.h>
#include <stdlib.h>

#include "base/diag.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "elf/debug_file.h"
#include "elf/image.h"
#include "trace/record.h"

struct tapir_archive {
	struct tapir_symbol_files *files;
	struct tapir_stored_files *stored; /* of the recording */
	struct tapir_map seen;		   /* ids of files */
	struct tapir_map have;		   /* hashes of build IDs */
	struct tapir_vec(struct tapir_elf *) elfs;
	struct tapir_archive_counts counts;
};

int tapir_archive__new(struct tapir_symbol_files *files, int fd, struct tapir_archive **out)
{
	struct tapir_archive *a = calloc(1, sizeof(*a));
	int err = a ? tapir_stored_files__open(fd, &a->stored) : -ENOMEM;

	if (err) {
		tapir_archive__free(a);
		return err;
	}
	a->files = files;
	*out = a;
	return 0;
}

void tapir_archive__free(struct tapir_archive *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->elfs.cnt; i++)
		tapir_elf__free(a->elfs.data[i]);
	tapir_vec__fini(&a->elfs);
	tapir_map__fini(&a->seen);
	tapir_map__fini(&a->have);
	tapir_stored_files__close(a->stored);
	free(a);
}

static uint64_t bytes_of(const struct tapir_elf *elf)
{
	return (uint64_t)tapir_elf__stat(elf)->st_size;
}

/* Takes an image, unless it is there already. */
static void take_image(struct tapir_archive *a, struct tapir_elf *elf)
{
	size_t len = 0;
	const uint8_t *id = tapir_elf__build_id(elf, &len);
	uint64_t bytes = bytes_of(elf);
	bool is_new = false, is_too_much;

	is_too_much = a->elfs.cnt == TAPIR_ARCHIVE_FILES_MAX || !id || len > UINT8_MAX ||
		      bytes > TAPIR_STORED_FILE_MAX_BYTES;
	if (is_too_much || !tapir_map__put(&a->have, tapir_hash__bytes(0, id, len), &is_new) ||
	    (is_new && !tapir_vec__push(&a->elfs, elf)))
		a->counts.dropped_cnt++;
	else if (is_new) {
		a->counts.file_cnt++;
		a->counts.bytes += bytes;
		return;
	}
	tapir_elf__free(elf);
}

static void add_file_of_key(struct tapir_archive *a, const struct tapir_symbol_key *key)
{
	struct tapir_elf *elf, *alt;

	if (tapir_stored_files__has(a->stored, key->build_id, key->build_id_bytes)) {
		a->counts.stored_cnt++;
		return;
	}
	if (tapir_symbol_files__open(a->files, key, &elf)) {
		a->counts.lacking_cnt++;
		return;
	}
	if (!tapir_symbol_files__open_alt(a->files, elf, &alt))
		take_image(a, alt);
	take_image(a, elf);
}

static struct tapir_source_locations see(void *ctx, const struct tapir_rec_mapping *mapping,
					 uint64_t off, const struct tapir_rec_symbol *range)
{
	struct tapir_archive *a = ctx;
	struct tapir_str path = {};
	struct tapir_symbol_key key;
	bool is_new = false;

	(void)off;
	(void)range;
	if (!mapping->file_id || !tapir_map__put(&a->seen, mapping->file_id, &is_new) || !is_new)
		return (struct tapir_source_locations){};
	key = tapir_symbol_key__of(mapping, &path);
	key.with_lines = true;
	if (*key.path == '/' && !key.build_id_bytes)
		a->counts.no_build_id_cnt++;
	else if (*key.path == '/') /* not "[vdso]" */
		add_file_of_key(a, &key);
	tapir_str__fini(&path);
	return (struct tapir_source_locations){};
}

struct tapir_line_source tapir_archive__source(struct tapir_archive *a)
{
	return (struct tapir_line_source){.find = see, .ctx = a};
}

struct tapir_archive_counts tapir_archive__counts(const struct tapir_archive *a)
{
	return a->counts;
}

int tapir_archive__write(const struct tapir_archive *a, struct tapir_writer *w,
			 const struct tapir_stored_check *check)
{
	int err = 0;

	for (size_t i = 0; i < a->elfs.cnt && !err; i++) {
		const struct tapir_elf *elf = a->elfs.data[i];
		struct tapir_stored_source source = {.fd = tapir_elf__fd(elf),
						     .bytes = bytes_of(elf)};

		source.build_id = tapir_elf__build_id(elf, &source.build_id_bytes);
		err = tapir_stored_files__put(w, &source, check);
	}
	return err;
}
