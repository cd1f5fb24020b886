/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unwind_spaces.h - which executable code each traced process maps where, for the BPF walker
 * (bpf/unwind.h): kept from the records that describe processes and mappings, written to the kernel
 * by __flush after each batch of them. The kernel reports no munmap: a mapping goes when another
 * one takes its place, or when /proc/PID/maps is read again, which is done for processes that map
 * new code, a few each second.
 *
 * On the session thread. Failures cost stacks their callers, never a recording.
 */
#ifndef TAPIR_USER_UNWIND_SPACES_H
#define TAPIR_USER_UNWIND_SPACES_H

#include <stdint.h>

#include "tapir/abi.h"

struct tapir_interp_stacks;
struct tapir_unwind_maps;
struct tapir_unwind_spaces;
struct tapir_unwind_tables;

/* All are borrowed; interp_stacks NULL: what interpreters run is not walked. */
int tapir_unwind_spaces__new(struct tapir_unwind_maps *maps, struct tapir_unwind_tables *tables,
			     struct tapir_interp_stacks *interp_stacks,
			     struct tapir_unwind_spaces **out);
void tapir_unwind_spaces__free(struct tapir_unwind_spaces *s);

/* Takes every describing record; fd: of a MAPPING its file, borrowed; -1: none. */
void tapir_unwind_spaces__on_record(struct tapir_unwind_spaces *s, const struct tapir_rec *rec,
				    int fd);
void tapir_unwind_spaces__flush(struct tapir_unwind_spaces *s);
void tapir_unwind_spaces__poll(struct tapir_unwind_spaces *s); /* once per second */

/* Sets the bit of each file_idx that a process maps. */
void tapir_unwind_spaces__mapped(const struct tapir_unwind_spaces *s, uint64_t *bits);

/*
 * Makes rows of that file which the walker keeps by address void, in every process, after __flush.
 */
void tapir_unwind_spaces__renew(struct tapir_unwind_spaces *s, uint32_t file_idx);

/*
 * Returns the number of mappings that no process's list, and processes that no map, had room for.
 */
uint64_t tapir_unwind_spaces__refused(const struct tapir_unwind_spaces *s);

#endif
