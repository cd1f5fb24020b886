/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * titles.h - processes of servers that call themselves what they do, where others have a command
 * line, a moment after they were forked: "postgres: parallel worker for PID 4711". Then it is read.
 * Which servers do so is in runtime_db/ (titled_comm). Bounded. One thread.
 */
#ifndef TAPIR_USER_TITLES_H
#define TAPIR_USER_TITLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tapir/abi.h"

#define TAPIR_TITLES_MAX 64u

struct tapir_titles {
	struct {
		uint32_t tgid;
		uint64_t due_ns;
	} rows[TAPIR_TITLES_MAX]; /* the first one is due first */
	size_t cnt;
};

/* A process began. Nothing where it is none of those, or there is no room. */
void tapir_titles__add(struct tapir_titles *titles, const struct tapir_rec_process *rec,
		       uint64_t now_ns);
uint64_t tapir_titles__next_ns(const struct tapir_titles *titles); /* UINT64_MAX: none is due */
/* Takes one that is due, if there is any. */
bool tapir_titles__take(struct tapir_titles *titles, uint64_t now_ns, uint32_t *tgid);

#endif
