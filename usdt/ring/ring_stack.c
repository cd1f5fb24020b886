/* SPDX-License-Identifier: MIT */
/*
 * ring_stack.c - where the calling thread's stack ends, without pthread_getattr_np, which
 * allocates. The mapping that holds the stack pointer may have merged with a neighbour that can
 * go at any time. So of a thread's stack only the part below its thread control block counts,
 * which glibc and musl put at the top of it; a main thread's is the mapping called [stack].
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>

#include "ring_impl.h"

/* linux/fs.h of 6.11: one mapping by its address, without printing all others. */
struct procmap_query {
	uint64_t size, query_flags, query_addr;
	uint64_t vma_start, vma_end, vma_flags, vma_page_size, vma_offset, inode;
	uint32_t dev_major, dev_minor, vma_name_size, build_id_size;
	uint64_t vma_name_addr, build_id_addr;
};
#define QUERY_MAPPING _IOWR('f', 17, struct procmap_query)

static int is_main_stack(const char *name)
{
	return !strncmp(name, "[stack]", 7);
}

static uint64_t stack_end(uint64_t sp, uint64_t end, const char *name)
{
	uint64_t tcb = (uint64_t)(uintptr_t)__builtin_thread_pointer();

	if (is_main_stack(name))
		return end;
	return sp < tcb && tcb < end ? tcb & ~7ull : 0;
}

/* -errno where the kernel has no such query. */
static int ask_kernel(int fd, uint64_t sp, uint64_t *high)
{
	char name[64] = "";
	struct procmap_query q = {.size = sizeof(q),
				  .query_addr = sp,
				  .vma_name_size = sizeof(name),
				  .vma_name_addr = (uint64_t)(uintptr_t)name};
	long ret = ring_sys3(SYS_ioctl, fd, QUERY_MAPPING, &q);

	if (ret < 0)
		return (int)ret;
	name[sizeof(name) - 1] = 0;
	*high = stack_end(sp, q.vma_end, name);
	return 0;
}

static uint64_t read_maps(struct ring_lines *lines, uint64_t sp)
{
	char line[160];

	while (ring_lines__next(lines, line, sizeof(line))) {
		const char *at = line, *name;
		uint64_t start = ring_text__number(&at, 16), end;

		at += *at == '-';
		end = ring_text__number(&at, 16);
		if (sp < start || sp >= end)
			continue;
		name = strchr(line, '[');
		return stack_end(sp, end, name ? name : "");
	}
	return 0;
}

int ring_stack__on_alternate(void)
{
	stack_t now;

	return ring_sys3(SYS_sigaltstack, 0, &now, 0) == 0 && (now.ss_flags & SS_ONSTACK);
}

/* First address behind the calling thread's stack; 0 if that cannot be told here. */
uint64_t ring_stack__high(uint64_t sp)
{
	struct ring_lines lines;
	uint64_t high = 0;

	if (ring_stack__on_alternate() || ring_lines__open(&lines, "/proc/thread-self/maps"))
		return 0;
	if (ask_kernel(lines.fd, sp, &high))
		high = read_maps(&lines, sp);
	ring_lines__close(&lines);
	return high;
}
