// SPDX-License-Identifier: GPL-2.0-or-later
/* By process_vm_readv(2). */
#include "runtime/process_memory.h"

#include <sys/uio.h>

size_t tapir_process_memory__read(uint32_t tgid, uint64_t va, void *out, size_t bytes)
{
	struct iovec local = {out, bytes}, remote = {(void *)(uintptr_t)va, bytes}; // NOLINT
	ssize_t n = process_vm_readv((pid_t)tgid, &local, 1, &remote, 1, 0);

	return n < 0 ? 0 : (size_t)n;
}

size_t tapir_process_memory__read_fn(void *ctx, uint64_t va, void *out, size_t bytes)
{
	return tapir_process_memory__read(*(const uint32_t *)ctx, va, out, bytes);
}
