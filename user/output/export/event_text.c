// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records as lines for a person. Every byte of a traced process is made printable. Columns are
 * aligned as long as values are of usual width; a longer one moves the rest of its line.
 */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "decode/io_text.h"
#include "decode/net_text.h"
#include "decode/otel_resource.h"
#include "decode/postgresql_text.h"
#include "decode/value.h"
#include "decode/value_packed.h"
#include "output/export/event_lines_impl.h"
#include "symbol/stack_end.h"
#include "trace/family.h"
#include "trace/system_calls.h"
#include "trace/signals.h"

#define TIME_WIDTH  12 /* "  123.456789" */
#define COMM_WIDTH  16
#define IDS_WIDTH   15
#define EVENT_WIDTH 32

static void add_sv(struct tapir_str *out, struct tapir_sv sv)
{
	tapir_str__add_printable(out, sv.data, sv.len);
}

/* Pads to the column, or adds a space after a longer text. */
static void end_column(struct tapir_str *out, size_t from, size_t width)
{
	tapir_str__pad(out, from, width);
	tapir_str__addc(out, ' ');
}

void tapir_event_text__prepare(struct tapir_line_probe *probe)
{
	const struct tapir_probe_view *view = &probe->view;

	add_sv(&probe->head, view->provider);
	tapir_str__addc(&probe->head, ':');
	add_sv(&probe->head, view->event);
	tapir_str__pad(&probe->head, 0, EVENT_WIDTH);
	for (unsigned i = 0; i < probe->key_cnt; i++) {
		tapir_str__addc(&probe->keys, ' ');
		tapir_value__add_name(&probe->keys, tapir_line_probe__field(probe, i), i);
		tapir_str__addc(&probe->keys, '=');
		probe->key_ends[i] = (uint32_t)probe->keys.len;
	}
}

/* ---- the columns ------------------------------------------------------------------------------
 */

static void add_seconds(struct tapir_str *out, int64_t ns)
{
	uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;

	if (ns < 0)
		tapir_str__addc(out, '-');
	tapir_str__addu(out, size / TAPIR_NS_PER_SEC);
	tapir_str__addc(out, '.');
	tapir_line__add_digits(out, size % TAPIR_NS_PER_SEC / 1000, 6);
}

/* Right-aligned: sign and whole seconds decide how many spaces go before. */
static void add_time(const struct tapir_event_lines *l, struct tapir_str *out, uint64_t time_ns)
{
	int64_t since = (int64_t)(time_ns - l->start_ns);
	uint64_t size = since < 0 ? -(uint64_t)since : (uint64_t)since;
	size_t width = strlen("0.123456") + (since < 0);

	for (uint64_t sec = size / TAPIR_NS_PER_SEC; sec > 9; sec /= 10)
		width++;
	if (width < TIME_WIDTH)
		tapir_str__add(out, "            ", TIME_WIDTH - width);
	add_seconds(out, since);
	tapir_str__addc(out, ' ');
}

static void add_who(const struct tapir_event_lines *l, struct tapir_str *out, uint32_t tgid,
		    uint32_t tid, uint64_t time_ns)
{
	struct tapir_sv comm = tapir_line__comm(l, tgid, tid, time_ns);
	size_t from = out->len;

	if (comm.len)
		add_sv(out, comm);
	else
		tapir_str__addc(out, '?');
	end_column(out, from, COMM_WIDTH);
	from = out->len;
	tapir_str__addu(out, tgid);
	tapir_str__addc(out, '/');
	tapir_str__addu(out, tid);
	end_column(out, from, IDS_WIDTH);
}

