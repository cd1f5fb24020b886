// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The Common Trace Format, version 1.8, for babeltrace2 and Trace Compass: a directory, which is
 * written as a tar archive. Its files are pieces of one stream, whose packets have the records in
 * order of time, and the metadata, which comes last: it describes the kinds of events that
 * occurred.
 *
 * A record that has a table in `tapir query` is an event with the table's columns as its fields. An
 * event of a probe has its payload as its fields, and the columns as its context. A stack is an
 * event of its own, the first time it occurs.
 *
 * Integers are 64 bits, all is aligned to bytes; NULL is 0 or "".
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "decode/event_fields.h"
#include "decode/value.h"
#include "output/query/query_table.h"
#include "output/sink/sink.h"
#include "trace/family.h"
#include "trace/reorder.h"

#define CTF_MAGIC     0xC1FC1FC1u
#define HEADER_BYTES  16u /* of a packet: magic, stream, instance of the stream */
#define CONTEXT_BYTES 40u
#define PACKET_BYTES  (256u << 10)
#define FILE_BYTES    (8u << 20) /* held, since an archive has a file's size before it */
#define BLOCK_BYTES   512u	 /* of an archive */
#define STACK_EVENT   64u
#define FIRST_EVENT   128u /* of probes; below: types of records */
#define SEEN_MAX      (1u << 20)
#define KINDS_MAX     16384u	  /* of events of probes */
#define METADATA_MAX  (16u << 20) /* of their description, which is held until the end */

struct ctf {
	struct tapir_export *x;
	struct tapir_reorder *order;
	struct tapir_scan scan;
	const struct tapir_table_desc *tables[TAPIR_REC_TYPE_CNT];
	struct tapir_map classes; /* hash of a name and its fields -> id */
	struct tapir_map stacks;  /* that were written */
	struct tapir_str kinds;	  /* of events, as the metadata has them */
	struct tapir_str packet, file, text, name;
	uint64_t first_ns, last_ns; /* of the packet */
	uint64_t lost_cnt;	    /* in the recording, and those left out here */
	uint64_t skipped_cnt;	    /* events whose kind was one too many */
	uint32_t class_cnt, file_cnt;
	bool is_known[TAPIR_REC_TYPE_CNT];
	int err;
};

/* ---- an archive --------------------------------------------------------------------------------- */

static void set_octal(char *at, unsigned digits, uint64_t value)
{
	while (digits--) {
		at[digits] = (char)('0' + (value & 7));
		value >>= 3;
	}
}

static int write_file(struct ctf *c, const char *name, struct tapir_str *data)
{
	struct tapir_str *out = &c->x->out;
	char head[BLOCK_BYTES] = {};
	unsigned sum = 0;
	int err;

	if (data->failed)
		return -ENOMEM;
	memcpy(head, name, strlen(name));
	set_octal(head + 100, 7, 0644);
	set_octal(head + 108, 7, 0); /* of root */
	set_octal(head + 116, 7, 0);
	set_octal(head + 124, 11, data->len);
	set_octal(head + 136, 11,
		  tapir_reader__stats(c->x->reader)->created_utc_ns / TAPIR_NS_PER_SEC);
	memset(head + 148, ' ', 8); /* the sum, while it is made */
	head[156] = '0';
	memcpy(head + 257, "ustar\00000", 8);
	for (size_t i = 0; i < sizeof(head); i++)
		sum += (unsigned char)head[i];
	set_octal(head + 148, 7, sum);
	tapir_str__add(out, head, sizeof(head));
	for (size_t at = 0; at < data->len; at += PACKET_BYTES) {
		size_t left = data->len - at;

		tapir_str__add(out, data->data + at, left < PACKET_BYTES ? left : PACKET_BYTES);
		err = tapir_sink__flush_much(c->x);
		if (err)
			return err;
	}
	memset(head, 0, sizeof(head));
	tapir_str__add(out, head, (BLOCK_BYTES - data->len % BLOCK_BYTES) % BLOCK_BYTES);
	tapir_str__clear(data);
	return 0;
}

static void close_file(struct ctf *c)
{
	char name[32];

	if (!c->file.len || c->err)
		return;
	snprintf(name, sizeof(name), "stream_%06u", c->file_cnt++);
	c->err = write_file(c, name, &c->file);
}

