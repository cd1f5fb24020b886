// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See counter_text.h. The blob is a type, the lengths of four texts and the texts; each length is
 * checked against the rest.
 */
#include "decode/counter_text.h"

#include <errno.h>
#include <string.h>

#define TEXT_CNT    4u
#define FIXED_BYTES (2 + 2 * TEXT_CNT)

int tapir_counter_text__read(const struct tapir_rec_metadata *rec, struct tapir_counter_text *out)
{
	static const char *const types[] = {
		"?", "values", "increments", "polled", "polled increments", "histogram"};
	struct tapir_counter_text read = {.type = "?"};
	struct tapir_sv *const texts[TEXT_CNT] = {&read.name, &read.display_name, &read.unit,
						  &read.tags};
	const uint8_t *blob = (const uint8_t *)(rec + 1);
	size_t at = FIXED_BYTES;

	if (rec->format != TAPIR_METADATA_COUNTER || rec->blob_bytes < FIXED_BYTES)
		return -EBADMSG;
	if (blob[0] < sizeof(types) / sizeof(types[0]))
		read.type = types[blob[0]];
	for (size_t i = 0; i < TEXT_CNT; i++) {
		uint16_t len;

		memcpy(&len, blob + 2 + 2 * i, sizeof(len));
		if (len > rec->blob_bytes - at)
			return -EBADMSG;
		*texts[i] = (struct tapir_sv){(const char *)blob + at, len};
		at += len;
	}
	*out = read;
	return 0;
}
