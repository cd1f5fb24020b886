/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * losses [--wait] WHAT [COUNT] - makes the recorder lose something, for a known reason:
 *	fault	losses:text(pointer to a page that is not there), COUNT times
 *	cut	losses:text(20,000 characters), COUNT times
 *	frame	losses:hit(i) with a frame pointer into a page that cannot be read, COUNT times
 *	stacks	losses:hit(i) COUNT times from one stack, then 20 times from 20 others
 *	maps	maps and unmaps an executable page of itself COUNT times, then losses:hit(0)
 */
// build: -fno-omit-frame-pointer -fno-optimize-sibling-calls
#include <fcntl.h>
#include <sys/mman.h>

#include "target.h"

#define PAGE_BYTES   4096
#define LONG_TEXT    20000
#define OTHER_STACKS 20

static void fire_text(const char *text, long cnt)
{
	for (long i = 0; i < cnt; i++)
		TAPIR_PROBE(losses, text, text);
}

static __attribute__((noipa)) void fire(long i)
{
	TAPIR_PROBE(losses, hit, i);
}

/* A stack that ends where nothing can be read, and a frame pointer that points there. */
static __attribute__((noipa)) void fire_on(char *stack_end, long i)
{
	void *frame = stack_end + 8;

	__asm__ volatile("mov %%rsp, %%r12\n\t"
			 "mov %%rbp, %%r13\n\t"
			 "mov %0, %%rsp\n\t"
			 "mov %1, %%rbp\n\t"
			 "mov %2, %%rdi\n\t"
			 "call losses_bare_hit\n\t"
			 "mov %%r12, %%rsp\n\t"
			 "mov %%r13, %%rbp"
			 :
			 : "r"(stack_end - 256), "r"(frame), "r"(i)
			 : "r12", "r13", "rdi", "memory", "rax", "rcx", "rdx", "rsi", "r8", "r9",
			   "r10", "r11");
}

/* Before its file's table is loaded and after, the frame pointer leads to its caller. */
void losses_bare_hit(long i);
__asm__(".text\n"
	".globl losses_bare_hit\n"
	".type losses_bare_hit, @function\n"
	"losses_bare_hit:\n"
	".cfi_startproc\n"
	".cfi_def_cfa rbp, 16\n"
	".cfi_offset rbp, -16\n"
	"990:	nop\n"
	"	ret\n"
	".cfi_endproc\n"
	".size losses_bare_hit, . - losses_bare_hit\n"
	".pushsection .note.stapsdt, \"?\", \"note\"\n"
	".balign 4\n"
	".4byte 992f-991f, 994f-993f, 3\n"
	"991:	.asciz \"stapsdt\"\n"
	"992:	.balign 4\n"
	"993:	.8byte 990b\n"
	".8byte _.stapsdt.base\n"
	".8byte 0\n"
	".asciz \"losses\"\n"
	".asciz \"frame\"\n"
	".asciz \"-8@%rdi\"\n"
	"994:	.balign 4\n"
	".popsection\n");

static void fire_frames(long cnt)
{
	char *stack = mmap(NULL, 2 * PAGE_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (stack == MAP_FAILED || mprotect(stack + PAGE_BYTES, PAGE_BYTES, PROT_NONE) != 0)
		target__die("mmap");
	for (long i = 0; i < cnt; i++)
		fire_on(stack + PAGE_BYTES, i);
}

static __attribute__((noipa)) void fire_below(long depth, long i)
{
	if (depth > 0)
		fire_below(depth - 1, i);
	else
		fire(i);
	__asm__ volatile("");
}

static void fire_stacks(long cnt)
{
	for (long i = 0; i < cnt; i++)
		fire(i);
	for (long depth = 0; depth < OTHER_STACKS; depth++)
		fire_below(depth, cnt + depth);
}

static void map_often(long cnt)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	for (long i = 0; i < cnt; i++) {
		void *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

		if (page == MAP_FAILED)
			target__die("mmap");
		munmap(page, PAGE_BYTES);
	}
	fire(0);
}

int main(int argc, char **argv)
{
	static char text[LONG_TEXT + 1];
	const char *what;
	long cnt, fired;

	target__start(&argc, argv);
	what = argc > 1 ? argv[1] : "";
	fired = cnt = target__number(argc, argv, 2, 1);
	memset(text, 'x', LONG_TEXT);
	if (!strcmp(what, "fault")) {
		fire_text((const char *)16, cnt);
	} else if (!strcmp(what, "cut")) {
		fire_text(text, cnt);
	} else if (!strcmp(what, "frame")) {
		fire_frames(cnt);
	} else if (!strcmp(what, "stacks")) {
		fire_stacks(cnt);
		fired += OTHER_STACKS;
	} else if (!strcmp(what, "maps")) {
		map_often(cnt);
		fired = 1;
	} else {
		return 2;
	}
	printf("{\"fired\": %ld}\n", fired);
	return 0;
}
