// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One pass over the label: parts of a path end at '/', at a blank and where a query begins. A part
 * that looks like an id (a number, a UUID, a long hexadecimal or random text) becomes {n}; a wrong
 * guess makes one row of two routes, none makes a row of each request.
 */
#include "analyze/spans/route_of_path.h"

#include <string.h>

#define HEX_ID_BYTES 16 /* shorter ones may be words */
#define TOKEN_BYTES  20
#define TOKEN_DIGITS 4

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_of_token(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       c == '-' || c == '=';
}

/* "760", "-5", "1.5" */
static bool is_number(const char *part, size_t len)
{
	size_t at = *part == '-', digits = 0, points = 0;

	for (; at < len; at++) {
		digits += is_digit(part[at]);
		points += part[at] == '.';
		if (!is_digit(part[at]) && part[at] != '.')
			return false;
	}
	return digits && points <= 1;
}

static bool is_uuid(const char *part, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (is_dash ? part[i] != '-' : !is_hex(part[i]))
			return false;
	}
	return len == 36;
}

static bool is_id(const char *part, size_t len)
{
	size_t digits = 0, hex = 0, token = 0;

	for (size_t i = 0; i < len; i++) {
		digits += is_digit(part[i]);
		hex += is_hex(part[i]);
		token += is_of_token(part[i]);
	}
	return is_uuid(part, len) || (hex == len && len >= HEX_ID_BYTES && digits) ||
	       (token == len && len >= TOKEN_BYTES && digits >= TOKEN_DIGITS);
}

static void add_part(struct tapir_str *out, const char *part, size_t len)
{
	if (len && is_number(part, len))
		tapir_str__adds(out, "{n}");
	else if (len && is_id(part, len))
		tapir_str__adds(out, "{id}");
	else
		tapir_str__add(out, part, len);
}

/* Limits what follows `from` to that many bytes, and to complete characters. */
static void limit(struct tapir_str *out, size_t from)
{
	size_t end = from + TAPIR_ROUTE_MAX_BYTES;

	if (out->len <= end)
		return;
	while (end > from && ((unsigned char)out->data[end] & 0xc0) == 0x80)
		end--;
	out->len = end;
	out->data[end] = 0;
	tapir_str__adds(out, "...");
}

void tapir_route__add(struct tapir_str *out, const char *label)
{
	const char *at = label, *host = strstr(label, "://");
	size_t from = out->len;

	if (host) {
		at = host + 3 + strcspn(host + 3, "/?# ");
		tapir_str__add(out, label, (size_t)(at - label));
	}
	while (*at && out->len - from <= TAPIR_ROUTE_MAX_BYTES) {
		size_t len = strcspn(at, "/?# ");

		add_part(out, at, len);
		at += len;
		if (*at == '?' || *at == '#')
			at += strcspn(at, " ");
		if (*at)
			tapir_str__addc(out, *at++);
	}
	if (out->data)
		limit(out, from);
}
