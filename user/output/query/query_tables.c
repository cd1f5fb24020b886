// SPDX-License-Identifier: GPL-2.0-or-later
/* All tables with their columns. SQLite, the help and the man page have them from here. */
#include <string.h>

#include "decode/event_fields.h"
#include "decode/value.h"
#include "output/query/query_rows.h"
#include "output/query/query_table.h"
#include "symbol/frame.h"
#include "trace/family.h"

/* ---- made values ------------------------------------------------------------------------------ */

static void set_text(struct tapir_sql_value *out, struct tapir_sv text)
{
	if (!text.data || !text.len)
		return;
	out->type = TAPIR_SQL_TEXT;
	out->text = text.data;
	out->len = (uint32_t)text.len;
}

static void set_word(struct tapir_sql_value *out, const char *word)
{
	set_text(out, tapir_sv__of(word));
}

static void set_made(struct tapir_sql_value *out, const struct tapir_str *text)
{
	set_text(out, (struct tapir_sv){text->data, text->len});
}

static void set_u64(struct tapir_sql_value *out, uint64_t value)
{
	/* SQLite's integers are signed. */
	if (value > INT64_MAX) {
		out->type = TAPIR_SQL_REAL;
		out->f64 = (double)value;
		return;
	}
	out->type = TAPIR_SQL_INT;
	out->i64 = (int64_t)value;
}

#define MADE(made)                                                                                 \
	static void made(struct tapir_scan *scan, const struct tapir_sql_column *column,           \
			 const void *row, struct tapir_sql_value *out)

MADE(make_cpu)
{
	const struct tapir_rec *rec = row;

	(void)scan, (void)column;
	if (rec->cpu != TAPIR_CPU_UNKNOWN)
		set_u64(out, rec->cpu);
}

MADE(make_process)
{
	const struct tapir_rec *rec = row;

	(void)column;
	set_text(out, tapir_line__comm(scan->lines, tapir_rec__tgid(rec, 0), tapir_rec__tid(rec, 0),
				       rec->time_ns));
}

static void set_thread(struct tapir_scan *scan, uint32_t tid, uint64_t time_ns,
		       struct tapir_sql_value *out)
{
	const struct tapir_rec_thread *thread = tapir_catalog__thread(scan->catalog, tid, time_ns);

	if (tid && thread)
		set_text(out, (struct tapir_sv){thread->comm,
						strnlen(thread->comm, sizeof(thread->comm))});
}

MADE(make_thread)
{
	const struct tapir_rec *rec = row;

	(void)column;
	set_thread(scan, tapir_rec__tid(rec, 0), rec->time_ns, out);
}

MADE(make_in_process)
{
	const struct tapir_rec_switch *s = row;

	(void)column;
	if (s->in_tid)
		set_text(out, tapir_line__comm(scan->lines, s->in_tgid, s->in_tid, s->h.time_ns));
}

MADE(make_trace_id)
{
	const struct tapir_trace_ids *ids = tapir_rec__trace_ids(row);
	char text[TAPIR_TRACE_ID_TEXT];

	(void)column;
	if (!ids)
		return;
	tapir_str__adds(&scan->text, tapir_trace_id__text(ids, text));
	set_made(out, &scan->text);
}

MADE(make_span_id)
{
	const struct tapir_trace_ids *ids = tapir_rec__trace_ids(row);
	char text[TAPIR_TRACE_ID_TEXT];

	(void)column;
	if (!ids)
		return;
	tapir_str__adds(&scan->text, tapir_span_id__text(ids, text));
	set_made(out, &scan->text);
}

/* ---- stacks ------------------------------------------------------------------------------------ */

void tapir_query_frame__add_name(struct tapir_str *out, const struct tapir_frame *function,
				 struct tapir_str *buf)
{
	struct tapir_sv tier, name;

	tapir_str__clear(buf);
	name = tapir_frame__shown_name(function, buf, &tier);
	if (name.len)
		tapir_str__add(out, name.data, name.len);
	else
		tapir_frame__add_place(out, function, tapir_str__add);
}

/* Adds the innermost frame; is_whole: all frames, outermost first, as the folded format has them.
 */
