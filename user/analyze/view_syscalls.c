// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * System calls in numbers: by call, by process and call, by what failed, by thread, by the file or
 * peer of their descriptor, by the path that is their argument, and by the stack of those that
 * failed or took long. A record has the numbers of a while; their sums are exact, and percentiles
 * are within a step of the histogram, an eighth of an octave.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/view.h"
#include "base/keyed.h"
#include "base/order.h"
#include "trace/system_calls.h"

#define MAX_ROWS 65536u /* of a table; a histogram is 1.7 KB, and has a quarter of them */

enum group { BY_CALL, BY_PROCESS, BY_ERROR, BY_THREAD, BY_FILE, BY_PATH, BY_STACK, GROUPS };

struct row {
	uint32_t pid, tid, node; /* 0: of several */
	uint16_t nr, err;
	uint32_t dev;
	uint64_t file_hash; /* of the inode and the name; 0: of several */
	char *file;	    /* NULL: of several, or without a name; its own */
	char comm[TAPIR_COMM_TEXT_BYTES];
	uint64_t cnt, failed_cnt, sum_ns, max_ns; /* cnt: of all that returned */
	uint64_t open_cnt, unbegun_cnt;
	uint64_t *steps; /* NULL: has none; its own */
	uint64_t inode;
};

struct calls {
	struct tapir_view_args args;
	struct table {
		struct tapir_keyed(struct row) rows;
	} of[GROUPS];
	struct row all;
	struct tapir_str name; /* of the file or peer of the record that is added */
	bool is_folded;	       /* it stands for several connections */
};

static void syscalls_fini(void *ctx)
{
	struct calls *v = ctx;
	struct row *row;

	for (int group = 0; group < GROUPS; group++) {
		tapir_vec_for_each (row, &v->of[group].rows) {
			free(row->steps);
			free(row->file);
		}
		tapir_keyed__fini(&v->of[group].rows);
	}
	tapir_str__fini(&v->name);
}

/* ---- reading -------------------------------------------------------------------------------- */

static bool has_steps(enum group group)
{
	return group == BY_CALL || group == BY_PROCESS || group == BY_FILE;
}

/* The kernel's ip_local_port_range begins there. */
#define CLIENT_PORTS 32768u

/* Returns the place of the port at the end of an address, if it is one that clients get. */
static char *client_port(char *address, size_t len)
{
	char *colon = memrchr(address, ':', len);

	return colon && strtoul(colon + 1, NULL, 10) >= CLIENT_PORTS ? colon + 1 : NULL;
}

/*
 * The client's port, by which its connections to one server differ, becomes "*". Where both ends
 * have such a port, it is not known which is the client's.
 */
static bool fold_client_port(struct tapir_str *name)
{
	static const char to[] = " to ";
	char *peer = name->len ? strstr(name->data, to) : NULL, *local_port, *peer_port;
	size_t digits;

	if (!peer || (strncmp(name->data, "tcp ", 4) && strncmp(name->data, "udp ", 4)))
		return false;
	local_port = client_port(name->data, (size_t)(peer - name->data));
	peer_port = client_port(peer, strlen(peer));
	if (!local_port == !peer_port)
		return false;
	if (peer_port) {
		*peer_port = '*';
		name->len = (size_t)(peer_port + 1 - name->data);
	} else {
		digits = (size_t)(peer - local_port);
		*local_port = '*';
		memmove(local_port + 1, peer, strlen(peer));
		name->len -= digits - 1;
	}
	name->data[name->len] = '\0';
	return true;
}

static void take_file_name(struct calls *v, const struct tapir_rec_calls *rec)
{
	const struct tapir_call_step *steps = (const void *)(rec + 1);

	tapir_str__clear(&v->name);
	tapir_str__add(&v->name, (const char *)(steps + rec->step_cnt), rec->text_len);
	v->args.failed |= v->name.failed;
	v->is_folded = rec->kind == TAPIR_CALLS_OF_FILE && fold_client_port(&v->name);
}

