// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Headers: Host, Origin, Authorization; the %XX of a path. A page of another site can make a
 * browser send requests, so Host and Origin must be names of this agent.
 */
#include "agent/front_checks.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define HOST_BYTES 256

/* The part before ":PORT", without brackets. False: not a host. */
static bool split_host(const char *text, char host[HOST_BYTES])
{
	bool is_bracketed = *text == '[';
	size_t len = is_bracketed ? strcspn(text, "]") : strcspn(text, ":");
	const char *rest = text + len + (is_bracketed && text[len] == ']');

	if (len >= HOST_BYTES || (is_bracketed && text[len] != ']'))
		return false;
	if (*rest == ':' && strspn(rest + 1, "0123456789") == strlen(rest + 1))
		rest += strlen(rest);
	snprintf(host, HOST_BYTES, "%.*s", (int)(len - is_bracketed), text + is_bracketed);
	return !*rest && *host;
}

bool tapir_front__is_host(const char *text, const struct tapir_words *hosts)
{
	unsigned char address[sizeof(struct in6_addr)];
	const char *const *name;
	char host[HOST_BYTES];

	if (!text || !split_host(text, host))
		return false;
	if (!strcasecmp(host, "localhost") || inet_pton(AF_INET, host, address) == 1 ||
	    inet_pton(AF_INET6, host, address) == 1)
		return true;
	tapir_vec_for_each (name, hosts)
		if (!strcasecmp(*name, host))
			return true;
	return false;
}

bool tapir_front__is_origin(const char *origin, const char *host)
{
	if (!host)
		return false;
	if (!strncmp(origin, "http://", 7))
		return !strcasecmp(origin + 7, host);
	return !strncmp(origin, "https://", 8) && !strcasecmp(origin + 8, host);
}

/* ---- Authorization -------------------------------------------------------------------------- */

static int base64_digit(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* False: not base64, has a NUL, or does not fit. */
static bool decode_base64(const char *text, char *out, size_t size)
{
	size_t len =
		strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
	size_t padding = strlen(text + len), used = 0;
	unsigned bits = 0, held = 0;

	if (padding > 2 || strspn(text + len, "=") != padding || len % 4 == 1)
		return false;
	for (size_t i = 0; i < len; i++) {
		held = held << 6 | (unsigned)base64_digit(text[i]);
		bits += 6;
		if (bits < 8)
			continue;
		bits -= 8;
		if (used + 1 >= size || !(held >> bits & 255))
			return false;
		out[used++] = (char)(held >> bits & 255);
	}
	out[used] = '\0';
	return true;
}

bool tapir_front__token(const char *text, char *out, size_t size)
{
	char pair[1024], *colon;
	size_t len;

	if (!strncasecmp(text, "Bearer ", 7)) {
		text += 7 + strspn(text + 7, " ");
		len = strlen(text);
		if (!len || len >= size)
			return false;
		memcpy(out, text, len + 1);
		return true;
	}
	if (strncasecmp(text, "Basic ", 6) != 0 ||
	    !decode_base64(text + 6 + strspn(text + 6, " "), pair, sizeof(pair)))
		return false;
	colon = strchr(pair, ':');
	len = colon ? strlen(colon + 1) : 0;
	if (!len || len >= size)
		return false;
	memcpy(out, colon + 1, len + 1);
	return true;
}

/* ---- paths ---------------------------------------------------------------------------------- */

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

size_t tapir_front__unescape(char *text)
{
	char *out = text;

	for (const char *in = text; *in; in++) {
		int high = *in == '%' ? hex_digit(in[1]) : -1;
		int low = high >= 0 ? hex_digit(in[2]) : -1;

		if (low < 0 || !(high | low)) {
			*out++ = *in;
			continue;
		}
		*out++ = (char)(high << 4 | low);
		in += 2;
	}
	*out = '\0';
	return (size_t)(out - text);
}

/* ---- forms ---------------------------------------------------------------------------------- */

static char *decode_field(char *text)
{
	for (char *p = text; *p; p++)
		if (*p == '+')
			*p = ' ';
	tapir_front__unescape(text);
	return text;
}

int tapir_front__parse_form(char *text, struct tapir_wire_pair *out, size_t max)
{
	size_t cnt = 0;
	char *field, *value;

	while ((field = strsep(&text, "&"))) {
		value = strchr(field, '=');
		if (!value || !value[1] || value == field)
			continue;
		*value++ = '\0';
		if (cnt == max)
			return -E2BIG;
		out[cnt++] = (struct tapir_wire_pair){.name = decode_field(field),
						      .value = decode_field(value)};
	}
	return (int)cnt;
}

bool tapir_front__is_local_path(const char *path)
{
	if (*path != '/' || path[1] == '/')
		return false;
	for (const char *p = path; *p; p++)
		if (*p <= ' ' || *p > '~' || *p == '\\')
			return false;
	return true;
}
