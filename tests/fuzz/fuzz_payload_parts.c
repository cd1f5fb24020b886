// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Payloads taken apart by the descriptions of events (tapir/payload_parts.h), whatever is in
 * either: a byte for the number of fields, three for each, then the payload. Every part is within
 * it.
 */
// fuzz: usdt/provider/payload_locate.c usdt/provider/dynamic_json.c
// fuzz: usdt/text/text_number.c usdt/text/json_text.c
#include <stdlib.h>
#include <string.h>

#include "usdt/provider/dynamic_impl.h"

#define FIELDS 12u

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

/* As provider_metadata.c lets them through: counts are of earlier numbers, structures have members.
 */
static void describe(struct tapir_event_field *f, unsigned idx, const uint8_t *from,
		     const struct tapir_event_field *inner)
{
	*f = (struct tapir_event_field){"f",
					NULL,
					0,
					from[2],
					from[0] % TAPIR_TYPE_CNT,
					from[1] % (TAPIR_REPEAT_COUNT_U32 + 1),
					{0, 0}};
	if (f->type == TAPIR_TYPE_STRUCT) {
		f->members = inner;
		f->member_cnt = inner ? FIELDS : 0;
		if (!inner)
			f->type = TAPIR_TYPE_U8;
	}
	if (f->repeat != TAPIR_REPEAT_COUNT_FIELD)
		return;
	f->count = idx ? (uint16_t)(from[2] % idx) : 0;
	if (!idx || f[(int)f->count - (int)idx].type > TAPIR_TYPE_I64 ||
	    f[(int)f->count - (int)idx].repeat != TAPIR_REPEAT_NONE)
		f->repeat = TAPIR_REPEAT_NONE;
}

static void check_json(const struct tapir_event_about *about, const uint8_t *payload,
		       uint32_t bytes)
{
	char json[DYNAMIC_JSON_BYTES];
	size_t len;

	memset(json, 'x', sizeof(json));
	dynamic_json__write(about, payload, bytes, json);
	len = strnlen(json, sizeof(json));
	if (len < 2 || len == sizeof(json) || json[0] != '{' || json[len - 1] != '}')
		abort();
}

static void check(const struct tapir_event_about *about, const uint8_t *payload, uint32_t bytes)
{
	struct tapir_payload_part parts[FIELDS];
	uint32_t cnt = tapir_payload__locate(about, payload, bytes, parts, FIELDS);
	char text[64], id[37];

	if (cnt > FIELDS)
		abort();
	check_json(about, payload, bytes);
	for (uint32_t i = 0; i < cnt; i++) {
		if (parts[i].at < payload || parts[i].bytes > payload + bytes - parts[i].at)
			abort();
		tapir_part__number(&parts[i]);
		tapir_part__guid(&parts[i], id);
		tapir_part__text16(&parts[i], text, sizeof(text));
		if (strlen(text) >= sizeof(text))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	struct tapir_event_field inner[FIELDS], fields[FIELDS];
	const struct tapir_event_about about = {"P", "E", fields, 0, 1, 0, 4, FIELDS, 0, 0, {0}};
	uint8_t *payload;

	if (len < 6 * FIELDS || len > TAPIR_PAYLOAD_BYTES)
		return 0;
	for (unsigned i = 0; i < FIELDS; i++)
		describe(&inner[i], i, input + 3 * i, NULL);
	for (unsigned i = 0; i < FIELDS; i++)
		describe(&fields[i], i, input + 3 * (FIELDS + i), inner);
	len -= 6 * FIELDS;
	payload = malloc(len + 1);
	if (!payload)
		abort();
	memcpy(payload, input + 6 * FIELDS, len);
	payload = realloc(payload, len ? len : 1); /* what is read beyond its end is seen */
	check(&about, payload, (uint32_t)len);
	free(payload);
	return 0;
}
