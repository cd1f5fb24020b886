// SPDX-License-Identifier: GPL-2.0-or-later
/* Burns CPU time in functions whose names its debug file has. Not built by make: symbol_files.py.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile long sink;

__attribute__((noinline)) static void inner_loop(long n)
{
	for (long i = 0; i < n; i++)
		sink += i * i;
}

__attribute__((noinline)) static void outer_loop(long n)
{
	for (int i = 0; i < 4; i++)
		inner_loop(n);
	sink++;
}

int main(int argc, char **argv)
{
	clock_t end = (clock_t)(atof(argc > 1 ? argv[1] : "1") * CLOCKS_PER_SEC);

	while (clock() < end)
		outer_loop(100000);
	return 0;
}
