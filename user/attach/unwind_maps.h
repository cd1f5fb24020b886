/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unwind_maps.h - puts unwind tables and the mappings of processes where the BPF walker reads them
 * (bpf/unwind.h). What is in them is decided by record/unwind_tables.h and unwind_spaces.h.
 *
 * Any thread; two threads must not change the same file or process at once.
 */
#ifndef TAPIR_USER_UNWIND_MAPS_H
#define TAPIR_USER_UNWIND_MAPS_H

#include "bpf/unwind.h"

struct tapir_programs;
struct tapir_unwind_maps;

/* programs is borrowed until __free. 0; -ENODATA: it has no BPF programs; -ENOMEM. */
int tapir_unwind_maps__new(struct tapir_programs *programs, struct tapir_unwind_maps **out);
void tapir_unwind_maps__free(struct tapir_unwind_maps *m);

/*
 * Returns the element of a file, shared with the kernel, borrowed. file_idx < TAPIR_UNWIND_FILES.
 */
volatile struct tapir_unwind_file *tapir_unwind_maps__file(const struct tapir_unwind_maps *m,
							   uint32_t file_idx);

/* Makes a map with a copy of a table. Returns an fd, the caller's, or -errno. No line. */
int tapir_unwind_maps__make_table(const struct tapir_unwind_block *blocks, uint32_t block_cnt);

#define TAPIR_UNWIND_MAX_BATCH 64

/*
 * Puts such tables in their places, cnt <= TAPIR_UNWIND_MAX_BATCH, all after one RCU grace period:
 * not on a thread that others wait for. 0 or -errno: none is there. No line.
 */
int tapir_unwind_maps__put_tables(struct tapir_unwind_maps *m, const uint32_t *file_idxs,
				  const int *fds, uint32_t cnt);
/* Removes a table; also waits. The kernel keeps it for programs that read it now. */
void tapir_unwind_maps__del_table(struct tapir_unwind_maps *m, uint32_t file_idx);

/*
 * Puts, and removes, a block of a process's mappings. -E2BIG: more processes than the map holds. No
 * line.
 */
int tapir_unwind_maps__set_space(struct tapir_unwind_maps *m, uint32_t tgid, uint32_t block,
				 const struct tapir_unwind_space *space);
void tapir_unwind_maps__del_space(struct tapir_unwind_maps *m, uint32_t tgid, uint32_t block);

#endif
