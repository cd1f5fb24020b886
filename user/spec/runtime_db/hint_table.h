/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hint_table.h - how tables of USDT arguments and of waiting functions are written; for the files
 * of this room only. Each macro is one row of a constant table.
 */
#ifndef TAPIR_USER_HINT_TABLE_H
#define TAPIR_USER_HINT_TABLE_H

#include "spec/runtime_db/lore.h"

/* One argument. NUM leaves type and sign to the note. */
#define TAPIR_HINT_NUM(name)                                                                       \
	{                                                                                          \
		name, TAPIR_FIELD_NONE, 0, false                                                   \
	}
#define TAPIR_HINT_BOOL(name)                                                                      \
	{                                                                                          \
		name, TAPIR_FIELD_BOOL, 0, false                                                   \
	}
#define TAPIR_HINT_PTR(name)                                                                       \
	{                                                                                          \
		name, TAPIR_FIELD_PTR, 0, false                                                    \
	}
#define TAPIR_HINT_STR(name)                                                                       \
	{                                                                                          \
		name, TAPIR_FIELD_STR, 0, false                                                    \
	}
#define TAPIR_HINT_STRN(name, len)                                                                 \
	{                                                                                          \
		name, TAPIR_FIELD_STRN, len, false                                                 \
	}

#define TAPIR_HINT_CXX_TYPE(name)                                                                  \
	{                                                                                          \
		name, TAPIR_FIELD_STR, 0, true                                                     \
	}

/* One event and its arguments. An event without arguments needs no hint. */
#define TAPIR_HINT(provider, event, ...)                                                           \
	{                                                                                          \
		provider, event, {__VA_ARGS__},                                                    \
			sizeof((const struct tapir_hint_arg[]){__VA_ARGS__}) /                     \
				sizeof(struct tapir_hint_arg)                                      \
	}

#define TAPIR_TABLE(array)                                                                         \
	{                                                                                          \
		array, sizeof(array) / sizeof((array)[0])                                          \
	}

/*
 * A function in which a thread waits. WAIT: for what reason says. LOCK: until another thread
 * releases a lock. COMMON: many kinds of waits go through it, so a function further out decides.
 * MAYBE_LOCK: for a lock or for work.
 */
#define TAPIR_WAIT_ROW(name, waits_for, ...)                                                       \
	{                                                                                          \
		.function = (name), .reason = (waits_for), __VA_ARGS__                             \
	}
#define TAPIR_WAIT(function, reason)	    TAPIR_WAIT_ROW(function, reason, .is_lock = false)
#define TAPIR_WAIT_LOCK(function, reason)   TAPIR_WAIT_ROW(function, reason, .is_lock = true)
#define TAPIR_WAIT_COMMON(function, reason) TAPIR_WAIT_ROW(function, reason, .is_common = true)
#define TAPIR_WAIT_MAYBE_LOCK(function, reason)                                                    \
	TAPIR_WAIT_ROW(function, reason, .is_lock = true, .may_idle = true)
/* A function that may also be common: a function further out shows what it is used for. */
#define TAPIR_WAIT_HANDOFF(function, reason)                                                       \
	TAPIR_WAIT_ROW(function, reason, .is_common = true, .is_handoff = true)
#define TAPIR_WAIT_TURNS(function, reason)                                                         \
	TAPIR_WAIT_ROW(function, reason, .is_lock = true, .allows_barging = true)

/* A list of strings, with its end. */
#define TAPIR_LIST_OF(...) ((const char *const[]){__VA_ARGS__, NULL})

extern const struct tapir_hint_table tapir_hints_jni; /* hotspot's: hints_jni.c */

#endif