/* ---- packets ------------------------------------------------------------------------------------ */

static void add_u32(struct tapir_str *out, uint32_t value)
{
	tapir_str__add(out, (const char *)&value, sizeof(value));
}

static void add_u64(struct tapir_str *out, uint64_t value)
{
	tapir_str__add(out, (const char *)&value, sizeof(value));
}

static void add_ctf_text(struct tapir_str *out, const char *text, size_t len)
{
	tapir_str__add_utf8(out, text, len);
	tapir_str__addc(out, 0);
}

static void close_packet(struct ctf *c)
{
	uint64_t bits;

	if (!c->packet.len)
		return;
	bits = (HEADER_BYTES + CONTEXT_BYTES + c->packet.len) * 8;
	add_u32(&c->file, CTF_MAGIC);
	add_u32(&c->file, 0);
	add_u64(&c->file, 0);
	add_u64(&c->file, c->first_ns);
	add_u64(&c->file, c->last_ns);
	add_u64(&c->file, bits);
	add_u64(&c->file, bits);
	add_u64(&c->file, c->lost_cnt);
	tapir_str__add(&c->file, c->packet.data, c->packet.len);
	tapir_str__clear(&c->packet);
	if (c->file.failed)
		c->err = -ENOMEM;
	if (c->file.len >= FILE_BYTES)
		close_file(c);
}

/* Times of a stream do not go back: that of a record that came too late is in its field alone. */
static void open_event(struct ctf *c, uint32_t id, uint64_t time_ns)
{
	if (c->packet.len >= PACKET_BYTES)
		close_packet(c);
	if (time_ns < c->last_ns)
		time_ns = c->last_ns;
	if (!c->packet.len)
		c->first_ns = time_ns;
	c->last_ns = time_ns;
	add_u32(&c->packet, id);
	add_u64(&c->packet, time_ns);
}

/* ---- the description of events -------------------------------------------------------------------- */

static bool is_word(char ch)
{
	return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9');
}

/* Readers leave out the first '_', without which a name may be a word of the language. */
static void add_ctf_name(struct tapir_str *out, const char *name, size_t len, unsigned idx)
{
	tapir_str__addc(out, '_');
	for (size_t i = 0; i < len; i++)
		tapir_str__addc(out, is_word(name[i]) ? name[i] : '_');
	if (idx)
		tapir_str__addf(out, "_%u", idx);
	tapir_str__adds(out, ";\n");
}

static void add_quoted(struct tapir_str *out, struct tapir_sv text)
{
	for (size_t i = 0; i < text.len; i++) {
		char ch = text.data[i];

		tapir_str__addc(out, ch == '"' || ch == '\\' || ch < ' ' || ch > '~' ? '?' : ch);
	}
}

static void open_kind(struct ctf *c, uint32_t id, struct tapir_sv provider, struct tapir_sv name)
{
	tapir_str__addf(&c->kinds, "event {\n\tid = %u;\n\tstream_id = 0;\n\tname = \"", id);
	if (provider.len) {
		add_quoted(&c->kinds, provider);
		tapir_str__addc(&c->kinds, ':');
	}
	add_quoted(&c->kinds, name);
	tapir_str__adds(&c->kinds, "\";\n");
}

static const char *type_of_column(const struct tapir_sql_column *column)
{
	const char *type = tapir_sql_column__type(column);

	return *type == 'I' ? "i64" : *type == 'R' ? "f64" : "text";
}

/* The payload and the kind of an event are described elsewhere; stacks are events of their own. */
static bool is_skipped(const struct tapir_table_desc *table, const struct tapir_sql_column *column)
{
	static const char *const names[] = {"time_s",	"stack", "function",
					    "provider", "event", "args"};
	size_t cnt = table->rec_type == TAPIR_REC_EVENT ? 6 : 3;

	for (size_t i = 0; i < cnt; i++)
		if (!strcmp(column->name, names[i]))
			return true;
	return false;
}

