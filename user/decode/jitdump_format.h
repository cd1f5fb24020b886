/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jitdump_format.h - the format of a jitdump file, as in the Linux kernel's
 * tools/perf/Documentation/jitdump-specification.txt: a header, then records, in the byte order of
 * the writer. A load is followed by its name, ended by a NUL, and its code. Only data.
 */
#ifndef TAPIR_USER_JITDUMP_FORMAT_H
#define TAPIR_USER_JITDUMP_FORMAT_H

#include <stdint.h>

#define TAPIR_JITDUMP_MAGIC   0x4a695444u /* "JiTD" */
#define TAPIR_JITDUMP_VERSION 1u

enum tapir_jitdump_kind {
	TAPIR_JITDUMP_LOAD = 0,
	TAPIR_JITDUMP_MOVE = 1,
	TAPIR_JITDUMP_KIND_CNT = 5
};

struct tapir_jitdump_header {
	uint32_t magic, version, total_bytes, machine, pad, pid;
	uint64_t time, flags;
};

struct tapir_jitdump_prefix {
	uint32_t kind, total_bytes;
	uint64_t time;
};

struct tapir_jitdump_load {
	struct tapir_jitdump_prefix p;
	uint32_t pid, tid;
	uint64_t vma, code_va, code_bytes, code_idx;
};

struct tapir_jitdump_move {
	struct tapir_jitdump_prefix p;
	uint32_t pid, tid;
	uint64_t vma, old_va, new_va, code_bytes, code_idx;
};

#endif
