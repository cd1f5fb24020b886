/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * runtimes.h - the table of all runtimes, servers and libraries that are known by name: a row has
 * what each defines in its own files, and is all that the rest of tapir has of it.
 *
 *	LORE(x)         struct tapir_lore tapir_lore_x                (spec/runtime_db/lore.h)
 *	OPS(x)          struct tapir_runtime_ops tapir_runtime_x      (runtime/runtime_ops.h)
 *	INTERPRETER(x)  struct tapir_interpreter_ops tapir_interpreter_x  (runtime/interpreters.h)
 *
 * Its order shows: SPECs of a profile, summaries and whatever else has an order come in this one,
 * and of two rows that match a name the first decides.
 */
#ifndef TAPIR_USER_RUNTIMES_H
#define TAPIR_USER_RUNTIMES_H

/* clang-format off */
#define TAPIR_RUNTIMES(LORE, OPS, INTERPRETER) \
	LORE(dotnet) OPS(dotnet) \
	LORE(hotspot) OPS(jvm) INTERPRETER(jvm) \
	LORE(postgresql) OPS(postgresql) \
	LORE(cpython) INTERPRETER(cpython) \
	LORE(ruby) INTERPRETER(ruby) \
	LORE(php) INTERPRETER(php) \
	LORE(node) INTERPRETER(v8) \
	LORE(cxx) \
	LORE(mono) \
	LORE(erlang) \
	LORE(perl) \
	LORE(mysql) LORE(mariadb) \
	LORE(luajit) \
	LORE(go) \
	LORE(rust) \
	LORE(libc) \
	LORE(linux) \
	/* A runtime is a row above this line. */
/* clang-format on */

#define TAPIR_NO_COLUMN(name)

#endif
