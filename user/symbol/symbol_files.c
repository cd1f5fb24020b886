// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Searches this machine, the recording itself, then directories and servers in the order in which
 * they were named. A file counts only if its build ID is the requested one, wherever it is from.
 */
#include "symbol/symbol_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "base/vec.h"
#include "elf/debug_file.h"
#include "elf/image.h"
#include "base/foreign/foreign_file.h"
#include "symbol/symbol_server.h"
#include "trace/record.h"
#include "trace/stored_files.h"

struct source {
	char *dir; /* NULL: a server */
	struct tapir_symbol_server *server;
};

struct tapir_symbol_files {
	struct tapir_symbol_watch watch;
	struct tapir_vec(struct source) sources;
	struct tapir_symbol_fetcher *fetcher; /* NULL: no server was named */
	struct tapir_vec(struct tapir_stored_files *) recordings;
};

int tapir_symbol_files__new(const struct tapir_symbol_watch *watch, struct tapir_symbol_files **out)
{
	struct tapir_symbol_files *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	if (watch)
		f->watch = *watch;
	*out = f;
	return 0;
}

void tapir_symbol_files__free(struct tapir_symbol_files *f)
{
	struct source *source;

	if (!f)
		return;
	tapir_vec_for_each (source, &f->sources) {
		free(source->dir);
		tapir_symbol_server__free(source->server);
	}
	tapir_vec__fini(&f->sources);
	for (size_t i = 0; i < f->recordings.cnt; i++)
		tapir_stored_files__close(f->recordings.data[i]);
	tapir_vec__fini(&f->recordings);
	tapir_symbol_fetcher__free(f->fetcher);
	free(f);
}

int tapir_symbol_files__add_recording(struct tapir_symbol_files *f, int fd)
{
	struct tapir_stored_files *stored;
	int err = tapir_stored_files__open(fd, &stored);

	if (err || tapir_vec__push(&f->recordings, stored))
		return err;
	tapir_stored_files__close(stored);
	return -ENOMEM;
}

bool tapir_symbol_source__is_url(const char *source)
{
	return !strncmp(source, "http://", 7) || !strncmp(source, "https://", 8);
}

const char *tapir_symbol_source__url_of(const char *name)
{
	static const char *const servers[][2] = {
		{"microsoft", "https://msdl.microsoft.com/download/symbols"},
		{"debuginfod", "https://debuginfod.elfutils.org"},
	};

	for (size_t i = 0; i < sizeof(servers) / sizeof(servers[0]); i++)
		if (!strcmp(servers[i][0], name))
			return servers[i][1];
	return NULL;
}

static int add_server(struct tapir_symbol_files *f, const char *url, struct source *out)
{
	int err = f->fetcher ? 0 : tapir_symbol_fetcher__new(&f->watch, &f->fetcher);

	return err ? err : tapir_symbol_server__new(url, &out->server);
}

static int add_dir(const char *dir, struct source *out)
{
	tapir_autofd int fd = tapir_foreign__take_own(dir);
	struct stat st;

	if (fd < 0 || tapir_foreign__stat(fd, &st))
		return tapir_diag__fail(fd < 0 ? fd : -errno, "cannot open %s: %s", dir,
					tapir_errno__text(fd < 0 ? fd : errno));
	if (!S_ISDIR(st.st_mode))
		return tapir_diag__fail(-ENOTDIR, "%s is not a directory of symbol files", dir);
	out->dir = strdup(dir);
	return out->dir ? 0 : -ENOMEM;
}

int tapir_symbol_files__add(struct tapir_symbol_files *f, const char *text)
{
	struct source source = {};
	int err = tapir_symbol_source__is_url(text) ? add_server(f, text, &source)
						    : add_dir(text, &source);

	if (!err && !tapir_vec__push(&f->sources, source))
		err = -ENOMEM;
	if (err) {
		free(source.dir);
		tapir_symbol_server__free(source.server);
	}
	return err;
}

/* ---- directories ------------------------------------------------------------------------- */

/* A file of DIR, whose name is %n (the file's), %p (its path), %i (the build ID), %a, %b (its first
 * digits, the others). */
