// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records as JSON, one object a line. An event's line is put together from pieces that were
 * rendered when its probe was first seen; other types have the members of trace/schema.c.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "decode/otel_resource.h"
#include "decode/postgresql_text.h"
#include "decode/value.h"
#include "decode/value_packed.h"
#include "output/export/event_lines_impl.h"
#include "symbol/stack_end.h"
#include "trace/family.h"
#include "trace/rehost.h"

#define ADD(out, literal) tapir_str__add(out, literal, sizeof(literal) - 1)

static void add_quoted(struct tapir_str *out, struct tapir_sv sv)
{
	struct tapir_json j = tapir_json__to(out);

	tapir_json__strn(&j, NULL, sv.data, sv.len);
}

/* ,"name": */
static void add_key(struct tapir_str *out, struct tapir_sv name, unsigned idx)
{
	if (name.len) {
		add_quoted(out, name);
	} else {
		ADD(out, "\"arg");
		tapir_str__addu(out, idx);
		tapir_str__addc(out, '"');
	}
	tapir_str__addc(out, ':');
}

void tapir_event_json__prepare(struct tapir_line_probe *probe)
{
	const struct tapir_probe_view *view = &probe->view;

	ADD(&probe->head, ",\"provider\":");
	add_quoted(&probe->head, view->provider);
	ADD(&probe->head, ",\"event\":");
	add_quoted(&probe->head, view->event);
	ADD(&probe->head, ",\"version\":");
	tapir_str__addu(&probe->head, view->rec->version);
	if (view->rec->lane == TAPIR_LANE_RING)
		ADD(&probe->head, ",\"lane\":\"ring\"");
	for (unsigned i = 0; i < probe->key_cnt; i++) {
		if (i)
			tapir_str__addc(&probe->keys, ',');
		add_key(&probe->keys, tapir_line_probe__field(probe, i), i);
		probe->key_ends[i] = (uint32_t)probe->keys.len;
	}
}

/* ---- what every line begins with ---------------------------------------------------------------
 */

/* The date changes once a second. */
static void add_utc(struct tapir_event_lines *l, struct tapir_str *out, uint64_t time_ns)
{
	uint64_t utc_ns = tapir_catalog__utc_ns(l->catalog, time_ns);
	uint64_t sec = utc_ns / TAPIR_NS_PER_SEC;

	if (!utc_ns) {
		ADD(out, "null");
		return;
	}
	if (sec != l->utc_sec) {
		tapir_clock__utc_text(utc_ns, l->utc_text);
		l->utc_sec = sec;
	}
	tapir_str__addc(out, '"');
	tapir_str__adds(out, l->utc_text);
	tapir_str__addc(out, '.');
	tapir_line__add_digits(out, utc_ns % TAPIR_NS_PER_SEC, 9);
	ADD(out, "Z\"");
}

/* ,"host":"web1" in a merged recording */
static void add_host(struct tapir_event_lines *l, const struct tapir_rec *rec,
		     struct tapir_str *out)
{
	struct tapir_sv name = tapir_catalog__host_name(l->catalog, tapir_rehost__host_of(rec));

	ADD(out, ",\"host\":");
	if (name.len)
		add_quoted(out, name);
	else
		ADD(out, "null");
}

/* {"type":...,"time_ns":...,"utc":...,"cpu":... ; the writer continues after it. */
static struct tapir_json begin_line(struct tapir_event_lines *l, const struct tapir_rec *rec,
				    struct tapir_str *out)
{
	ADD(out, "{\"type\":\"");
	tapir_str__adds(out, tapir_rec_type__name(rec->type));
	ADD(out, "\",\"time_ns\":");
	tapir_str__addu(out, rec->time_ns);
	ADD(out, ",\"utc\":");
	add_utc(l, out, rec->time_ns);
	ADD(out, ",\"cpu\":");
	if (rec->cpu == TAPIR_CPU_UNKNOWN)
		ADD(out, "null");
	else
		tapir_str__addu(out, rec->cpu);
	if (tapir_catalog__host_cnt(l->catalog))
		add_host(l, rec, out);
	return (struct tapir_json){.out = out, .depth = 1, .has_member = 1ull << 1};
}

