// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Options are whole words of the command line or of a variable (JAVA_TOOL_OPTIONS): "-Xint" is not
 * an option of a program that has "-Xinterval".
 */
#include "runtime/started_with.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

#define MAX_BYTES (4u << 20) /* the kernel lets arguments and environment have 6 MB */

/* Between blanks, too: a variable has several options. */
static bool has_word(const char *text, size_t len, const char *word)
{
	size_t word_len = strlen(word), end;

	for (size_t at = 0; at < len; at = end + 1) {
		for (end = at; end < len && !strchr(" \t\r\n", text[end]);)
			end++;
		if (end - at == word_len && !memcmp(text + at, word, word_len))
			return true;
	}
	return false;
}

static bool has_option(const char *text, size_t len, const char *const *options)
{
	for (const char *const *option = options; option && *option; option++)
		if (has_word(text, len, *option))
			return true;
	return false;
}

/* "NAME=value": the value; NULL: it is another one. */
static const char *env_value(const char *text, size_t len, const char *name, size_t *value_len)
{
	size_t name_len = strlen(name);

	if (len <= name_len || memcmp(text, name, name_len) != 0 || text[name_len] != '=')
		return NULL;
	*value_len = len - name_len - 1;
	return text + name_len + 1;
}

static bool is_set(const char *text, size_t len, const struct tapir_lore_condition *c)
{
	const char *value;
	size_t value_len;

	for (const char *const *name = c->option_variables; name && *name; name++) {
		value = env_value(text, len, *name, &value_len);
		if (value && has_option(value, value_len, c->options))
			return true;
	}
	value = c->variable ? env_value(text, len, c->variable, &value_len) : NULL;
	return value && value_len && *value >= '1' && *value <= '9';
}

bool tapir_started_with__by(const char *cmdline, size_t cmdline_len, const char *environment,
			    size_t environment_len, const struct tapir_lore_condition *c)
{
	size_t word_len;

	for (size_t at = 0; at < cmdline_len; at += word_len + 1) {
		word_len = strnlen(cmdline + at, cmdline_len - at);
		for (const char *const *option = c->options; option && *option; option++)
			if (word_len == strlen(*option) && !memcmp(cmdline + at, *option, word_len))
				return true;
	}
	for (size_t at = 0; at < environment_len; at += word_len + 1) {
		word_len = strnlen(environment + at, environment_len - at);
		if (is_set(environment + at, word_len, c))
			return true;
	}
	return false;
}

static char *read_text(uint32_t tgid, const char *name, size_t *len)
{
	char path[64], *text = NULL;

	*len = 0;
	snprintf(path, sizeof(path), "/proc/%u/%s", tgid, name);
	return tapir_file__read(path, MAX_BYTES, &text, len) ? NULL : text;
}

bool tapir_started_with(uint32_t tgid, const struct tapir_lore_condition *c)
{
	size_t cmdline_len, environment_len;
	char *cmdline = read_text(tgid, "cmdline", &cmdline_len);
	char *environment = read_text(tgid, "environ", &environment_len);
	bool is_so = tapir_started_with__by(cmdline, cmdline ? cmdline_len : 0, environment,
					    environment ? environment_len : 0, c);

	free(cmdline);
	free(environment);
	return is_so;
}
