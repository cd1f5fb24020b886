// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A name is compared with the lists of all runtimes, by the rows of TAPIR_NAME_MARKS; a few marks
 * are of names that are in no list.
 */
#include "diagnose/name_marks.h"

#include <stddef.h>
#include <string.h>

#include "diagnose/diagnosis_impl.h"
#include "spec/runtime_db/lore.h"

enum { ONE = 1, WHOLE = 2, MANAGED = 4 };

static const struct {
	enum tapir_name_mark mark;
	size_t member; /* offset in struct tapir_lore */
	unsigned how;
} rows[] = {
#define ROW(id, member, how) {TAPIR_MARK_##id, offsetof(struct tapir_lore, member), how},
	TAPIR_NAME_MARKS(ROW)};
#define ROW_CNT (sizeof(rows) / sizeof(*rows))

/* A member is one text or a list: NULL where the runtime has none. */
static const void *member_of(const struct tapir_lore *lore, size_t row)
{
	const void *member;

	memcpy(&member, (const char *)lore + rows[row].member, sizeof(member));
	return member;
}

static bool is_listed(const struct tapir_lore *lore, size_t row, struct tapir_sv name)
{
	const void *member = member_of(lore, row);
	const char *one[] = {member, NULL}, *const *list = rows[row].how & ONE ? one : member;

	if (!(rows[row].how & WHOLE))
		return tapir_sv__starts_with_any(name, list);
	for (; list && *list; list++)
		if (tapir_sv__is(name, *list))
			return true;
	return false;
}

static const struct tapir_lore *lore_of(size_t row, const char *name)
{
	struct tapir_sv text =
		tapir_sv__of(rows[row].how & MANAGED ? tapir_app_code__without_type(name) : name);

	tapir_lore_for_each (lore)
		if (is_listed(lore, row, text))
			return lore;
	return NULL;
}

const struct tapir_lore *tapir_name_mark__lore(enum tapir_name_mark mark, const char *name)
{
	size_t row = 0;

	while (rows[row].mark != mark)
		row++;
	return lore_of(row, name);
}

const struct tapir_lore_activity *tapir_name_mark__activity(const char *name)
{
	name = tapir_app_code__without_type(name);
	tapir_lore_for_each (lore)
		for (const struct tapir_lore_activity *d = lore->cpu_activities; d && d->function;
		     d++) {
			size_t len = strlen(d->function);
			bool is_prefix = d->function[len - 1] == '*';

			if (is_prefix ? !strncmp(name, d->function, len - 1)
				      : !strcmp(name, d->function))
				return d;
		}
	return NULL;
}

/* Most runtimes lack most lists: those that there are, once for all names. */
static bool find_lists(struct tapir_name_marks *known)
{
	tapir_lore_for_each (lore)
		for (size_t row = 0; row < ROW_CNT; row++) {
			struct tapir_name_list list = {lore, row};

			if (member_of(lore, row) && !tapir_vec__push(&known->lists, list))
				return false;
		}
	return true;
}

static uint32_t judge_name(struct tapir_diagnosis *f, const char *name)
{
	struct tapir_sv whole = tapir_sv__of(name);
	struct tapir_sv managed = tapir_sv__of(tapir_app_code__without_type(name));
	const struct tapir_name_list *list;
	uint32_t marks = TAPIR_MARK_IS_KNOWN;

	if (!f->marks.lists.cnt && !find_lists(&f->marks))
		f->names.failed = true;
	tapir_vec_for_each (list, &f->marks.lists)
		if (is_listed(list->lore, list->row,
			      rows[list->row].how & MANAGED ? managed : whole))
			marks |= rows[list->row].mark;
	if (strstr(name, "epoll_wait") || strstr(name, "epoll_pwait"))
		marks |= TAPIR_MARK_POLLS;
	if (!strncmp(name, "0x", 2))
		marks |= TAPIR_MARK_NO_FILE;
	if (tapir_name_mark__activity(name))
		marks |= TAPIR_MARK_ACTIVITY;
	if (!strncmp(name, "System.Threading.Tasks.", 23) || strstr(name, "AsyncStateMachineBox"))
		marks |= TAPIR_MARK_CONTINUATION;
	else if (strstr(name, "System.Threading.TimerQueue"))
		marks |= TAPIR_MARK_TIMER;
	return marks;
}

uint32_t tapir_diagnosis__marks(struct tapir_diagnosis *f, uint32_t node)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(f->tl);
	struct tapir_name_marks *known = &f->marks;
	uint32_t name = tree->nodes.data[node].name;

	while (known->by_name.cnt <= name)
		if (!tapir_vec__add(&known->by_name))
			return judge_name(f, tree->names.data[name]);
	if (!known->by_name.data[name])
		known->by_name.data[name] = judge_name(f, tree->names.data[name]);
	return known->by_name.data[name];
}
