/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jvm.h - is a process a HotSpot JVM, and which.
 *
 * A process is one if it maps, for execution, a file named libjvm.so that exports HotSpot's table
 * of its own layouts (gHotSpotVMStructs: every JDK since 5, also stripped; OpenJ9's libjvm.so has
 * none). The mapped file itself is opened (attach/proc.h), so nothing is requested from the process
 * or sent to it. Reads depend on the file system: one that never answers is waited for, as in the
 * search for probes in mapped files. Not for a hot path: it reads 2 MB of symbols.
 */
#ifndef TAPIR_USER_JVM_H
#define TAPIR_USER_JVM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tapir_jvm_info {
	char path[256];	      /* of its libjvm.so, as it sees it; cut if longer */
	char version[64];     /* "17.0.15+6-Debian-1deb12u1"; "": not found */
	uint64_t perfdata_va; /* where hsperfdata is mapped; 0: it is not */
	uint64_t perfdata_bytes;
};

/* A path whose last component is libjvm.so (" (deleted)" may follow). No proof, but cheap. */
bool tapir_jvm__is_libjvm_path(const char *path, size_t len);

/*
 * 1: a HotSpot JVM, and out is filled; 0: not one. -errno with a line: the process is gone or may
 * not be inspected. Threads: any. Needs CAP_SYS_PTRACE for processes of other users.
 */
int tapir_jvm__inspect(uint32_t tgid, struct tapir_jvm_info *out);

#endif
