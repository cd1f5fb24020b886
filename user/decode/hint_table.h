/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hint_table.h - how the tables behind usdt_hints.h are written; for hints_*.c only. */
#ifndef TAPIR_USER_HINT_TABLE_H
#define TAPIR_USER_HINT_TABLE_H

#include "decode/usdt_hints.h"

/* One argument. NUM leaves type and sign to the note. */
#define TAPIR_HINT_NUM(name)                                                                       \
	{                                                                                          \
		name, TAPIR_FIELD_NONE, 0                                                          \
	}
#define TAPIR_HINT_BOOL(name)                                                                      \
	{                                                                                          \
		name, TAPIR_FIELD_BOOL, 0                                                          \
	}
#define TAPIR_HINT_PTR(name)                                                                       \
	{                                                                                          \
		name, TAPIR_FIELD_PTR, 0                                                           \
	}
#define TAPIR_HINT_STR(name)                                                                       \
	{                                                                                          \
		name, TAPIR_FIELD_STR, 0                                                           \
	}
#define TAPIR_HINT_STRN(name, len)                                                                 \
	{                                                                                          \
		name, TAPIR_FIELD_STRN, len                                                        \
	}

/* One event and its arguments. An event without arguments needs no hint. */
#define TAPIR_HINT(provider, event, ...)                                                           \
	{                                                                                          \
		provider, event, {__VA_ARGS__},                                                    \
			sizeof((const struct tapir_hint_arg[]){__VA_ARGS__}) /                     \
				sizeof(struct tapir_hint_arg)                                      \
	}

struct tapir_hint_table {
	const struct tapir_hint *hints;
	size_t cnt;
};

extern const struct tapir_hint_table tapir_hints_hotspot, tapir_hints_jni, tapir_hints_postgresql,
	tapir_hints_scripting;

#endif
