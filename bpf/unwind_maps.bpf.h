/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* unwind_maps.bpf.h - the maps of unwind.h. The loader fills them; process.bpf.c copies and removes
 * elements of unwind_spaces as processes fork, execute and end. */
#ifndef TAPIR_BPF_UNWIND_MAPS_BPF_H
#define TAPIR_BPF_UNWIND_MAPS_BPF_H

#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

#include "bpf/unwind.h"

/* BPF_F_INNER_MAP (5.10): each table has the size it needs. The loader maps and fills it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, TAPIR_UNWIND_FILES);
	__type(key, __u32);
	__array(
		values, struct {
			__uint(type, BPF_MAP_TYPE_ARRAY);
			__uint(max_entries, 1);
			__uint(map_flags, BPF_F_INNER_MAP | BPF_F_MMAPABLE);
			__uint(key_size, sizeof(__u32));
			__uint(value_size, sizeof(struct tapir_unwind_block));
		});
} unwind_tables __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TAPIR_UNWIND_FILES);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct tapir_unwind_file);
} unwind_files __weak SEC(".maps");

/* Not preallocated: allowed in all these programs since 6.1 (02cc5aa29e8c). */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, TAPIR_UNWIND_SPACES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct tapir_unwind_space_key);
	__type(value, struct tapir_unwind_space);
} unwind_spaces __weak SEC(".maps");

#endif