static void add_frame(struct tapir_str *out, const struct tapir_frame *frame)
{
	struct tapir_sv base = tapir_frame__module_name(frame), tier;
	struct tapir_str name = {};

	tapir_str__adds(out, "                 ");
	if (frame->name.len) {
		add_sv(out, tapir_frame__shown_name(frame, &name, &tier));
		if (!frame->is_inlined) {
			tapir_str__add(out, "+0x", 3);
			tapir_str__addx(out, frame->offset);
		}
		if (tier.len) {
			tapir_str__add(out, " [", 2);
			add_sv(out, tier);
			tapir_str__addc(out, ']');
		}
		if (base.len) {
			tapir_str__add(out, " (", 2);
			add_sv(out, base);
			tapir_str__addc(out, ')');
		}
	} else {
		tapir_frame__add_location(out, frame, tapir_str__add_printable);
		if (frame->range.len) {
			tapir_str__adds(out, "+0x");
			tapir_str__addx(out, frame->range_off);
		}
	}
	/* The line of the source has no offset, and stands behind both forms. */
	tapir_str__clear(&name);
	if (tapir_frame__add_source(&name, frame) && name.data) {
		tapir_str__add(out, " at ", 4);
		tapir_str__add_printable(out, name.data, name.len);
	}
	tapir_str__fini(&name);
	tapir_str__addc(out, '\n');
}

static void add_text_stack(const struct tapir_event_lines *l, struct tapir_str *out, uint32_t tgid,
			   uint64_t time_ns, uint64_t stack_id)
{
	const struct tapir_rec_stack *stack = tapir_catalog__stack(l->catalog, stack_id);
	struct tapir_stack_view view;
	size_t at;

	if (!stack_id)
		return;
	if (!stack) {
		tapir_str__adds(out, "                 <stack was not recorded>\n");
		return;
	}
	tapir_stack_view__of(&stack->h, &view);
	for (unsigned i = 0; i < stack->frame_cnt; i++) {
		struct tapir_frame frame = tapir_frame__of(l->catalog, tgid, time_ns, &view, i);

		for (unsigned k = 0; k < tapir_frame__function_cnt(&frame); k++) {
			struct tapir_frame function = tapir_frame__function(&frame, k);

			add_frame(out, &function);
		}
	}
	at = out->len;
	tapir_str__adds(out, "                 <");
	if (tapir_stack_end__add_of(out, l->catalog, tgid, time_ns, stack))
		tapir_str__adds(out, ">\n");
	else
		out->len = at;
	if (stack->end) /* else the recording is older */
		return;
	if (stack->flags & TAPIR_STACK_MORE)
		tapir_str__adds(out, "                 <deeper frames were not recorded>\n");
	if (stack->flags & TAPIR_STACK_FAULT)
		tapir_str__adds(out, "                 <the next frame could not be read>\n");
}

/* ---- a type each ------------------------------------------------------------------------------
 */

static void add_args(struct tapir_event_lines *l, struct tapir_str *out,
		     const struct tapir_line_probe *probe, const struct tapir_event_view *view)
{
	unsigned cnt = tapir_line__decode(l, probe, view);
	uint32_t at = 0;

	for (unsigned i = 0; i < cnt; i++) {
		if (i < probe->key_cnt) {
			tapir_str__add(out, probe->keys.data + at, probe->key_ends[i] - at);
			at = probe->key_ends[i];
		} else {
			tapir_str__addc(out, ' ');
			tapir_value__add_name(out, l->values[i].name, i);
			tapir_str__addc(out, '=');
		}
		tapir_value__add_text(out, &l->values[i]);
	}
}

/* A runtime writes zeros for none. */
static void add_activity(struct tapir_str *out, const char *key, const uint8_t *id)
{
	if (!tapir_guid__is_set(id))
		return;
	tapir_str__adds(out, key);
	tapir_guid__add_text(out, id);
}

/* " trace=4bf9...4736 span=00f0...02b7" */
static void add_trace_ids(struct tapir_str *out, const struct tapir_rec *rec)
{
	const struct tapir_trace_ids *ids = tapir_rec__trace_ids(rec);
	char text[TAPIR_TRACE_ID_TEXT];

	if (!ids)
		return;
	tapir_str__addf(out, " trace=%s", tapir_trace_id__text(ids, text));
	tapir_str__addf(out, " span=%s", tapir_span_id__text(ids, text));
}

static void add_text_event(struct tapir_event_lines *l, const struct tapir_rec *rec,
			   struct tapir_str *out)
{
	const struct tapir_rec_event *ev = (const struct tapir_rec_event *)rec;
	const struct tapir_line_probe *probe = l->probe;
	struct tapir_event_view view;

