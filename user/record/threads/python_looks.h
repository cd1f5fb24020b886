/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * python_looks.h - which functions of Python the threads of a busy CPython are in, some times a
 * second, as LOOK records: of an interpreter whose frames BPF programs cannot find (bpf/interp.h),
 * so that its stacks have its own functions alone.
 *
 * Nobody is stopped or asked: the interpreter's frames are read from the process's memory
 * (runtime/cpython/cpython_frames.h), in some microseconds a thread. Meanwhile a thread goes on, so
 * a frame may be of a function that has just returned. What is no code is left out. Looks
 * become rare where they would take more than a fixed share of a CPU.
 *
 * One thread, the control thread.
 */
#ifndef TAPIR_USER_PYTHON_LOOKS_H
#define TAPIR_USER_PYTHON_LOOKS_H

#include <stddef.h>
#include <stdint.h>

struct tapir_python_looks;
struct tapir_queue;

/* The queue is borrowed. NULL: no memory. */
struct tapir_python_looks *tapir_python_looks__new(struct tapir_queue *queue);
void tapir_python_looks__free(struct tapir_python_looks *looks); /* accepts NULL */

/* looks of the following may be NULL. Those that run now; twice a second. */
void tapir_python_looks__choose(struct tapir_python_looks *looks, const uint32_t *tgids, size_t cnt,
				uint64_t now_ns);
/* When the next one is due; UINT64_MAX: no Python is busy. */
uint64_t tapir_python_looks__next_ns(const struct tapir_python_looks *looks);
/* Does nothing before. */
void tapir_python_looks__look(struct tapir_python_looks *looks, uint64_t now_ns);

#endif
