/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * process_memory.h - the memory of a process that runs, as what interprets it reads it. The process
 * may put anything there and change it at any time: what is read is checked, and reads are bounded.
 * Any thread; process_vm_readv(2) waits for pages that a file system has to read.
 */
#ifndef TAPIR_USER_PROCESS_MEMORY_H
#define TAPIR_USER_PROCESS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct tapir_process_memory {
	/* Returns how many bytes it wrote, 0 for none. */
	size_t (*read)(void *ctx, uint64_t va, void *out, size_t bytes);
	void *ctx;
};

/*
 * Reads a process's memory; returns the number of bytes read. Requires
 * PTRACE_MODE_ATTACH_REALCREDS.
 */
size_t tapir_process_memory__read(uint32_t tgid, uint64_t va, void *out, size_t bytes);
/* Reads several pieces, up to the first page that is missing; bytes is the sum of their lengths. */
size_t tapir_process_memory__read_pieces(uint32_t tgid, const struct iovec *pieces, size_t cnt,
					 void *out, size_t bytes);
/* The same as a .read of the struct; ctx: a pointer to the tgid. */
size_t tapir_process_memory__read_fn(void *ctx, uint64_t va, void *out, size_t bytes);

static inline bool tapir_process_memory__get(const struct tapir_process_memory *m, uint64_t va,
					     void *out, size_t bytes)
{
	return va && m->read(m->ctx, va, out, bytes) == bytes;
}

/* Returns a word, 0 where nothing can be read. */
static inline uint64_t tapir_process_memory__u64(const struct tapir_process_memory *m, uint64_t va)
{
	uint64_t value;

	return tapir_process_memory__get(m, va, &value, sizeof(value)) ? value : 0;
}

#endif
