// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The values of options: numbers, times, pids, words of a table. Each has bounds, and an error that
 * shows a right one.
 */
#include "cli/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/diag.h"
#include "base/duration.h"
#include "base/str.h"
#include "symbol/symbol_files.h"

int tapir_cli__usage(const struct tapir_cli *cli, const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (cli->command)
		tapir_diag__add("%s: %s", cli->command->name, line);
	else
		tapir_diag__add("%s", line);
	return TAPIR_CLI_USAGE;
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

static int set_rows(struct tapir_cli *cli, const struct tapir_option *o, uint64_t *value,
		    const char *text)
{
	int err = set_u64(cli, o, value, text);

	if (!err && !*value)
		*value = o->max;
	return err;
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

bool tapir_option__is_source(const char *word)
{
	const char *suffix = strrchr(word, '.');
	struct stat st;

	if (strstr(word, "://") || tapir_symbol_source__url_of(word))
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
	case TAPIR_OPTION_STRING_OR_DEFAULT:
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
	case TAPIR_OPTION_SOURCES_OR_DEFAULT:
		return tapir_vec__push(&((struct tapir_sources_or_default *)value)->words, text)
			       ? 0
			       : -ENOMEM;
	case TAPIR_OPTION_U64:
		return set_u64(cli, option, value, text);
	case TAPIR_OPTION_ROWS:
		return set_rows(cli, option, value, text);
	case TAPIR_OPTION_DURATION:
		return set_duration(cli, option, value, text);
	}
	return -EINVAL;
}