static void add_frames(struct tapir_scan *scan, const struct tapir_rec *rec, uint64_t id,
		       bool is_whole)
{
	const struct tapir_rec_stack *stack = id ? tapir_catalog__stack(scan->catalog, id) : NULL;
	struct tapir_stack_view view;

	if (!stack)
		return;
	tapir_stack_view__of(&stack->h, &view);
	for (unsigned n = is_whole ? stack->frame_cnt : stack->frame_cnt ? 1 : 0; n--;) {
		struct tapir_frame frame = tapir_frame__of(scan->catalog, tapir_rec__tgid(rec, 0),
							   rec->time_ns, &view, n);

		for (unsigned k = is_whole ? tapir_frame__function_cnt(&frame) : 1; k--;) {
			struct tapir_frame function = tapir_frame__function(&frame, k);

			if (scan->text.len)
				tapir_str__addc(&scan->text, ';');
			tapir_query_frame__add_name(&scan->text, &function, &scan->name);
		}
	}
}

MADE(make_function)
{
	const struct tapir_rec *rec = row;

	(void)column;
	add_frames(scan, rec, tapir_rec__kstack_id(rec), false);
	if (!scan->text.len)
		add_frames(scan, rec, tapir_rec__stack_id(rec), false);
	set_made(out, &scan->text);
}

MADE(make_stack)
{
	const struct tapir_rec *rec = row;

	(void)column;
	add_frames(scan, rec, tapir_rec__stack_id(rec), true);
	add_frames(scan, rec, tapir_rec__kstack_id(rec), true);
	set_made(out, &scan->text);
}

MADE(make_kstack_id)
{
	uint64_t id = tapir_rec__kstack_id(row);

	(void)scan, (void)column;
	if (id)
		set_u64(out, id);
}

/* ---- events ------------------------------------------------------------------------------------ */

static bool find_probe(const struct tapir_scan *scan, uint32_t id, struct tapir_probe_view *out)
{
	const struct tapir_rec_probe *probe = tapir_catalog__probe(scan->catalog, id);

	if (probe)
		tapir_probe_view__of(&probe->h, out);
	return probe;
}

/* Finds the probe whose id is at the column's offset. */
static bool find_probe_of(const struct tapir_scan *scan, const struct tapir_sql_column *column,
			  const void *row, struct tapir_probe_view *out)
{
	uint32_t id;

	memcpy(&id, (const char *)row + column->offset, sizeof(id));
	return find_probe(scan, id, out);
}

MADE(make_provider)
{
	struct tapir_probe_view probe;

	if (find_probe_of(scan, column, row, &probe))
		set_text(out, probe.provider);
}

MADE(make_event)
{
	struct tapir_probe_view probe;

	if (find_probe_of(scan, column, row, &probe))
		set_text(out, probe.event);
}

MADE(make_args)
{
	(void)column;
	tapir_event_lines__add_args(scan->lines, row, &scan->text);
	set_made(out, &scan->text);
}

MADE(make_lane)
{
	struct tapir_probe_view probe;

	if (find_probe_of(scan, column, row, &probe))
		set_word(out, probe.rec->lane == TAPIR_LANE_RING ? "ring" : "probe");
}

static void set_value(struct tapir_scan *scan, const struct tapir_value *value,
		      struct tapir_sql_value *out)
{
	if (value->flags & TAPIR_VALUE_ABSENT)
		return;
	switch (value->type) {
	case TAPIR_FIELD_INT:
		out->type = TAPIR_SQL_INT;
		out->i64 = value->i64;
		return;
	case TAPIR_FIELD_UINT:
	case TAPIR_FIELD_PTR:
		set_u64(out, value->u64);
		return;
	case TAPIR_FIELD_BOOL:
		set_u64(out, value->u64 != 0);
		return;
	case TAPIR_FIELD_FLOAT:
		out->type = TAPIR_SQL_REAL;
		out->f64 = value->f64;
		return;
	case TAPIR_FIELD_NONE:
		return;
	case TAPIR_FIELD_STRUCT:
	case TAPIR_VALUE_ARRAY:
		tapir_value__add_json(&scan->text, value);
		break;
	default:
		tapir_event_fields__add_value(value, SIZE_MAX, &scan->text);
	}
	/* An empty text is not NULL. */
	out->type = TAPIR_SQL_TEXT;
	out->text = scan->text.len ? scan->text.data : "";
	out->len = (uint32_t)scan->text.len;
}

void tapir_sql_column__make_field(struct tapir_scan *scan, const struct tapir_sql_column *column,
				  const void *row, struct tapir_sql_value *out)
{
	const char *name = column->what;

	if (!scan->values)
		scan->values = tapir_event_lines__values(scan->lines, row, &scan->value_cnt);
	for (unsigned i = 0; scan->values && i < scan->value_cnt; i++) {
		char arg[16];
		struct tapir_sv called = scan->values[i].name;

		if (!called.len)
			called = (struct tapir_sv){arg,
						   (size_t)snprintf(arg, sizeof(arg), "arg%u", i)};
		if (tapir_sv__is(called, name)) {
			set_value(scan, &scan->values[i], out);
			return;
		}
	}
}

