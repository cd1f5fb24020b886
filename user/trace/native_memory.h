/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * native_memory.h - what the recorder of native memory and its readers agree on. Constant.
 */
#ifndef TAPIR_USER_NATIVE_MEMORY_H
#define TAPIR_USER_NATIVE_MEMORY_H

/* The META entry that says which calls of malloc were sampled: a sentence. */
#define TAPIR_NATIVE_MEMORY_MALLOC "native_memory_malloc"

#define TAPIR_NATIVE_MEAN_BYTES	   (512u << 10) /* between two samples, unless requested */
#define TAPIR_NATIVE_LIMIT_HZ	   400000u /* calls a second that are probed, unless requested */
#define TAPIR_NATIVE_MAX_BYTES	   (1ull << 30)

#endif