static void describe_columns(struct ctf *c, const struct tapir_table_desc *table,
			     const char *description)
{
	tapir_str__addf(&c->kinds, "\t%s := struct {\n", description);
	for (const struct tapir_sql_column *col = table->columns; col->name; col++) {
		if (is_skipped(table, col))
			continue;
		tapir_str__addf(&c->kinds, "\t\t%s ", type_of_column(col));
		add_ctf_name(&c->kinds, col->name, strlen(col->name), 0);
	}
	if (table->rec_type == TAPIR_REC_EVENT)
		tapir_str__adds(&c->kinds, "\t\ttext _marks;\n");
	tapir_str__adds(&c->kinds, "\t};\n");
}

static void describe_record(struct ctf *c, const struct tapir_table_desc *table)
{
	if (c->is_known[table->rec_type])
		return;
	c->is_known[table->rec_type] = true;
	open_kind(c, table->rec_type, tapir_sv__of("tapir"), tapir_sv__of(table->name));
	describe_columns(c, table, "fields");
	tapir_str__adds(&c->kinds, "};\n");
}

enum value_type { VALUE_I64, VALUE_U64, VALUE_F64, VALUE_TEXT };

static enum value_type type_of_value(const struct tapir_value *v)
{
	if (v->layout && v->type != TAPIR_FIELD_INT && v->type != TAPIR_FIELD_UINT &&
	    v->type != TAPIR_FIELD_FLOAT && v->type != TAPIR_FIELD_BOOL)
		return VALUE_TEXT;
	switch (v->type) {
	case TAPIR_FIELD_INT:
		return VALUE_I64;
	case TAPIR_FIELD_UINT:
	case TAPIR_FIELD_PTR:
	case TAPIR_FIELD_BOOL:
		return VALUE_U64;
	case TAPIR_FIELD_FLOAT:
		return VALUE_F64;
	default:
		return VALUE_TEXT;
	}
}

static void describe_values(struct ctf *c, const struct tapir_value *values, unsigned cnt)
{
	static const char *const types[] = {"i64", "u64", "f64", "text"};

	tapir_str__adds(&c->kinds, "\tfields := struct {\n");
	for (unsigned i = 0; i < cnt; i++) {
		struct tapir_str name = {};
		unsigned same = 0;

		for (unsigned k = 0; k < i; k++)
			same += values[k].name.len == values[i].name.len;
		tapir_value__add_name(&name, values[i].name, i);
		tapir_str__addf(&c->kinds, "\t\t%s ", types[type_of_value(&values[i])]);
		/* Names that differ may become alike. */
		add_ctf_name(&c->kinds, name.data ? name.data : "", name.len,
			     same && values[i].name.len ? i : 0);
		c->kinds.failed |= name.failed;
		tapir_str__fini(&name);
	}
	tapir_str__adds(&c->kinds, "\t};\n};\n");
}

static bool has_room(const struct ctf *c)
{
	return c->class_cnt < KINDS_MAX && c->kinds.len < METADATA_MAX;
}

/*
 * Probes of one name and with the same fields are one kind of event. 0: it would be one kind more
 * than there is room for. The description of the last one is as long as a record may be.
 */
static uint32_t ctf_event_kind(struct ctf *c, const struct tapir_probe_view *probe,
			       const struct tapir_value *values, unsigned cnt)
{
	struct tapir_sv provider = probe ? probe->provider : tapir_sv__of("?");
	struct tapir_sv event = probe ? probe->event : tapir_sv__of("unknown");
	uint64_t hash = tapir_hash__bytes(1, provider.data, provider.len);
	bool is_new;
	uint64_t *slot;

	hash = tapir_hash__bytes(hash, event.data, event.len);
	for (unsigned i = 0; i < cnt; i++)
		hash = tapir_hash__bytes(tapir_hash__mix(hash, type_of_value(&values[i])),
					 values[i].name.data, values[i].name.len);
	hash = tapir_hash__mix(hash, cnt);
	slot = tapir_map__get(&c->classes, hash);
	if (slot || !has_room(c))
		return slot ? (uint32_t)*slot : 0;
	slot = tapir_map__put(&c->classes, hash, &is_new);
	if (!slot) {
		c->err = -ENOMEM;
		return 0;
	}
	*slot = FIRST_EVENT + c->class_cnt++;
	open_kind(c, (uint32_t)*slot, provider, event);
	describe_columns(c, c->tables[TAPIR_REC_EVENT], "context");
	describe_values(c, values, cnt);
	return (uint32_t)*slot;
}

/* ---- records ------------------------------------------------------------------------------------- */

