/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * import_names.h - names of the addresses of an imported recording: of files that are still here
 * and are the same (by build ID, else by inode), of this kernel if it is the one that ran, and of
 * generated code, as the file itself or the runtime's jitdump or perf map has it.
 *
 * Paths come from the file that is imported: they are opened as another process's are
 * (base/foreign/foreign_file.h). One thread; no privileges but for reading the files.
 */
#ifndef TAPIR_USER_IMPORT_NAMES_H
#define TAPIR_USER_IMPORT_NAMES_H

#include "symbol/jit_table.h"
#include "trace/catalog.h"

struct tapir_import_names;

/* catalog is borrowed. 0 or -ENOMEM. */
int tapir_import_names__new(struct tapir_catalog *catalog, struct tapir_import_names **out);
void tapir_import_names__free(struct tapir_import_names *n);

/* A mapped file as the recording has it. */
struct tapir_import_file {
	const char *path; /* path_len bytes, any */
	size_t path_len;
	const uint8_t *build_id;
	size_t build_id_bytes; /* 0: not known */
	uint32_t dev;	       /* major << 20 | minor; with inode, where there is no build ID */
	uint64_t inode;	       /* 0: not known */
};

/*
 * Fills file_id, vaddr_pages, build_id and build_id_bytes of a mapping. A file that is not here, or
 * is another one by now, has its build ID only: 'tapir symbolize' may find its names.
 */
void tapir_import_names__of_file(struct tapir_import_names *n, const struct tapir_import_file *file,
				 struct tapir_rec_mapping *mapping);

/*
 * Returns true if the kernel of that release and build ID is the one that runs, at the same
 * address: text_va is that of its first function.
 */
bool tapir_import_names__has_kernel(const char *release, const uint8_t *build_id,
				    size_t build_id_bytes, uint64_t text_va);

/* Generated code of a process: as tapir_jit_table__add; -ENOSPC also for one process too many. */
int tapir_import_names__add_code(struct tapir_import_names *n, uint32_t tgid,
				 const struct tapir_jit_name *name);
/* The code of that process that begins there ends. */
void tapir_import_names__end_code(struct tapir_import_names *n, uint32_t tgid, uint64_t start_va,
				  uint64_t at_ns);
/*
 * A process mapped its jitdump: reads it, if it is still there. is_monotonic: the recording's times
 * are those of the jitdump; else its names count as long as nothing takes their addresses.
 */
void tapir_import_names__read_jitdump(struct tapir_import_names *n, uint32_t tgid, const char *path,
				      size_t path_len, bool is_monotonic, uint64_t end_ns);

/* Describes the names of what the catalog lists as unnamed. 0 or the writer's error. */
int tapir_import_names__name_new_stacks(struct tapir_import_names *n);

#endif
