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
 * Adds a directory or a URL, copied; they are asked in this order. -errno with a line: no such
 * directory, no libcurl.
 */
int tapir_symbol_files__add(struct tapir_symbol_files *f, const char *source);

struct tapir_symbol_key {
	const uint8_t *build_id;
	size_t build_id_bytes;
	const char *path; /* of the file, where it was mapped: any bytes */
	bool with_lines;  /* only an image that has DWARF: the file itself, or of its debug file */
};

/*
 * Opens an image that has function symbols, the caller's to free. -ENOENT: none was found; a server
 * that failed is reported once, as a warning.
 */
int tapir_symbol_files__open(struct tapir_symbol_files *f, const struct tapir_symbol_key *key,
			     struct tapir_elf **out);

#endif