static void end_line(struct tapir_json *j)
{
	tapir_json__close(j, '}');
	tapir_str__addc(j->out, '\n');
}

static void add_who(struct tapir_event_lines *l, struct tapir_str *out, uint32_t tgid, uint32_t tid,
		    uint64_t time_ns)
{
	struct tapir_sv comm = tapir_line__comm(l, tgid, tid, time_ns);

	ADD(out, ",\"pid\":");
	tapir_str__addu(out, tgid);
	ADD(out, ",\"tid\":");
	tapir_str__addu(out, tid);
	ADD(out, ",\"comm\":");
	if (comm.len)
		add_quoted(out, comm);
	else
		ADD(out, "null");
}

static void add_json_text(struct tapir_json *j, const char *key, struct tapir_sv sv)
{
	if (sv.len)
		tapir_json__strn(j, key, sv.data, sv.len);
	else
		tapir_json__null(j, key);
}

/* ---- stacks -----------------------------------------------------------------------------------
 */

static void add_frame_object(struct tapir_json *j, const struct tapir_frame *frame)
{
	struct tapir_str name = {};
	struct tapir_sv tier;

	tapir_json__open(j, NULL, '{');
	tapir_json__u64(j, "addr", frame->va);
	add_json_text(j, "name", tapir_frame__shown_name(frame, &name, &tier));
	if (frame->range.len)
		add_json_text(j, "range", frame->range);
	if (tier.len)
		add_json_text(j, "tier", tier);
	add_json_text(j, "module", frame->module);
	if (frame->is_inlined)
		tapir_json__bool(j, "inlined", true);
	else
		tapir_json__u64(j, "offset", frame->offset);
	if (frame->source.file) {
		tapir_json__str(j, "file", frame->source.file);
		tapir_json__u64(j, "line", frame->source.line);
	}
	tapir_json__close(j, '}');
	tapir_str__fini(&name);
}

static void add_json_frames(struct tapir_event_lines *l, struct tapir_json *j, uint32_t tgid,
			    uint64_t time_ns, const struct tapir_rec_stack *stack)
{
	struct tapir_stack_view view;

	tapir_stack_view__of(&stack->h, &view);
	for (unsigned i = 0; i < stack->frame_cnt; i++) {
		struct tapir_frame frame = tapir_frame__of(l->catalog, tgid, time_ns, &view, i);

		for (unsigned k = 0; k < tapir_frame__function_cnt(&frame); k++) {
			struct tapir_frame function = tapir_frame__function(&frame, k);

			add_frame_object(j, &function);
		}
	}
}

/* key: [frames]; then how it ended, and a mark where a part of it is missing. */
static void add_json_stack(struct tapir_event_lines *l, struct tapir_json *j, const char *key,
			   uint32_t tgid, uint64_t time_ns, uint64_t stack_id)
{
	const struct tapir_rec_stack *stack;
	enum tapir_stack_end end;

	if (!stack_id)
		return;
	stack = tapir_catalog__stack(l->catalog, stack_id);
	tapir_json__open(j, key, '[');
	if (stack)
		add_json_frames(l, j, tgid, time_ns, stack);
	tapir_json__close(j, ']');
	end = stack ? tapir_stack_end__of(l->catalog, tgid, time_ns, stack)
		    : TAPIR_STACK_END_UNKNOWN;
	if (end)
		tapir_json__str(j, "stack_end", tapir_stack_end__id(end));
	if (!stack || stack->flags & (TAPIR_STACK_MORE | TAPIR_STACK_FAULT)) {
		const char *mark = !stack			     ? "not recorded"
				   : stack->flags & TAPIR_STACK_MORE ? "cut"
								     : "fault";

		tapir_json__str(j, strcmp(key, "stack") ? "kernel_stack_mark" : "stack_mark", mark);
	}
}

/* ---- a type each ------------------------------------------------------------------------------
 */

