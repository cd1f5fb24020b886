/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rows.h - the unwind rows of a file: its .eh_frame as one sorted list by file offset, in which
 * adjacent equal rows are one. undescribed.h adds what .eh_frame leaves out.
 *
 * The file may be hostile: work and memory are bounded (64 MB of unwind data, 4 M rows), and the
 * worst a row can do is to give a wrong caller. x86-64. One thread per file.
 */
#ifndef TAPIR_USER_UNWIND_ROWS_H
#define TAPIR_USER_UNWIND_ROWS_H

#include "base/vec.h"
#include "bpf/unwind.h"

struct tapir_elf;
struct tapir_file_code;

#define TAPIR_UNWIND_MAX_ROWS (4u << 20)

struct tapir_unwind_rows {
	struct tapir_vec(struct tapir_unwind_row) vec; /* the first and the last one are GAPs */
	uint32_t function_cnt;
	uint32_t unsupported_cnt; /* rows UNSUPPORTED, before merging */
	uint32_t lost_fp_cnt;	  /* rows after which the frame pointer is not known */
	uint32_t broken_cnt; /* functions left out: malformed, or outside executable segments */
};

/*
 * Reads the rows of .eh_frame. out: zeroed, of the caller, who calls __fini also after a failure.
 * -ENOENT: the file is not for x86-64; -EFBIG: too much unwind data; -ENOMEM. No line.
 */
int tapir_unwind_rows__describe(struct tapir_elf *elf, struct tapir_file_code *code,
				struct tapir_unwind_rows *out);
void tapir_unwind_rows__fini(struct tapir_unwind_rows *rows);

/* Fills gaps of rows with what under has there, which is sorted. 0 or -ENOMEM. */
int tapir_unwind_rows__underlay(struct tapir_unwind_rows *rows,
				const struct tapir_unwind_row *under, size_t cnt);

/* Adds row for the parts of [from, until) that no row but a GAP covers. 0 or -ENOMEM. */
int tapir_unwind_rows__fill(struct tapir_unwind_rows *rows, uint32_t from, uint32_t until,
			    struct tapir_unwind_row row);
/* The same, whatever rows there are. */
int tapir_unwind_rows__replace(struct tapir_unwind_rows *rows, uint32_t from, uint32_t until,
			       struct tapir_unwind_row row);

#endif
