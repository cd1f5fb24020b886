// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Payloads of the runtime's events, whatever is in them: a byte for the provider, two for the
 * event, the payload. Each is shown as text and JSON.
 */
#include <stdlib.h>
#include <string.h>

#include "decode/dotnet_tables.h"
#include "decode/packed.h"
#include "decode/value.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

static const struct tapir_layout_event *choose(const uint8_t *input)
{
	const struct tapir_layout_provider *p;
	unsigned cnt = 0;

	while (tapir_dotnet_provider__at(cnt))
		cnt++;
	p = tapir_dotnet_provider__at(input[0] % cnt);
	return p->event_cnt ? &p->events[(unsigned)(input[1] | input[2] << 8) % p->event_cnt]
			    : NULL;
}

static void show(const struct tapir_layout_event *ev, const uint8_t *payload, size_t len)
{
	struct tapir_packed_layout layout = {.fields = ev->fields, .field_cnt = ev->field_cnt};
	struct tapir_value values[256];
	struct tapir_str out = {};
	unsigned faults, cnt = tapir_packed__decode(&layout, payload, len, values, 256, &faults);

	if (cnt < ev->field_cnt || cnt > ev->field_cnt + 1u)
		abort();
	for (unsigned i = 0; i < cnt; i++) {
		tapir_value__add_text(&out, &values[i]);
		tapir_value__add_json(&out, &values[i]);
	}
	tapir_str__fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	const struct tapir_layout_event *ev = len >= 3 ? choose(input) : NULL;
	uint8_t *payload;

	if (!ev)
		return 0;
	payload = malloc(len - 2);
	if (!payload)
		abort();
	memcpy(payload, input + 3, len - 3);
	show(ev, payload, len - 3);
	free(payload);
	return 0;
}
