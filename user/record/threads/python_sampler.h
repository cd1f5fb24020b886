/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * python_sampler.h - which functions of Python the threads of a busy CPython are in, some times a
 * second, as LOOK records: of an interpreter whose frames BPF programs cannot find (bpf/interp.h),
 * so that its stacks have its own functions alone.
 *
 * No thread is stopped: the interpreter's frames are read from the process's memory
 * (runtime/cpython/cpython_frames.h), in some microseconds a thread. The thread continues to run,
 * so a frame may be of a function that has just returned. What is no code is left out. Samples
 * become rare where they would take more than a fixed share of a CPU.
 *
 * One thread, the control thread.
 */
#ifndef TAPIR_USER_PYTHON_SAMPLER_H
#define TAPIR_USER_PYTHON_SAMPLER_H

#include <stddef.h>
#include <stdint.h>

struct tapir_python_sampler;
struct tapir_queue;

/* The queue is borrowed. NULL: no memory. */
struct tapir_python_sampler *tapir_python_sampler__new(struct tapir_queue *queue);
void tapir_python_sampler__free(struct tapir_python_sampler *sampler); /* accepts NULL */

/* Chooses those that run now; twice a second. The sampler may be NULL here and below. */
void tapir_python_sampler__select(struct tapir_python_sampler *sampler, const uint32_t *tgids,
				  size_t cnt, uint64_t now_ns);
/* Returns when the next reading is due; UINT64_MAX: no Python is busy. */
uint64_t tapir_python_sampler__next_ns(const struct tapir_python_sampler *sampler);
/* Does nothing before. */
void tapir_python_sampler__sample(struct tapir_python_sampler *sampler, uint64_t now_ns);

#endif
