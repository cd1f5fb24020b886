// SPDX-License-Identifier: GPL-2.0-or-later
/* Any text as a trigger of a flight recorder. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "flight/trigger.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tapir_triggers *triggers = tapir_triggers__new();
	struct tapir_words specs = {};
	char *text = malloc(size + 1);
	int err;

	if (triggers && text) {
		memcpy(text, data, size);
		text[size] = '\0';
		tapir_diag__clear();
		err = tapir_triggers__add(triggers, text);
		if (err == -EINVAL && !tapir_diag__cnt())
			abort(); /* refused without a word */
		if (!tapir_triggers__add_specs(triggers, &specs) || specs.cnt > 1)
			abort();
	}
	tapir_vec__fini(&specs);
	tapir_triggers__free(triggers);
	free(text);
	return 0;
}
