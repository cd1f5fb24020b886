// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * "--no-sched" is the parameter no_sched, "--profile gc" is profile=gc: the agent's parameters have
 * the names of the options. What is not said by that rule is in a table.
 */
#include "base/reader_words.h"

#include <ctype.h>
#include <string.h>

static bool are_parameters;

void tapir_reader_words__use_parameters(void)
{
	are_parameters = true;
}

bool tapir_reader_words__are_parameters(void)
{
	return are_parameters;
}

const char *tapir_reader_words__of_option(const char *option)
{
	return are_parameters ? option + strspn(option, "-") : option;
}

/* The first that fits is taken. What has no parameter is done on the machine itself. */
static const struct {
	const char *option, *parameter;
} phrases[] = {
	{"`tapir record` without --no-sched", "a recording without no_sched"},
	{"`tapir record --sched`", "a recording without no_sched"},
	{"'tapir heap --live -p PID'", "on the machine, 'tapir heap --live -p PID'"},
	{"(--activities, --profile requests)", "(profile=requests)"},
	{"(--all shows them)", "(top shows more)"},
	{"tapir record '", "events='"},
	{"tapir record ", ""},
};

/* Options whose value follows after a blank. */
static const char *const with_value[] = {"profile", "view", "symbols", "lane", "format"};

struct text {
	char *out;
	size_t len; /* TAPIR_READER_WORDS_BYTES: it did not fit */
};

static void add(struct text *t, const char *bytes, size_t len)
{
	if (t->len + len >= TAPIR_READER_WORDS_BYTES) {
		t->len = TAPIR_READER_WORDS_BYTES;
		return;
	}
	memcpy(t->out + t->len, bytes, len);
	t->len += len;
}

static size_t add_phrase(struct text *t, const char *at)
{
	for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++) {
		size_t len = strlen(phrases[i].option);

		if (strncmp(at, phrases[i].option, len) != 0)
			continue;
		add(t, phrases[i].parameter, strlen(phrases[i].parameter));
		return len;
	}
	return 0;
}

static bool takes_value(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(with_value) / sizeof(with_value[0]); i++)
		if (strlen(with_value[i]) == len && !memcmp(name, with_value[i], len))
			return true;
	return false;
}

/* at: "--name"; the number of bytes that are done. */
static size_t add_option(struct text *t, const char *at)
{
	const char *name = at + 2;
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz-");

	for (size_t i = 0; i < len; i++)
		add(t, name[i] == '-' ? "_" : &name[i], 1);
	if (name[len] != ' ' || !islower((unsigned char)name[len + 1]) || !takes_value(name, len))
		return 2 + len;
	add(t, "=", 1);
	return 2 + len + 1;
}

static bool is_option(const char *text, const char *at)
{
	return at[0] == '-' && at[1] == '-' && islower((unsigned char)at[2]) &&
	       (at == text || strchr(" `'(", at[-1]));
}

const char *tapir_reader_words__of(const char *text, char *out)
{
	struct text t = {.out = out};

	if (!are_parameters)
		return text;
	for (const char *at = text; *at && t.len < TAPIR_READER_WORDS_BYTES;) {
		size_t used = add_phrase(&t, at);

		if (!used && is_option(text, at))
			used = add_option(&t, at);
		if (!used)
			add(&t, at, used = 1);
		at += used;
	}
	if (t.len >= TAPIR_READER_WORDS_BYTES)
		return text;
	out[t.len] = '\0';
	return out;
}
