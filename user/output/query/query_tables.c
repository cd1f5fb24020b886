// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * All tables with their columns: of records from trace/schema.c, of lists from here. SQLite, the
 * help and the man page have them from here.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
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

/* An id or an address: exact, whatever its highest bit is. */
static void set_bits(struct tapir_sql_value *out, uint64_t value)
{
	out->type = TAPIR_SQL_INT;
	out->i64 = (int64_t)value;
}

#define MADE(made)                                                                                 \
	static void made(struct tapir_scan *scan, const struct tapir_sql_column *column,           \
			 const void *row, struct tapir_sql_value *out)

/* ---- stacks ------------------------------------------------------------------------------------ */

void tapir_scan__forget_catalog(struct tapir_scan *scan)
{
	tapir_query_stacks__fini(&scan->stacks);
}

void tapir_scan__fini(struct tapir_scan *scan)
{
	tapir_str__fini(&scan->text);
	tapir_query_stacks__fini(&scan->stacks);
}

MADE(make_function)
{
	const struct tapir_rec *rec = row;
	struct tapir_sv name;

	(void)column;
	name = tapir_query_stacks__function(&scan->stacks, scan->catalog, rec,
					    tapir_rec__kstack_id(rec));
	if (!name.len)
		name = tapir_query_stacks__function(&scan->stacks, scan->catalog, rec,
						    tapir_rec__stack_id(rec));
	scan->text.failed |= scan->stacks.text.failed;
	set_text(out, name);
}

MADE(make_stack)
{
	struct tapir_sv text = tapir_query_stacks__whole(&scan->stacks, scan->catalog, row);

	(void)column;
	scan->text.failed |= scan->stacks.text.failed;
	set_text(out, text);
}

MADE(make_kstack_id)
{
	uint64_t id = tapir_rec__kstack_id(row);

	(void)scan, (void)column;
	if (id)
		set_bits(out, id);
}

/* ---- events ------------------------------------------------------------------------------------ */

static bool find_probe(const struct tapir_scan *scan, uint32_t id, struct tapir_probe_view *out)
{
	const struct tapir_rec_probe *probe = tapir_catalog__probe(scan->catalog, id);

	if (probe)
		tapir_probe_view__of(&probe->h, out);
	return probe;
}

