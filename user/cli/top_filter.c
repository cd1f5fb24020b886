// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names of columns in expressions, with the values that the columns show: shares in percent of one
 * CPU, amounts per second. A column that has no value in a row is ABSENT, and nothing is true of
 * it.
 */
#include "cli/top_filter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_VALUE (-1.0) /* of a column */

static double share_of(double ns, double seconds)
{
	return 100 * ns / 1e9 / seconds;
}

static double work_of(const struct tapir_top_row *row, double seconds, enum tapir_top_work work)
{
	double all = tapir_top_row__samples(row);

	return all > 0 ? share_of((double)row->used.cpu_ns, seconds) * row->work[work] / all
		       : NO_VALUE;
}

enum column {
	COLUMN_PID,
	COLUMN_TID,
	COLUMN_NAME,
	COLUMN_THREADS,
	COLUMN_CPU,
	COLUMN_OWN,
	COLUMN_RUNTIME,
	COLUMN_GC,
	COLUMN_JIT,
	COLUMN_KERNEL,
	COLUMN_QUEUE,
	COLUMN_FUTEX,
	COLUMN_DISK,
	COLUMN_NET,
	COLUMN_ALLOC,
	COLUMN_PAUSE,
	COLUMN_EXC,
	COLUMN_READ,
	COLUMN_WRITTEN,
	COLUMN_CNT
};

static const struct {
	const char *name;
	uint8_t class;
} columns[COLUMN_CNT] = {
	[COLUMN_PID] = {"pid", TAPIR_CLASS_UINT},
	[COLUMN_TID] = {"tid", TAPIR_CLASS_UINT},
	[COLUMN_NAME] = {"name", TAPIR_CLASS_TEXT},
	[COLUMN_THREADS] = {"threads", TAPIR_CLASS_UINT},
	[COLUMN_CPU] = {"cpu", TAPIR_CLASS_FLOAT},
	[COLUMN_OWN] = {"own", TAPIR_CLASS_FLOAT},
	[COLUMN_RUNTIME] = {"runtime", TAPIR_CLASS_FLOAT},
	[COLUMN_GC] = {"gc", TAPIR_CLASS_FLOAT},
	[COLUMN_JIT] = {"jit", TAPIR_CLASS_FLOAT},
	[COLUMN_KERNEL] = {"kernel", TAPIR_CLASS_FLOAT},
	[COLUMN_QUEUE] = {"queue", TAPIR_CLASS_FLOAT},
	[COLUMN_FUTEX] = {"futex", TAPIR_CLASS_FLOAT},
	[COLUMN_DISK] = {"disk", TAPIR_CLASS_FLOAT},
	[COLUMN_NET] = {"net", TAPIR_CLASS_FLOAT},
	[COLUMN_ALLOC] = {"alloc", TAPIR_CLASS_FLOAT},
	[COLUMN_PAUSE] = {"pause", TAPIR_CLASS_FLOAT},
	[COLUMN_EXC] = {"exc", TAPIR_CLASS_FLOAT},
	[COLUMN_READ] = {"read", TAPIR_CLASS_FLOAT},
	[COLUMN_WRITTEN] = {"written", TAPIR_CLASS_FLOAT},
};

static double top_column_value(const struct tapir_top_row *row, double seconds, uint32_t column)
{
	switch ((enum column)column) {
	case COLUMN_CPU:
		return share_of((double)row->used.cpu_ns, seconds);
	case COLUMN_QUEUE:
		return (double)row->used.runnable_ns / 1e9 / seconds;
	case COLUMN_FUTEX:
		return row->waits[TAPIR_TOP_FUTEX];
	case COLUMN_DISK:
		return row->waits[TAPIR_TOP_DISK];
	case COLUMN_NET:
		return row->waits[TAPIR_TOP_NET];
	case COLUMN_ALLOC:
		return row->allocated;
	case COLUMN_PAUSE:
		return row->paused_ns < 0 ? NO_VALUE : share_of(row->paused_ns, seconds);
	case COLUMN_EXC:
		return row->exceptions;
	case COLUMN_READ:
		return (double)row->used.read_bytes / seconds;
	case COLUMN_WRITTEN:
		return (double)row->used.written_bytes / seconds;
	default:
		return work_of(row, seconds, TAPIR_TOP_OWN + (column - COLUMN_OWN));
	}
}