	tapir_event_view__of(rec, &view);
	add_time(l, out, rec->time_ns);
	add_who(l, out, ev->tgid, ev->tid, rec->time_ns);
	if (probe) {
		tapir_str__add(out, probe->head.data, probe->head.len);
		add_args(l, out, probe, &view);
	} else {
		tapir_str__adds(out, "<unknown probe ");
		tapir_str__addu(out, ev->probe_id);
		tapir_str__addc(out, '>');
	}
	add_activity(out, " activity=", view.activity_id);
	add_activity(out, " related=", view.related_id);
	add_trace_ids(out, rec);
	/* Events without arguments end with the blank before them. */
	while (out->len && out->data[out->len - 1] == ' ')
		out->len--;
	tapir_str__addc(out, '\n');
	add_text_stack(l, out, ev->tgid, rec->time_ns, view.kstack_id);
	add_text_stack(l, out, ev->tgid, rec->time_ns, ev->stack_id);
	if (ev->flags & TAPIR_EVENT_STACK_LOST)
		tapir_str__adds(out, "                 <the stack could not be read>\n");
}

/* "woken 12.3 us before by 4711" */
static void add_wake(const struct tapir_rec_switch *s, struct tapir_str *out)
{
	if (!s->in_wake_ns)
		return;
	tapir_str__addf(out, ", woken %.1f us before",
			(double)(int64_t)(s->h.time_ns - s->in_wake_ns) / 1e3);
	if (s->flags & TAPIR_SWITCH_WOKEN_BY_IRQ)
		tapir_str__adds(out, " by an interrupt");
	else if (s->in_waker_tid)
		tapir_str__addf(out, " by %u", s->in_waker_tid);
}

/* The line is for the thread that leaves, or if that one is not traced, for the one that enters. */
static void add_switch(struct tapir_event_lines *l, const struct tapir_rec *rec,
		       struct tapir_str *out)
{
	const struct tapir_rec_switch *s = (const struct tapir_rec_switch *)rec;
	struct tapir_sv comm = tapir_line__comm(l, s->in_tgid, s->in_tid, rec->time_ns);
	bool is_snapshot = s->flags & TAPIR_SWITCH_SNAPSHOT;
	uint64_t since_ns = tapir_switch__since_ns(s);

	add_time(l, out, rec->time_ns);
	if (s->out_tid) {
		add_who(l, out, s->out_tgid, s->out_tid, rec->time_ns);
		tapir_str__addf(out, "%s, %s",
				is_snapshot ? "snapshot"
				: since_ns  ? "waited"
					    : "switch out",
				tapir_switch__state_name(s));
	} else {
		add_who(l, out, s->in_tgid, s->in_tid, rec->time_ns);
		tapir_str__adds(out, is_snapshot ? "snapshot, running" : "switch in");
	}
	if (since_ns) {
		tapir_str__addf(out, " for %.3f ms", (double)(rec->time_ns - since_ns) / 1e6);
	} else if (s->out_tid && s->in_tid) {
		tapir_str__adds(out, "; in: ");
		add_sv(out, comm.len ? comm : tapir_sv__of("?"));
		tapir_str__addf(out, " %u/%u", s->in_tgid, s->in_tid);
	}
	add_wake(s, out);
	add_trace_ids(out, rec);
	tapir_str__addc(out, '\n');
	add_text_stack(l, out, s->out_tgid, rec->time_ns, s->out_kstack_id);
	add_text_stack(l, out, s->out_tgid, rec->time_ns, s->out_stack_id);
}

/* "answered by " ..., and after the address " in 12.1 ms" or ", no answer for 12.1 ms" */
static const char *exchange_words(const struct tapir_rec_exchange *x)
{
	if (x->kind == TAPIR_EXCHANGE_OPEN)
		return "no answer yet, peer ";
	if (x->kind == TAPIR_EXCHANGE_CLOSED)
		return "connection ended, peer ";
	return x->flags & TAPIR_EXCHANGE_OPENED ? "answered by " : "answered ";
}