MADE(make_args)
{
	(void)column;
	tapir_event_lines__add_args(scan->lines, row, &scan->text);
	set_made(out, &scan->text);
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
	const char *name = column->description;

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

/* ---- columns of records: the members of trace/schema.c ------------------------------------------ */

MADE(make_member)
{
	struct tapir_member_value value =
		tapir_event_lines__read(scan->lines, row, column->member, &scan->text);

	switch (value.kind) {
	case TAPIR_MEMBER_IS_NULL:
		break;
	case TAPIR_MEMBER_IS_U64:
	case TAPIR_MEMBER_IS_BOOL:
		set_bits(out, value.u64);
		break;
	case TAPIR_MEMBER_IS_I64:
		out->type = TAPIR_SQL_INT;
		out->i64 = value.i64;
		break;
	case TAPIR_MEMBER_IS_F64:
		out->type = TAPIR_SQL_REAL;
		out->f64 = value.f64;
		break;
	default:
		set_text(out, value.text);
	}
}

/* The kind says how a column is read, and which limits of a statement apply to it. */
static void set_kind(struct tapir_sql_column *column, const struct tapir_member *member)
{
	bool may_miss = member->flags & TAPIR_MEMBER_0_IS_NULL;

	column->make = make_member;
	switch (member->type) {
	/*
	 * Numbers of 4 and 8 bytes are read in place. One that may be missing is an id: 0 is NULL.
	 */
	case TAPIR_MEMBER_UINT:
		column->kind = member->value || member->bytes < sizeof(uint32_t)
				       ? TAPIR_COLUMN_NUMBER
			       : member->bytes == sizeof(uint32_t)
				       ? (may_miss ? TAPIR_COLUMN_ID : TAPIR_COLUMN_U32)
				       : (may_miss ? TAPIR_COLUMN_ID64 : TAPIR_COLUMN_U64);
		break;
	case TAPIR_MEMBER_STACK:
		column->kind = TAPIR_COLUMN_ID64;
		break;
	case TAPIR_MEMBER_KSTACK:
		column->kind = TAPIR_COLUMN_NUMBER;
		column->make = make_kstack_id;
		break;
	case TAPIR_MEMBER_INT:
	case TAPIR_MEMBER_FLAG:
	case TAPIR_MEMBER_HEX:
	case TAPIR_MEMBER_CPU:
		column->kind = TAPIR_COLUMN_NUMBER;
		break;
	case TAPIR_MEMBER_REAL:
		column->kind = TAPIR_COLUMN_F64;
		break;
	default:
		column->kind = TAPIR_COLUMN_MADE;
		column->make = member->type == TAPIR_MEMBER_ARGS	? make_args
			       : member->type == TAPIR_MEMBER_FUNCTION	? make_function
			       : member->type == TAPIR_MEMBER_FUNCTIONS ? make_stack
									: make_member;
	}
}

#define TIME_COLUMNS 2

/* Makes the columns of a table, which are ended by one without a name. */
static void make_columns(const struct tapir_schema *schema,
			 struct tapir_sql_column columns[TAPIR_RECORD_COLUMNS])
{
	static const struct tapir_sql_column times[TIME_COLUMNS] = {
		{"time_ns", TAPIR_COLUMN_U64, offsetof(struct tapir_rec, time_ns),
		 "nanoseconds of CLOCK_MONOTONIC, as time_ns of 'tapir events --json'", NULL, NULL},
		{"time_s", TAPIR_COLUMN_SECONDS, offsetof(struct tapir_rec, time_ns),
		 "seconds since the recording began", NULL, NULL}};
	unsigned cnt = TIME_COLUMNS;

	memcpy(columns, times, sizeof(times));
	for (const struct tapir_member *m = schema->members; !tapir_member__ends(m); m++) {
		if (!m->column)
			continue;
		assert(cnt + 1 < TAPIR_RECORD_COLUMNS);
		columns[cnt] = (struct tapir_sql_column){.name = m->column,
							 .offset = m->offset,
							 .description = m->description,
							 .member = m};
		set_kind(&columns[cnt++], m);
	}
}

/* ---- columns of lists ----------------------------------------------------------------------- */

#define COLUMN(name_, kind_, row, member_, description_)                                           \
	{                                                                                          \
		.name = name_, .kind = TAPIR_COLUMN_##kind_,                                       \
		.offset = offsetof(struct tapir_##row##_list_row, member_),                        \
		.description = description_                                                        \
	}
#define COUNTS(type)                                                                               \
	COLUMN("events", U64, type, events, "events recorded of it"),                              \
		COLUMN("samples", U64, type, samples, "samples recorded of it"),                   \
		COLUMN("switches", U64, type, switches, "switches recorded of it")

static const struct tapir_sql_column processes[] = {
	COLUMN("pid", U32, process, pid, "process id"),
	COLUMN("name", TEXT, process, name, "of the process"),
	COLUMN("exe", TEXT, process, exe, "its program"),
	COLUMN("service", TEXT, process, service, "service.name, if it publishes one"),
	COLUMN("threads", U64, process, threads, "that are known"),
	COUNTS(process),
	{}};

static const struct tapir_sql_column threads[] = {
	COLUMN("pid", U32, thread, pid, "process id"),
	COLUMN("tid", U32, thread, tid, "thread id"),
	COLUMN("name", TEXT, thread, name, "of the thread; one that changed it has a row for each"),
	COUNTS(thread),
	{}};

static const struct tapir_sql_column findings[] = {
	COLUMN("rank", U32, finding, rank, "1: the worst"),
	COLUMN("kind", TEXT, finding, kind, "as --fail-on has it"),
	COLUMN("severity", F64, finding, severity, "0 to 100"),
	COLUMN("magnitude", F64, finding, magnitude, "in its unit"),
	COLUMN("unit", TEXT, finding, unit, "of magnitude"),
	COLUMN("subject", TEXT, finding, subject, "a method, an exception, a lock"),
	COLUMN("text", TEXT, finding, text, "the finding"),
	COLUMN("evidence", TEXT, finding, evidence, "what else counts"),
	COLUMN("view", TEXT, finding, view, "for report --view"),
	{}};

#define SPAN_OF(type)                                                                              \
	COLUMN("begin_ns", U64, type, from_ns, "when it began, as time_ns"),                       \
		COLUMN("end_ns", U64, type, until_ns, "when it ended"),                            \
		COLUMN("begin_s", SECONDS, type, from_ns, "seconds since the recording began"),    \
		COLUMN("took_ns", U64, type, took_ns, "how long it lasted"),                       \
		COLUMN("pid", ID, type, pid, "process id"),                                        \
		COLUMN("tid", ID, type, tid, "thread id")

static const struct tapir_sql_column intervals[] = {
	SPAN_OF(interval),
	COLUMN("end_tid", ID, interval, end_tid, "thread that ended it"),
	COLUMN("thread", TEXT, interval, thread, "name of the thread"),
	COLUMN("provider", TEXT, interval, provider, "of its events"),
	COLUMN("name", TEXT, interval, name, "as in 'tapir help intervals': gc, query"),
	COLUMN("label", TEXT, interval, label, "fields of the event that began it"),
	COLUMN("cause", TEXT, interval, cause, "what its time counts for: gc, stop, jit, lock, io"),
	COLUMN("running_ns", U64, interval, running_ns, "its thread ran on a CPU"),
	COLUMN("runnable_ns", U64, interval, runnable_ns, "its thread waited for a CPU"),
	COLUMN("sleeping_ns", U64, interval, sleeping_ns, "its thread waited"),
	COLUMN("is_whole", U8, interval, is_complete,
	       "0: its begin or its end is not in the recording"),
	COLUMN("is_nested", U8, interval, is_nested, "1: inside another one of its kind"),
	{}};

MADE(make_errors)
{
	uint64_t errors = ((const struct tapir_request_list_row *)row)->errors;

	(void)scan, (void)column;
	if (errors != TAPIR_REQUEST_ERRORS_UNKNOWN)
		set_u64(out, errors);
}

static const struct tapir_sql_column requests[] = {
	COLUMN("pid", U32, request, pid, "process id"),
	COLUMN("process", TEXT, request, process, "its name"),
	COLUMN("route", TEXT, request, route, "with {n} and {id} for numbers and ids in its path"),
	COLUMN("count", U64, request, count, "requests that began and ended in the recording"),
	COLUMN("per_second", F64, request, per_second, "of them"),
	COLUMN("p50_ns", U64, request, p50_ns, "their median"),
	COLUMN("p99_ns", U64, request, p99_ns, "the time within which 99% of them ended"),
	COLUMN("max_ns", U64, request, max_ns, "the slowest one"),
	{.name = "errors",
	 .kind = TAPIR_COLUMN_NUMBER,
	 .make = make_errors,
	 .description = "with status 500 and more; NULL: no status is known"},
	COLUMN("sum_ns", U64, request, sum_ns, "the time of all of them"),
	COLUMN("incomplete", U64, request, incomplete,
	       "more, whose begin or end is not in the recording"),
	COLUMN("at_attach", U64, request, at_attach, "more, which began before all events were on"),
	COLUMN("is_call", U8, request, is_call, "1: calls of another server, by this client"),
	{}};

static const struct tapir_sql_column request_parts[] = {
	COLUMN("pid", U32, request_part, pid, "process id"),
	COLUMN("route", TEXT, request_part, route, "as in requests"),
	COLUMN("part", TEXT, request_part, part, "on CPU, in GC, a semaphore in Shop.Reserve"),
	COLUMN("ns", U64, request_part, ns, "of the time of the route; parts add up to sum_ns"),
	COLUMN("percent", F64, request_part, percent, "of that time"),
	COLUMN("slowest_percent", F64, request_part, slowest_percent,
	       "of the time of the slowest 1%"),
	COLUMN("count", ID64, request_part, count, "awaits or calls; NULL: the part is neither"),
	COLUMN("a_request", F64, request_part, a_request, "of them"),
	COLUMN("each_ns", ID64, request_part, each_ns, "their mean time"),
	COLUMN("how", TEXT, request_part, how, "one after the other, in parallel"),
	COLUMN("parallel", F64, request_part, parallel,
	       "share of them at the same time as others, 0 to 1"),
	COLUMN("longest_ns", ID64, request_part, longest_ns, "mean of the longest, if in parallel"),
	{}};

static const struct tapir_sql_column spans[] = {
	COLUMN("begin_ns", U64, span, from_ns, "when it began, as time_ns"),
	COLUMN("end_ns", ID64, span, until_ns, "when it ended; NULL: it has not"),
	COLUMN("begin_s", SECONDS, span, from_ns, "seconds since the recording began"),
	COLUMN("took_ns", ID64, span, took_ns, "how long it lasted"),
	COLUMN("self_ns", ID64, span, self_ns, "of that, what no span below it covers"),
	COLUMN("trace_id", TEXT, span, trace_id, "32 hex digits"),
	COLUMN("span_id", TEXT, span, span_id,
	       "16 hex digits; tapir's for statements and intervals, which have none"),
	COLUMN("parent_id", TEXT, span, parent_id,
	       "of the span above it, which may be of a process that is not recorded"),
	COLUMN("parent_pid", ID, span, parent_pid, "its process; NULL: it is not recorded"),
	COLUMN("depth", U32, span, depth, "0: no recorded span is above it"),
	COLUMN("pid", ID, span, pid, "process id"),
	COLUMN("tid", ID, span, tid, "thread that began it"),
	COLUMN("process", TEXT, span, process, "name of the process"),
	COLUMN("kind", TEXT, span, kind,
	       "request, call, statement, span, or work: known by records with its ids alone"),
	COLUMN("name", TEXT, span, name, "method and path, statement, name of the activity"),
	COLUMN("status", ID, span, status, "of the HTTP response"),
	{}};

static const struct tapir_sql_column waits[] = {
	SPAN_OF(wait),
	COLUMN("thread", TEXT, wait, thread, "name of the thread"),
	COLUMN("state", TEXT, wait, state, "sleeping, preempted, ..."),
	COLUMN("sleep_ns", U64, wait, sleep_ns, "until it was woken"),
	COLUMN("runnable_ns", U64, wait, runnable_ns, "then, until it ran"),
	COLUMN("waker_tid", ID, wait, waker_tid, "thread that woke it"),
	COLUMN("futex", ID64, wait, futex_va, "address of the futex that it waited for"),
	COLUMN("function", TEXT, wait, function, "innermost function that is not the kernel's"),
	{}};

static const struct tapir_sql_column stacks[] = {
	COLUMN("stack_id", BITS64, stack, stack_id,
	       "as stack_id and kernel_stack_id of samples, events, switches"),
	COLUMN("pid", ID, stack, pid, "process id"),
	COLUMN("is_kernel", U8, stack, is_kernel, "1: of the kernel"),
	COLUMN("frames", U32, stack, frame_cnt, "how many"),
	COLUMN("end", TEXT, stack, end, "how it ends; whole: complete"),
	COUNTS(stack),
	{}};

static const struct tapir_sql_column frames[] = {
	COLUMN("stack_id", BITS64, frame, stack_id, "of stacks"),
	COLUMN("pid", ID, frame, pid, "process id"),
	COLUMN("depth", U32, frame, depth, "0: innermost"),
	COLUMN("function", TEXT, frame, function, "its name, or its place in the file"),
	COLUMN("module", TEXT, frame, module, "the file"),
	COLUMN("address", BITS64, frame, va, "in the process"),
	COLUMN("is_kernel", U8, frame, is_kernel, "1: of the kernel"),
	COLUMN("is_named", U8, frame, is_named, "0: no name is known"),
	{}};

static const struct tapir_sql_column meta[] = {COLUMN("idx", U32, meta, idx, "order in the file"),
					       COLUMN("key", TEXT, meta, key, "name of the fact"),
					       COLUMN("value", TEXT, meta, value, "the fact"),
					       {}};

/* The order of help and lists. Tables of other records, which only the schema has, come last. */
static const struct tapir_table_desc in_order[] = {
	{.rec_type = TAPIR_REC_EVENT},
	{.rec_type = TAPIR_REC_SAMPLE},
	{.rec_type = TAPIR_REC_SWITCH},
	{.rec_type = TAPIR_REC_IO},
	{.rec_type = TAPIR_REC_EXCHANGE},
	{.rec_type = TAPIR_REC_CALLS},
	{.name = "waits",
	 .description = "times in which a thread was away from its CPU, from switch to switch",
	 .columns = waits,
	 .list = TAPIR_LIST_WAITS,
	 .usual_rows = 500000},
	{.name = "intervals",
	 .description =
		 "from one event to another: collections, queries, requests, waits for locks",
	 .columns = intervals,
	 .list = TAPIR_LIST_INTERVALS,
	 .usual_rows = 50000},
	{.name = "requests",
	 .description = "requests by route, as 'report --view requests' has them",
	 .columns = requests,
	 .list = TAPIR_LIST_REQUESTS,
	 .usual_rows = 50},
	{.name = "request_parts",
	 .description = "of what the time of the requests of a route is made",
	 .columns = request_parts,
	 .list = TAPIR_LIST_REQUEST_PARTS,
	 .usual_rows = 300},
	{.name = "spans",
	 .description = "spans of requests with trace ids, below each other across processes",
	 .columns = spans,
	 .list = TAPIR_LIST_SPANS,
	 .usual_rows = 5000},
	{.name = "processes",
	 .description = "the processes of the report",
	 .columns = processes,
	 .list = TAPIR_LIST_PROCESSES,
	 .usual_rows = 20},
	{.name = "threads",
	 .description = "their threads",
	 .columns = threads,
	 .list = TAPIR_LIST_THREADS,
	 .key = 1,
	 .usual_rows = 200},
	{.name = "stacks",
	 .description = "each stack of a process once",
	 .columns = stacks,
	 .list = TAPIR_LIST_STACKS,
	 .usual_rows = 20000},
	{.name = "frames",
	 .description = "the frames of stacks, named as when the stack first occurred",
	 .columns = frames,
	 .list = TAPIR_LIST_FRAMES,
	 .usual_rows = 400000},
	{.rec_type = TAPIR_REC_COUNTER},
	{.rec_type = TAPIR_REC_LOSS},
	{.rec_type = TAPIR_REC_GAP},
	{.name = "findings",
	 .description = "what the report finds",
	 .columns = findings,
	 .list = TAPIR_LIST_FINDINGS,
	 .usual_rows = 5},
	{.rec_type = TAPIR_REC_MAPPING},
	{.name = "meta",
	 .description = "how the recording was made",
	 .columns = meta,
	 .list = TAPIR_LIST_META,
	 .usual_rows = 30},
};

struct tapir_table_desc tapir_tables[sizeof(in_order) / sizeof(in_order[0]) + TAPIR_REC_TYPE_CNT];

static bool is_in_order(unsigned rec_type)
{
	for (size_t i = 0; i < sizeof(in_order) / sizeof(in_order[0]); i++)
		if (in_order[i].rec_type == rec_type)
			return true;
	return false;
}

static struct tapir_table_desc table_of_records(unsigned rec_type)
{
	static struct tapir_sql_column columns[TAPIR_REC_TYPE_CNT][TAPIR_RECORD_COLUMNS];
	const struct tapir_schema *schema = tapir_schema__of(rec_type);

	make_columns(schema, columns[rec_type]);
	return (struct tapir_table_desc){.name = schema->table,
					 .description = schema->table_description,
					 .columns = columns[rec_type],
					 .rec_type = (uint16_t)rec_type,
					 .usual_rows = schema->usual_rows};
}

/* Made before main, so that no caller needs a lock. */
__attribute__((constructor)) static void make_tables(void)
{
	struct tapir_table_desc *table = tapir_tables;

	for (size_t i = 0; i < sizeof(in_order) / sizeof(in_order[0]); i++)
		*table++ =
			in_order[i].rec_type ? table_of_records(in_order[i].rec_type) : in_order[i];
	for (unsigned type = 1; type < TAPIR_REC_TYPE_CNT; type++)
		if (tapir_schemas[type].table && !is_in_order(type))
			*table++ = table_of_records(type);
}

const struct tapir_table_view tapir_table_views[] = {
	{"gc", "garbage collections: intervals of that name, or that stop threads for one",
	 "SELECT * FROM intervals WHERE name = 'gc' OR cause = 'gc'"},
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
	case TAPIR_COLUMN_BITS64:
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
		/*
		 * Records from before the start have negative seconds: no difference of unsigned
		 * wraps.
		 */
		out->f64 = value >= scan->start_ns ? (double)(value - scan->start_ns) / 1e9
						   : -(double)(scan->start_ns - value) / 1e9;
		return;
	default:
		value = tapir_sql_column__u64(column, row);
		if (value || (column->kind != TAPIR_COLUMN_ID && column->kind != TAPIR_COLUMN_ID64))
			set_bits(out, value);
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
