// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel's work in numbers: page faults by process and stack, interrupts by what they are and
 * by whose time they took, waits for locks of the kernel by caller. Records have what was added in
 * a while; their sums are exact.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/view.h"
#include "base/keyed.h"
#include "base/order.h"
#include "trace/kernel_work.h"

#define MAX_ROWS      16384u /* of a table */
#define CALLERS_SHOWN 4u

enum group {
	FAULTS_BY_PROCESS,
	FAULTS_BY_STACK,
	IRQS_BY_SOURCE,
	IRQS_BY_PROCESS,
	LOCKS_BY_CALLER,
	LOCKS_BY_PROCESS,
	GROUPS
};

struct row {
	uint32_t pid, node, number;
	uint8_t kind;
	char name[TAPIR_COMM_TEXT_BYTES]; /* of a process, or an interrupt */
	uint64_t cnt, part_cnt, sum_ns, max_ns;
};

struct kernel {
	struct tapir_view_args args;
	struct table {
		struct tapir_keyed(struct row) rows;
	} of[GROUPS];
	struct row all[TAPIR_KERNEL_KIND_CNT];
	uint64_t cnt;
};

static void fini(void *ctx)
{
	struct kernel *v = ctx;

	for (int group = 0; group < GROUPS; group++)
		tapir_keyed__fini(&v->of[group].rows);
}

/* ---- reading -------------------------------------------------------------------------------- */

static bool is_by_process(enum group group)
{
	return group == FAULTS_BY_PROCESS || group == IRQS_BY_PROCESS || group == LOCKS_BY_PROCESS;
}

static void name_process(const struct kernel *v, const struct tapir_rec_kernel *rec,
			 struct row *row)
{
	const struct tapir_catalog *catalog = tapir_timeline__catalog(v->args.tl);
	const struct tapir_rec_process *known =
		tapir_catalog__process(catalog, rec->tgid, rec->h.time_ns);
	struct tapir_process_view process;

	tapir_comm__copy(row->name,
			 rec->tgid ? tapir_timeline__comm(v->args.tl, rec->tgid, rec->h.time_ns)
				   : tapir_sv__of("idle"));
	if (!*row->name && known) {
		tapir_process_view__of(&known->h, &process);
		tapir_comm__copy(row->name, process.comm);
	}
}

static struct row site_text(enum group group, const struct tapir_rec_kernel *rec, uint32_t node)
{
	struct row row = {.node = TAPIR_NO_NODE};

	if (is_by_process(group))
		row.pid = rec->tgid;
	if (group == FAULTS_BY_STACK || group == LOCKS_BY_CALLER)
		row.node = node;
	if (group == IRQS_BY_SOURCE || group == LOCKS_BY_CALLER) {
		row.kind = rec->kind;
		row.number = rec->number;
	}
	return row;
}

static void add_numbers(struct row *row, const struct tapir_rec_kernel *rec)
{
	row->cnt += rec->cnt;
	row->part_cnt += rec->part_cnt;
	row->sum_ns += rec->sum_ns;
	row->max_ns = rec->max_ns > row->max_ns ? rec->max_ns : row->max_ns;
}

static void add_to(struct kernel *v, enum group group, const struct tapir_rec_kernel *rec,
		   uint32_t node)
{
	const struct row made = site_text(group, rec, node);
	uint64_t key = tapir_hash__mix((uint64_t)made.pid << 32 | made.node,
				       (uint64_t)made.kind << 32 | made.number);
	struct table *t = &v->of[group];
	size_t before = t->rows.cnt;
	struct row *row = tapir_keyed__add(&t->rows, key, MAX_ROWS, made);

	if (!row)
		return;
	if (t->rows.cnt > before && is_by_process(group))
		name_process(v, rec, row);
	else if (t->rows.cnt > before)
		tapir_comm__copy(row->name,
				 (struct tapir_sv){(const char *)(rec + 1), rec->name_len});
	add_numbers(row, rec);
}

static void on_kernel(void *ctx, const struct tapir_rec_kernel *rec, uint32_t node)
{
	struct kernel *v = ctx;

	if (rec->kind >= TAPIR_KERNEL_KIND_CNT)
		return;
	add_numbers(&v->all[rec->kind], rec);
	v->cnt += rec->cnt;
	if (rec->kind == TAPIR_KERNEL_FAULT) {
		add_to(v, FAULTS_BY_PROCESS, rec, node);
		add_to(v, FAULTS_BY_STACK, rec, node);
	} else if (rec->kind == TAPIR_KERNEL_LOCK) {
		add_to(v, LOCKS_BY_PROCESS, rec, node);
		add_to(v, LOCKS_BY_CALLER, rec, node);
	} else {
		add_to(v, IRQS_BY_PROCESS, rec, node);
		add_to(v, IRQS_BY_SOURCE, rec, node);
	}
}

/* ---- tables --------------------------------------------------------------------------------- */