/* "answered by 127.0.0.1:80 in 12.1 ms, 120 B sent, 300 B received" */
static void add_exchange(struct tapir_event_lines *l, const struct tapir_rec *rec,
			 struct tapir_str *out)
{
	const struct tapir_rec_exchange *x = (const void *)rec;
	bool is_answer = x->kind != TAPIR_EXCHANGE_CLOSED && x->kind != TAPIR_EXCHANGE_OPEN;
	bool is_opened = x->flags & TAPIR_EXCHANGE_OPENED;

	add_time(l, out, rec->time_ns);
	add_who(l, out, x->tgid, x->tid, rec->time_ns);
	tapir_str__adds(out, exchange_words(x));
	tapir_net__add_address(out, x->peer, x->peer_port);
	if (!is_opened)
		tapir_str__addf(out, " at port %u", x->local_port);
	if (x->begin_ns && x->begin_ns < rec->time_ns) {
		tapir_str__adds(out, is_answer ? " in" : ", no answer for");
		tapir_str__addf(out, " %.3f ms", (double)(rec->time_ns - x->begin_ns) / 1e6);
	}
	tapir_str__addf(out, ", %llu B sent, %llu B received", (unsigned long long)x->sent_bytes,
			(unsigned long long)x->received_bytes);
	if (x->flags & TAPIR_EXCHANGE_OVERLAPS)
		tapir_str__adds(out, ", requests overlap: the time means nothing");
	if (x->flags & TAPIR_EXCHANGE_UNSEEN)
		tapir_str__adds(out, ", bytes passed that were not seen");
	if (x->error)
		tapir_str__addf(out, ", error %u", x->error);
	tapir_str__addc(out, '\n');
}

/* "120 openat failed with ENOENT in 1.204 ms, longest 0.031 ms", "1 read has not returned" */
static void add_calls(struct tapir_event_lines *l, const struct tapir_rec *rec,
		      struct tapir_str *out)
{
	const struct tapir_rec_calls *c = (const void *)rec;
	const char *error = tapir_system_call__error_name(c->err);
	char name[TAPIR_SYSTEM_CALL_TEXT_BYTES];
	uint64_t cnt = c->cnt + c->unbegun_cnt;

	add_time(l, out, rec->time_ns);
	add_who(l, out, c->tgid, c->tid, rec->time_ns);
	tapir_str__addf(out, "%llu %s", (unsigned long long)(cnt ? cnt : c->open_cnt),
			tapir_system_call__text(c->nr, name));
	if (!cnt)
		tapir_str__adds(out, " not returned");
	else if (error)
		tapir_str__addf(out, " failed with %s", error);
	else if (c->err)
		tapir_str__addf(out, " failed with error %u", c->err);
	if (c->cnt)
		tapir_str__addf(out, " in %.3f ms, longest %.3f ms", (double)c->sum_ns / 1e6,
				(double)c->max_ns / 1e6);
	tapir_str__addc(out, '\n');
	add_text_stack(l, out, c->tgid, rec->time_ns, c->stack_id);
}

/* "write 4096 B to vda, 12.1 us queued, 310.0 us at the device, sync: /srv/db/t1" */
static void add_io(struct tapir_event_lines *l, const struct tapir_rec *rec, struct tapir_str *out)
{
	struct tapir_str file = {};
	struct tapir_io_view io;

	tapir_io_view__of(rec, &io);
	add_time(l, out, rec->time_ns);
	add_who(l, out, io.rec->tgid, io.rec->tid, rec->time_ns);
	tapir_str__addf(out, "%s %u B on ", tapir_io_op__name(io.rec->op), io.rec->bytes);
	add_sv(out, io.disk);
	tapir_str__addf(out, ", %.1f us queued, %.1f us at the device",
			(double)io.rec->queue_ns / 1e3, (double)io.rec->device_ns / 1e3);
	if (io.rec->error)
		tapir_str__addf(out, ", failed (status %u)", io.rec->error);
	tapir_io__add_flags(&file, io.rec);
	if (file.len) {
		tapir_str__adds(out, ", ");
		add_sv(out, (struct tapir_sv){file.data, file.len});
	}
	/* The same buffer has the flags, then the file. */
	file.len = 0;
	tapir_io__add_file(&file, &io);
	if (file.len) {
		tapir_str__adds(out, ": ");
		add_sv(out, (struct tapir_sv){file.data, file.len});
	}
	tapir_str__addc(out, '\n');
	tapir_str__fini(&file);
	add_text_stack(l, out, io.rec->tgid, rec->time_ns, io.rec->stack_id);
	if (io.rec->flags & TAPIR_IO_STACK_LOST)
		tapir_str__adds(out, "                 <the stack could not be read>\n");
}