static void fill(const struct tapir_top_row *row, double seconds, uint32_t column,
		 struct tapir_question_slot *slot)
{
	double value;

	*slot = (struct tapir_question_slot){.state = TAPIR_STATE_OK};
	switch (column) {
	case COLUMN_PID:
		slot->number = row->tgid;
		return;
	case COLUMN_TID:
		slot->number = row->tid ? row->tid : row->tgid;
		return;
	case COLUMN_THREADS:
		slot->number = row->tid ? 1 : row->thread_cnt;
		return;
	case COLUMN_NAME:
		slot->number = (uint64_t)(uintptr_t)row->comm;
		slot->len = (uint32_t)strlen(row->comm);
		return;
	default:
		value = top_column_value(row, seconds, column);
		slot->number = tapir_program__float_bits(value);
		slot->state = value < 0 ? TAPIR_STATE_ABSENT : TAPIR_STATE_OK;
	}
}

/* ---- the scope of expressions ------------------------------------------------------------------ */

static bool find_column(void *ctx, const char *name, size_t len, bool is_field,
			struct tapir_question_operand *out)
{
	(void)ctx;
	(void)is_field;
	for (uint32_t i = 0; i < COLUMN_CNT; i++)
		if (strlen(columns[i].name) == len && !memcmp(columns[i].name, name, len)) {
			*out = (struct tapir_question_operand){.class = columns[i].class, .id = i};
			return true;
		}
	return false;
}

static bool no_enumerator(void *ctx, const struct tapir_question_operand *of, const char *name,
			  size_t len, uint64_t *out)
{
	(void)ctx;
	(void)of;
	(void)name;
	(void)len;
	(void)out;
	return false;
}

static void list_columns(void *ctx, struct tapir_str *out)
{
	(void)ctx;
	for (int i = 0; i < COLUMN_CNT; i++)
		tapir_str__addf(out, "%s%s%s", i ? ", " : "", columns[i].name,
				columns[i].class == TAPIR_CLASS_TEXT ? " (text)" : "");
}

static const struct tapir_scope scope = {
	.subject = "a row", .find = find_column, .enumerator = no_enumerator, .list = list_columns};

/* ---- what is set ------------------------------------------------------------------------------- */

/* A name has none of these, as a rule; what is written as a part of one stays that. */
static bool is_expression(const char *text)
{
	return strpbrk(text, "=<>!~&|\"") || strstr(text, " in ");
}

static int bind(struct tapir_top_filter *f, const char *option)
{
	int err = tapir_expression__parse(option ? option : "/", f->text, &f->e);

	return err ? err : tapir_expression__condition(f->e, &scope, &f->program);
}

int tapir_top_filter__set(struct tapir_top_filter *f, const char *option, const char *text)
{
	int err = 0;

	if (f->text && text && !strcmp(f->text, text))
		return 0;
	tapir_top_filter__fini(f);
	if (!text || !*text)
		return 0;
	f->text = strdup(text);
	if (!f->text)
		return -ENOMEM;
	if (option || is_expression(text))
		err = bind(f, option);
	if (err)
		tapir_top_filter__fini(f);
	return err;
}

void tapir_top_filter__fini(struct tapir_top_filter *f)
{
	tapir_expression__free(f->e);
	free(f->text);
	*f = (struct tapir_top_filter){};
}

bool tapir_top_filter__has(const struct tapir_top_filter *f, const struct tapir_top_row *row,
			   double seconds)
{
	struct tapir_question_slot slots[TAPIR_QUESTION_SLOTS] = {};
	char id[16];

	if (!f->e) {
		snprintf(id, sizeof(id), "%u", row->tgid);
		return strstr(row->comm, f->text) || !strcmp(id, f->text);
	}
	for (unsigned i = 0; i < f->program.slot_cnt; i++)
		fill(row, seconds, f->program.slots[i].id, &slots[i]);
	return tapir_program__decide(&f->program, slots) == TAPIR_QUESTION_ACCEPT;
}
