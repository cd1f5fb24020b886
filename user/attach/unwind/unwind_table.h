/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unwind_table.h - rows as the BPF walker searches them (bpf/unwind.h): blocks of rows with an
 * index by granule of code in front, in one piece of memory that can be copied into a map or a
 * file. A table is constant once it is made; any thread.
 */
#ifndef TAPIR_USER_UNWIND_TABLE_H
#define TAPIR_USER_UNWIND_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf/unwind.h"

struct tapir_elf;
struct tapir_unwind_rows;

/* The extent of the blocks' contents. */
struct tapir_unwind_shape {
	uint32_t first_pc;
	uint32_t granule_cnt;
	uint32_t block_cnt; /* index blocks included */
	uint32_t row_cnt;
	uint32_t unsupported_cnt, lost_fp_cnt, broken_cnt; /* rows.h */
	uint32_t segments_end;				   /* of struct tapir_unwind_file */
	uint32_t is_assembly; /* of .NET: what it leaves out has frame pointers */
	uint32_t pad0;
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_unwind_shape) == 40, "tapir_unwind_shape");

struct tapir_unwind_table {
	struct tapir_unwind_shape shape;
	struct tapir_unwind_block *blocks; /* shape.block_cnt of them */
};

/* Code that a table may span: what is larger is not a program. */
#define TAPIR_UNWIND_MAX_GRANULES (4u << 20)

/*
 * Packs rows into blocks; *out is the caller's, to __free. -EFBIG: its code is too far apart;
 * -ENOMEM.
 */
int tapir_unwind_table__pack(const struct tapir_unwind_rows *rows, struct tapir_unwind_table **out);

/* Reads the rows of a file and packs them: with the errors of rows.h. No line. */
int tapir_unwind_table__build(struct tapir_elf *elf, struct tapir_unwind_table **out);
/* The same of an assembly, by a handle of the file: with the errors of r2r_rows.h. No line. */
int tapir_unwind_table__build_assembly(int fd, struct tapir_unwind_table **out);
void tapir_unwind_table__free(struct tapir_unwind_table *t);

static inline size_t tapir_unwind_table__bytes(const struct tapir_unwind_shape *shape)
{
	return (size_t)shape->block_cnt * sizeof(struct tapir_unwind_block);
}

/* Returns true if pc is behind the file's segments, in code that it has no rows for. */
static inline bool tapir_unwind_table__is_past_segments(const struct tapir_unwind_table *t,
							uint32_t pc)
{
	return t->shape.segments_end && pc >= t->shape.segments_end;
}

/* Returns true if every index word leads to rows that are there and sorted: for what a file was
 * read from.
 */
bool tapir_unwind_table__is_sound(const struct tapir_unwind_table *t);

/* Returns the row that holds at pc, as the walker finds it; NULL: none. Borrowed. */
const struct tapir_unwind_row *tapir_unwind_table__find(const struct tapir_unwind_table *t,
							uint32_t pc);

#endif
