/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * counter_table.h - the newest value of each counter, as a table that is drawn over itself on a
 * terminal. A counter that reports both has its sum and its rate in one row. On a small terminal
 * names are shortened and columns left out; rows that do not fit are counted. One thread.
 */
#ifndef TAPIR_USER_COUNTER_TABLE_H
#define TAPIR_USER_COUNTER_TABLE_H

#include "base/str.h"
#include "trace/record.h"

struct tapir_counter_table;

struct tapir_counter_table *tapir_counter_table__new(void); /* NULL: out of memory */
void tapir_counter_table__free(struct tapir_counter_table *t);

/* Takes a COUNTER record. 0 or -ENOMEM. Beyond 4,096 rows they are counted only. */
int tapir_counter_table__add(struct tapir_counter_table *t, const struct tapir_rec *rec);

/* Appends the table if values came a moment ago. True: there will be one to draw in a moment. */
bool tapir_counter_table__draw(struct tapir_counter_table *t, uint64_t now_ns,
			       struct tapir_str *out);

#endif