/* ---- other records ------------------------------------------------------------------------------ */

MADE(make_out_state)
{
	const struct tapir_rec_switch *s = row;

	(void)scan, (void)column;
	if (s->out_tid)
		set_word(out, tapir_switch__state_name(s));
}

MADE(make_futex)
{
	uint64_t va = tapir_switch__futex_va(row);

	(void)scan, (void)column;
	if (va)
		set_u64(out, va);
}

MADE(make_is_snapshot)
{
	(void)scan, (void)column;
	set_u64(out, tapir_rec__is_snapshot(row));
}

MADE(make_loss_cause)
{
	(void)scan, (void)column;
	set_word(out, tapir_loss__name(((const struct tapir_rec_loss *)row)->cause));
}

MADE(make_loss_text)
{
	(void)scan, (void)column;
	set_word(out, tapir_loss__text(((const struct tapir_rec_loss *)row)->cause));
}

MADE(make_loss_is_whole)
{
	(void)scan, (void)column;
	set_u64(out, tapir_loss__is_whole(((const struct tapir_rec_loss *)row)->cause));
}

#define COUNTER_TEXT(made, member)                                                                 \
	MADE(made)                                                                                 \
	{                                                                                          \
		struct tapir_counter_view view;                                                    \
                                                                                                   \
		(void)scan, (void)column;                                                          \
		tapir_counter_view__of(row, &view);                                                \
		set_text(out, view.member);                                                        \
	}
COUNTER_TEXT(make_counter_provider, provider)
COUNTER_TEXT(make_counter_name, name)
COUNTER_TEXT(make_counter_unit, unit)
COUNTER_TEXT(make_counter_tags, tags)

MADE(make_gap_reason)
{
	(void)scan, (void)column;
	set_word(out, tapir_gap__name(((const struct tapir_rec_gap *)row)->reason));
}

MADE(make_gap_path)
{
	struct tapir_gap_view view;

	(void)scan, (void)column;
	tapir_gap_view__of(row, &view);
	set_text(out, view.path);
}

MADE(make_mapping_path)
{
	struct tapir_mapping_view view;

	(void)scan, (void)column;
	tapir_mapping_view__of(row, &view);
	set_text(out, view.path);
}

MADE(make_build_id)
{
	struct tapir_mapping_view view;

	(void)column;
	tapir_mapping_view__of(row, &view);
	tapir_str__add_hex(&scan->text, view.build_id.data, view.build_id.len);
	set_made(out, &scan->text);
}

/* ---- columns ------------------------------------------------------------------------------------ */

#define AT(type, member) offsetof(struct type, member)
#define TIMES                                                                                      \
	{"time_ns", TAPIR_COLUMN_U64, AT(tapir_rec, time_ns),                                      \
	 "nanoseconds of CLOCK_MONOTONIC, as time_ns of 'tapir events --json'", NULL},             \
	{                                                                                          \
		"time_s", TAPIR_COLUMN_SECONDS, AT(tapir_rec, time_ns),                            \
			"seconds since the recording began", NULL                                  \
	}
#define TRACE                                                                                      \
	{"trace_id", TAPIR_COLUMN_MADE, 0, "of the trace that its thread worked for",              \
	 make_trace_id},                                                                           \
	{                                                                                          \
		"span_id", TAPIR_COLUMN_MADE, 0, "of the span", make_span_id                       \
	}
#define OF_PROCESS(type)                                                                           \
	{                                                                                          \
		"pid", TAPIR_COLUMN_ID, AT(type, tgid), "process id", NULL                         \
	}
#define WHO(type)                                                                                  \
	OF_PROCESS(type), {"tid", TAPIR_COLUMN_ID, AT(type, tid), "thread id", NULL},              \
		{"process", TAPIR_COLUMN_MADE, 0, "name of the process", make_process},            \
	{                                                                                          \
		"thread", TAPIR_COLUMN_MADE, 0, "name of the thread", make_thread                  \
	}
#define CPU                                                                                        \
	{                                                                                          \
		"cpu", TAPIR_COLUMN_NUMBER, 0, "the CPU", make_cpu                                 \
	}