/* "sends SIGKILL to sleep 833/833 (kill)"; of the kernel's, the receiver has the line. */
static void add_signal(struct tapir_event_lines *l, const struct tapir_rec *rec,
		       struct tapir_str *out)
{
	const struct tapir_rec_signal *s = (const void *)rec;
	const char *name = tapir_signal__name(s->number);
	struct tapir_sv to = tapir_line__comm(l, s->to_tgid, s->to_tid, rec->time_ns);

	add_time(l, out, rec->time_ns);
	if (s->tgid) {
		add_who(l, out, s->tgid, s->tid, rec->time_ns);
		tapir_str__addf(out, "sends %s to ", name ? name : "a signal");
		add_sv(out, to.len ? to : tapir_sv__of("?"));
		tapir_str__addf(out, " %u/%u", s->to_tgid, s->to_tid);
	} else {
		add_who(l, out, s->to_tgid, s->to_tid, rec->time_ns);
		tapir_str__addf(out, "gets %s from the kernel", name ? name : "a signal");
	}
	tapir_str__addf(out, " (%s)", tapir_signal__way(s->number, s->code));
	if (s->result != TAPIR_SIGNAL_DELIVERED)
		tapir_str__addf(out, ", %s", tapir_signal__result(s->result));
	tapir_str__addc(out, '\n');
}

static void add_text_process(struct tapir_event_lines *l, const struct tapir_rec *rec,
			     struct tapir_str *out)
{
	struct tapir_process_view view;
	const struct tapir_rec_process *p;

	tapir_process_view__of(rec, &view);
	p = view.rec;
	if (p->kind == TAPIR_PROCESS_EXISTING || p->kind > TAPIR_PROCESS_EXIT)
		return;
	add_time(l, out, rec->time_ns);
	add_who(l, out, p->tgid, p->tgid, rec->time_ns);
	/* The status is as in wait(2): the signal in 7 bits, the exit status in bits 8 to 15. */
	if (p->kind == TAPIR_PROCESS_EXIT && p->exit_status & 0x7f)
		tapir_str__addf(out, "process killed by signal %d%s\n", p->exit_status & 0x7f,
				p->flags & TAPIR_PROCESS_OOM_VICTIM ? ": out of memory" : "");
	else if (p->kind == TAPIR_PROCESS_EXIT)
		tapir_str__addf(out, "process exited with status %d\n", p->exit_status >> 8 & 0xff);
	else if (p->kind == TAPIR_PROCESS_FORK)
		tapir_str__addf(out, "process forked by %u\n", p->parent_tgid);
	if (p->kind != TAPIR_PROCESS_EXEC)
		return;
	tapir_str__adds(out, "process executes ");
	add_sv(out, view.exe);
	for (size_t at = 0, end; at < view.cmdline.len; at = end + 1) {
		const char *nul = memchr(view.cmdline.data + at, '\0', view.cmdline.len - at);

		end = nul ? (size_t)(nul - view.cmdline.data) : view.cmdline.len;
		tapir_str__adds(out, at ? " " : ": ");
		add_sv(out, (struct tapir_sv){view.cmdline.data + at, end - at});
	}
	tapir_str__adds(out, p->flags & TAPIR_PROCESS_CMDLINE_CUT ? "... (cut)\n" : "\n");
}

static void add_span(const struct tapir_event_lines *l, struct tapir_str *out, uint64_t from_ns,
		     uint64_t until_ns)
{
	tapir_str__adds(out, " from ");
	add_seconds(out, (int64_t)(from_ns - l->start_ns));
	tapir_str__adds(out, " to ");
	add_seconds(out, (int64_t)(until_ns - l->start_ns));
	tapir_str__addc(out, '\n');
}

