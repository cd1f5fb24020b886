/* SPDX-License-Identifier: MIT */
/*
 * provider_room.c - arrays that grow by doubling. A failed call leaves the array as it was, so that
 * the program only misses the entry, which the caller counts.
 */
#include <stdlib.h>

#include "provider_impl.h"

int provider_make_room(void **data, size_t *room, size_t need, size_t size, size_t first)
{
	size_t more = *room ? *room : first;
	void *bigger;

	if (need <= *room)
		return 1;
	while (more < need)
		more *= 2;
	bigger = realloc(*data, more * size);
	if (!bigger)
		return 0;
	*data = bigger;
	*room = more;
	return 1;
}
