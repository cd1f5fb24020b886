/* SPDX-License-Identifier: MIT */
/*
 * coreclr_libc.c - functions that usdt/ring calls and that older C libraries do not export: glibc
 * has fstat since 2.33 only. Hidden: not exported to other libraries.
 */
#include <sys/stat.h>

#include "../ring/ring_sys.h"

__attribute__((visibility("hidden"))) int fstat(int fd, struct stat *out)
{
	return ring_sys3(SYS_fstat, fd, out, 0) ? -1 : 0;
}
