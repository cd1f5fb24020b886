// SPDX-License-Identifier: GPL-2.0-or-later
/* What a process that read hostile debug information may leave: if it is taken, it can be read. */
#include <stdlib.h>
#include <string.h>

#include "elf/dwarf_lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

static void read_text(const struct tapir_lines_answer *answer, uint32_t at)
{
	if (at != TAPIR_LINES_NO_TEXT && at + strlen(answer->texts + at) >= TAPIR_LINES_TEXT_BYTES)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	struct tapir_lines_answer *answer = malloc(sizeof(*answer));

	if (!answer)
		return 0;
	memset(answer, 0, sizeof(*answer));
	memcpy(answer, input, len < sizeof(*answer) ? len : sizeof(*answer));
	if (tapir_lines_answer__is_valid(answer))
		for (uint32_t i = 0; i < answer->cnt; i++) {
			read_text(answer, answer->frames[i].function);
			read_text(answer, answer->frames[i].file);
		}
	free(answer);
	return 0;
}