static void add_marks(struct tapir_event_lines *l, struct tapir_str *out, unsigned cnt)
{
	bool is_open = false;

	for (unsigned i = 0; i < cnt; i++) {
		const char *mark = tapir_value__mark(&l->values[i]);

		if (!mark)
			continue;
		tapir_str__adds(out, is_open ? "," : ",\"marks\":{");
		add_key(out, l->values[i].name, i);
		tapir_str__addc(out, '"');
		tapir_str__adds(out, mark);
		tapir_str__addc(out, '"');
		is_open = true;
	}
	if (is_open)
		tapir_str__addc(out, '}');
}

/* Returns the number of values, which are in l->values. */
static unsigned add_object(struct tapir_event_lines *l, struct tapir_str *out,
			   const struct tapir_line_probe *probe,
			   const struct tapir_event_view *view)
{
	unsigned cnt = tapir_line__decode(l, probe, view);
	uint32_t at = 0;

	tapir_str__addc(out, '{');
	for (unsigned i = 0; i < cnt; i++) {
		if (i < probe->key_cnt) {
			tapir_str__add(out, probe->keys.data + at, probe->key_ends[i] - at);
			at = probe->key_ends[i];
		} else {
			if (i)
				tapir_str__addc(out, ',');
			add_key(out, l->values[i].name, i);
		}
		tapir_value__add_json(out, &l->values[i]);
	}
	tapir_str__addc(out, '}');
	return cnt;
}

void tapir_event_json__add_args(struct tapir_event_lines *l, const struct tapir_event_view *view,
				struct tapir_str *out)
{
	(void)add_object(l, out, l->probe, view);
}

static void add_args(struct tapir_event_lines *l, struct tapir_str *out,
		     const struct tapir_line_probe *probe, const struct tapir_event_view *view)
{
	ADD(out, ",\"args\":");
	add_marks(l, out, add_object(l, out, probe, view));
}

/* A runtime writes zeros for none. */
static void add_activity(struct tapir_str *out, const char *key, const uint8_t *id)
{
	if (!tapir_guid__is_set(id))
		return;
	tapir_str__adds(out, key);
	tapir_guid__add_text(out, id);
	tapir_str__addc(out, '"');
}

static void add_trace_ids(struct tapir_json *j, const struct tapir_rec *rec)
{
	const struct tapir_trace_ids *ids = tapir_rec__trace_ids(rec);
	char text[TAPIR_TRACE_ID_TEXT];

	if (!ids)
		return;
	tapir_json__str(j, "trace_id", tapir_trace_id__text(ids, text));
	tapir_json__str(j, "span_id", tapir_span_id__text(ids, text));
}

static void add_json_event(struct tapir_event_lines *l, const struct tapir_rec *rec,
			   struct tapir_str *out)
{
	const struct tapir_rec_event *ev = (const struct tapir_rec_event *)rec;
	const struct tapir_line_probe *probe = l->probe;
	struct tapir_json j = begin_line(l, rec, out);
	struct tapir_event_view view;

	tapir_event_view__of(rec, &view);
	add_who(l, out, ev->tgid, ev->tid, rec->time_ns);
	if (probe) {
		tapir_str__add(out, probe->head.data, probe->head.len);
		add_args(l, out, probe, &view);
	} else {
		ADD(out, ",\"provider\":null,\"event\":null,\"version\":null,\"args\":{}");
		tapir_json__u64(&j, "unknown_probe", ev->probe_id);
	}
	add_activity(out, ",\"activity_id\":\"", view.activity_id);
	add_activity(out, ",\"related_activity_id\":\"", view.related_id);
	add_trace_ids(&j, rec);
	add_json_stack(l, &j, "stack", ev->tgid, rec->time_ns, ev->stack_id);
	add_json_stack(l, &j, "kernel_stack", ev->tgid, rec->time_ns, view.kstack_id);
	if (ev->flags & TAPIR_EVENT_STACK_LOST && !ev->stack_id)
		tapir_json__str(&j, "stack_mark", "lost");
	end_line(&j);
}

/* ---- all other types, by their members -----------------------------------------------------------
 */

static void add_list(struct tapir_json *j, const char *key, struct tapir_sv texts)
{
	tapir_json__open(j, key, '[');
	while (texts.len) {
		size_t len = strnlen(texts.data, texts.len);

		tapir_json__strn(j, NULL, texts.data, len);
		len += len < texts.len;
		texts.data += len;
		texts.len -= len;
	}
	tapir_json__close(j, ']');
}

