// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The diagnostic list is a thread-local array, so that adding a line needs neither lock nor memory:
 * it works when malloc(3) has just failed. Nothing is printed here.
 */
#include "base/diag.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/reader_words.h"

#define LINE_BYTES 1024
#define LINE_CNT   32

struct tapir_diag {
	int cnt;
	char lines[LINE_CNT][LINE_BYTES];
};

static __thread struct tapir_diag list;

static void add_line(const char *fmt, va_list ap)
{
	char words[TAPIR_READER_WORDS_BYTES];

	if (list.cnt == LINE_CNT)
		return;
	vsnprintf(list.lines[list.cnt++], LINE_BYTES, tapir_reader_words__of(fmt, words), ap);
}

void tapir_diag__add(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_line(fmt, ap);
	va_end(ap);
}

int tapir_diag__fail(int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_line(fmt, ap);
	va_end(ap);
	return err;
}

int tapir_diag__cnt(void)
{
	return list.cnt;
}

const char *tapir_diag__line(int idx)
{
	return idx >= 0 && idx < list.cnt ? list.lines[idx] : NULL;
}

void tapir_diag__clear(void)
{
	list.cnt = 0;
}

void tapir_diag__rewind(int cnt)
{
	if (cnt < list.cnt)
		list.cnt = cnt;
}

const char *tapir_errno__name(int err)
{
	const char *name = strerrorname_np(err < 0 && err != INT_MIN ? -err : err);

	return name ? name : "unknown error";
}

const char *tapir_errno__text(int err)
{
	const char *text = strerrordesc_np(err < 0 && err != INT_MIN ? -err : err);

	if (abs(err) == 524) /* ENOTSUPP, the kernel's own */
		return "Operation not supported by this kernel";
	return text ? text : "Unknown error";
}

struct tapir_diag *tapir_diag__take(void)
{
	struct tapir_diag *diag = malloc(sizeof(*diag));

	if (diag)
		*diag = list;
	tapir_diag__clear();
	return diag;
}

void tapir_diag__give(struct tapir_diag *diag)
{
	for (int i = 0; diag && i < diag->cnt; i++)
		tapir_diag__add("%s", diag->lines[i]);
	free(diag);
}