static uint64_t syscall_row_key(const struct row *row)
{
	uint64_t who = tapir_hash__mix((uint64_t)row->pid << 32 | row->tid, row->node);

	return tapir_hash__mix(tapir_hash__mix(who, row->file_hash),
			       (uint64_t)row->nr << 16 | row->err);
}

/* Returns a row that is about as much as one of the group, without numbers. */
static struct row group_key(const struct calls *v, enum group group,
			    const struct tapir_rec_calls *rec, uint32_t node)
{
	struct row row = {.node = TAPIR_NO_NODE, .nr = rec->nr};

	if (group != BY_CALL && group != BY_STACK)
		row.pid = rec->tgid;
	if (group == BY_THREAD) {
		row.tid = rec->tid;
		row.nr = 0;
	}
	if (group == BY_STACK)
		row.node = node;
	if (group == BY_FILE || group == BY_PATH) {
		row.inode = v->is_folded ? 0 : rec->inode;
		row.dev = rec->dev;
		row.file_hash = tapir_hash__bytes(tapir_hash__mix(row.inode, rec->dev),
						  v->name.data, v->name.len);
	}
	if (group == BY_ERROR || group == BY_PATH || group == BY_STACK)
		row.err = rec->err;
	return row;
}

static void name_row(const struct calls *v, const struct tapir_rec_calls *rec, struct row *row)
{
	const struct tapir_rec_thread *thread = tapir_catalog__thread(
		tapir_timeline__catalog(v->args.tl), rec->tid, rec->h.time_ns);
	const char *comm = !thread ? "" : row->tid ? thread->comm : thread->leader_comm;
	struct tapir_process_view process;
	const struct tapir_rec_process *known;

	tapir_comm__copy(row->comm, (struct tapir_sv){comm, strnlen(comm, TAPIR_COMM_BYTES)});
	known = *row->comm ? NULL
			   : tapir_catalog__process(tapir_timeline__catalog(v->args.tl), rec->tgid,
						    rec->h.time_ns);
	if (known) {
		tapir_process_view__of(&known->h, &process);
		tapir_comm__copy(row->comm, process.comm);
	}
}

/* NULL: there is no room for one more row, or no memory. */
static struct row *syscall_row_of(struct calls *v, enum group group,
				  const struct tapir_rec_calls *rec, uint32_t node)
{
	const struct row made = group_key(v, group, rec, node);
	size_t max = has_steps(group) ? MAX_ROWS / 4 : MAX_ROWS;
	struct table *t = &v->of[group];
	size_t before = t->rows.cnt;
	bool is_named = group == BY_FILE || group == BY_PATH;
	struct row *row = tapir_keyed__add(&t->rows, syscall_row_key(&made), max, made);

	if (!row || t->rows.cnt == before)
		return row;
	name_row(v, rec, row);
	if (has_steps(group))
		row->steps = calloc(TAPIR_CALL_STEPS, sizeof(*row->steps));
	if (is_named && v->name.len)
		row->file = strndup(v->name.data, v->name.len);
	v->args.failed |=
		(has_steps(group) && !row->steps) || (is_named && v->name.len && !row->file);
	return row;
}

static void add_calls(struct row *row, const struct tapir_rec_calls *rec)
{
	const struct tapir_call_step *steps = (const void *)(rec + 1);
	uint64_t cnt = rec->cnt + rec->unbegun_cnt;

	row->cnt += cnt;
	row->failed_cnt += rec->err ? cnt : 0;
	row->sum_ns += rec->sum_ns;
	row->max_ns = rec->max_ns > row->max_ns ? rec->max_ns : row->max_ns;
	row->open_cnt += rec->open_cnt;
	row->unbegun_cnt += rec->unbegun_cnt;
	for (uint32_t i = 0; row->steps && i < rec->step_cnt; i++)
		if (steps[i].step < TAPIR_CALL_STEPS)
			row->steps[steps[i].step] += steps[i].cnt;
}