#define STACK                                                                                      \
	{"kernel_stack_id", TAPIR_COLUMN_NUMBER, 0, "joins stacks and frames", make_kstack_id},    \
		{"function", TAPIR_COLUMN_MADE, 0,                                                 \
		 "innermost function, of the kernel if it was there", make_function},              \
	{                                                                                          \
		"stack", TAPIR_COLUMN_MADE, 0, "functions, outermost first, separated by ';'",     \
			make_stack                                                                 \
	}

const struct tapir_sql_column tapir_event_columns[] = {
	TIMES,
	CPU,
	WHO(tapir_rec_event),
	{"provider", TAPIR_COLUMN_MADE, AT(tapir_rec_event, probe_id), "who defines the event",
	 make_provider},
	{"event", TAPIR_COLUMN_MADE, AT(tapir_rec_event, probe_id), "name of the event",
	 make_event},
	{"args", TAPIR_COLUMN_MADE, 0, "its fields as JSON: args ->> 'name'", make_args},
	{"lane", TAPIR_COLUMN_MADE, AT(tapir_rec_event, probe_id),
	 "how it was captured: probe or ring", make_lane},
	TRACE,
	{"stack_id", TAPIR_COLUMN_ID64, AT(tapir_rec_event, stack_id), "joins stacks and frames",
	 NULL},
	STACK,
	{}};

static const struct tapir_sql_column samples[] = {
	TIMES,
	CPU,
	WHO(tapir_rec_sample),
	{"period", TAPIR_COLUMN_U64, AT(tapir_rec_sample, period),
	 "what it stands for: nanoseconds of CPU time, or what the sampling event counts", NULL},
	TRACE,
	{"stack_id", TAPIR_COLUMN_ID64, AT(tapir_rec_sample, stack_id), "joins stacks and frames",
	 NULL},
	STACK,
	{}};

static const struct tapir_sql_column switches[] = {
	TIMES,
	CPU,
	{"pid", TAPIR_COLUMN_ID, AT(tapir_rec_switch, out_tgid),
	 "process of the thread that leaves its CPU; NULL: it is not recorded", NULL},
	{"tid", TAPIR_COLUMN_ID, AT(tapir_rec_switch, out_tid), "the thread", NULL},
	{"process", TAPIR_COLUMN_MADE, 0, "name of its process", make_process},
	{"thread", TAPIR_COLUMN_MADE, 0, "its name", make_thread},
	{"state", TAPIR_COLUMN_MADE, 0, "why it leaves: sleeping, preempted, ...", make_out_state},
	{"futex", TAPIR_COLUMN_NUMBER, 0, "address of the futex that it waits for", make_futex},
	{"in_pid", TAPIR_COLUMN_ID, AT(tapir_rec_switch, in_tgid),
	 "process of the thread that comes; NULL: it is not recorded", NULL},
	{"in_tid", TAPIR_COLUMN_ID, AT(tapir_rec_switch, in_tid), "the thread", NULL},
	{"in_process", TAPIR_COLUMN_MADE, 0, "name of its process", make_in_process},
	{"wake_ns", TAPIR_COLUMN_ID64, AT(tapir_rec_switch, in_wake_ns), "when it was woken", NULL},
	{"waker_tid", TAPIR_COLUMN_ID, AT(tapir_rec_switch, in_waker_tid), "thread that woke it",
	 NULL},
	{"is_snapshot", TAPIR_COLUMN_NUMBER, 0,
	 "1: no switch, but how the thread was when the recording began or ended",
	 make_is_snapshot},
	TRACE,
	{"stack_id", TAPIR_COLUMN_ID64, AT(tapir_rec_switch, out_stack_id),
	 "of the thread that leaves", NULL},
	STACK,
	{}};

static const struct tapir_sql_column counters[] = {
	TIMES,
	OF_PROCESS(tapir_rec_counter),
	{"process", TAPIR_COLUMN_MADE, 0, "name of the process", make_process},
	{"provider", TAPIR_COLUMN_MADE, 0, "who counts", make_counter_provider},
	{"name", TAPIR_COLUMN_MADE, 0, "of the counter", make_counter_name},
	{"value", TAPIR_COLUMN_F64, AT(tapir_rec_counter, value), "the value", NULL},
	{"unit", TAPIR_COLUMN_MADE, 0, "of the value", make_counter_unit},
	{"tags", TAPIR_COLUMN_MADE, 0, "what tells it from others of its name", make_counter_tags},
	{"interval_ns", TAPIR_COLUMN_ID64, AT(tapir_rec_counter, interval_ns),
	 "in which it was counted", NULL},
	{}};

