// SPDX-License-Identifier: GPL-2.0-or-later
// fuzz: usdt/coreclr/coreclr_blob.c usdt/coreclr/coreclr_text.c usdt/coreclr/coreclr_layout.c
// fuzz: usdt/coreclr/coreclr_payload.c usdt/text/text_number.c usdt/text/json_text.c
// fuzz: usdt/coreclr/coreclr_json.c
/*
 * --publish usdt inside the process: an event's description and its payload, each laid out so that
 * one byte beyond is an error. Whatever they are, JSON is whole, notes fit, strings end.
 * Input: u16 bytes of the description, it, the payload.
 */
#include <stdlib.h>
#include <string.h>

#include "usdt/coreclr/coreclr_publish.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

static void *taken;

/* Once an event; exact, so that what is written behind it shows. */
static void *take(uint64_t bytes)
{
	free(taken);
	taken = bytes <= 1 << 20 ? calloc(1, bytes) : NULL;
	return taken;
}

static void *exact(const uint8_t *bytes, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);

	if (!copy)
		abort();
	memcpy(copy, bytes, len);
	return copy;
}

/* ---- a value of JSON; NULL: it is not one --------------------------------------------------------- */

static const char *text(const char *at)
{
	if (*at++ != '"')
		return NULL;
	while (*at && *at != '"') {
		if ((unsigned char)*at < 0x20)
			return NULL;
		at += *at == '\\' && at[1] ? 2 : 1;
	}
	return *at ? at + 1 : NULL;
}

static const char *value(const char *at);

static const char *members(const char *at, char end)
{
	if (*at == end)
		return at + 1;
	for (;;) {
		if (end == '}') {
			at = text(at);
			if (!at || *at++ != ':')
				return NULL;
		}
		at = value(at);
		if (!at || (*at != ',' && *at != end))
			return NULL;
		if (*at++ == end)
			return at;
	}
}

static const char *value(const char *at)
{
	static const char *const words[] = {"true", "false", "null"};
	const char *from = at;

	if (*at == '{' || *at == '[')
		return members(at + 1, *at == '{' ? '}' : ']');
	if (*at == '"')
		return text(at);
	for (size_t i = 0; i < 3; i++)
		if (!strncmp(at, words[i], strlen(words[i])))
			return at + strlen(words[i]);
	at += strspn(at, "+-.0123456789e");
	return at > from ? at : NULL;
}

/* ---- the input ------------------------------------------------------------------------------------ */

static void check_arguments(const struct coreclr_layout *layout, int is_raw, const uint8_t *payload,
			    uint32_t len)
{
	struct coreclr_signature s;
	uint64_t args[CORECLR_ARG_MAX];
	char strings[CORECLR_TEXT_BYTES];

	coreclr_payload__sign(layout, is_raw, &s);
	if (s.cnt > CORECLR_ARG_MAX || strlen(s.kinds) != s.cnt ||
	    s.names_bytes > sizeof(s.names) ||
	    strnlen(s.operands, sizeof(s.operands)) == sizeof(s.operands))
		abort();
	memset(strings, 'x', sizeof(strings));
	coreclr_payload__take(layout, is_raw, payload, len, args, strings);
	for (unsigned i = 0; i < s.cnt; i++) {
		const char *at = (const char *)(uintptr_t)args[i];

		if (s.kinds[i] == 's' && (at < strings || at >= strings + sizeof(strings) ||
					  strnlen(at, (size_t)(strings + sizeof(strings) - at)) ==
						  (size_t)(strings + sizeof(strings) - at)))
			abort();
	}
}

static void check_json(const struct coreclr_layout *layout, const uint8_t *payload, uint32_t len)
{
	char json[CORECLR_JSON_BYTES];
	uint32_t bytes = coreclr_json__write(layout, payload, len, json);
	const char *end = value(json);

	if (bytes >= sizeof(json) || strlen(json) != bytes || !end || *end)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	struct coreclr_layout layout;
	size_t blob_len;
	uint8_t *blob, *payload;
	uint32_t payload_len;

	if (len < 2)
		return 0;
	blob_len = (size_t)(input[0] | input[1] << 8);
	blob_len = blob_len < len - 2 ? blob_len : len - 2;
	payload_len = (uint32_t)(len - 2 - blob_len);
	blob = exact(input + 2, blob_len);
	payload = exact(input + 2 + blob_len, payload_len);
	if (!coreclr_layout__parse(blob, (uint32_t)blob_len, take, &layout)) {
		layout.is_self = coreclr_payload__way(&layout, payload, payload_len);
		check_arguments(&layout, !layout.cnt && payload_len, payload, payload_len);
		check_json(&layout, payload, payload_len);
	}
	free(blob);
	free(payload);
	free(taken);
	taken = NULL;
	return 0;
}
