/* SPDX-License-Identifier: MIT */
/*
 * ring_stack.c - where the calling thread's stack ends, without pthread_getattr_np, which
 * allocates. The mapping that holds the stack pointer may have merged with a neighbour that can
 * go at any time. So of a thread's stack only the part below its thread control block counts,
 * which glibc and musl put at the top of it (below it is the guard); a main thread's is the mapping
 * called [stack].
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
#define MAX_TRIES	     16u
/* The kernel maps nothing of its own choice this close below a main thread's stack. */
#define MAIN_STACK_GAP_BYTES (128ull << 20)
#define QUERY_MAPPING	     _IOWR('f', 17, struct procmap_query)

static int is_main_stack(const char *name)
{
	return !strncmp(name, "[stack]", 7);
}

/* 0: not a stack whose end is known. */
static int bounds(struct ring_stack *stack, uint64_t sp, uint64_t start, uint64_t end,
		  const char *name)
{
	uint64_t tcb = (uint64_t)(uintptr_t)__builtin_thread_pointer();

	stack->mapped = stack->low = start;
	stack->high = end;
	if (is_main_stack(name))
		stack->low = end - MAIN_STACK_GAP_BYTES; /* it grows */
	else if (sp < tcb && tcb < end)
		stack->high = tcb & ~7ull;
	else
		stack->high = 0;
	return stack->high != 0;
}

/* -errno where the kernel has no such query. */
static int ask_kernel(int fd, uint64_t sp, struct ring_stack *stack)
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
	return bounds(stack, sp, q.vma_start, q.vma_end, name);
}

static int read_maps(struct ring_lines *lines, uint64_t sp, struct ring_stack *stack)
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
		return bounds(stack, sp, start, end, name ? name : "");
	}
	return 0;
}

int ring_stack__alternate(struct ring_stack *stack)
{
	stack_t now;

	if (ring_sys3(SYS_sigaltstack, 0, &now, 0) || !(now.ss_flags & SS_ONSTACK))
		return 0;
	stack->low = stack->mapped = (uint64_t)(uintptr_t)now.ss_sp;
	stack->high = stack->low + now.ss_size;
	return 1;
}

/* The calling thread's stack; its high is 0 if it is unknown here. */
void ring_stack__find(struct ring_stack *stack, uint64_t sp)
{
	struct ring_stack alternate;
	struct ring_lines lines;
	int found;

	*stack = (struct ring_stack){.high = 0};
	if (ring_stack__alternate(&alternate) || ring_lines__open(&lines, "/proc/thread-self/maps"))
		return;
	found = ask_kernel(lines.fd, sp, stack);
	if (found < 0)
		found = read_maps(&lines, sp, stack);
	ring_lines__close(&lines);
	if (!found)
		*stack = (struct ring_stack){.high = 0};
}

/* The thread's first event came on its alternate stack, or on one that is not the thread's own. */
void ring_stack__retry(struct ring_stack *stack, uint64_t sp)
{
	uint32_t tries = stack->tries;

	if (tries >= MAX_TRIES)
		return;
	ring_stack__find(stack, sp);
	stack->tries = tries + 1;
}