static const struct tapir_sql_column losses[] = {
	TIMES,
	{"cause", TAPIR_COLUMN_MADE, 0, "why, as in 'tapir report --json'", make_loss_cause},
	{"text", TAPIR_COLUMN_MADE, 0, "the same in words", make_loss_text},
	{"is_whole", TAPIR_COLUMN_NUMBER, 0, "1: complete records were lost, not parts",
	 make_loss_is_whole},
	{"count", TAPIR_COLUMN_U64, AT(tapir_rec_loss, count), "how many", NULL},
	{"from_ns", TAPIR_COLUMN_U64, AT(tapir_rec_loss, from_ns), "the first", NULL},
	{"until_ns", TAPIR_COLUMN_U64, AT(tapir_rec_loss, until_ns), "the last", NULL},
	{"provider", TAPIR_COLUMN_MADE, AT(tapir_rec_loss, probe_id), "of the event",
	 make_provider},
	{"event", TAPIR_COLUMN_MADE, AT(tapir_rec_loss, probe_id), "whose records were lost",
	 make_event},
	{}};

static const struct tapir_sql_column gaps[] = {
	TIMES,
	OF_PROCESS(tapir_rec_gap),
	{"reason", TAPIR_COLUMN_MADE, 0, "why probes of a file were missing", make_gap_reason},
	{"path", TAPIR_COLUMN_MADE, 0, "the file", make_gap_path},
	{"from_ns", TAPIR_COLUMN_U64, AT(tapir_rec_gap, from_ns), "since when", NULL},
	{"until_ns", TAPIR_COLUMN_U64, AT(tapir_rec_gap, until_ns), "until when", NULL},
	{}};

static const struct tapir_sql_column mappings[] = {
	TIMES,
	OF_PROCESS(tapir_rec_mapping),
	{"path", TAPIR_COLUMN_MADE, 0, "the file", make_mapping_path},
	{"start", TAPIR_COLUMN_U64, AT(tapir_rec_mapping, start_va), "first address", NULL},
	{"end", TAPIR_COLUMN_U64, AT(tapir_rec_mapping, end_va), "first address after it", NULL},
	{"offset", TAPIR_COLUMN_U64, AT(tapir_rec_mapping, file_off), "in the file", NULL},
	{"build_id", TAPIR_COLUMN_MADE, 0, "of the file", make_build_id},
	{}};

#define COUNTS(type)                                                                               \
	{"events", TAPIR_COLUMN_U64, AT(type, events), "events recorded of it", NULL},             \
		{"samples", TAPIR_COLUMN_U64, AT(type, samples), "samples recorded of it", NULL},  \
	{                                                                                          \
		"switches", TAPIR_COLUMN_U64, AT(type, switches), "switches recorded of it", NULL  \
	}

static const struct tapir_sql_column processes[] = {
	{"pid", TAPIR_COLUMN_U32, AT(tapir_process_list_row, pid), "process id", NULL},
	{"name", TAPIR_COLUMN_TEXT, AT(tapir_process_list_row, name), "of the process", NULL},
	{"exe", TAPIR_COLUMN_TEXT, AT(tapir_process_list_row, exe), "its program", NULL},
	{"service", TAPIR_COLUMN_TEXT, AT(tapir_process_list_row, service),
	 "service.name, if it publishes one", NULL},
	{"threads", TAPIR_COLUMN_U64, AT(tapir_process_list_row, threads), "that are known", NULL},
	COUNTS(tapir_process_list_row),
	{}};

static const struct tapir_sql_column threads[] = {
	{"pid", TAPIR_COLUMN_U32, AT(tapir_thread_list_row, pid), "process id", NULL},
	{"tid", TAPIR_COLUMN_U32, AT(tapir_thread_list_row, tid), "thread id", NULL},
	{"name", TAPIR_COLUMN_TEXT, AT(tapir_thread_list_row, name),
	 "of the thread; one that changed it has a row for each", NULL},
	COUNTS(tapir_thread_list_row),
	{}};

