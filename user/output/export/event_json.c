// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records as JSON, one object a line. An event's line is put together from pieces that were
 * rendered when its probe was first seen; the rarer types go through the JSON writer.
 */
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "decode/otel_resource.h"
#include "decode/postgresql_text.h"
#include "decode/value.h"
#include "decode/value_packed.h"
#include "output/export/event_lines_impl.h"
#include "symbol/stack_end.h"

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

static void add_text(struct tapir_json *j, const char *key, struct tapir_sv sv)
{
	if (sv.len)
		tapir_json__strn(j, key, sv.data, sv.len);
	else
		tapir_json__null(j, key);
}

/* ---- stacks -----------------------------------------------------------------------------------
 */

static void add_function(struct tapir_json *j, const struct tapir_frame *frame)
{
	struct tapir_str name = {};
	struct tapir_sv tier;

	tapir_json__open(j, NULL, '{');
	tapir_json__u64(j, "addr", frame->va);
	add_text(j, "name", tapir_frame__shown_name(frame, &name, &tier));
	if (frame->range.len)
		add_text(j, "range", frame->range);
	if (tier.len)
		add_text(j, "tier", tier);
	add_text(j, "module", frame->module);
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

static void add_frames(struct tapir_event_lines *l, struct tapir_json *j, uint32_t tgid,
		       uint64_t time_ns, const struct tapir_rec_stack *stack)
{
	struct tapir_stack_view view;

	tapir_stack_view__of(&stack->h, &view);
	for (unsigned i = 0; i < stack->frame_cnt; i++) {
		struct tapir_frame frame = tapir_frame__of(l->catalog, tgid, time_ns, &view, i);

		for (unsigned k = 0; k < tapir_frame__function_cnt(&frame); k++) {
			struct tapir_frame function = tapir_frame__function(&frame, k);

			add_function(j, &function);
		}
	}
}

/* key: [frames]; then how it ended, and a mark where a part of it is missing. */
static void add_stack(struct tapir_event_lines *l, struct tapir_json *j, const char *key,
		      uint32_t tgid, uint64_t time_ns, uint64_t stack_id)
{
	const struct tapir_rec_stack *stack;
	enum tapir_stack_end end;

	if (!stack_id)
		return;
	stack = tapir_catalog__stack(l->catalog, stack_id);
	tapir_json__open(j, key, '[');
	if (stack)
		add_frames(l, j, tgid, time_ns, stack);
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

static void add_event(struct tapir_event_lines *l, const struct tapir_rec *rec,
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
	add_stack(l, &j, "stack", ev->tgid, rec->time_ns, ev->stack_id);
	add_stack(l, &j, "kernel_stack", ev->tgid, rec->time_ns, view.kstack_id);
	if (ev->flags & TAPIR_EVENT_STACK_LOST && !ev->stack_id)
		tapir_json__str(&j, "stack_mark", "lost");
	end_line(&j);
}

static void add_sample(struct tapir_event_lines *l, const struct tapir_rec *rec,
		       struct tapir_str *out)
{
	const struct tapir_rec_sample *s = (const struct tapir_rec_sample *)rec;
	struct tapir_json j = begin_line(l, rec, out);

	add_who(l, out, s->tgid, s->tid, rec->time_ns);
	tapir_json__u64(&j, "period", s->period);
	add_trace_ids(&j, rec);
	add_stack(l, &j, "stack", s->tgid, rec->time_ns, s->stack_id);
	add_stack(l, &j, "kernel_stack", s->tgid, rec->time_ns, s->kstack_id);
	end_line(&j);
}

static void add_known(struct tapir_json *j, const char *key, uint64_t value)
{
	if (value)
		tapir_json__u64(j, key, value);
	else
		tapir_json__null(j, key);
}

/* pid, tid and comm are those of the thread that leaves the CPU; null: it is not traced. */
static void add_switch(struct tapir_event_lines *l, const struct tapir_rec *rec,
		       struct tapir_str *out)
{
	const struct tapir_rec_switch *s = (const struct tapir_rec_switch *)rec;
	struct tapir_json j = begin_line(l, rec, out);
	uint64_t futex_va = tapir_switch__futex_va(s);
	char futex[24];

	add_known(&j, "pid", s->out_tgid);
	add_known(&j, "tid", s->out_tid);
	add_text(&j, "comm", tapir_line__comm(l, s->out_tgid, s->out_tid, rec->time_ns));
	tapir_json__str(&j, "state", s->out_tid ? tapir_switch__state_name(s) : NULL);
	tapir_json__u64(&j, "state_bits", s->out_state);
	add_known(&j, "in_pid", s->in_tgid);
	add_known(&j, "in_tid", s->in_tid);
	add_text(&j, "in_comm", tapir_line__comm(l, s->in_tgid, s->in_tid, rec->time_ns));
	add_known(&j, "in_wake_ns", s->in_wake_ns);
	add_known(&j, "in_waker_tid", s->in_waker_tid);
	tapir_json__bool(&j, "in_woken_by_irq", s->flags & TAPIR_SWITCH_WOKEN_BY_IRQ);
	snprintf(futex, sizeof(futex), "%#llx", (unsigned long long)futex_va);
	if (futex_va)
		tapir_json__str(&j, "futex", futex);
	add_trace_ids(&j, rec);
	if (s->flags & TAPIR_SWITCH_SNAPSHOT)
		tapir_json__bool(&j, "snapshot", true);
	if (s->flags & TAPIR_SWITCH_AT_END)
		tapir_json__bool(&j, "at_end", true);
	if (s->flags & TAPIR_SWITCH_STACK_LOST)
		tapir_json__str(&j, "stack_mark", "lost");
	add_stack(l, &j, "stack", s->out_tgid, rec->time_ns, s->out_stack_id);
	add_stack(l, &j, "kernel_stack", s->out_tgid, rec->time_ns, s->out_kstack_id);
	end_line(&j);
}

static void add_cmdline(struct tapir_json *j, struct tapir_sv cmdline)
{
	tapir_json__open(j, "cmdline", '[');
	while (cmdline.len) {
		size_t len = strnlen(cmdline.data, cmdline.len);

		tapir_json__strn(j, NULL, cmdline.data, len);
		len += len < cmdline.len;
		cmdline.data += len;
		cmdline.len -= len;
	}
	tapir_json__close(j, ']');
}

static void add_process(struct tapir_event_lines *l, const struct tapir_rec *rec,
			struct tapir_str *out)
{
	static const char *const kinds[] = {[TAPIR_PROCESS_EXISTING] = "existing",
					    [TAPIR_PROCESS_FORK] = "fork",
					    [TAPIR_PROCESS_EXEC] = "exec",
					    [TAPIR_PROCESS_EXIT] = "exit"};
	struct tapir_json j = begin_line(l, rec, out);
	struct tapir_process_view view;

	tapir_process_view__of(rec, &view);
	add_who(l, out, view.rec->tgid, view.rec->tgid, rec->time_ns);
	tapir_json__str(&j, "kind",
			view.rec->kind < sizeof(kinds) / sizeof(kinds[0]) ? kinds[view.rec->kind]
									  : NULL);
	tapir_json__u64(&j, "parent_pid", view.rec->parent_tgid);
	tapir_json__u64(&j, "ns_pid", view.rec->ns_tgid);
	tapir_json__u64(&j, "uid", view.rec->uid);
	add_text(&j, "exe", view.exe);
	add_cmdline(&j, view.cmdline);
	if (view.rec->flags & TAPIR_PROCESS_CMDLINE_CUT)
		tapir_json__bool(&j, "cmdline_is_cut", true);
	add_text(&j, "cgroup", view.cgroup);
	if (view.rec->kind == TAPIR_PROCESS_EXIT)
		tapir_json__i64(&j, "exit_status", view.rec->exit_status);
	end_line(&j);
}

static void add_mapping(struct tapir_event_lines *l, const struct tapir_rec *rec,
			struct tapir_str *out)
{
	struct tapir_json j = begin_line(l, rec, out);
	struct tapir_mapping_view view;
	struct tapir_str build_id = {};

	tapir_mapping_view__of(rec, &view);
	add_who(l, out, view.rec->tgid, view.rec->tgid, rec->time_ns);
	tapir_json__u64(&j, "start", view.rec->start_va);
	tapir_json__u64(&j, "end", view.rec->end_va);
	tapir_json__u64(&j, "offset", view.rec->file_off);
	add_text(&j, "path", view.path);
	tapir_str__add_hex(&build_id, view.build_id.data, view.build_id.len);
	add_text(&j, "build_id", (struct tapir_sv){build_id.data, build_id.len});
	end_line(&j);
	tapir_str__fini(&build_id);
}

static void add_loss(struct tapir_event_lines *l, const struct tapir_rec *rec,
		     struct tapir_str *out)
{
	static const char *const kinds[] = {[TAPIR_LOSS_KIND_EVENT] = "event",
					    [TAPIR_LOSS_KIND_PART] = "part",
					    [TAPIR_LOSS_KIND_INFO] = "info",
					    [TAPIR_LOSS_KIND_SAMPLE] = "sample",
					    [TAPIR_LOSS_KIND_SWITCH] = "switch"};
	const struct tapir_rec_loss *loss = (const struct tapir_rec_loss *)rec;
	const struct tapir_line_probe *probe = l->probe;
	struct tapir_json j = begin_line(l, rec, out);
	int kind = tapir_loss__kind(loss->cause);

	add_text(&j, "provider", probe ? probe->view.provider : (struct tapir_sv){});
	add_text(&j, "event", probe ? probe->view.event : (struct tapir_sv){});
	tapir_json__str(&j, "cause", tapir_loss__name(loss->cause));
	tapir_json__str(&j, "text", tapir_loss__text(loss->cause));
	tapir_json__str(&j, "kind", kind >= 0 ? kinds[kind] : NULL);
	tapir_json__u64(&j, "count", loss->count);
	tapir_json__u64(&j, "from_ns", loss->from_ns);
	tapir_json__u64(&j, "until_ns", loss->until_ns);
	end_line(&j);
}

static void add_gap(struct tapir_event_lines *l, const struct tapir_rec *rec, struct tapir_str *out)
{
	struct tapir_json j = begin_line(l, rec, out);
	struct tapir_gap_view view;

	tapir_gap_view__of(rec, &view);
	add_who(l, out, view.rec->tgid, view.rec->tgid, rec->time_ns);
	tapir_json__str(&j, "reason", tapir_gap__name(view.rec->reason));
	add_text(&j, "path", view.path);
	tapir_json__u64(&j, "from_ns", view.rec->from_ns);
	tapir_json__u64(&j, "until_ns", view.rec->until_ns);
	end_line(&j);
}

static void add_session(struct tapir_json *j, struct tapir_sv text)
{
	struct tapir_postgresql_session session;

	if (!tapir_postgresql_session__parse(text, &session))
		return;
	tapir_json__u64(j, "transaction_ns", session.transaction_ns);
	tapir_json__u64(j, "idle_ns", session.idle_ns);
	add_known(j, "transaction", session.transaction);
	add_text(j, "last_statement", session.statement);
}

static void add_wait(struct tapir_event_lines *l, const struct tapir_rec *rec,
		     struct tapir_str *out)
{
	struct tapir_json j = begin_line(l, rec, out);
	struct tapir_wait_view view;

	tapir_wait_view__of(rec, &view);
	add_who(l, out, view.rec->tgid, view.rec->tid, rec->time_ns);
	tapir_json__u64(&j, "syscall", view.rec->syscall);
	add_text(&j, "call", view.text);
	add_known(&j, "object", view.rec->object_va);
	add_known(&j, "owner_tid", view.rec->owner_tid);
	if (view.object.len)
		add_text(&j, "object_type", view.object);
	if (view.statement.len)
		add_text(&j, "statement", view.statement);
	if (view.holder_statement.len)
		add_text(&j, "holder_statement", view.holder_statement);
	add_session(&j, view.session);
	end_line(&j);
}

static void add_look(struct tapir_event_lines *l, const struct tapir_rec *rec,
		     struct tapir_str *out)
{
	const struct tapir_rec_look *look = (const struct tapir_rec_look *)rec;
	struct tapir_json j = begin_line(l, rec, out);

	add_who(l, out, look->tgid, look->tid, rec->time_ns);
	add_stack(l, &j, "stack", look->tgid, rec->time_ns, look->stack_id);
	end_line(&j);
}

static void add_resource(struct tapir_event_lines *l, const struct tapir_rec *rec,
			 struct tapir_str *out)
{
	struct tapir_json j = begin_line(l, rec, out);
	struct tapir_resource_view view;

	tapir_resource_view__of(rec, &view);
	add_who(l, out, view.rec->tgid, view.rec->tgid, rec->time_ns);
	tapir_otel_resource__add_json(&j, view.payload);
	end_line(&j);
}

static void add_counter(struct tapir_event_lines *l, const struct tapir_rec *rec,
			struct tapir_str *out)
{
	static const char *const kinds[] = {"gauge", "rate", "sum"};
	struct tapir_json j = begin_line(l, rec, out);
	struct tapir_counter_view view;

	tapir_counter_view__of(rec, &view);
	add_who(l, out, view.rec->tgid, view.rec->tgid, rec->time_ns);
	add_text(&j, "provider", view.provider);
	add_text(&j, "name", view.name);
	tapir_json__str(&j, "kind", view.rec->kind < 3 ? kinds[view.rec->kind] : NULL);
	tapir_json__f64(&j, "value", view.rec->value);
	add_text(&j, "unit", view.unit);
	add_text(&j, "tags", view.tags);
	tapir_json__u64(&j, "interval_ns", view.rec->interval_ns);
	end_line(&j);
}

void tapir_event_json__add(struct tapir_event_lines *l, const struct tapir_rec *rec,
			   struct tapir_str *out)
{
	static void (*const adders[])(struct tapir_event_lines *, const struct tapir_rec *,
				      struct tapir_str *) = {
		[TAPIR_REC_EVENT] = add_event,	   [TAPIR_REC_SAMPLE] = add_sample,
		[TAPIR_REC_SWITCH] = add_switch,   [TAPIR_REC_PROCESS] = add_process,
		[TAPIR_REC_MAPPING] = add_mapping, [TAPIR_REC_COUNTER] = add_counter,
		[TAPIR_REC_LOSS] = add_loss,	   [TAPIR_REC_GAP] = add_gap,
		[TAPIR_REC_WAIT] = add_wait,	   [TAPIR_REC_RESOURCE] = add_resource,
		[TAPIR_REC_LOOK] = add_look,
	};

	if (rec->type < sizeof(adders) / sizeof(adders[0]) && adders[rec->type])
		adders[rec->type](l, rec, out);
}