static void add_cell(struct ctf *c, const struct tapir_sql_column *column,
		     const struct tapir_sql_value *cell)
{
	const char *type = tapir_sql_column__type(column);
	uint64_t bits = 0;

	if (*type == 'T') {
		add_ctf_text(&c->packet, cell->type == TAPIR_SQL_TEXT ? cell->text : "",
			     cell->type == TAPIR_SQL_TEXT ? cell->len : 0);
		return;
	}
	if (cell->type == TAPIR_SQL_INT && *type == 'I')
		bits = (uint64_t)cell->i64;
	else if (cell->type == TAPIR_SQL_REAL && *type == 'I')
		bits = (uint64_t)cell->f64;
	else if (cell->type == TAPIR_SQL_REAL)
		memcpy(&bits, &cell->f64, sizeof(bits));
	add_u64(&c->packet, bits);
}

static void add_columns(struct ctf *c, const struct tapir_table_desc *table,
			const struct tapir_rec *rec)
{
	struct tapir_sql_value cell;

	c->scan.values = NULL;
	for (const struct tapir_sql_column *col = table->columns; col->name; col++) {
		if (is_skipped(table, col))
			continue;
		tapir_sql_column__read(&c->scan, col, rec, &cell);
		add_cell(c, col, &cell);
	}
}

static void add_ctf_value(struct ctf *c, const struct tapir_value *v)
{
	bool is_there = !(v->flags & TAPIR_VALUE_ABSENT);
	uint64_t bits = 0;

	switch (type_of_value(v)) {
	case VALUE_F64:
		memcpy(&bits, &v->f64, sizeof(bits));
		break;
	case VALUE_TEXT:
		tapir_str__clear(&c->text);
		if (is_there)
			tapir_event_fields__add_value(v, SIZE_MAX, &c->text);
		c->packet.failed |= c->text.failed;
		add_ctf_text(&c->packet, c->text.data ? c->text.data : "", c->text.len);
		return;
	default:
		bits = v->u64;
	}
	add_u64(&c->packet, is_there ? bits : 0);
}

/* "arg0=fault,arg2=cut": fields that are not what the program had. */
static void add_marks(struct ctf *c, const struct tapir_value *values, unsigned cnt)
{
	tapir_str__clear(&c->text);
	for (unsigned i = 0; i < cnt; i++) {
		const char *mark = tapir_value__mark(&values[i]);

		if (!mark)
			continue;
		if (c->text.len)
			tapir_str__addc(&c->text, ',');
		tapir_value__add_name(&c->text, values[i].name, i);
		tapir_str__addf(&c->text, "=%s", mark);
	}
	add_ctf_text(&c->packet, c->text.data ? c->text.data : "", c->text.len);
}

static void add_ctf_event(struct ctf *c, const struct tapir_rec *rec)
{
	const struct tapir_rec_event *ev = (const void *)rec;
	const struct tapir_rec_probe *found = tapir_catalog__probe(c->x->catalog, ev->probe_id);
	struct tapir_probe_view probe;
	const struct tapir_value *values;
	unsigned cnt = 0;
	uint32_t id;

	if (found)
		tapir_probe_view__of(&found->h, &probe);
	values = tapir_event_lines__values(c->scan.lines, rec, &cnt);
	cnt = values ? cnt : 0;
	id = ctf_event_kind(c, found ? &probe : NULL, values, cnt);
	if (!id) {
		c->skipped_cnt++;
		c->lost_cnt++;
		return;
	}
	open_event(c, id, rec->time_ns);
	add_columns(c, c->tables[TAPIR_REC_EVENT], rec);
	values = tapir_event_lines__values(c->scan.lines, rec, &cnt);
	cnt = values ? cnt : 0;
	add_marks(c, values, cnt);
	for (unsigned i = 0; i < cnt; i++)
		add_ctf_value(c, &values[i]);
}

static void describe_stacks(struct ctf *c)
{
	open_kind(c, STACK_EVENT, tapir_sv__of("tapir"), tapir_sv__of("stack"));
	tapir_str__adds(&c->kinds, "\tfields := struct {\n\t\ti64 _stack_id;\n\t\ti64 _pid;\n"
				   "\t\tu32 __cnt;\n\t\ttext _functions[__cnt];\n\t};\n};\n");
}

