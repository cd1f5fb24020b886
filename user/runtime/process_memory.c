// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * process_vm_readv(2) needs no stop of the process and reads up to the first page that is missing:
 * a short count is an ordinary answer.
 */
#include "runtime/process_memory.h"

#include <errno.h>

#include "base/exhaustion.h"

size_t tapir_process_memory__read_pieces(uint32_t tgid, const struct iovec *pieces, size_t cnt,
					 void *out, size_t bytes)
{
	struct iovec local = {out, bytes};
	ssize_t n = process_vm_readv((pid_t)tgid, &local, 1, pieces, cnt, 0);

	if (n < 0)
		tapir_exhaustion__note(errno); /* else it would look as if nothing were there */
	return n < 0 ? 0 : (size_t)n;
}

size_t tapir_process_memory__read(uint32_t tgid, uint64_t va, void *out, size_t bytes)
{
	struct iovec piece = {(void *)(uintptr_t)va, bytes}; // NOLINT

	return tapir_process_memory__read_pieces(tgid, &piece, 1, out, bytes);
}

size_t tapir_process_memory__read_fn(void *ctx, uint64_t va, void *out, size_t bytes)
{
	return tapir_process_memory__read(*(const uint32_t *)ctx, va, out, bytes);
}