static const char *const forms[] = {
	".build-id/%a/%b.debug",
	"%a/%b.debug",
	"%i/debuginfo",
	"buildid/%i/debuginfo",
	"_.debug/elf-buildid-sym-%i/_.debug",
	"%n/elf-buildid-%i/%n",
	"%p.debug",
	"%n.debug",
	"%n.dbg",
	".debug/%n.debug",
	"%n",
};

/*
 * A form has %a and %b, the first byte of the build ID and the others, %i, all of it, %p, the path,
 * and %n, the file's name.
 */
static void put_form(struct tapir_str *out, const char *form, const struct tapir_symbol_key *key)
{
	const char *slash = strrchr(key->path, '/');

	for (; *form; form++) {
		if (*form != '%') {
			tapir_str__addc(out, *form);
			continue;
		}
		switch (*++form) {
		case 'a':
			tapir_str__add_hex(out, key->build_id, 1);
			break;
		case 'b':
			tapir_str__add_hex(out, key->build_id + 1, key->build_id_bytes - 1);
			break;
		case 'i':
			tapir_str__add_hex(out, key->build_id, key->build_id_bytes);
			break;
		case 'p':
			tapir_str__adds(out, key->path);
			break;
		default:
			tapir_str__adds(out, slash ? slash + 1 : key->path);
		}
	}
}

static int open_in_dir(const char *dir, const struct tapir_symbol_key *key, struct tapir_elf **out)
{
	struct tapir_str path = {};
	int err = -ENOENT;

	for (size_t i = 0; err && i < sizeof(forms) / sizeof(*forms); i++) {
		struct tapir_elf *elf = NULL;
		int mark = tapir_diag__cnt();

		tapir_str__clear(&path);
		tapir_str__addf(&path, "%s/", dir);
		put_form(&path, forms[i], key);
		if (path.failed || tapir_elf__open(path.data, &elf)) {
			tapir_diag__rewind(mark);
			continue;
		}
		if (tapir_debug_file__is_of(elf, key->build_id, key->build_id_bytes) &&
		    tapir_debug_file__has_functions(elf)) {
			*out = elf;
			err = 0;
		} else {
			tapir_elf__free(elf);
		}
	}
	tapir_str__fini(&path);
	return err;
}

/* ---- the recording ------------------------------------------------------------------------ */

static void warn_of_copy(const char *path, int err)
{
	struct tapir_str line = {};

	tapir_str__adds(&line, "the recording's copy of the debug file of ");
	tapir_str__add_printable(&line, path, strlen(path));
	tapir_str__addf(&line, " cannot be used: %s",
			err == -EBADMSG	 ? "it is damaged"
			: err == -EFBIG	 ? "it is too large"
			: err == -ESTALE ? "it is of another build"
					 : tapir_errno__text(err));
	if (line.data)
		tapir_warn("%s", line.data);
	tapir_str__fini(&line);
}

/* A descriptor, -ENOENT: no recording has it, or what the last one that has it failed with. */
static int unpack_stored(struct tapir_symbol_files *f, const uint8_t *build_id, size_t len)
{
	int fd = -ENOENT;

	for (size_t i = 0; fd < 0 && i < f->recordings.cnt; i++)
		if (tapir_stored_files__has(f->recordings.data[i], build_id, len))
			fd = tapir_stored_files__unpack(f->recordings.data[i], build_id, len);
	return fd;
}

static int open_stored(struct tapir_symbol_files *f, const struct tapir_symbol_key *key,
		       struct tapir_elf **out)
{
	tapir_autofd int fd = unpack_stored(f, key->build_id, key->build_id_bytes);
	int err = fd;

	if (fd >= 0) {
		err = tapir_symbol_copy__open(fd, key, out);
		err = err == -ENOENT ? -EBADMSG : err;
	}
	if (err && err != -ENOENT)
		warn_of_copy(key->path, err);
	return err ? -ENOENT : 0;
}

static int open_stored_alt(struct tapir_symbol_files *f, struct tapir_elf *elf,
			   struct tapir_elf **out)
{
	size_t len;
	const uint8_t *id = tapir_debug_file__alt_id(elf, &len);
	tapir_autofd int fd = id ? unpack_stored(f, id, len) : -ENOENT;
	struct tapir_elf *found = NULL;

	if (fd < 0 || tapir_elf__open_fd(fd, &found))
		return -ENOENT;
	if (tapir_debug_file__is_of(found, id, len)) {
		*out = found;
		return 0;
	}
	tapir_elf__free(found);
	return -ENOENT;
}