/* The functions of a stack, innermost first. */
static void add_ctf_stack(struct ctf *c, const struct tapir_rec *rec, uint64_t id)
{
	const struct tapir_rec_stack *stack = id ? tapir_catalog__stack(c->x->catalog, id) : NULL;
	uint32_t tgid = tapir_rec__tgid(rec, 0), cnt = 0;
	struct tapir_stack_view view;
	bool is_new;
	size_t at;

	if (!stack)
		return;
	if (c->stacks.cnt >= SEEN_MAX)
		tapir_map__clear(&c->stacks);
	if (!tapir_map__put(&c->stacks, tapir_hash__mix(id, tgid), &is_new)) {
		c->err = -ENOMEM;
		return;
	}
	if (!is_new)
		return;
	tapir_stack_view__of(&stack->h, &view);
	open_event(c, STACK_EVENT, rec->time_ns);
	add_u64(&c->packet, id);
	add_u64(&c->packet, tgid);
	at = c->packet.len;
	add_u32(&c->packet, 0);
	for (unsigned n = 0; n < stack->frame_cnt; n++) {
		struct tapir_frame frame =
			tapir_frame__of(c->x->catalog, tgid, rec->time_ns, &view, n);

		for (unsigned k = 0; k < tapir_frame__function_cnt(&frame); k++, cnt++) {
			struct tapir_frame function = tapir_frame__function(&frame, k);

			tapir_str__clear(&c->text);
			tapir_query_frame__add_name(&c->text, &function, &c->name);
			add_ctf_text(&c->packet, c->text.data ? c->text.data : "", c->text.len);
		}
	}
	if (!c->packet.failed)
		memcpy(c->packet.data + at, &cnt, sizeof(cnt));
}

static void in_order(void *ctx, const struct tapir_rec *rec)
{
	struct ctf *c = ctx;
	const struct tapir_table_desc *table = c->tables[rec->type];

	if (c->err)
		return;
	add_ctf_stack(c, rec, tapir_rec__stack_id(rec));
	add_ctf_stack(c, rec, tapir_rec__kstack_id(rec));
	if (rec->type == TAPIR_REC_LOSS)
		c->lost_cnt += tapir_loss__is_complete(((const struct tapir_rec_loss *)rec)->cause)
				       ? ((const struct tapir_rec_loss *)rec)->count
				       : 0;
	if (rec->type == TAPIR_REC_EVENT) {
		add_ctf_event(c, rec);
	} else {
		describe_record(c, table);
		open_event(c, rec->type, rec->time_ns);
		add_columns(c, table, rec);
	}
	if (c->packet.failed || c->kinds.failed || c->text.failed || c->scan.text.failed)
		c->err = -ENOMEM;
}

/* ---- the metadata ------------------------------------------------------------------------------- */

static void add_metadata(struct ctf *c)
{
	const struct tapir_reader_stats *stats = tapir_reader__stats(c->x->reader);
	int64_t ahead_ns = (int64_t)(stats->created_utc_ns - stats->created_ns);
	int64_t second = (int64_t)TAPIR_NS_PER_SEC,
		offset_ns = (ahead_ns % second + second) % second;
	struct tapir_str *out = &c->text;

	tapir_str__clear(out);
	tapir_str__adds(
		out,
		"/* CTF 1.8 */\n"
		"typealias integer { size = 32; align = 8; signed = false; } := u32;\n"
		"typealias integer { size = 64; align = 8; signed = false; } := u64;\n"
		"typealias integer { size = 64; align = 8; signed = true; } := i64;\n"
		"typealias floating_point { exp_dig = 11; mant_dig = 53; align = 8; } := f64;\n"
		"typealias string { encoding = UTF8; } := text;\n"
		"trace {\n\tmajor = 1;\n\tminor = 8;\n\tbyte_order = le;\n"
		"\tpacket.header := struct {\n\t\tu32 magic;\n\t\tu32 stream_id;\n"
		"\t\tu64 stream_instance_id;\n\t};\n};\n"
		"env {\n\ttracer_name = \"tapir\";\n");
	tapir_str__adds(out, "\ttrace_name = \"");
	add_quoted(out, tapir_sv__of(c->x->title));
	tapir_str__adds(out, "\";\n\thostname = \"");
	add_quoted(out, tapir_catalog__meta_value(c->x->catalog, "host"));
	tapir_str__addf(out,
			"\";\n};\nclock {\n\tname = monotonic;\n\tfreq = 1000000000;\n"
			"\toffset_s = %" PRId64 ";\n\toffset = %" PRId64 ";\n};\n"
			"typealias integer { size = 64; align = 8; signed = false; "
			"map = clock.monotonic.value; } := moment;\n",
			(ahead_ns - offset_ns) / second, offset_ns);
	tapir_str__adds(out,
			"stream {\n\tid = 0;\n\tevent.header := struct {\n\t\tu32 id;\n"
			"\t\tmoment timestamp;\n\t};\n\tpacket.context := struct {\n"
			"\t\tmoment timestamp_begin;\n\t\tmoment timestamp_end;\n"
			"\t\tu64 content_size;\n\t\tu64 packet_size;\n\t\tu64 events_discarded;\n"
			"\t};\n};\n");
	tapir_str__add(out, c->kinds.data, c->kinds.len);
}

