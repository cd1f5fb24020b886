/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_where.h - which records of a recording are counted (--where EXPR): captured records for
 * which the condition is true. Events have their fields, and every record has what it knows of the
 * thread: pid, tid, comm, thread, cpu, cgroup, user. A record that lacks a field of the condition
 * is not chosen, nor is one for which it cannot be decided. Records that describe, losses and gaps
 * always are. One thread.
 */
#ifndef TAPIR_USER_RECORD_WHERE_H
#define TAPIR_USER_RECORD_WHERE_H

#include <stdbool.h>

#include "base/str.h"
#include "bpf/question_logic.bpf.h"
#include "trace/catalog.h"

struct tapir_where;

/*
 * Parses a condition; text is borrowed. NULL: *out is NULL, and every record is chosen. -EINVAL
 * with lines, -ENOMEM.
 */
int tapir_where__new(const char *text, struct tapir_where **out);
void tapir_where__free(struct tapir_where *w);

/* Reports a mistake, with the errors of __new, before anything is done for the condition. */
int tapir_where__check_text(const char *text);

/*
 * Begins to read a recording, or to read it again: catalog is borrowed until the next call. What
 * was counted remains. w may be NULL.
 */
void tapir_where__begin(struct tapir_where *w, const struct tapir_catalog *catalog);

/*
 * Has the kernel decide where it can: offer gets the condition of a probe when its first event has
 * come, since the arguments are known then. Before the first record.
 */
void tapir_where__set_offer(struct tapir_where *w,
			    void (*offer)(void *ctx, uint32_t probe_id,
					  const struct tapir_hit_question *condition),
			    void *ctx);

/*
 * Returns true if a well-formed record is chosen for its thread, `which` as for tapir_rec__tgid. w
 * may be NULL.
 */
bool tapir_where__has(struct tapir_where *w, const struct tapir_rec *rec, int which);
/* Does the same, and counts the record, for __chosen and __seen. */
bool tapir_where__count(struct tapir_where *w, const struct tapir_rec *rec, int which);

/*
 * Returns lines, each with its end, about the first event that lacks a field of the condition, or
 * whose fields do not compare; NULL: there was none. w is not NULL.
 */
const char *tapir_where__misfit(const struct tapir_where *w);
/*
 * Call it after reading. -EINVAL with lines: there is no kind of record to which the condition
 * fits, such as one with a misspelt field; -ENOMEM. w may be NULL.
 */
int tapir_where__check(struct tapir_where *w);

/* Return the condition, and what was counted of a family. w is not NULL. */
const char *tapir_where__text(const struct tapir_where *w);
uint64_t tapir_where__chosen(const struct tapir_where *w, int family);
uint64_t tapir_where__seen(const struct tapir_where *w, int family);

#endif