/* Sorts by time, and where there is none by number. */
static int by_use(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return tapir_order__by(tapir_order__down(x->sum_ns, y->sum_ns),
			       tapir_order__down(x->cnt, y->cnt), tapir_order__up(x->pid, y->pid),
			       tapir_order__up(x->number, y->number));
}

#define PROCESS_COLUMNS                                                                            \
	{"process", "PROCESS", TAPIR_CELL_TEXT},                                                   \
	{                                                                                          \
		"pid", NULL, TAPIR_CELL_ID                                                         \
	}
#define FAULT_COLUMNS                                                                              \
	{"faults", ">FAULTS", TAPIR_CELL_COUNT},                                                   \
	{                                                                                          \
		"major", ">MAJOR", TAPIR_CELL_COUNT                                                \
	}
#define TIME_COLUMNS(key, title)                                                                   \
	{key, title, TAPIR_CELL_COUNT}, {"sum_ns", ">TIME", TAPIR_CELL_NS},                        \
	{                                                                                          \
		"max_ns", ">MAX", TAPIR_CELL_NS                                                    \
	}

static const struct tapir_column fault_process_columns[] = {FAULT_COLUMNS, PROCESS_COLUMNS, {}};
static const struct tapir_column fault_stack_columns[] = {
	FAULT_COLUMNS, {"stack", "FROM", TAPIR_CELL_ORIGIN}, {}};
static const struct tapir_column irq_columns[] = {TIME_COLUMNS("count", ">COUNT"),
						  {"kind", "KIND", TAPIR_CELL_TEXT},
						  {"source", "SOURCE", TAPIR_CELL_TEXT},
						  {"number", NULL, TAPIR_CELL_ID},
						  {}};
static const struct tapir_column irq_process_columns[] = {
	TIME_COLUMNS("count", ">COUNT"), PROCESS_COLUMNS, {}};
static const struct tapir_column lock_columns[] = {TIME_COLUMNS("waits", ">WAITS"),
						   {"kind", "LOCK", TAPIR_CELL_TEXT},
						   {"caller", "CALLER", TAPIR_CELL_TEXT},
						   {"stack", NULL, TAPIR_CELL_ORIGIN},
						   {}};
static const struct tapir_column lock_process_columns[] = {
	TIME_COLUMNS("waits", ">WAITS"), PROCESS_COLUMNS, {}};

static void write_numbers(struct tapir_view_result *result, size_t t, const struct row *row)
{
	tapir_view_result__u64(result, t, row->cnt);
	tapir_view_result__u64(result, t, row->sum_ns);
	tapir_view_result__u64(result, t, row->max_ns);
}

static void write_source(struct tapir_view_result *result, size_t t, const struct row *row)
{
	const char *label = tapir_kernel_work__label(row->kind, row->number);
	char number[24];

	snprintf(number, sizeof(number), "%" PRIu32, row->number);
	tapir_view_result__text(result, t, tapir_kernel_kind__name(row->kind));
	tapir_view_result__text(result, t, label ? label : *row->name ? row->name : number);
	tapir_view_result__u64(result, t, row->number);
}

/* Returns true for a function that takes a lock: the one that calls it wants it. */
static bool is_of_locks(const char *name)
{
	static const char *const starts[] = {"_raw_",  "mutex_", "__mutex_", "down_",
					     "rwsem_", "rt_",	 "__rt_",    "percpu_",
					     "__down", "osq_",	 "__percpu_"};

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (!strncmp(name, starts[i], strlen(starts[i])))
			return true;
	return strstr(name, "slowpath") != NULL;
}

/* "try_to_wake_up < swake_up_one < rcu_core": of the kernel's functions the innermost. */
static void write_caller(const struct kernel *v, struct tapir_view_result *result, size_t t,
			 uint32_t node)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(v->args.tl);
	unsigned left = CALLERS_SHOWN;
	struct tapir_str text = {};

	while (node && node < tree->nodes.cnt && left) {
		const struct tapir_tree_node *n = &tree->nodes.data[node];
		const char *name = tree->names.data[n->name];

		node = n->parent;
		if (left == CALLERS_SHOWN && is_of_locks(name))
			continue;
		tapir_str__addf(&text, "%s%s", left == CALLERS_SHOWN ? "" : " < ", name);
		left--;
	}
	tapir_view_result__text(result, t, text.data);
	tapir_str__fini(&text);
}

static void write_row(void *ctx, struct tapir_view_result *result, size_t t, unsigned which,
		      const void *of)
{
	enum group group = (enum group)which;
	const struct row *row = of;

	if (group == FAULTS_BY_PROCESS || group == FAULTS_BY_STACK) {
		tapir_view_result__u64(result, t, row->cnt);
		tapir_view_result__u64(result, t, row->part_cnt);
	} else {
		write_numbers(result, t, row);
	}
	if (group == IRQS_BY_SOURCE)
		write_source(result, t, row);
	if (group == LOCKS_BY_CALLER) {
		tapir_view_result__text(result, t,
					tapir_kernel_work__label(row->kind, row->number));
		write_caller(ctx, result, t, row->node);
	}
	if (group == FAULTS_BY_STACK || group == LOCKS_BY_CALLER)
		tapir_view_result__stack(result, t, row->node);
	if (!is_by_process(group))
		return;
	if (row->pid)
		tapir_view_result__name(result, t, *row->name ? row->name : "?", row->pid);
	else
		tapir_view_result__text(result, t, row->name);
	tapir_view_result__u64(result, t, row->pid);
}

