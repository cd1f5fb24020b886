// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Processes by their parents: when each began, how long it lived, how it ended and who killed it.
 * Children that are alike and have none themselves share a row, as those of a build or a shell's
 * loop. Those that failed are also listed by themselves, first.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/process_lives.h"
#include "base/order.h"
#include "analyze/view.h"

#define ALIKE_MIN 4u  /* siblings of a row that stands for several */
#define DEPTH_MAX 12u /* of indentation */
#define NONE	  TAPIR_NO_LIFE

struct tree {
	struct tapir_view_args args;
	struct tapir_lives lives;
	uint32_t *order; /* lives, siblings side by side: those of no parent last */
	uint64_t left, hidden;
	uint64_t begun, ended, killed, failed; /* processes, at the end */
};

static void tree_begin(void *ctx)
{
	struct tree *v = ctx;

	v->lives.tl = v->args.tl;
	v->lives.wants_commands = true;
	v->lives.failed = tapir_timeline__listen(v->args.tl, &tapir_lives_fns, &v->lives) < 0;
}

static void tree_fini(void *ctx)
{
	struct tree *v = ctx;

	tapir_lives__fini(&v->lives);
	free(v->order);
}

/* With --pid: these processes, and what they started. */
static bool is_requested(const struct tree *v, const struct tapir_life *life)
{
	while (!tapir_timeline__reports_at(v->args.tl, life->pid)) {
		if (life->parent == NONE)
			return false;
		life = &v->lives.all.data[life->parent];
	}
	return true;
}

/* ---- one row -------------------------------------------------------------------------------- */

static const struct tapir_column columns[] = {{"began_ns", ">BEGAN", TAPIR_CELL_TIME},
					      {"lived_ns", ">LIVED", TAPIR_CELL_NS},
					      {"end", "END", TAPIR_CELL_TEXT},
					      {"process", "PROCESS", TAPIR_CELL_TEXT},
					      {"processes", NULL, TAPIR_CELL_COUNT},
					      {"pid", NULL, TAPIR_CELL_ID},
					      {"parent_pid", NULL, TAPIR_CELL_ID},
					      {"depth", NULL, TAPIR_CELL_COUNT},
					      {"status", NULL, TAPIR_CELL_ID},
					      {"killer_pid", NULL, TAPIR_CELL_ID},
					      {"oom_killed", NULL, TAPIR_CELL_COUNT},
					      {"command", "COMMAND", TAPIR_CELL_TEXT},
					      {}};

/* A row stands for its first process and for those that are like it. */
struct row {
	const struct tapir_life *life;
	unsigned depth, cnt;
	uint64_t lived_ns; /* of all */
};

static void write_name(struct tapir_view_result *result, size_t t, const struct row *row)
{
	unsigned indent = 2 * (row->depth < DEPTH_MAX ? row->depth : DEPTH_MAX);
	const char *comm = row->life->comm[0] ? row->life->comm : "?";
	char text[96];

	if (row->cnt > 1)
		snprintf(text, sizeof(text), "%*s%s \u00d7%u", (int)indent, "", comm, row->cnt);
	else
		snprintf(text, sizeof(text), "%*s%s (%u)", (int)indent, "", comm, row->life->pid);
	tapir_view_result__text(result, t, text);
}

static void write_end(struct tapir_view_result *result, size_t t, const struct tapir_life *life)
{
	struct tapir_str text = {};

	tapir_life__add_end(&text, life);
	result->failed |= text.failed;
	tapir_view_result__text(result, t, text.len ? text.data : NULL);
	tapir_str__fini(&text);
}

static uint64_t lived_ns(const struct tree *v, const struct tapir_life *life)
{
	uint64_t first_ns = tapir_timeline__stats(v->args.tl)->first_ns;
	uint64_t last_ns = life->end_ns ? life->end_ns : tapir_timeline__stats(v->args.tl)->last_ns;
	uint64_t from_ns = life->begin_ns ? life->begin_ns : first_ns;

	return last_ns > from_ns ? last_ns - from_ns : 0;
}

