// SPDX-License-Identifier: GPL-2.0-or-later
/* Any text as a tracepoint's format: fields within bounds, or refused. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "decode/tracepoint_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tapir_tracepoint_format f;
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (!tapir_tracepoint_format__parse(text, &f)) {
		if (f.field_cnt > TAPIR_MACHINE_FIELDS)
			abort();
		for (unsigned i = 0; i < f.field_cnt; i++) {
			const struct tapir_tracepoint_field *field = &f.fields[i];

			if (!memchr(field->name, '\0', sizeof(field->name)) || !*field->name ||
			    !memchr(field->type, '\0', sizeof(field->type)) ||
			    !field->machine_field.size ||
			    field->machine_field.read > TAPIR_MACHINE_AT_REL_LOC)
				abort();
			if (field->machine_field.read == TAPIR_MACHINE_NUMBER &&
			    field->machine_field.size > 8)
				abort();
		}
	}
	free(text);
	return 0;
}