static void add_to(struct calls *v, enum group group, const struct tapir_rec_calls *rec,
		   uint32_t node)
{
	struct row *row = syscall_row_of(v, group, rec, node);

	if (row)
		add_calls(row, rec);
}

static void on_calls(void *ctx, const struct tapir_rec_calls *rec, uint32_t node)
{
	struct calls *v = ctx;

	if (rec->kind == TAPIR_CALLS_AT_STACK && node != TAPIR_NO_NODE)
		add_to(v, BY_STACK, rec, node);
	if (rec->kind == TAPIR_CALLS_OF_FILE || rec->kind == TAPIR_CALLS_OF_PATH) {
		take_file_name(v, rec);
		add_to(v, rec->kind == TAPIR_CALLS_OF_FILE ? BY_FILE : BY_PATH, rec, node);
	}
	if (rec->kind != TAPIR_CALLS_OF_THREAD)
		return;
	add_calls(&v->all, rec);
	add_to(v, BY_CALL, rec, node);
	add_to(v, BY_PROCESS, rec, node);
	add_to(v, BY_THREAD, rec, node);
	if (rec->err)
		add_to(v, BY_ERROR, rec, node);
}

/* ---- tables --------------------------------------------------------------------------------- */

/* The middle of the step that has the percentile, by the nearest rank. */
static uint64_t percentile(const struct row *row, unsigned percent)
{
	uint64_t timed_cnt = 0, want, seen = 0;

	for (uint32_t step = 0; step < TAPIR_CALL_STEPS; step++)
		timed_cnt += row->steps[step];
	want = timed_cnt - timed_cnt * (100 - percent) / 100;
	for (uint32_t step = 0; step < TAPIR_CALL_STEPS; step++) {
		uint64_t ns = (tapir_call_step__ns(step) + tapir_call_step__ns(step + 1)) / 2;

		seen += row->steps[step];
		if (seen >= want && seen)
			return ns < row->max_ns ? ns : row->max_ns;
	}
	return 0;
}

static int by_count(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return tapir_order__by(tapir_order__down(x->cnt, y->cnt),
			       tapir_order__down(x->sum_ns, y->sum_ns),
			       tapir_order__up(x->pid, y->pid), tapir_order__up(x->nr, y->nr));
}

static void write_who(struct tapir_view_result *result, size_t t, const struct row *row)
{
	tapir_view_result__name(result, t, *row->comm ? row->comm : "?",
				row->tid ? row->tid : row->pid);
}

static void write_call(struct tapir_view_result *result, size_t t, const struct row *row)
{
	char text[TAPIR_SYSTEM_CALL_TEXT_BYTES];

	tapir_view_result__text(result, t, tapir_system_call__text(row->nr, text));
}

static void write_error(struct tapir_view_result *result, size_t t, const struct row *row)
{
	const char *name = tapir_system_call__error_name(row->err);
	char text[24];

	snprintf(text, sizeof(text), "error %u", row->err);
	tapir_view_result__text(result, t, !row->err ? NULL : name ? name : text);
}

static void write_file(struct tapir_view_result *result, size_t t, const struct row *row)
{
	char text[64];

	snprintf(text, sizeof(text), "[inode %" PRIu64 " of %u:%u]", row->inode, row->dev >> 20,
		 row->dev & 0xfffff);
	tapir_view_result__text(result, t, row->file ? row->file : text);
}

static void write_numbers(struct tapir_view_result *result, size_t t, const struct row *row)
{
	tapir_view_result__u64(result, t, row->cnt);
	tapir_view_result__u64(result, t, row->failed_cnt);
	tapir_view_result__u64(result, t, row->sum_ns);
	if (!row->steps) {
		tapir_view_result__u64(result, t, row->max_ns);
		return;
	}
	tapir_view_result__u64(result, t, percentile(row, 50));
	tapir_view_result__u64(result, t, percentile(row, 99));
	tapir_view_result__u64(result, t, row->max_ns);
	tapir_view_result__u64(result, t, row->open_cnt);
	tapir_view_result__u64(result, t, row->unbegun_cnt);
}

