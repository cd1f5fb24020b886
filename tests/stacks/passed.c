// SPDX-License-Identifier: GPL-2.0-or-later
/* A library with one function, PASSED, which calls what it is given from a frame of FRAME bytes,
 * without a frame pointer. */
#include <string.h>

void PASSED(void (*fn)(void));

void PASSED(void (*fn)(void))
{
	char place[FRAME];

	memset(place, 1, sizeof(place));
	__asm__ __volatile__("" : : "r"(place) : "memory");
	fn();
	__asm__ __volatile__("" : : "r"(place) : "memory"); /* no tail call */
}