/* ---- the sink ------------------------------------------------------------------------------------ */

static int begin(struct tapir_export *x)
{
	struct ctf *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	x->state = c;
	c->x = x;
	for (const struct tapir_table_desc *t = tapir_tables; t->name; t++)
		if (!t->list)
			c->tables[t->rec_type] = t;
	c->scan.catalog = x->catalog;
	c->scan.start_ns = tapir_reader__stats(x->reader)->created_ns;
	c->scan.lines = tapir_event_lines__new(TAPIR_EVENT_JSON, x->catalog, c->scan.start_ns);
	c->order = tapir_reorder__new(in_order, c);
	describe_stacks(c);
	return c->scan.lines && c->order ? 0 : -ENOMEM;
}

static int add(struct tapir_export *x, const struct tapir_rec *rec)
{
	struct ctf *c = x->state;
	int err;

	if (rec->type >= TAPIR_REC_TYPE_CNT || !c->tables[rec->type] ||
	    !tapir_trace_filter__has(&x->trace, rec))
		return 0;
	err = tapir_reorder__add(c->order, rec, tapir_schema__of(rec->type)->describes);
	return err ? err : c->err;
}

static int end(struct tapir_export *x)
{
	static const char zeros[2 * BLOCK_BYTES];
	struct ctf *c = x->state;

	tapir_reorder__finish(c->order);
	if (!c->err)
		close_packet(c);
	close_file(c);
	if (c->err)
		return c->err;
	add_metadata(c);
	c->err = write_file(c, "metadata", &c->text);
	tapir_str__add(&x->out, zeros, sizeof(zeros));
	if (!c->err && tapir_reorder__late(c->order))
		tapir_warn("%" PRIu64
			   " records arrived much later than others of their time: their "
			   "event has the time of the one before it, their field time_ns is right",
			   tapir_reorder__late(c->order));
	if (!c->err && c->skipped_cnt)
		tapir_warn("%" PRIu64
			   " events are left out: the recording has more than %u kinds of them, or "
			   "the description of these has more than %u MB",
			   c->skipped_cnt, KINDS_MAX, METADATA_MAX >> 20);
	return c->err;
}

static void free_ctf(struct tapir_export *x)
{
	struct ctf *c = x->state;

	if (!c)
		return;
	tapir_reorder__free(c->order);
	tapir_event_lines__free(c->scan.lines);
	tapir_scan__fini(&c->scan);
	tapir_str__fini(&c->name);
	tapir_map__fini(&c->classes);
	tapir_map__fini(&c->stacks);
	tapir_str__fini(&c->kinds);
	tapir_str__fini(&c->packet);
	tapir_str__fini(&c->file);
	tapir_str__fini(&c->text);
	free(c);
}

const struct tapir_sink tapir_sink_ctf = {
	.name = "ctf",
	.description = "all records with their fields, as an archive: babeltrace2",
	.lacks = "intervals, processes, addresses of frames",
	.suffix = "ctf.tar",
	.content = TAPIR_SINK_IS_BINARY,
	.is_complete = true,
	.takes_all = true,
	.describes = true,
	.begin = begin,
	.add = add,
	.end = end,
	.free = free_ctf,
};
