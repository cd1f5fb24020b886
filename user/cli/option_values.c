// SPDX-License-Identifier: GPL-2.0-or-later
/* The values of options: numbers, times, pids, each with an error that shows a right one. */
#include "cli/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/str.h"

/* ---- durations ------------------------------------------------------------------------- */

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

/* ---- values ----------------------------------------------------------------------------- */

static int bad_value(struct tapir_cli *cli, const struct tapir_option *o, const char *text,
		     const char *expected)
{
	return tapir_cli__usage(cli, "--%s: '%s' is not %s", o->name, text, expected);
}

static int add_pids(struct tapir_cli *cli, const struct tapir_option *o, struct tapir_pids *pids,
		    const char *text)
{
	const char *p = text;

	for (;;) {
		size_t len = strcspn(p, ",");
		char digits[16];
		uint64_t pid;

		snprintf(digits, sizeof(digits), "%.*s", (int)(len < 15 ? len : 15), p);
		if (!tapir_str__to_u64(digits, 1, INT32_MAX, &pid))
			return bad_value(cli, o, text, "a process id: -p 4242, or -p 4242,4243");
		if (!tapir_vec__push(pids, (uint32_t)pid))
			return -ENOMEM;
		if (!p[len])
			return 0;
		p += len + 1;
	}
}

static int set_u64(struct tapir_cli *cli, const struct tapir_option *o, uint64_t *value,
		   const char *text)
{
	char expected[96];

	if (tapir_str__to_u64(text, o->min, o->max, value))
		return 0;
	if (o->max == UINT64_MAX)
		snprintf(expected, sizeof(expected), "a number of at least %llu",
			 (unsigned long long)o->min);
	else
		snprintf(expected, sizeof(expected), "a number from %llu to %llu",
			 (unsigned long long)o->min, (unsigned long long)o->max);
	return bad_value(cli, o, text, expected);
}

static int set_duration(struct tapir_cli *cli, const struct tapir_option *o, uint64_t *value,
			const char *text)
{
	uint64_t ns;

	if (!tapir_duration__parse(text, &ns))
		return bad_value(cli, o, text,
				 "a time: 5 or 0.5 (seconds), 500ms, 1m30s, 2h, 00:01:30");
	if (ns < o->min || ns > o->max)
		return bad_value(cli, o, text, ns < o->min ? "long enough" : "short enough");
	*value = ns;
	return 0;
}

/* "slow=EVENT" stands for "slow=" and any text. */
static bool is_value(const char *value, const char *text)
{
	size_t len = strcspn(value, "=");

	return value[len] ? !strncmp(value, text, len + 1) && text[len + 1] : !strcmp(value, text);
}

/* The value of the table that text names; NULL: none. */
static const char *find_value(const struct tapir_option *o, const char *text)
{
	const char *one;

	for (size_t i = 0; (one = o->value(i)); i++)
		if (is_value(one, text))
			return one;
	return NULL;
}

static int not_a_value(struct tapir_cli *cli, const struct tapir_option *o, const char *text)
{
	struct tapir_str expected = {};
	const char *one;
	int err;

	for (size_t i = 0; (one = o->value(i)); i++)
		tapir_str__addf(&expected, "%s%s", i ? ", " : "one of ", one);
	err = expected.data ? bad_value(cli, o, text, expected.data) : -ENOMEM;
	tapir_str__fini(&expected);
	return err;
}

static int set_string(struct tapir_cli *cli, const struct tapir_option *o, const char **value,
		      const char *text)
{
	*value = text;
	return !o->value || find_value(o, text) ? 0 : not_a_value(cli, o, text);
}

static int add_choices(struct tapir_cli *cli, const struct tapir_option *o,
		       struct tapir_words *values, const char *text)
{
	char name[32];

	for (;; text++) {
		size_t len = strcspn(text, ",");
		const char *value;

		snprintf(name, sizeof(name), "%.*s", (int)(len < 31 ? len : 31), text);
		value = find_value(o, name);
		if (!value)
			return not_a_value(cli, o, name);
		if (!tapir_vec__push(values, value))
			return -ENOMEM;
		text += len;
		if (!*text)
			return 0;
	}
}

bool tapir_option__is_place(const char *word)
{
	const char *suffix = strrchr(word, '.');
	struct stat st;

	if (strstr(word, "://"))
		return true;
	if (!stat(word, &st))
		return S_ISDIR(st.st_mode);
	/* A directory that is missing: the error is to name it as one. */
	return strchr(word, '/') && (!suffix || strcmp(suffix, ".tapir"));
}

int tapir_option__set(struct tapir_cli *cli, const struct tapir_option *option, void *value,
		      const char *text)
{
	switch (option->type) {
	case TAPIR_OPTION_FLAG:
		*(bool *)value = true;
		return 0;
	case TAPIR_OPTION_STRING:
		return set_string(cli, option, value, text);
	case TAPIR_OPTION_CHOICES:
		return add_choices(cli, option, value, text);
	case TAPIR_OPTION_LIST:
		return tapir_vec__push((struct tapir_words *)value, text) ? 0 : -ENOMEM;
	case TAPIR_OPTION_PIDS:
		return add_pids(cli, option, value, text);
	case TAPIR_OPTION_PIDS_OR_EACH:
		return add_pids(cli, option, &((struct tapir_pids_or_each *)value)->pids, text);
	case TAPIR_OPTION_LIST_OR_DEFAULT:
		((struct tapir_words_or_default *)value)->is_given = true;
		return tapir_vec__push(&((struct tapir_words_or_default *)value)->words, text)
			       ? 0
			       : -ENOMEM;
	case TAPIR_OPTION_PLACES_OR_DEFAULT:
		return tapir_vec__push(&((struct tapir_places_or_default *)value)->words, text)
			       ? 0
			       : -ENOMEM;
	case TAPIR_OPTION_U64:
		return set_u64(cli, option, value, text);
	case TAPIR_OPTION_DURATION:
		return set_duration(cli, option, value, text);
	}
	return -EINVAL;
}