static void write_row(struct tree *v, struct tapir_view_result *result, size_t t,
		      const struct row *row)
{
	const struct tapir_life *life = row->life;

	if (!v->left) {
		v->hidden += row->cnt;
		return;
	}
	v->left--;
	if (life->begin_ns)
		tapir_view_result__time(result, t, life->begin_ns);
	else
		tapir_view_result__none(result, t);
	tapir_view_result__u64(result, t, row->lived_ns);
	write_end(result, t, life);
	write_name(result, t, row);
	tapir_view_result__u64(result, t, row->cnt);
	tapir_view_result__known(result, t, life->pid, row->cnt == 1);
	tapir_view_result__u64(result, t, life->parent_pid);
	tapir_view_result__u64(result, t, row->depth);
	tapir_view_result__known(result, t, (uint32_t)life->status, life->end_ns);
	tapir_view_result__known(result, t, life->killer_pid, life->has_killer);
	tapir_view_result__u64(result, t, life->is_oom_victim);
	tapir_view_result__text(result, t, row->cnt == 1 ? life->command : NULL);
}

/* ---- all of them ---------------------------------------------------------------------------- */

static int by_parent(const void *a, const void *b, void *ctx)
{
	const struct tapir_life *all = ctx, *x = &all[*(const uint32_t *)a];
	const struct tapir_life *y = &all[*(const uint32_t *)b];

	return tapir_order__by(tapir_order__up(x->parent, y->parent),
			       tapir_order__up(x->begin_ns, y->begin_ns),
			       tapir_order__up(x->pid, y->pid));
}