static const struct tapir_sql_column findings[] = {
	{"rank", TAPIR_COLUMN_U32, AT(tapir_finding_list_row, rank), "1: the worst", NULL},
	{"kind", TAPIR_COLUMN_TEXT, AT(tapir_finding_list_row, kind), "as --fail-on has it", NULL},
	{"severity", TAPIR_COLUMN_F64, AT(tapir_finding_list_row, severity), "0 to 100", NULL},
	{"magnitude", TAPIR_COLUMN_F64, AT(tapir_finding_list_row, magnitude), "in its unit", NULL},
	{"unit", TAPIR_COLUMN_TEXT, AT(tapir_finding_list_row, unit), "of magnitude", NULL},
	{"subject", TAPIR_COLUMN_TEXT, AT(tapir_finding_list_row, subject),
	 "a method, an exception, a lock", NULL},
	{"text", TAPIR_COLUMN_TEXT, AT(tapir_finding_list_row, text), "the finding", NULL},
	{"evidence", TAPIR_COLUMN_TEXT, AT(tapir_finding_list_row, evidence), "what else counts",
	 NULL},
	{"view", TAPIR_COLUMN_TEXT, AT(tapir_finding_list_row, view), "for report --view", NULL},
	{}};

#define SPAN_OF(type)                                                                              \
	{"begin_ns", TAPIR_COLUMN_U64, AT(type, from_ns), "when it began, as time_ns", NULL},      \
		{"end_ns", TAPIR_COLUMN_U64, AT(type, until_ns), "when it ended", NULL},           \
		{"begin_s", TAPIR_COLUMN_SECONDS, AT(type, from_ns),                               \
		 "seconds since the recording began", NULL},                                       \
		{"took_ns", TAPIR_COLUMN_U64, AT(type, took_ns), "how long it lasted", NULL},      \
		{"pid", TAPIR_COLUMN_ID, AT(type, pid), "process id", NULL},                       \
	{                                                                                          \
		"tid", TAPIR_COLUMN_ID, AT(type, tid), "thread id", NULL                           \
	}

static const struct tapir_sql_column intervals[] = {
	SPAN_OF(tapir_interval_list_row),
	{"end_tid", TAPIR_COLUMN_ID, AT(tapir_interval_list_row, end_tid), "thread that ended it",
	 NULL},
	{"thread", TAPIR_COLUMN_TEXT, AT(tapir_interval_list_row, thread), "name of the thread",
	 NULL},
	{"provider", TAPIR_COLUMN_TEXT, AT(tapir_interval_list_row, provider), "of its events",
	 NULL},
	{"name", TAPIR_COLUMN_TEXT, AT(tapir_interval_list_row, name),
	 "as in 'tapir help intervals': gc, query", NULL},
	{"label", TAPIR_COLUMN_TEXT, AT(tapir_interval_list_row, label),
	 "fields of the event that began it", NULL},
	{"cause", TAPIR_COLUMN_TEXT, AT(tapir_interval_list_row, cause),
	 "what its time counts for: gc, stop, jit, lock, io", NULL},
	{"running_ns", TAPIR_COLUMN_U64, AT(tapir_interval_list_row, running_ns),
	 "its thread ran on a CPU", NULL},
	{"runnable_ns", TAPIR_COLUMN_U64, AT(tapir_interval_list_row, runnable_ns),
	 "its thread waited for a CPU", NULL},
	{"sleeping_ns", TAPIR_COLUMN_U64, AT(tapir_interval_list_row, sleeping_ns),
	 "its thread waited", NULL},
	{"is_whole", TAPIR_COLUMN_U8, AT(tapir_interval_list_row, is_whole),
	 "0: its begin or its end is not in the recording", NULL},
	{"is_nested", TAPIR_COLUMN_U8, AT(tapir_interval_list_row, is_nested),
	 "1: inside another one of its kind", NULL},
	{}};

static const struct tapir_sql_column waits[] = {
	SPAN_OF(tapir_wait_list_row),
	{"thread", TAPIR_COLUMN_TEXT, AT(tapir_wait_list_row, thread), "name of the thread", NULL},
	{"state", TAPIR_COLUMN_TEXT, AT(tapir_wait_list_row, state), "sleeping, preempted, ...",
	 NULL},
	{"sleep_ns", TAPIR_COLUMN_U64, AT(tapir_wait_list_row, sleep_ns), "until it was woken",
	 NULL},
	{"runnable_ns", TAPIR_COLUMN_U64, AT(tapir_wait_list_row, runnable_ns),
	 "then, until it ran", NULL},
	{"waker_tid", TAPIR_COLUMN_ID, AT(tapir_wait_list_row, waker_tid), "thread that woke it",
	 NULL},
	{"futex", TAPIR_COLUMN_ID64, AT(tapir_wait_list_row, futex_va),
	 "address of the futex that it waited for", NULL},
	{"function", TAPIR_COLUMN_TEXT, AT(tapir_wait_list_row, function),
	 "innermost function that is not the kernel's", NULL},
	{}};