#define ROWS(group) TAPIR_VIEW_ROWS(struct kernel, of[group].rows), by_use, write_row

static const struct tapir_view_table tables[] = {
	[FAULTS_BY_PROCESS] = {"faults", "page faults by process", fault_process_columns,
			       ROWS(FAULTS_BY_PROCESS)},
	[FAULTS_BY_STACK] = {"fault_stacks", "page faults by stack", fault_stack_columns,
			     ROWS(FAULTS_BY_STACK)},
	[IRQS_BY_SOURCE] = {"interrupts", "interrupts", irq_columns, ROWS(IRQS_BY_SOURCE)},
	[IRQS_BY_PROCESS] = {"interrupted", "interrupts by the process whose time they took",
			     irq_process_columns, ROWS(IRQS_BY_PROCESS)},
	[LOCKS_BY_CALLER] = {"locks", "waits for locks of the kernel, by caller", lock_columns,
			     ROWS(LOCKS_BY_CALLER)},
	[LOCKS_BY_PROCESS] = {"waiters", "waits for locks of the kernel, by process",
			      lock_process_columns, ROWS(LOCKS_BY_PROCESS)},
	[GROUPS] = {},
};

/* "4,096 page faults, 12.1 ms in interrupts, 3.0 ms waiting for locks of the kernel" */
static void write_headline(const struct kernel *v, struct tapir_view_result *result)
{
	const struct row *irqs = &v->all[TAPIR_KERNEL_IRQ], *locks = &v->all[TAPIR_KERNEL_LOCK];
	uint64_t irq_ns = irqs->sum_ns + v->all[TAPIR_KERNEL_SOFTIRQ].sum_ns +
			  v->all[TAPIR_KERNEL_VECTOR].sum_ns;
	const char *between = "";

	if (v->all[TAPIR_KERNEL_FAULT].cnt) {
		tapir_str__addf(&result->headline, "%" PRIu64 " page faults, %" PRIu64 " major",
				v->all[TAPIR_KERNEL_FAULT].cnt,
				v->all[TAPIR_KERNEL_FAULT].part_cnt);
		between = ", ";
	}
	if (irq_ns) {
		tapir_str__addf(&result->headline, "%s%.1f ms in interrupts", between,
				(double)irq_ns / 1e6);
		between = ", ";
	}
	if (locks->cnt)
		tapir_str__addf(&result->headline,
				"%s%.1f ms in %" PRIu64 " waits for locks of the kernel", between,
				(double)locks->sum_ns / 1e6, locks->cnt);
}

static void write_notes(const struct kernel *v, struct tapir_view_result *result)
{
	if (v->all[TAPIR_KERNEL_FAULT].cnt)
		tapir_view_result__note(
			result, "page faults are exact by process; by stack, one of 16 is walked "
				"and stands for those before it, and those without a stack were in "
				"system calls");
}

static int kernel_finish(void *ctx, struct tapir_view_result *result)
{
	struct kernel *v = ctx;

	write_headline(v, result);
	write_notes(v, result);
	return 0;
}

static const struct tapir_view_fact facts[] = {
	{TAPIR_VIEW_FACT(struct kernel, all[TAPIR_KERNEL_FAULT].cnt, "faults_cnt", NULL, COUNT)},
	{TAPIR_VIEW_FACT(struct kernel, all[TAPIR_KERNEL_IRQ].cnt, "irqs_cnt", NULL, COUNT)},
	{TAPIR_VIEW_FACT(struct kernel, all[TAPIR_KERNEL_SOFTIRQ].cnt, "softirqs_cnt", NULL,
			 COUNT)},
	{TAPIR_VIEW_FACT(struct kernel, all[TAPIR_KERNEL_VECTOR].cnt, "vectors_cnt", NULL, COUNT)},
	{TAPIR_VIEW_FACT(struct kernel, all[TAPIR_KERNEL_LOCK].cnt, "locks_cnt", NULL, COUNT)},
	{}};

const struct tapir_view tapir_view_kernel = {
	.name = "kernel",
	.summary = "page faults, interrupts and waits for locks of the kernel",
	.fns = {.kernel = on_kernel},
	.nothing = "the kernel did nothing that was counted",
	.source = {"the kernel's work", "`tapir record --kernel`", .family = TAPIR_FAMILY_KERNEL,
		   .is_alone = true},
	.facts = facts,
	.tables = tables,
	.unit = "records",
	.found_off = TAPIR_VIEW_NUMBER(struct kernel, cnt),
	.ctx_bytes = sizeof(struct kernel),
	.default_top = 10,
	.finish = kernel_finish,
	.fini = fini,
};