/* INFO causes lose nothing: they are for JSON and the report. */
static void add_loss(struct tapir_event_lines *l, const struct tapir_rec *rec,
		     struct tapir_str *out)
{
	const struct tapir_rec_loss *loss = (const struct tapir_rec_loss *)rec;
	int kind = tapir_loss__kind(loss->cause);
	const struct tapir_line_probe *probe = l->probe;

	if (kind == TAPIR_LOSS_KIND_INFO)
		return;
	add_time(l, out, rec->time_ns);
	tapir_str__adds(out, kind == TAPIR_LOSS_KIND_PART ? "*** INCOMPLETE " : "*** LOST ");
	tapir_str__addu(out, loss->count);
	tapir_str__addc(out, ' ');
	tapir_str__adds(out, tapir_loss_kind__thing(kind, loss->count != 1));
	if (probe) {
		tapir_str__adds(out, " of ");
		add_sv(out, probe->view.provider);
		tapir_str__addc(out, ':');
		add_sv(out, probe->view.event);
	}
	tapir_str__adds(out, ": ");
	tapir_str__adds(out, tapir_loss__text(loss->cause));
	add_span(l, out, loss->from_ns, loss->until_ns);
}

static void add_gap(struct tapir_event_lines *l, const struct tapir_rec *rec, struct tapir_str *out)
{
	struct tapir_gap_view view;

	tapir_gap_view__of(rec, &view);
	add_time(l, out, rec->time_ns);
	tapir_str__adds(out, "*** GAP in process ");
	tapir_str__addu(out, view.rec->tgid);
	tapir_str__adds(out, ": ");
	tapir_str__adds(out, tapir_gap__text(view.rec->reason));
	tapir_str__addc(out, ' ');
	add_sv(out, view.path);
	add_span(l, out, view.rec->from_ns, view.rec->until_ns);
}

static void add_text_wait(struct tapir_event_lines *l, const struct tapir_rec *rec,
			  struct tapir_str *out)
{
	struct tapir_postgresql_session session;
	struct tapir_wait_view view;

	tapir_wait_view__of(rec, &view);
	add_time(l, out, rec->time_ns);
	add_who(l, out, view.rec->tgid, view.rec->tid, rec->time_ns);
	tapir_str__adds(out, view.text.len ? "waits in " : "runs");
	add_sv(out, view.text);
	if (view.object.len) {
		tapir_str__adds(out, " for ");
		add_sv(out, view.object);
	}
	if (view.rec->owner_tid)
		tapir_str__addf(out, ", held by %u", view.rec->owner_tid);
	if (view.holder_statement.len) {
		tapir_str__adds(out, " in ");
		add_sv(out, view.holder_statement);
	}
	if (view.statement.len) {
		tapir_str__adds(out, "; executes ");
		add_sv(out, view.statement);
	}
	if (tapir_postgresql_session__parse(view.session, &session)) {
		tapir_str__addf(out, "; idle in transaction for %.3f s after ",
				(double)session.idle_ns / 1e9);
		add_sv(out, session.statement);
	}
	tapir_str__addc(out, '\n');
}

static void add_resource(struct tapir_event_lines *l, const struct tapir_rec *rec,
			 struct tapir_str *out)
{
	struct tapir_resource_view view;
	struct tapir_str text = {};
	struct tapir_json j = tapir_json__to(&text);

	tapir_resource_view__of(rec, &view);
	add_time(l, out, rec->time_ns);
	add_who(l, out, view.rec->tgid, view.rec->tgid, rec->time_ns);
	tapir_json__open(&j, NULL, '{');
	tapir_otel_resource__add_json(&j, view.payload);
	tapir_json__close(&j, '}');
	tapir_str__adds(out, "resource ");
	add_sv(out, (struct tapir_sv){text.data, text.len});
	tapir_str__addc(out, '\n');
	tapir_str__fini(&text);
}

static void add_text_counter(struct tapir_event_lines *l, const struct tapir_rec *rec,
			     struct tapir_str *out)
{
	struct tapir_counter_view view;
	bool is_rate;

