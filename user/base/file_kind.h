/* SPDX-License-Identifier: GPL-2.0-or-later */
/* file_kind.h - what an open file is on this system: in /proc, on which device. Any thread. */
#ifndef TAPIR_USER_FILE_KIND_H
#define TAPIR_USER_FILE_KIND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* Returns true if the open file is the kernel's, in /proc. */
bool tapir_file__is_of_proc(int fd);
/* Returns a file's device as records have it: major << 20 | minor. */
uint32_t tapir_file__dev(const struct stat *st);

#endif