#define COUNTS                                                                                     \
	{"calls", ">CALLS", TAPIR_CELL_COUNT}, {"failed", ">FAILED", TAPIR_CELL_COUNT},            \
	{                                                                                          \
		"sum_ns", ">TIME", TAPIR_CELL_NS                                                   \
	}
#define TIMES                                                                                      \
	{"p50_ns", ">P50", TAPIR_CELL_NS}, {"p99_ns", ">P99", TAPIR_CELL_NS},                      \
		{"max_ns", ">MAX", TAPIR_CELL_NS}, {"open", NULL, TAPIR_CELL_COUNT},               \
	{                                                                                          \
		"unbegun", NULL, TAPIR_CELL_COUNT                                                  \
	}

static const struct tapir_column calls_columns[] = {
	COUNTS, TIMES, {"call", "CALL", TAPIR_CELL_TEXT}, {}};
static const struct tapir_column process_columns[] = {COUNTS,
						      TIMES,
						      {"call", "CALL", TAPIR_CELL_TEXT},
						      {"process", "PROCESS", TAPIR_CELL_TEXT},
						      {}};
static const struct tapir_column file_columns[] = {COUNTS,
						   TIMES,
						   {"call", "CALL", TAPIR_CELL_TEXT},
						   {"process", "PROCESS", TAPIR_CELL_TEXT},
						   {"file", "FILE OR PEER", TAPIR_CELL_TEXT},
						   {}};
static const struct tapir_column path_columns[] = {
	{"calls", ">CALLS", TAPIR_CELL_COUNT}, {"sum_ns", ">TIME", TAPIR_CELL_NS},
	{"max_ns", ">MAX", TAPIR_CELL_NS},     {"error", "ERROR", TAPIR_CELL_TEXT},
	{"call", "CALL", TAPIR_CELL_TEXT},     {"process", "PROCESS", TAPIR_CELL_TEXT},
	{"path", "PATH", TAPIR_CELL_TEXT},     {}};
static const struct tapir_column error_columns[] = {{"failed", ">FAILED", TAPIR_CELL_COUNT},
						    {"sum_ns", ">TIME", TAPIR_CELL_NS},
						    {"max_ns", ">MAX", TAPIR_CELL_NS},
						    {"error", "ERROR", TAPIR_CELL_TEXT},
						    {"call", "CALL", TAPIR_CELL_TEXT},
						    {"process", "PROCESS", TAPIR_CELL_TEXT},
						    {}};
static const struct tapir_column thread_columns[] = {COUNTS,
						     {"max_ns", ">MAX", TAPIR_CELL_NS},
						     {"thread", "THREAD", TAPIR_CELL_TEXT},
						     {"pid", "PID", TAPIR_CELL_ID},
						     {}};
static const struct tapir_column stack_columns[] = {{"calls", ">CALLS", TAPIR_CELL_COUNT},
						    {"sum_ns", ">TIME", TAPIR_CELL_NS},
						    {"max_ns", ">MAX", TAPIR_CELL_NS},
						    {"call", "CALL", TAPIR_CELL_TEXT},
						    {"error", "ERROR", TAPIR_CELL_TEXT},
						    {"stack", "FROM", TAPIR_CELL_ORIGIN},
						    {}};

