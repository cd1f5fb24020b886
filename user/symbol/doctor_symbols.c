// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Checks the largest executable mapping, and searches debug files where `symbolize` would. A
 * program that only starts a runtime is small: then the largest library counts.
 */
#include "symbol/doctor_symbols.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "attach/doctor_checks.h"
#include "attach/proc.h"
#include "base/diag.h"
#include "base/file.h"
#include "elf/debug_file.h"
#include "elf/image.h"
#include "base/foreign/foreign_file.h"
#include "symbol/symbol_package.h"

#define LATER	       "name them later with 'tapir symbolize FILE --symbols DIR|URL'"

#define LAUNCHER_BYTES (128u << 10) /* of code: what only starts a runtime is far below */

/* The program; or the largest piece of code that is of an ELF file, where the program only loads
 * it. */
struct search {
	uint32_t tgid;
	uint64_t bytes;
	bool is_found;
	struct tapir_elf *elf; /* NULL: none */
	char path[512];
};

static int see_code_mapping(const struct tapir_mapping_line *m, void *ctx)
{
	struct search *search = ctx;
	struct tapir_elf *elf = NULL;
	bool is_first = !search->elf;

	if (search->is_found || !m->is_executable || !tapir_mapping_line__is_file(m) ||
	    m->end_va - m->start_va <= search->bytes || m->path_len >= sizeof(search->path))
		return 0;
	tapir_autofd int fd = tapir_proc__open_mapped(search->tgid, m, NULL);

	if (fd < 0 || tapir_elf__open_fd(fd, &elf))
		return 0;
	tapir_elf__free(search->elf);
	search->elf = elf;
	search->bytes = m->end_va - m->start_va;
	memcpy(search->path, m->path, m->path_len);
	search->path[m->path_len] = 0;
	search->is_found = is_first && search->bytes > LAUNCHER_BYTES;
	return 0;
}

static bool has_names(const struct search *search, int root_fd)
{
	struct tapir_debug_location own = {.root_fd = root_fd, .path = search->path};
	struct tapir_elf *debug = NULL;
	bool has = tapir_debug_file__has_functions(search->elf) ||
		   (root_fd >= 0 && !tapir_debug_file__open(search->elf, &own, &debug));

	tapir_elf__free(debug);
	return has;
}

/* Does the process see our files, which our packages are of? */
static bool shares_root(uint32_t tgid, int root_fd)
{
	tapir_autofd int theirs_fd = tapir_foreign__root(tgid);
	struct stat own, theirs;

	return root_fd >= 0 && theirs_fd >= 0 && !fstat(root_fd, &own) &&
	       !fstat(theirs_fd, &theirs) && own.st_dev == theirs.st_dev &&
	       own.st_ino == theirs.st_ino;
}

static const char *remedy_of(const struct search *search, int root_fd)
{
	static char remedy[256]; /* one process is checked at a time */
	struct tapir_str package = {};

	snprintf(remedy, sizeof(remedy), "%s", LATER);
	if (shares_root(search->tgid, root_fd) &&
	    tapir_symbol_package__add(&package, tapir_sv__of(search->path), NULL))
		snprintf(remedy, sizeof(remedy), "install package %.100s, or %s", package.data,
			 LATER);
	tapir_str__fini(&package);
	return remedy;
}

static void add_check(struct tapir_checkup *checkup, const struct search *search)
{
	const char *slash = strrchr(search->path, '/');
	tapir_autofd int root_fd = tapir_foreign__root(0);
	struct tapir_check *check;

	check = tapir_checkup__add(checkup, "process_symbols",
				   "functions of its program or its largest file");
	snprintf(check->found, sizeof(check->found), "%.100s", slash ? slash + 1 : search->path);
	if (!has_names(search, root_fd)) {
		check->state = TAPIR_CHECK_LIMITED;
		check->means = "stripped: functions that it does not export have no names";
		check->remedy = remedy_of(search, root_fd);
	}
}

void tapir_doctor_symbols__check(struct tapir_checkup *checkup, uint32_t tgid)
{
	struct search search = {.tgid = tgid};
	int mark = tapir_diag__cnt();

	if (!tapir_proc__each_mapping(tgid, see_code_mapping, &search) && search.elf)
		add_check(checkup, &search);
	tapir_elf__free(search.elf);
	tapir_diag__rewind(mark);
}