static const struct tapir_sql_column stacks[] = {
	{"stack_id", TAPIR_COLUMN_U64, AT(tapir_stack_list_row, stack_id),
	 "as stack_id and kernel_stack_id of samples, events, switches", NULL},
	{"pid", TAPIR_COLUMN_ID, AT(tapir_stack_list_row, pid), "process id", NULL},
	{"is_kernel", TAPIR_COLUMN_U8, AT(tapir_stack_list_row, is_kernel), "1: of the kernel",
	 NULL},
	{"frames", TAPIR_COLUMN_U32, AT(tapir_stack_list_row, frame_cnt), "how many", NULL},
	{"end", TAPIR_COLUMN_TEXT, AT(tapir_stack_list_row, end), "how it ends; whole: complete",
	 NULL},
	COUNTS(tapir_stack_list_row),
	{}};

static const struct tapir_sql_column frames[] = {
	{"stack_id", TAPIR_COLUMN_U64, AT(tapir_frame_list_row, stack_id), "of stacks", NULL},
	{"pid", TAPIR_COLUMN_ID, AT(tapir_frame_list_row, pid), "process id", NULL},
	{"depth", TAPIR_COLUMN_U32, AT(tapir_frame_list_row, depth), "0: innermost", NULL},
	{"function", TAPIR_COLUMN_TEXT, AT(tapir_frame_list_row, function),
	 "its name, or its place in the file", NULL},
	{"module", TAPIR_COLUMN_TEXT, AT(tapir_frame_list_row, module), "the file", NULL},
	{"address", TAPIR_COLUMN_U64, AT(tapir_frame_list_row, va), "in the process", NULL},
	{"is_kernel", TAPIR_COLUMN_U8, AT(tapir_frame_list_row, is_kernel), "1: of the kernel",
	 NULL},
	{"is_named", TAPIR_COLUMN_U8, AT(tapir_frame_list_row, is_named), "0: no name is known",
	 NULL},
	{}};

static const struct tapir_sql_column meta[] = {
	{"idx", TAPIR_COLUMN_U32, AT(tapir_meta_list_row, idx), "order in the file", NULL},
	{"key", TAPIR_COLUMN_TEXT, AT(tapir_meta_list_row, key), "name of the fact", NULL},
	{"value", TAPIR_COLUMN_TEXT, AT(tapir_meta_list_row, value), "the fact", NULL},
	{}};

const struct tapir_table_desc tapir_tables[] = {
	{.name = "events",
	 .what = "all events. One kind also has a table of its own, gc__begin or "
		 "\"provider:event\", with its fields as columns",
	 .columns = tapir_event_columns,
	 .rec_type = TAPIR_REC_EVENT,
	 .usual_rows = 1000000},
	{.name = "samples",
	 .what = "CPU samples",
	 .columns = samples,
	 .rec_type = TAPIR_REC_SAMPLE,
	 .usual_rows = 1000000},
	{.name = "switches",
	 .what = "context switches: a thread leaves its CPU, another comes",
	 .columns = switches,
	 .rec_type = TAPIR_REC_SWITCH,
	 .usual_rows = 1000000},
	{.name = "waits",
	 .what = "times in which a thread was away from its CPU, from switch to switch",
	 .columns = waits,
	 .list = TAPIR_LIST_WAITS,
	 .usual_rows = 500000},
	{.name = "intervals",
	 .what = "from one event to another: collections, queries, requests, waits for locks",
	 .columns = intervals,
	 .list = TAPIR_LIST_INTERVALS,
	 .usual_rows = 50000},
	{.name = "processes",
	 .what = "the processes of the report",
	 .columns = processes,
	 .list = TAPIR_LIST_PROCESSES,
	 .usual_rows = 20},
	{.name = "threads",
	 .what = "their threads",
	 .columns = threads,
	 .list = TAPIR_LIST_THREADS,
	 .key = 1,
	 .usual_rows = 200},
	{.name = "stacks",
	 .what = "each stack of a process once",
	 .columns = stacks,
	 .list = TAPIR_LIST_STACKS,
	 .usual_rows = 20000},
	{.name = "frames",
	 .what = "the frames of stacks, named as when the stack first occurred",
	 .columns = frames,
	 .list = TAPIR_LIST_FRAMES,
	 .usual_rows = 400000},
	{.name = "counters",
	 .what = "values of counters",
	 .columns = counters,
	 .rec_type = TAPIR_REC_COUNTER,
	 .usual_rows = 10000},
	{.name = "losses",
	 .what = "records that were lost, and why",
	 .columns = losses,
	 .rec_type = TAPIR_REC_LOSS,
	 .usual_rows = 100},
	{.name = "gaps",
	 .what = "times in which probes of a file were not on",
	 .columns = gaps,
	 .rec_type = TAPIR_REC_GAP,
	 .usual_rows = 10},
	{.name = "findings",
	 .what = "what the report finds",
	 .columns = findings,
	 .list = TAPIR_LIST_FINDINGS,
	 .usual_rows = 5},
	{.name = "mappings",
	 .what = "files that processes have mapped to execute them",
	 .columns = mappings,
	 .rec_type = TAPIR_REC_MAPPING,
	 .usual_rows = 1000},
	{.name = "meta",
	 .what = "how the recording was made",
	 .columns = meta,
	 .list = TAPIR_LIST_META,
	 .usual_rows = 30},
	{}};

