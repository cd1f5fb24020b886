// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fields of proc_pid_stat(5), lines of proc_pid_status(5). The name of a process may contain
 * blanks, parentheses and newlines, so stat's fields are counted from its last ')'.
 */
#include "base/proc_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Numbered as in proc_pid_stat(5). */
enum stat_field {
	FIELD_STATE = 3,
	FIELD_FLAGS = 9,
	FIELD_UTIME = 14,
	FIELD_STIME = 15,
	FIELD_THREADS = 20,
	FIELD_START = 22,
	FIELD_RSS = 24,
};

/* p: the first character of the field's word. */
static void read_stat_field(enum stat_field field, const char *p, struct tapir_proc_stat *out)
{
	if (field == FIELD_STATE)
		out->is_zombie = *p == 'Z' || *p == 'X';
	else if (field == FIELD_FLAGS)
		out->flags = strtoul(p, NULL, 10);
	else if (field == FIELD_UTIME || field == FIELD_STIME)
		out->cpu_ticks += strtoull(p, NULL, 10);
	else if (field == FIELD_THREADS && strtoul(p, NULL, 10) > 1)
		out->is_zombie = false; /* a leader may end before the other threads */
	else if (field == FIELD_START)
		out->start_ticks = strtoull(p, NULL, 10);
	else if (field == FIELD_RSS)
		out->resident_pages = strtoull(p, NULL, 10);
}

/* "pid (comm) S ppid ...": the comm may hold anything, ')' and newlines too. */
int tapir_proc_stat__parse(const char *text, struct tapir_proc_stat *out)
{
	const char *open = strchr(text, '('), *close = strrchr(text, ')'), *p;
	size_t len;

	if (!open || !close || close < open)
		return -EPROTO;
	len = (size_t)(close - open - 1);
	len = len < TAPIR_COMM_BYTES - 1 ? len : TAPIR_COMM_BYTES - 1;
	memset(out, 0, sizeof(*out));
	memcpy(out->comm, open + 1, len);
	p = close + 1;
	for (enum stat_field field = FIELD_STATE; field <= FIELD_RSS; field++) {
		p += strspn(p, " ");
		if (!*p)
			return -EPROTO;
		read_stat_field(field, p, out);
		p += strcspn(p, " ");
	}
	return 0;
}

const char *tapir_proc_status__value(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, key, len) && line[len] == ':')
			return line + len + 1 + strspn(line + len + 1, "\t ");
	}
	return NULL;
}

bool tapir_proc_status__number(const char *text, const char *key, int word_idx, uint32_t *out)
{
	const char *at = tapir_proc_status__value(text, key);
	bool found = false;

	for (int i = 0; at && (word_idx < 0 || i <= word_idx); i++) {
		char *end;
		unsigned long value;

		at += strspn(at, "\t ");
		value = strtoul(at, &end, 10);
		if (*at < '0' || *at > '9' || value > UINT32_MAX)
			break;
		found = word_idx < 0 || i == word_idx;
		*out = (uint32_t)value;
		at = end;
	}
	return found;
}
