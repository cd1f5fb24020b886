// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ruby_hostile.c - a program that exports what Ruby 3.1 does and whose frames are wrong, by its
 * argument; it computes in the function that runs instructions. Linked with -rdynamic, with a name
 * like ruby's. Prints "pid N".
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FRAME_WORDS 8
#define FRAMES	    1024
#define BYTES	    (FRAMES * FRAME_WORDS * 8)

struct state {
	uint64_t *memory;
	uint64_t words;
	uint64_t *frame;
	uint64_t pad[3];
	void *thread;
};

#ifndef VERSION
#define VERSION "3.1.2"
#endif

char ruby_version[8] = VERSION;
static __thread struct state *ruby_current_ec;
static volatile uint64_t total;

void *rb_thread_current(void);
void rb_vm_exec(void);

__attribute__((noinline)) void *rb_thread_current(void)
{
	return ruby_current_ec->thread;
}

__attribute__((noinline)) void rb_vm_exec(void)
{
	for (;;)
		total += total * total % 7;
}

static void *flip(void *memory)
{
	for (;;) {
		mprotect(memory, BYTES, PROT_NONE);
		usleep(100);
		mprotect(memory, BYTES, PROT_READ | PROT_WRITE);
		usleep(100);
	}
	return NULL;
}

/* Blocks in themselves, whose instructions are themselves. */
static void fill(uint64_t *memory)
{
	static uint64_t code[64], env[3];

	for (int i = 0; i < 64; i++)
		code[i] = (uint64_t)code;
	code[0] = 0x1a | 7 << 12;
	env[1] = (uint64_t)&env[2] | 1;
	env[2] = 0x22220021;
	for (int i = 0; i < FRAMES; i++) {
		memory[i * FRAME_WORDS + 2] = (uint64_t)code;
		memory[i * FRAME_WORDS + 4] = (uint64_t)&env[2];
	}
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	uint64_t *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	struct state state = {memory, BYTES / 8, memory, {0}, NULL};
	pthread_t thread;

	fill(memory);
	ruby_current_ec = &state;
	if (!strcmp(kind, "length"))
		state.words = UINT64_MAX;
	else if (!strcmp(kind, "flip"))
		pthread_create(&thread, NULL, flip, memory);
	else if (!strcmp(kind, "torn"))
		memset(memory + FRAME_WORDS, 0xff, BYTES - FRAME_WORDS * 8);
	else if (!strcmp(kind, "nowhere"))
		ruby_current_ec = (void *)8;
	printf("pid %d\n", getpid());
	fflush(stdout);
	if (rb_thread_current != NULL)
		rb_vm_exec();
	return 0;
}
