// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two bytes: the length of a metadata blob, of either format; the blob; a payload of its event.
 * What a blob says of fields is bounded, and a payload is never read behind its end; text and JSON
 * are made of it.
 */
#include <stdlib.h>
#include <string.h>

#include "decode/event_blob.h"
#include "decode/field_list.h"
#include "decode/value.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

static void show(const struct tapir_packed_layout *layout, const uint8_t *payload, size_t len)
{
	unsigned max = layout->field_cnt + 1u, faults, cnt;
	struct tapir_value *values = calloc(max, sizeof(*values));
	struct tapir_str out = {};

	if (!values)
		abort();
	cnt = tapir_packed__decode(layout, payload, len, values, max, &faults);
	if (cnt < layout->field_cnt || cnt > max)
		abort();
	for (unsigned i = 0; i < cnt; i++) {
		tapir_value__add_text(&out, &values[i]);
		tapir_value__add_json(&out, &values[i]);
	}
	tapir_str__fini(&out);
	free(values);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	struct tapir_field_list *list;
	struct tapir_event_blob *blob;
	size_t blob_len;
	uint8_t *payload;

	if (len < 2)
		return 0;
	blob_len = (size_t)(input[0] | input[1] << 8);
	input += 2;
	len -= 2;
	if (blob_len > len)
		blob_len = len;
	payload = malloc(len - blob_len + 1);
	if (!payload)
		abort();
	memcpy(payload, input + blob_len, len - blob_len);
	if (!tapir_field_list__parse(input, blob_len, &list)) {
		show(&list->layout, payload, len - blob_len);
		tapir_field_list__free(list);
	}
	if (tapir_event_blob__parse(input, blob_len, &blob)) {
		free(payload);
		return 0;
	}
	show(&blob->layout, payload, len - blob_len);
	show(&blob->other, payload, len - blob_len);
	free(payload);
	tapir_event_blob__free(blob);
	return 0;
}
