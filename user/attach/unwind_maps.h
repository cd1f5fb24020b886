/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unwind_maps.h - puts unwind tables and the mappings of processes where the BPF walker reads them
 * (bpf/unwind.h). What is in them is decided by collect/unwind_tables.h and unwind_spaces.h.
 *
 * Any thread; two threads must not change the same file or process at once.
 */
#ifndef TAPIR_USER_UNWIND_MAPS_H
#define TAPIR_USER_UNWIND_MAPS_H

#include "bpf/unwind.h"

struct tapir_programs;
struct tapir_unwind_maps;

/* programs is borrowed. -ENODATA: it has no BPF programs. */
int tapir_unwind_maps__new(struct tapir_programs *programs, struct tapir_unwind_maps **out);
void tapir_unwind_maps__free(struct tapir_unwind_maps *m);

/* Shared with the kernel; file_idx < TAPIR_UNWIND_FILES. */
volatile struct tapir_unwind_file *tapir_unwind_maps__file(const struct tapir_unwind_maps *m,
							   uint32_t file_idx);

/* Copies a table. Waits for an RCU grace period: not on a thread that others wait for. No line. */
int tapir_unwind_maps__put_table(struct tapir_unwind_maps *m, uint32_t file_idx,
				 const struct tapir_unwind_block *blocks, uint32_t block_cnt);
/* Also waits. The kernel keeps it for programs that read it now. */
void tapir_unwind_maps__del_table(struct tapir_unwind_maps *m, uint32_t file_idx);

/* -E2BIG: more processes than the map holds. No line. */
int tapir_unwind_maps__set_space(struct tapir_unwind_maps *m, uint32_t tgid, uint32_t block,
				 const struct tapir_unwind_space *space);
void tapir_unwind_maps__del_space(struct tapir_unwind_maps *m, uint32_t tgid, uint32_t block);

#endif
