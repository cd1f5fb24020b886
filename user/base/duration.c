// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two grammars: clock times, which have colons, and numbers with units ("1m30s"). Sums are checked
 * for overflow: a duration that wrapped around would be a short one.
 */
#include "base/duration.h"

#include <string.h>

#include "base/clock.h"

static bool unit_ns(const char *unit, size_t len, uint64_t *out)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {{"", TAPIR_NS_PER_SEC},
		     {"s", TAPIR_NS_PER_SEC},
		     {"ms", TAPIR_NS_PER_MS},
		     {"m", 60 * TAPIR_NS_PER_SEC},
		     {"h", 3600 * TAPIR_NS_PER_SEC}};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strlen(units[i].name) == len && !memcmp(units[i].name, unit, len)) {
			*out = units[i].ns;
			return true;
		}
	}
	return false;
}

/* One number and its unit; advances *text. At most 9 digits on either side of the point. */
static bool parse_part(const char **text, uint64_t *sum_ns)
{
	uint64_t whole = 0, fraction = 0, scale = 1, ns, part;
	const char *p = *text;
	size_t digits = strspn(p, "0123456789"), more = 0, unit_len;

	for (size_t i = 0; i < digits && digits <= 9; i++)
		whole = whole * 10 + (uint64_t)(p[i] - '0');
	p += digits;
	if (*p == '.') {
		more = strspn(++p, "0123456789");
		for (size_t i = 0; i < more && more <= 9; i++, scale *= 10)
			fraction = fraction * 10 + (uint64_t)(p[i] - '0');
		p += more;
	}
	/* A number without a unit counts seconds and is the last part: "1.5.5" is refused. */
	unit_len = strcspn(p, "0123456789.");
	if (digits > 9 || more > 9 || !(digits + more) || (!unit_len && *p) ||
	    !unit_ns(p, unit_len, &ns))
		return false;
	fraction = (uint64_t)((unsigned __int128)fraction * ns / scale);
	if (__builtin_mul_overflow(whole, ns, &part) ||
	    __builtin_add_overflow(part, fraction, &part) ||
	    __builtin_add_overflow(*sum_ns, part, sum_ns))
		return false;
	*text = p + unit_len;
	return true;
}

/* "hh:mm:ss" or "dd:hh:mm:ss", as dotnet-trace takes it. */
static bool parse_clock(const char *text, uint64_t *out_ns)
{
	static const uint64_t unit_s[] = {24 * 3600, 3600, 60, 1};
	static const uint64_t limit[] = {10000, 24, 60, 60};
	size_t colons = 0, i;
	uint64_t sum_s = 0;

	for (const char *p = text; *p; p++)
		colons += *p == ':';
	if (colons != 2 && colons != 3)
		return false;
	for (i = 3 - colons; i < 4; i++) {
		size_t digits = strspn(text, "0123456789");
		uint64_t value = 0;

		if (!digits || digits > 4 || text[digits] != (i < 3 ? ':' : '\0'))
			return false;
		for (size_t at = 0; at < digits; at++)
			value = value * 10 + (uint64_t)(text[at] - '0');
		/* The first number may be large: 90:00:00 is 90 hours. */
		if (i > 3 - colons && value >= limit[i])
			return false;
		sum_s += value * unit_s[i];
		text += digits + 1;
	}
	*out_ns = sum_s * TAPIR_NS_PER_SEC;
	return true;
}

bool tapir_duration__parse(const char *text, uint64_t *out_ns)
{
	uint64_t sum_ns = 0;

	if (strchr(text, ':'))
		return parse_clock(text, out_ns);
	do {
		if (!parse_part(&text, &sum_ns))
			return false;
	} while (*text);
	*out_ns = sum_ns;
	return true;
}
