/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * link_helper.h - attaching to files of foreign file systems (foreign/file_system.h): the kernel
 * reads the pages of a file when a probe is placed in it, and may wait for its server. So the call
 * is made by the file system's helper, which first makes sure that the pages are in memory: the
 * kernel waits for a page with the traced process's address space locked. For attach/links.c only.
 */
#ifndef TAPIR_USER_LINK_HELPER_H
#define TAPIR_USER_LINK_HELPER_H

#include <stdint.h>

#include "attach/links.h"

struct tapir_fs;

/* tapir_link__try_multi and tapir_link__try_perf, there. An fd or -errno; no line. */
int tapir_link_helper__multi(struct tapir_fs *fs, int prog_fd, const struct tapir_link_sites *sites,
			     uint32_t tgid);
int tapir_link_helper__perf(struct tapir_fs *fs, const struct tapir_link_sites *sites, size_t idx,
			    uint32_t tgid);

#endif