static void add_session(struct tapir_json *j, struct tapir_sv text)
{
	struct tapir_postgresql_session session;

	if (!tapir_postgresql_session__parse(text, &session))
		return;
	tapir_json__u64(j, "transaction_ns", session.transaction_ns);
	tapir_json__u64(j, "idle_ns", session.idle_ns);
	if (session.transaction)
		tapir_json__u64(j, "transaction", session.transaction);
	else
		tapir_json__null(j, "transaction");
	add_json_text(j, "last_statement", session.statement);
}

static void add_json_number(struct tapir_json *j, const struct tapir_member *member, uint64_t value)
{
	char text[24];

	if (member->type != TAPIR_MEMBER_HEX) {
		tapir_json__u64(j, member->key, value);
		return;
	}
	snprintf(text, sizeof(text), "%#" PRIx64, value);
	tapir_json__str(j, member->key, text);
}

static void add_null(struct tapir_json *j, const struct tapir_member *member)
{
	if (member->flags & TAPIR_MEMBER_JSON_0)
		tapir_json__u64(j, member->key, 0);
	else if (!(member->flags & TAPIR_MEMBER_OPTIONAL))
		tapir_json__null(j, member->key);
}

static void add_json_value(struct tapir_json *j, const struct tapir_member *member,
			   const struct tapir_member_value *value)
{
	switch (value->kind) {
	case TAPIR_MEMBER_IS_NULL:
		add_null(j, member);
		break;
	case TAPIR_MEMBER_IS_U64:
		add_json_number(j, member, value->u64);
		break;
	case TAPIR_MEMBER_IS_I64:
		tapir_json__i64(j, member->key, value->i64);
		break;
	case TAPIR_MEMBER_IS_F64:
		tapir_json__f64(j, member->key, value->f64);
		break;
	case TAPIR_MEMBER_IS_BOOL:
		if (value->u64 || !(member->flags & TAPIR_MEMBER_OPTIONAL))
			tapir_json__bool(j, member->key, value->u64);
		break;
	default:
		tapir_json__strn(j, member->key, value->text.data, value->text.len);
	}
}

static void add_member(struct tapir_event_lines *l, struct tapir_json *j,
		       const struct tapir_rec *rec, const struct tapir_member *member)
{
	struct tapir_member_value value;

	switch (member->type) {
	case TAPIR_MEMBER_UINT:
	case TAPIR_MEMBER_FLAG:
	case TAPIR_MEMBER_WORD:
		value = tapir_member__read(member, rec);
		add_json_value(j, member, &value);
		return;
	case TAPIR_MEMBER_STACK:
		add_json_stack(l, j, member->key, tapir_rec__tgid(rec, 0), rec->time_ns,
			       tapir_rec__stack_id(rec));
		return;
	case TAPIR_MEMBER_KSTACK:
		add_json_stack(l, j, member->key, tapir_rec__tgid(rec, 0), rec->time_ns,
			       tapir_rec__kstack_id(rec));
		return;
	default:
		break;
	}
	value = tapir_event_lines__read(l, rec, member, &l->room);
	if (member->type == TAPIR_MEMBER_LIST)
		add_list(j, member->key, value.text);
	else if (member->type == TAPIR_MEMBER_SESSION)
		add_session(j, value.text);
	else if (member->type == TAPIR_MEMBER_RESOURCE)
		tapir_otel_resource__add_json(j, value.text);
	else
		add_json_value(j, member, &value);
}

void tapir_event_json__add(struct tapir_event_lines *l, const struct tapir_rec *rec,
			   struct tapir_str *out)
{
	const struct tapir_schema *schema = tapir_schema__of(rec->type);
	struct tapir_json j;

	if (rec->type == TAPIR_REC_EVENT) {
		add_json_event(l, rec, out);
		return;
	}
	if (!schema->has_line)
		return;
	j = begin_line(l, rec, out);
	for (const struct tapir_member *m = schema->members; !tapir_member__ends(m); m++)
		if (m->key)
			add_member(l, &j, rec, m);
	end_line(&j);
}