int tapir_symbol_files__open_alt(struct tapir_symbol_files *f, struct tapir_elf *elf,
				 struct tapir_elf **out)
{
	tapir_autofd int root_fd = tapir_foreign__root(0);
	const struct tapir_debug_location location = {.root_fd = root_fd};
	int mark = tapir_diag__cnt(), err = tapir_debug_file__open_alt(elf, &location, out);

	if (err)
		err = open_stored_alt(f, elf, out);
	tapir_diag__rewind(mark);
	return err;
}

/* ---- all --------------------------------------------------------------------------------- */

/* The file that was mapped, if it is still there and has lines, or names what has them. */
static int open_itself(const struct tapir_symbol_key *key, struct tapir_elf **out)
{
	tapir_autofd int root_fd = tapir_foreign__root(0);
	const struct tapir_debug_location location = {.root_fd = root_fd, .path = key->path};
	tapir_autofd int fd =
		root_fd < 0 || *key->path != '/' ? -1 : tapir_foreign__open(root_fd, key->path, 0);
	struct tapir_elf *elf = NULL, *linked = NULL;
	int mark = tapir_diag__cnt(), err = -ENOENT;

	if (fd >= 0 && !tapir_elf__open_fd(fd, &elf) &&
	    tapir_debug_file__is_of(elf, key->build_id, key->build_id_bytes))
		err = tapir_debug_file__has_lines(elf)
			      ? 0
			      : tapir_debug_file__open(elf, &location, &linked);
	tapir_diag__rewind(mark);
	if (err || linked) {
		tapir_elf__free(elf);
		elf = linked;
	}
	if (!err)
		*out = elf;
	return err;
}

static int open_here(const struct tapir_symbol_key *key, struct tapir_elf **out)
{
	tapir_autofd int root_fd = tapir_foreign__root(0);
	const struct tapir_debug_location location = {.root_fd = root_fd, .path = key->path};

	return root_fd < 0
		       ? -ENOENT
		       : tapir_debug_file__find(key->build_id, key->build_id_bytes, &location, out);
}

/* Frees what has no lines although they are requested. */
static int check_lines(const struct tapir_symbol_key *key, struct tapir_elf **elf)
{
	if (!key->with_lines || tapir_debug_file__has_lines(*elf))
		return 0;
	tapir_elf__free(*elf);
	*elf = NULL;
	return -ENOENT;
}

static int open_of(struct tapir_symbol_files *f, const struct source *source,
		   const struct tapir_symbol_key *key, struct tapir_elf **out)
{
	int err = source->dir ? open_in_dir(source->dir, key, out)
			      : tapir_symbol_server__open(source->server, f->fetcher, key, out);

	return err ? err : check_lines(key, out);
}

struct tapir_symbol_key tapir_symbol_key__of(const struct tapir_rec_mapping *mapping,
					     struct tapir_str *path)
{
	struct tapir_mapping_view view;

	tapir_mapping_view__of(&mapping->h, &view);
	tapir_str__adds(path, "");
	tapir_str__add(path, view.path.data, strnlen(view.path.data, view.path.len));
	return (struct tapir_symbol_key){.build_id = (const uint8_t *)view.build_id.data,
					 .build_id_bytes = view.build_id.len,
					 .path = path->data ? path->data : ""};
}

int tapir_symbol_files__open(struct tapir_symbol_files *f, const struct tapir_symbol_key *key,
			     struct tapir_elf **out)
{
	struct tapir_elf *elf = NULL;
	struct source *source;
	int err;

	if (key->build_id_bytes < 2)
		return -ENOENT;
	err = key->with_lines ? open_itself(key, &elf) : -ENOENT;
	if (err)
		err = open_here(key, &elf);
	err = err ? err : check_lines(key, &elf);
	if (err) {
		err = open_stored(f, key, &elf);
		err = err ? err : check_lines(key, &elf);
	}
	if (err && f->fetcher) {
		err = tapir_symbol_fetcher__cached(f->fetcher, key, &elf);
		err = err ? err : check_lines(key, &elf);
	}
	tapir_vec_for_each (source, &f->sources) {
		if (!err)
			break;
		err = open_of(f, source, key, &elf);
	}
	if (!err)
		*out = elf;
	return err;
}