	tapir_counter_view__of(rec, &view);
	is_rate = view.rec->kind == TAPIR_COUNTER_RATE;
	add_time(l, out, rec->time_ns);
	add_who(l, out, view.rec->tgid, view.rec->tgid, rec->time_ns);
	tapir_str__adds(out, "counter ");
	add_sv(out, view.provider);
	tapir_str__addc(out, ':');
	add_sv(out, view.name);
	tapir_str__addf(out, is_rate ? "=+%.10g" : "=%.10g", view.rec->value);
	if (view.unit.len) {
		tapir_str__addc(out, ' ');
		add_sv(out, view.unit);
	}
	if (is_rate && view.rec->interval_ns)
		tapir_str__addf(out, " in %.3g s", (double)view.rec->interval_ns / 1e9);
	if (view.tags.len) {
		tapir_str__addc(out, ' ');
		add_sv(out, view.tags);
	}
	tapir_str__addc(out, '\n');
}

/* ---- types without a sentence: their members --------------------------------------------------
 */

static void add_text_value(struct tapir_str *out, const struct tapir_member *member,
			   const struct tapir_member_value *value)
{
	switch (value->kind) {
	case TAPIR_MEMBER_IS_U64:
	case TAPIR_MEMBER_IS_BOOL:
		if (member->type == TAPIR_MEMBER_HEX)
			tapir_str__addf(out, "%#" PRIx64, value->u64);
		else if (member->flags & TAPIR_MEMBER_NS)
			tapir_str__addf(out, "%.1f us", (double)value->u64 / 1e3);
		else
			tapir_str__addu(out, value->u64);
		break;
	case TAPIR_MEMBER_IS_I64:
		tapir_str__addf(out, "%" PRId64, value->i64);
		break;
	case TAPIR_MEMBER_IS_F64:
		tapir_str__addf(out, "%.10g", value->f64);
		break;
	default:
		add_sv(out, value->text);
	}
}

/* "sample period=1000000 trace=4bf9...4736", the stacks below. */
static void add_members(struct tapir_event_lines *l, const struct tapir_rec *rec,
			struct tapir_str *out)
{
	const struct tapir_schema *schema = tapir_schema__of(rec->type);
	uint32_t tgid = tapir_rec__tgid(rec, 0);

	add_time(l, out, rec->time_ns);
	add_who(l, out, tgid, tapir_rec__tid(rec, 0), rec->time_ns);
	tapir_str__adds(out, schema->title ? schema->title : schema->name);
	for (const struct tapir_member *m = schema->members; !tapir_member__ends(m); m++) {
		struct tapir_member_value value;

		if (!m->lead)
			continue;
		value = tapir_event_lines__read(l, rec, m, &l->room);
		if (!value.kind)
			continue;
		tapir_str__adds(out, m->lead);
		add_text_value(out, m, &value);
	}
	tapir_str__addc(out, '\n');
	add_text_stack(l, out, tgid, rec->time_ns, tapir_rec__kstack_id(rec));
	add_text_stack(l, out, tgid, rec->time_ns, tapir_rec__stack_id(rec));
}

void tapir_event_text__add(struct tapir_event_lines *l, const struct tapir_rec *rec,
			   struct tapir_str *out)
{
	static void (*const sentences[TAPIR_REC_TYPE_CNT])(
		struct tapir_event_lines *, const struct tapir_rec *, struct tapir_str *) = {
		[TAPIR_REC_EVENT] = add_text_event,
		[TAPIR_REC_SWITCH] = add_switch,
		[TAPIR_REC_PROCESS] = add_text_process,
		[TAPIR_REC_COUNTER] = add_text_counter,
		[TAPIR_REC_LOSS] = add_loss,
		[TAPIR_REC_GAP] = add_gap,
		[TAPIR_REC_WAIT] = add_text_wait,
		[TAPIR_REC_RESOURCE] = add_resource,
		[TAPIR_REC_IO] = add_io,
		[TAPIR_REC_EXCHANGE] = add_exchange,
		[TAPIR_REC_CALLS] = add_calls,
		[TAPIR_REC_SIGNAL] = add_signal,
	};
	const struct tapir_schema *schema = tapir_schema__of(rec->type);

	if (!schema->has_line)
		return;
	if (sentences[rec->type])
		sentences[rec->type](l, rec, out);
	else if (!schema->describes)
		add_members(l, rec, out);
}