const struct tapir_table_view tapir_table_views[] = {
	{"gc", "garbage collections: intervals of that name, or that stop threads for one",
	 "SELECT * FROM intervals WHERE name = 'gc' OR cause = 'gc'"},
	{"requests", "intervals of requests",
	 "SELECT * FROM intervals WHERE name LIKE '%request%'"},
	{}};

/* ---- reading them -------------------------------------------------------------------------------- */

const char *tapir_sql_column__type(const struct tapir_sql_column *column)
{
	switch (column->kind) {
	case TAPIR_COLUMN_TEXT:
	case TAPIR_COLUMN_MADE:
		return "TEXT";
	case TAPIR_COLUMN_F64:
	case TAPIR_COLUMN_SECONDS:
		return "REAL";
	case TAPIR_COLUMN_FIELD:
		return "";
	default:
		return "INTEGER";
	}
}

unsigned tapir_table__column_cnt(const struct tapir_table_desc *table)
{
	unsigned cnt = 0;

	while (table->columns[cnt].name)
		cnt++;
	return cnt;
}

uint64_t tapir_sql_column__u64(const struct tapir_sql_column *column, const void *row)
{
	const char *at = (const char *)row + column->offset;
	uint64_t u64 = 0;
	uint32_t u32;

	switch (column->kind) {
	case TAPIR_COLUMN_U64:
	case TAPIR_COLUMN_ID64:
	case TAPIR_COLUMN_SECONDS:
		memcpy(&u64, at, sizeof(u64));
		return u64;
	case TAPIR_COLUMN_U32:
	case TAPIR_COLUMN_ID:
		memcpy(&u32, at, sizeof(u32));
		return u32;
	case TAPIR_COLUMN_U8:
		return *(const uint8_t *)at;
	default:
		return 0;
	}
}

void tapir_sql_column__read(struct tapir_scan *scan, const struct tapir_sql_column *column,
			    const void *row, struct tapir_sql_value *out)
{
	uint64_t value;
	const char *text;

	*out = (struct tapir_sql_value){};
	switch (column->kind) {
	case TAPIR_COLUMN_NUMBER:
	case TAPIR_COLUMN_MADE:
	case TAPIR_COLUMN_FIELD:
		tapir_str__clear(&scan->text);
		column->make(scan, column, row, out);
		return;
	case TAPIR_COLUMN_TEXT:
		memcpy(&text, (const char *)row + column->offset, sizeof(text));
		set_word(out, text);
		return;
	case TAPIR_COLUMN_F64:
		out->type = TAPIR_SQL_REAL;
		memcpy(&out->f64, (const char *)row + column->offset, sizeof(out->f64));
		return;
	case TAPIR_COLUMN_SECONDS:
		value = tapir_sql_column__u64(column, row);
		out->type = TAPIR_SQL_REAL;
		out->f64 = value >= scan->start_ns ? (double)(value - scan->start_ns) / 1e9
						   : -(double)(scan->start_ns - value) / 1e9;
		return;
	default:
		value = tapir_sql_column__u64(column, row);
		if (value || (column->kind != TAPIR_COLUMN_ID && column->kind != TAPIR_COLUMN_ID64))
			set_u64(out, value);
	}
}

bool tapir_table__has(const struct tapir_table_desc *table, const struct tapir_scan *scan,
		      const struct tapir_rec *rec)
{
	struct tapir_probe_view probe;

	if (rec->type != table->rec_type)
		return false;
	if (!table->event)
		return true;
	return find_probe(scan, ((const struct tapir_rec_event *)rec)->probe_id, &probe) &&
	       tapir_sv__is(probe.event, table->event) &&
	       (!table->provider || tapir_sv__is(probe.provider, table->provider));
}
