/* SPDX-License-Identifier: GPL-2.0-or-later */
/* python_reader.h - the Python functions of a process's threads, for one look at it. */
#ifndef TAPIR_USER_PYTHON_READER_H
#define TAPIR_USER_PYTHON_READER_H

#include "record/threads/snapshot_impl.h"

struct tapir_python_reader;

/* p: stays where it is. NULL: no memory */
struct tapir_python_reader *tapir_python_reader__new(const struct tapir_process_copy *p);
void tapir_python_reader__free(struct tapir_python_reader *reader);
/* Reads the functions of a thread, if it runs some. 0 or -ENOMEM. */
int tapir_python_reader__read(const struct tapir_python_reader *reader,
			      struct tapir_thread_copy *copy);

#endif
