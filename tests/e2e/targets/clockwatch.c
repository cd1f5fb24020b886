/* SPDX-License-Identifier: GPL-2.0-or-later */
/* clockwatch MS - asks CLOCK_MONOTONIC what time it is until MS milliseconds have gone by. */
#include "target.h"

static __attribute__((noipa)) uint64_t watch(uint64_t ms)
{
	struct timespec now;
	uint64_t end_ns = 0, now_ns, cnt = 0;

	do {
		clock_gettime(CLOCK_MONOTONIC, &now);
		now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
		end_ns = end_ns ? end_ns : now_ns + ms * 1000000u;
		cnt++;
	} while (now_ns < end_ns);
	return cnt;
}

int main(int argc, char **argv)
{
	uint64_t cnt = watch(argc > 1 ? strtoull(argv[1], NULL, 10) : 1000);

	printf("{\"clockwatch\":%llu}\n", (unsigned long long)cnt);
	return 0;
}
