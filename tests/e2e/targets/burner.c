/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * burner [--wait] MS [THREADS] - each thread burns CPU for MS milliseconds of its own CPU time:
 * three quarters in burn_much, a quarter in burn_little, turn by turn; then one of the process
 * burns as long in the kernel (reads of /dev/zero).
 */
// build: -fno-omit-frame-pointer -fno-optimize-sibling-calls
#include <fcntl.h>

#include "target.h"

#define TURN_NS	     4000000u
#define KERNEL_BYTES (1 << 20)

static volatile uint64_t sink;

/* Reads the clock seldom: the time is to be spent here, not in the vdso. */
static __attribute__((noipa)) void burn_much(uint64_t until_ns)
{
	while (target__cpu_ns() < until_ns)
		for (int i = 0; i < 20000; i++)
			sink += (uint64_t)i;
}

static __attribute__((noipa)) void burn_little(uint64_t until_ns)
{
	while (target__cpu_ns() < until_ns)
		for (int i = 0; i < 20000; i++)
			sink ^= (uint64_t)i;
}

static __attribute__((noipa)) void burn_kernel(uint64_t until_ns)
{
	static char buffer[KERNEL_BYTES];
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	while (target__cpu_ns() < until_ns)
		if (read(fd, buffer, sizeof(buffer)) < 0)
			target__die("read");
	close(fd);
}

static uint64_t burn_ns;

static __attribute__((noipa)) void *burn(void *argument)
{
	uint64_t end_ns = target__cpu_ns() + burn_ns;

	(void)argument;
	while (target__cpu_ns() < end_ns) {
		burn_much(target__cpu_ns() + 3 * TURN_NS);
		burn_little(target__cpu_ns() + TURN_NS);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	long thread_cnt;

	target__start(&argc, argv);
	burn_ns = (uint64_t)target__number(argc, argv, 1, 500) * 1000000u;
	thread_cnt = target__number(argc, argv, 2, 1);
	if (!target__run_threads(burn, NULL, 0, thread_cnt))
		return 2;
	burn_kernel(target__cpu_ns() + burn_ns);
	printf("{\"user_ms\": %ld, \"kernel_ms\": %ld}\n", (long)(burn_ns / 1000000u) * thread_cnt,
	       (long)(burn_ns / 1000000u));
	return 0;
}