static void write_row(void *ctx, struct tapir_view_result *result, size_t t, unsigned which,
		      const void *of)
{
	enum group group = (enum group)which;
	const struct row *row = of;

	(void)ctx;
	if (has_steps(group) || group == BY_THREAD) {
		write_numbers(result, t, row);
	} else {
		tapir_view_result__u64(result, t, row->cnt);
		tapir_view_result__u64(result, t, row->sum_ns);
		tapir_view_result__u64(result, t, row->max_ns);
	}
	if (group == BY_ERROR || group == BY_PATH)
		write_error(result, t, row);
	if (group != BY_THREAD)
		write_call(result, t, row);
	if (group != BY_CALL && group != BY_STACK)
		write_who(result, t, row);
	if (group == BY_FILE)
		write_file(result, t, row);
	if (group == BY_PATH)
		tapir_view_result__text(result, t, row->file);
	if (group == BY_THREAD)
		tapir_view_result__u64(result, t, row->pid);
	if (group == BY_STACK) {
		write_error(result, t, row);
		tapir_view_result__stack(result, t, row->node);
	}
}

#define ROWS(group) TAPIR_VIEW_ROWS(struct calls, of[group].rows), by_count, write_row

static const struct tapir_view_table tables[] = {
	[BY_CALL] = {"calls", "by call", calls_columns, ROWS(BY_CALL)},
	[BY_PROCESS] = {"processes", "by process and call", process_columns, ROWS(BY_PROCESS)},
	[BY_ERROR] = {"errors", "that failed", error_columns, ROWS(BY_ERROR)},
	[BY_THREAD] = {"threads", "by thread", thread_columns, ROWS(BY_THREAD)},
	[BY_FILE] = {"files", "by file and peer", file_columns, ROWS(BY_FILE)},
	[BY_PATH] = {"paths", "by the path that is their argument", path_columns, ROWS(BY_PATH)},
	[BY_STACK] = {"stacks", "that failed, or took 10 ms or more, by stack", stack_columns,
		      ROWS(BY_STACK)},
	[GROUPS] = {},
};

static void write_headline(const struct calls *v, struct tapir_view_result *result)
{
	double seconds = (double)tapir_timeline__span_ns(v->args.tl) / 1e9;

	tapir_str__addf(&result->headline, "%" PRIu64 " system calls", v->all.cnt);
	if (seconds > 0)
		tapir_str__addf(&result->headline, " (%.0f a second)",
				(double)v->all.cnt / seconds);
	tapir_str__addf(&result->headline, ", %" PRIu64 " failed", v->all.failed_cnt);
}

static void write_notes(const struct calls *v, struct tapir_view_result *result)
{
	if (v->all.unbegun_cnt)
		tapir_view_result__note(result,
					"%" PRIu64
					" had begun before: they are counted, their time "
					"is not known",
					v->all.unbegun_cnt);
	if (v->all.open_cnt)
		tapir_view_result__note(
			result, "%" PRIu64 " had not returned (waits): they are not counted",
			v->all.open_cnt);
}

static int syscalls_finish(void *ctx, struct tapir_view_result *result)
{
	struct calls *v = ctx;

	write_headline(v, result);
	write_notes(v, result);
	return 0;
}

static const struct tapir_view_fact facts[] = {
	{TAPIR_VIEW_FACT(struct calls, all.cnt, "calls", NULL, COUNT)},
	{TAPIR_VIEW_FACT(struct calls, all.failed_cnt, "failed", NULL, COUNT)},
	{TAPIR_VIEW_FACT(struct calls, all.open_cnt, "open", NULL, COUNT)},
	{TAPIR_VIEW_FACT(struct calls, all.unbegun_cnt, "unbegun", NULL, COUNT)},
	{}};

const struct tapir_view tapir_view_syscalls = {
	.name = "syscalls",
	.summary = "system calls by call, process, error, thread, file and stack",
	.fns = {.calls = on_calls},
	.nothing = "no system call was seen",
	.source = {"system calls", "`tapir record --syscalls`", .family = TAPIR_FAMILY_CALLS,
		   .is_alone = true},
	.facts = facts,
	.tables = tables,
	.unit = "records",
	.found_off = TAPIR_VIEW_NUMBER(struct calls, of[BY_CALL].rows.cnt),
	.ctx_bytes = sizeof(struct calls),
	.default_top = 10,
	.finish = syscalls_finish,
	.fini = syscalls_fini,
};
