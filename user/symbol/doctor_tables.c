// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program that was built without unwind tables still has some: those of the C library's startup
 * code. And a library of data has code that never runs, without any. So what counts is how much of
 * a file's code is described.
 */
#include "symbol/doctor_tables.h"

#include <stdio.h>
#include <string.h>

#include "attach/doctor_checks.h"
#include "attach/proc.h"
#include "base/diag.h"
#include "base/file.h"
#include "elf/image.h"
#include "symbol/stack_end.h"
#include "attach/unwind/rows.h"
#include "attach/unwind/undescribed.h"

#define STARTUP_BYTES 1024 /* the linker's own code, all that a library of data has, is below */

struct search {
	uint32_t tgid;
	unsigned file_cnt;
	uint64_t undescribed_bytes; /* of the file that has most of them */
	char path[512];		    /* of that file; "": each file is described */
};

static uint64_t code_bytes(const struct tapir_elf *elf)
{
	const Elf64_Phdr *ph;
	uint64_t bytes = 0;

	for (size_t i = 0; (ph = tapir_elf__phdr_at_idx(elf, i)); i++)
		if (ph->p_type == PT_LOAD && ph->p_flags & PF_X)
			bytes += ph->p_filesz;
	return bytes;
}

static uint64_t described_bytes(struct tapir_elf *elf)
{
	struct tapir_unwind_rows rows = {};
	uint64_t bytes = 0;

	if (!tapir_unwind_rows__make(elf, &rows))
		for (size_t i = 0; i + 1 < rows.vec.cnt; i++)
			if (rows.vec.data[i].rule != TAPIR_UNWIND_GAP)
				bytes += rows.vec.data[i + 1].pc - rows.vec.data[i].pc;
	tapir_unwind_rows__fini(&rows);
	return bytes;
}

/*
 * Only the file with most code that no table describes is named: its functions are those without
 * callers in most stacks. Code that runs only at startup is not counted.
 */
static int see_table_mapping(const struct tapir_mapping_line *m, void *ctx)
{
	struct search *search = ctx;
	struct tapir_elf *elf = NULL;
	uint64_t of, described;

	if (!m->is_executable || !tapir_mapping_line__is_file(m) ||
	    m->path_len >= sizeof(search->path))
		return 0;
	tapir_autofd int fd = tapir_proc__open_mapped(search->tgid, m, NULL);

	if (fd < 0 || tapir_elf__open_fd(fd, &elf))
		return 0;
	of = code_bytes(elf);
	described = described_bytes(elf);
	tapir_elf__free(elf);
	search->file_cnt++;
	if (described >= of / 2 || of - described <= STARTUP_BYTES ||
	    of - described <= search->undescribed_bytes)
		return 0;
	search->undescribed_bytes = of - described;
	memcpy(search->path, m->path, m->path_len);
	search->path[m->path_len] = 0;
	return 0;
}

static void add_check(struct tapir_checkup *checkup, const struct search *search)
{
	const char *slash = strrchr(search->path, '/');
	struct tapir_check *check;

	check = tapir_checkup__add(checkup, "process_stacks",
				   "complete: each file describes its stack frames");
	if (!*search->path) {
		snprintf(check->found, sizeof(check->found), "unwind tables of %u file%s",
			 search->file_cnt, search->file_cnt == 1 ? "" : "s");
		return;
	}
	snprintf(check->found, sizeof(check->found), "%.100s", slash ? slash + 1 : search->path);
	check->state = TAPIR_CHECK_LIMITED;
	check->means = "end in this file: most of its code has no unwind table";
	check->remedy = tapir_stack_end__remedy(TAPIR_STACK_END_NO_TABLE);
}

void tapir_doctor_tables__check(struct tapir_checkup *checkup, uint32_t tgid)
{
	struct search search = {.tgid = tgid};
	int mark = tapir_diag__cnt();

	if (!tapir_proc__each_mapping(tgid, see_table_mapping, &search) && search.file_cnt)
		add_check(checkup, &search);
	tapir_diag__rewind(mark);
}
