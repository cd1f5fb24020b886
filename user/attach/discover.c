// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the probes of files and of what processes map, and the sites that match a SPEC. A site is a
 * note of a file: that many processes map it makes no difference, since a uprobe is placed in the
 * file.
 */
#include "attach/discover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attach/proc.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"
#include "elf/image.h"

static void free_file(struct tapir_probe_file *file)
{
	if (!file)
		return;
	tapir_usdt_notes__fini(&file->notes);
	free(file->path);
	free(file->openable);
	free(file->link);
	free(file);
}

const char *tapir_probe_file__shown(const struct tapir_probe_file *file)
{
	return file->link ? file->link : file->path;
}

void tapir_discovery__fini(struct tapir_discovery *d)
{
	for (size_t i = 0; i < d->files.cnt; i++)
		free_file(d->files.data[i]);
	tapir_vec__fini(&d->files);
	tapir_vec__fini(&d->sites);
	tapir_map__fini(&d->seen);
	*d = (struct tapir_discovery){};
}

/* ---- one file --------------------------------------------------------------------------- */

static int fill_file(struct tapir_elf *elf, const char *path, const char *openable,
		     struct tapir_probe_file *file)
{
	const uint8_t *build_id = tapir_elf__build_id(elf, &file->build_id_bytes);

	file->file_id = tapir_elf__file_id(elf);
	if (!build_id || file->build_id_bytes > sizeof(file->build_id))
		file->build_id_bytes = 0;
	if (file->build_id_bytes)
		memcpy(file->build_id, build_id, file->build_id_bytes);
	file->path = strdup(path);
	file->openable = strdup(openable);
	return file->path && file->openable ? 0 : -ENOMEM;
}

/* Takes file: into the discovery, or away when it has no probes or something fails. */
static int take_file(struct tapir_discovery *d, struct tapir_probe_file *file)
{
	size_t old_cnt = d->sites.cnt;
	int err = 0;

	for (size_t i = 0; i < file->notes.cnt && !err; i++) {
		struct tapir_site_info site = {file, &file->notes.data[i]};

		err = tapir_vec__push(&d->sites, site) ? 0 : -ENOMEM;
	}
	if (!err && file->notes.cnt)
		err = tapir_vec__push(&d->files, file) ? 0 : -ENOMEM;
	if (err)
		d->sites.cnt = old_cnt;
	if (err || !file->notes.cnt)
		free_file(file);
	return err;
}

/* The path by which a file was found, the one by which it can be opened, and the process. */
struct image_path {
	const char *path, *openable;
	uint32_t tgid;
};

/* The probes of an image that was opened at a place. */
static int add_elf(struct tapir_discovery *d, struct tapir_elf *elf,
		   const struct image_path *image_path)
{
	const struct stat *st = tapir_elf__stat(elf);
	struct tapir_probe_file *file = calloc(1, sizeof(*file));
	int err = file ? tapir_usdt_notes__read(elf, &file->notes) : -ENOMEM;

	if (err >= 0)
		err = fill_file(elf, image_path->path, image_path->openable, file);
	if (err) {
		free_file(file);
		return err;
	}
	d->bad_probe_cnt += file->notes.bad_probe_cnt;
	file->tgid = image_path->tgid;
	file->dev = tapir_mapping_line__dev(st->st_dev);
	file->inode = st->st_ino;
	return take_file(d, file);
}

int tapir_discover__file(const char *path, struct tapir_discovery *d)
{
	const struct image_path image_path = {.path = path, .openable = path};
	struct tapir_elf *elf = NULL;
	int err = tapir_elf__open(path, &elf);

	if (err)
		return err;
	err = add_elf(d, elf, &image_path);
	tapir_elf__free(elf);
	d->file_cnt += !err;
	return err;
}

static int add_fd(struct tapir_discovery *d, int fd, const struct image_path *image_path)
{
	struct tapir_elf *elf = NULL;
	int err = tapir_elf__open_fd(fd, &elf);

	if (!err)
		err = add_elf(d, elf, image_path);
	tapir_elf__free(elf);
	return err;
}

/* ---- a process -------------------------------------------------------------------------- */

struct walk {
	struct tapir_discovery *discovery;
	uint32_t tgid;
};

/* Logs the lines after the first cnt and drops them: failures that do not count. */
static void forget_failures(int cnt)
{
	for (int i = cnt; i < tapir_diag__cnt(); i++)
		tapir_debug("%s", tapir_diag__line(i));
	tapir_diag__rewind(cnt);
}

static int visit_mapping(const struct tapir_mapping_line *m, void *ctx)
{
	struct walk *w = ctx;
	struct tapir_discovery *d = w->discovery;
	char openable[TAPIR_PROC_OPENABLE_BYTES];
	struct image_path image_path = {m->path, openable, w->tgid};
	tapir_autofd int fd = -1;
	bool is_new;
	int err;

	if (!m->is_executable || !tapir_mapping_line__is_file(m))
		return 0;
	if (!tapir_map__put(&d->seen, tapir_hash__mix(m->dev, m->inode), &is_new))
		return -ENOMEM;
	if (!is_new)
		return 0;
	d->file_cnt++;
	fd = tapir_proc__open_mapped(w->tgid, m, openable);
	err = fd < 0 ? fd : add_fd(d, fd, &image_path);
	if (err == -ENOMEM)
		return err;
	d->skipped_file_cnt += err < 0;
	return 0;
}

int tapir_discover__mappings(const struct tapir_mappings *mappings, struct tapir_discovery *d)
{
	struct walk w = {.discovery = d, .tgid = mappings->tgid};
	int diag_cnt = tapir_diag__cnt();
	int err = tapir_mappings__each(mappings, visit_mapping, &w);

	if (!err)
		forget_failures(diag_cnt);
	return err;
}

int tapir_discover__process(uint32_t tgid, struct tapir_discovery *d)
{
	struct tapir_mappings mappings = {};
	int err = tapir_mappings__read(tgid, &mappings);

	if (!err)
		err = tapir_discover__mappings(&mappings, d);
	tapir_mappings__fini(&mappings);
	return err;
}

static int visit_process(uint32_t tgid, void *ctx)
{
	struct tapir_discovery *d = ctx;
	int diag_cnt = tapir_diag__cnt();
	int err = tapir_discover__process(tgid, d);

	d->skipped_process_cnt += err == -EACCES || err == -EPERM;
	forget_failures(diag_cnt);
	return err == -ENOMEM ? err : 0; /* ended in the meantime, or may not be inspected */
}

int tapir_discover__all(struct tapir_discovery *d)
{
	return tapir_proc__each(visit_process, d);
}
