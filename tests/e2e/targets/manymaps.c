/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * manymaps COUNT - maps COUNT pieces of executable memory, of no file, below its own code, says
 * "pid N", and uses the CPU in own_work() until it is ended.
 */
#include <sys/mman.h>

#include "target.h"

#define FIRST_VA 0x100000000ul
#define APART	 0x4000ul /* so that no two are one */

static volatile unsigned long sum;

__attribute__((noipa)) static void own_work(void)
{
	for (unsigned long i = 0; i < 100000000ul; i++)
		sum += i;
}

int main(int argc, char **argv)
{
	unsigned long cnt = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;

	for (unsigned long i = 0; i < cnt; i++)
		if (mmap((void *)(FIRST_VA + i * APART), 4096, PROT_READ | PROT_EXEC, // NOLINT
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
			target__die("mmap");
	printf("pid %d\n", (int)getpid());
	fflush(stdout);
	for (;;)
		own_work();
}
