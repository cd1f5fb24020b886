/* SPDX-License-Identifier: GPL-2.0-or-later */
/* interp_reader.h - the functions that an interpreter runs, of a process's threads, for one look.
 */
#ifndef TAPIR_USER_INTERP_READER_H
#define TAPIR_USER_INTERP_READER_H

#include "record/threads/snapshot_impl.h"

struct tapir_interp_reader;

/* p: stays where it is. NULL: no memory */
struct tapir_interp_reader *tapir_interp_reader__new(const struct tapir_process_copy *p);
void tapir_interp_reader__free(struct tapir_interp_reader *reader);
/* Reads the functions of a thread, if it runs some. 0 or -ENOMEM. */
int tapir_interp_reader__read(const struct tapir_interp_reader *reader,
			      struct tapir_thread_copy *copy);

#endif
