/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * symbol_files.h - the symbols of a file by its build ID, from elsewhere: debug files on this
 * machine, directories, and servers that the user named. Nothing is fetched unless a server was
 * added.
 *
 * A server may speak debuginfod's protocol (buildid/ID/debuginfo) or have the keys of Microsoft's
 * symbol servers (_.debug/elf-buildid-sym-ID/_.debug, FILE/elf-buildid-ID/FILE); both are asked.
 * libdebuginfod is not used: it has no limit for connecting, and a cache of its own.
 * A file counts only if its build ID is the one requested. One thread at a time.
 */
#ifndef TAPIR_USER_SYMBOL_FILES_H
#define TAPIR_USER_SYMBOL_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "tapir/abi.h"

struct tapir_elf;
struct tapir_symbol_files;

#define TAPIR_SYMBOL_FILE_MAX_BYTES (1ull << 30)

/* Callbacks while a caller waits for a file that is fetched. */
struct tapir_symbol_watch {
	/* Ten times a second. False: stop; nothing more is fetched. */
	bool (*should_continue)(void *ctx, const char *file, uint64_t done, uint64_t total);
	void (*ended)(void *ctx); /* of one file */
	void *ctx;
};

/* watch: borrowed; NULL: no callbacks. 0 or -ENOMEM; *out is the caller's to free. */
int tapir_symbol_files__new(const struct tapir_symbol_watch *watch,
			    struct tapir_symbol_files **out);
void tapir_symbol_files__free(struct tapir_symbol_files *f);

bool tapir_symbol_source__is_url(const char *source); /* http:// or https:// */

/*
 * Returns the URL of a server that is known by its name, NULL: there is none of that name.
 * "microsoft" has the symbols of .NET runtimes, "debuginfod" those of many distributions.
 */
const char *tapir_symbol_source__url_of(const char *name);

/*
 * Adds a directory or a URL, copied; they are asked in this order. -errno with a line: no such
 * directory, no libcurl.
 */
int tapir_symbol_files__add(struct tapir_symbol_files *f, const char *source);

/*
 * Adds the files within a recording (trace/stored_files.h): they are taken where this machine has
 * none, before all sources. fd: of the recording, of which a duplicate is kept. 0, or -errno with a
 * line.
 */
int tapir_symbol_files__add_recording(struct tapir_symbol_files *f, int fd);

struct tapir_symbol_key {
	const uint8_t *build_id;
	size_t build_id_bytes;
	const char *path; /* of the file, where it was mapped: any bytes */
	bool with_lines;  /* only an image that has DWARF: the file itself, or of its debug file */
};

/* The key of a mapped file, whose path is put into path; both as long as these two. */
struct tapir_symbol_key tapir_symbol_key__of(const struct tapir_rec_mapping *mapping,
					     struct tapir_str *path);

/*
 * Opens an image that has function symbols, the caller's to free. -ENOENT: none was found; a server
 * that failed is reported once, as a warning.
 */
int tapir_symbol_files__open(struct tapir_symbol_files *f, const struct tapir_symbol_key *key,
			     struct tapir_elf **out);
/* Opens what dwz(1) took out of an image, the caller's to free. -ENOENT: nothing, or not found. */
int tapir_symbol_files__open_alt(struct tapir_symbol_files *f, struct tapir_elf *elf,
				 struct tapir_elf **out);

#endif
