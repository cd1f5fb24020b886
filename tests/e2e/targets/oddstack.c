/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * oddstack SECONDS - threads whose registers lead a stack walker astray, each named for what it
 * does: they spin in functions that use no stack, with a stack pointer and frame pointer of their
 * choice, and unwind data that believes both. "bare" spins in a function without unwind data on a
 * good stack, "deref" in one that finds its caller by a word of its stack. Ends with a line of JSON
 * for each; its tid is 0 where this machine does not let a program have such registers: some
 * hypervisors end it with SIGSEGV when it is interrupted at a stack pointer that is no address.
 */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "target.h"

#define PAGE	   4096
#define PAGE_WORDS (PAGE / 8)

/* Spin until *end is set; sp_rule: CFA = rsp + 8, fp_rule: CFA = rbp + 16, whatever these are. */
#define SPINNER(name, cfi)                                                                         \
	__asm__(".text\n.globl " name "\n.type " name ", @function\n" name                         \
		":\n.cfi_startproc\n" cfi                                                          \
		"push %rbp\npush %rbx\nmov %rsp, %rbx\nmov %rdi, %rsp\nmov %rsi, %rbp\n"           \
		"1: pause\ncmpl $0, (%rdx)\nje 1b\n"                                               \
		"mov %rbx, %rsp\npop %rbx\npop %rbp\nret\n.cfi_endproc\n.size " name ", . - " name \
		"\n")
SPINNER("spin_sp", ".cfi_def_cfa %rsp, 8\n");
SPINNER("spin_fp", ".cfi_def_cfa %rbp, 16\n.cfi_offset %rbp, -16\n");
/* Between two described functions, where an assembler would put its padding. */
__asm__(".text\n.globl spin_bare\n.type spin_bare, @function\nspin_bare:\n"
	"1: pause\ncmpl $0, (%rdx)\nje 1b\nret\n.size spin_bare, . - spin_bare\n"
	".p2align 6\n.globl after_bare\n.type after_bare, @function\nafter_bare:\n"
	".cfi_startproc\nret\n.cfi_endproc\n.size after_bare, . - after_bare\n");

/* As OpenSSL's assembly: the stack pointer at entry is kept on a realigned stack. */
__asm__(".text\n.globl spin_deref\n.type spin_deref, @function\nspin_deref:\n.cfi_startproc\n"
	"mov %rsp, %rax\n.cfi_def_cfa_register %rax\n"
	"sub $96, %rsp\nand $-64, %rsp\nmov %rax, 40(%rsp)\n"
	".cfi_escape 0x0f, 5, 0x77, 40, 0x06, 0x23, 8\n" /* CFA = *(rsp + 40) + 8 */
	"1: pause\ncmpl $0, (%rdx)\nje 1b\n"
	"mov 40(%rsp), %rsp\n.cfi_def_cfa %rsp, 8\nret\n.cfi_endproc\n"
	".size spin_deref, . - spin_deref\n");

typedef void spin_fn(uint64_t sp, uint64_t fp, volatile int *end);
spin_fn spin_sp, spin_fp, spin_bare, spin_deref;

static volatile int has_ended;
static uint64_t *page; /* before one that nobody may read */

struct odd {
	const char *name;
	spin_fn *spin;
	uint64_t sp, fp;
	int *tid;
};

static void *run(void *argument)
{
	const struct odd *odd = argument;

	*odd->tid = gettid();
	odd->spin(odd->sp, odd->fp, &has_ended);
	__asm__ __volatile__("" : : : "memory");
	return NULL;
}

static void fill(void)
{
	page = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED || mprotect(page + PAGE_WORDS, 2 * PAGE, PROT_NONE))
		target__die("mmap");
	for (unsigned i = 0; i < PAGE_WORDS; i++)
		page[i] = (uint64_t)(uintptr_t)spin_sp + 12; /* each word is a return address */
	page[0] = (uint64_t)(uintptr_t)page; /* a frame record whose caller it is itself */
	page[1] = (uint64_t)(uintptr_t)spin_fp + 12;
}

/* Starts a child that spins so for a while, to be interrupted meanwhile; returns its pid. */
static pid_t try_in_child(const struct odd *odd)
{
	const struct rlimit no_core = {0, 0};
	pthread_t thread;
	pid_t pid = fork();

	if (pid < 0)
		target__die("fork");
	if (pid)
		return pid;
	setrlimit(RLIMIT_CORE, &no_core);
	if (pthread_create(&thread, NULL, run, (void *)odd))
		_exit(1);
	target__sleep_ns(200000000u);
	_exit(0);
}

static bool survived(pid_t child)
{
	int status;

	if (waitpid(child, &status, 0) != child || (WIFEXITED(status) && WEXITSTATUS(status)))
		target__die("waitpid");
	return WIFEXITED(status);
}

int main(int argc, char **argv)
{
	uint64_t end, at;
	long seconds;

	target__start(&argc, argv);
	seconds = target__number(argc, argv, 1, 1);
	fill();
	at = (uint64_t)(uintptr_t)page;
	end = at + PAGE;
	int tids[12] = {0};
	struct odd odds[] = {
		{"guard", spin_sp, end - 16, 0, &tids[0]},
		{"beyond", spin_sp, end + 64, 0, &tids[1]},
		{"endless", spin_sp, at + 64, 0, &tids[2]},
		{"cycle", spin_fp, at + 64, at, &tids[3]},
		{"itself", spin_fp, at, at, &tids[4]},
		{"kernel", spin_sp, 0xffffffff81000000, 0xffffffff81000000, &tids[5]},
		{"noncanonical", spin_fp, 0x4141414141414140, 0x4141414141414140, &tids[6]},
		{"null", spin_fp, 0, 0, &tids[7]},
		{"wraps", spin_fp, ~0ull - 15, ~0ull - 15, &tids[8]},
		{"unaligned", spin_sp, at + 65, at + 65, &tids[9]},
		{"bare", spin_bare, 0, 0, &tids[10]},
		{"deref", spin_deref, 0, 0, &tids[11]},
	};
	enum { CNT = sizeof(odds) / sizeof(odds[0]) };
	pthread_t threads[CNT];
	pid_t children[CNT];

	for (unsigned i = 0; i < CNT; i++)
		children[i] = try_in_child(&odds[i]);
	for (unsigned i = 0; i < CNT; i++)
		if (!survived(children[i]))
			odds[i].spin = NULL;
	for (unsigned i = 0; i < CNT; i++)
		if (odds[i].spin && pthread_create(&threads[i], NULL, run, &odds[i]))
			target__die("pthread_create");
	target__sleep_ns((uint64_t)seconds * 1000000000u);
	has_ended = 1;
	for (unsigned i = 0; i < CNT; i++)
		if (odds[i].spin)
			pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < CNT; i++)
		printf("{\"name\": \"%s\", \"tid\": %d}\n", odds[i].name, tids[i]);
	return 0;
}
