/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * discover.h - which probes exist: in a file, in what a process maps, in what all processes map.
 *
 * Each file is read once, identified by the device and inode in the mappings. A file that cannot be
 * read is skipped, counted and logged at debug level: other users' processes map all kinds of
 * files. One thread.
 */
#ifndef TAPIR_USER_DISCOVER_H
#define TAPIR_USER_DISCOVER_H

#include <stddef.h>
#include <stdint.h>

#include "attach/proc.h"
#include "base/map.h"
#include "base/vec.h"
#include "elf/notes.h"
#include "tapir/abi.h"

/* A file with at least one probe. */
struct tapir_probe_file {
	char *path;	/* as its process sees it, or as it was given */
	char *openable; /* a path that opens it from here while the process maps it */
	char *link;	/* by which other tools open it, set by a caller that knows one; or NULL */
	uint32_t tgid;	/* the first process found to map it; 0: it was given by path */
	uint32_t dev;	/* major << 20 | minor */
	uint64_t inode;
	uint64_t file_id; /* of the content: abi.h */
	uint8_t build_id[TAPIR_BUILD_ID_BYTES];
	size_t build_id_bytes; /* 0: none */
	struct tapir_usdt_notes notes;
};

/* The name that a person is shown for the file. Borrowed. */
const char *tapir_probe_file__shown(const struct tapir_probe_file *file);

/* One place where a probe fires. */
struct tapir_site_info {
	const struct tapir_probe_file *file; /* borrowed from the discovery */
	const struct tapir_usdt_note *note;
};

struct tapir_discovery {
	struct tapir_vec(struct tapir_site_info) sites;
	struct tapir_vec(struct tapir_probe_file *) files;
	size_t file_cnt;	    /* inspected, with or without probes */
	size_t skipped_file_cnt;    /* could not be read, or are no ELF files */
	size_t bad_probe_cnt;	    /* of all files: left out (elf/notes.h) */
	size_t skipped_process_cnt; /* not readable; __all only */
	struct tapir_map seen;	    /* files inspected */
};

/*
 * Each adds to what discovery (zeroed at first) holds; a failure, -errno with a line, adds nothing.
 * mappings is borrowed for the call.
 */
int tapir_discover__file(const char *path, struct tapir_discovery *discovery);
int tapir_discover__process(uint32_t tgid, struct tapir_discovery *discovery);
int tapir_discover__mappings(const struct tapir_mappings *mappings,
			     struct tapir_discovery *discovery);
int tapir_discover__all(struct tapir_discovery *discovery);
/* Frees files, their notes and sites. */
void tapir_discovery__fini(struct tapir_discovery *discovery);

#endif