/* The place in order of a parent's first child. */
static size_t first_child(const struct tree *v, uint32_t parent)
{
	size_t low = 0, high = v->lives.all.cnt;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (v->lives.all.data[v->order[mid]].parent < parent)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool is_child(const struct tree *v, size_t at, uint32_t parent)
{
	return at < v->lives.all.cnt && v->lives.all.data[v->order[at]].parent == parent;
}

static bool are_alike(const struct tree *v, size_t a, size_t b)
{
	const struct tapir_life *x = &v->lives.all.data[v->order[a]];
	const struct tapir_life *y = &v->lives.all.data[v->order[b]];

	return x->begin_ns && y->begin_ns && !x->end_ns == !y->end_ns && x->status == y->status &&
	       x->is_oom_victim == y->is_oom_victim && !strcmp(x->comm, y->comm) &&
	       !is_child(v, first_child(v, v->order[b]), v->order[b]);
}

/* Counts the siblings from this one on that are alike: of a few, each has a row of its own. */
static unsigned count_alike(const struct tree *v, size_t at, uint32_t parent)
{
	unsigned cnt = 1;

	if (is_child(v, first_child(v, v->order[at]), v->order[at]))
		return 1;
	while (is_child(v, at + cnt, parent) && are_alike(v, at, at + cnt))
		cnt++;
	return cnt >= ALIKE_MIN ? cnt : 1;
}

struct level {
	size_t at; /* the next child */
	uint32_t parent;
};

/* Depth first, without recursion: the depth of a file's processes is bounded by nothing else. */
static void write_tree(struct tree *v, struct tapir_view_result *result, size_t t)
{
	struct tapir_vec(struct level) levels = {};
	struct level *level;

	result->failed |= !tapir_vec__push(&levels, ((struct level){first_child(v, NONE), NONE}));
	while (levels.cnt) {
		struct row row = {.depth = (unsigned)levels.cnt - 1};
		uint32_t idx;

		level = &levels.data[levels.cnt - 1];
		if (!is_child(v, level->at, level->parent)) {
			levels.cnt--;
			continue;
		}
		idx = v->order[level->at];
		row.life = &v->lives.all.data[idx];
		row.cnt = count_alike(v, level->at, level->parent);
		for (unsigned i = 0; i < row.cnt; i++)
			row.lived_ns += lived_ns(v, &v->lives.all.data[v->order[level->at + i]]);
		level->at += row.cnt;
		if (is_requested(v, row.life))
			write_row(v, result, t, &row);
		/* Processes that share a row have no children (are_alike). */
		if (row.cnt == 1)
			result->failed |= !tapir_vec__push(
				&levels, ((struct level){first_child(v, idx), idx}));
	}
	tapir_vec__fini(&levels);
}

/* The killed come first: they are why a user looks. */
static unsigned write_killed(struct tree *v, struct tapir_view_result *result)
{
	const struct tapir_life *life;
	unsigned cnt = 0;
	size_t t = 0;

	v->left = v->args.top;
	tapir_vec_for_each (life, &v->lives.all) {
		const struct row row = {.life = life, .cnt = 1, .lived_ns = lived_ns(v, life)};

		if (!tapir_life__was_killed(life) || !is_requested(v, life))
			continue;
		if (!cnt++)
			t = tapir_view_result__table(result, "killed", "ended by a signal",
						     columns);
		write_row(v, result, t, &row);
	}
	return cnt;
}

static void count(struct tree *v, struct tapir_view_result *result)
{
	size_t all = 0;
	const struct tapir_life *life;

	tapir_vec_for_each (life, &v->lives.all) {
		if (!is_requested(v, life))
			continue;
		all++;
		v->begun += life->begin_ns > 0;
		v->ended += life->end_ns > 0;
		v->killed += tapir_life__was_killed(life);
		v->failed += life->end_ns && life->status && !tapir_life__was_killed(life);
	}
	tapir_str__addf(&result->headline, "%zu processes: %" PRIu64 " began, %" PRIu64 " ended",
			all, v->begun, v->ended);
	if (v->killed)
		tapir_str__addf(&result->headline, ", %" PRIu64 " by a signal", v->killed);
	if (v->failed)
		tapir_str__addf(&result->headline, ", %" PRIu64 " with a status other than 0",
				v->failed);
	if (v->killed && !v->lives.deadly.cnt)
		tapir_view_result__note(result, "who sent the signals is not known: `tapir record "
						"--signals` records it");
}

static int write_process_tree(struct tree *v, struct tapir_view_result *result)
{
	size_t cnt = v->lives.all.cnt;

	v->order = calloc(cnt, sizeof(*v->order));
	if (!v->order)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++)
		v->order[i] = (uint32_t)i;
	qsort_r(v->order, cnt, sizeof(*v->order), by_parent, v->lives.all.data);
	count(v, result);
	write_killed(v, result);
	v->left = v->args.top;
	v->hidden = 0;
	write_tree(v, result, tapir_view_result__table(result, "processes", "all", columns));
	return 0;
}

static int tree_finish(void *ctx, struct tapir_view_result *result)
{
	struct tree *v = ctx;
	int err;

	tapir_lives__finish(&v->lives);
	if (!v->lives.all.cnt) {
		result->has_nothing = true;
		return v->lives.failed ? -ENOMEM : 0;
	}
	err = write_process_tree(v, result);
	if (v->hidden)
		tapir_view_result__note(result, "%" PRIu64 " more processes (--top)", v->hidden);
	if (v->lives.more)
		tapir_view_result__note(result, "%" PRIu64 " records found no room in the tables",
					v->lives.more);
	return err ? err : v->lives.failed ? -ENOMEM : 0;
}

static const struct tapir_view_fact facts[] = {
	{TAPIR_VIEW_FACT(struct tree, begun, "begun", NULL, COUNT)},
	{TAPIR_VIEW_FACT(struct tree, ended, "ended", NULL, COUNT)},
	{TAPIR_VIEW_FACT(struct tree, killed, "killed_count", NULL, COUNT)},
	{TAPIR_VIEW_FACT(struct tree, failed, "failed_count", NULL, COUNT)},
	{}};

const struct tapir_view tapir_view_tree = {
	.name = "tree",
	.summary = "processes by parent: their time, how each ended, who killed it",
	.begin = tree_begin,
	.nothing = "no process is described",
	.facts = facts,
	.ctx_bytes = sizeof(struct tree),
	.default_top = 40,
	.finish = tree_finish,
	.fini = tree_fini,
};
