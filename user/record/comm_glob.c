// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tables are computed by asking the matcher of user space about each element of the glob and
 * each character: so the kernel's answer cannot differ from it.
 */
#include "record/comm_glob.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"

#define MAX_ELEMENT_BYTES 511

static void add_takes(const char *element, size_t len, uint32_t bit, struct tapir_comm_glob *glob)
{
	char pattern[MAX_ELEMENT_BYTES + 1];

	memcpy(pattern, element, len);
	pattern[len] = '\0';
	for (unsigned c = 1; c < 256; c++) {
		const char text[] = {(char)c, '\0'};

		if (tapir_glob__match(pattern, text))
			glob->takes[c] |= bit;
	}
}

int tapir_comm_glob__compile(const char *text, struct tapir_comm_glob *out)
{
	struct tapir_comm_glob glob = {};
	unsigned cnt = 0;

	while (*text) {
		size_t len = tapir_glob__element_len(text);

		if (*text == '*' && text[1] == '*') {
			text++;
			continue;
		}
		if (cnt == TAPIR_COMM_GLOB_MAX || len > MAX_ELEMENT_BYTES)
			return -E2BIG;
		if (*text == '*')
			glob.stars |= 1u << cnt;
		else
			add_takes(text, len, 1u << cnt, &glob);
		text += len;
		cnt++;
	}
	glob.all = 1u << cnt;
	*out = glob;
	return 0;
}
