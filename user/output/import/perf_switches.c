// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sched_switch has the state in which a thread leaves as bits of the kernel; a
 * SWITCH record says only whether it was preempted.
 */
#include "output/import/perf_switches.h"

#include <string.h>

#include "base/little_endian.h"
#include "output/import/perf_events.h"

#define CPUS_MAX       65536u
#define WAKES_MAX      (1u << 20)
#define PREV_STOPPED   0x04u
#define PREV_TRACED    0x08u
#define PREV_DEAD      0x30u /* EXIT_DEAD, EXIT_ZOMBIE */
#define PREV_PARKED    0x40u
#define PREV_IDLE      0x80u
#define PREV_STATES    0xffu
#define PREV_PREEMPTED 0x100u

static const struct tapir_perf_format *
format_of(const struct tapir_perf_switches *s, const struct tapir_perf_attr *attr, const char *name)
{
	const struct tapir_perf_format *format =
		attr->type == TAPIR_PERF_TRACEPOINT ? tapir_perf_data__format(s->data, attr->config)
						    : NULL;

	return format && !strcmp(format->category, "sched") && !strcmp(format->name, name) ? format
											   : NULL;
}

void tapir_perf_switches__start(struct tapir_perf_switches *s, const uint64_t *cnts,
				bool has_records)
{
	const struct tapir_perf_attr *attr;

	s->has_records = has_records;
	tapir_vec_for_each (attr, &s->data->attrs)
		if (!s->source && cnts[attr - s->data->attrs.data] &&
		    format_of(s, attr, "sched_switch"))
			s->source = attr;
}

void tapir_perf_switches__fini(struct tapir_perf_switches *s)
{
	tapir_keyed__fini(&s->wakes);
	tapir_map__fini(&s->on_cpu);
}

bool tapir_perf_switches__is_source(const struct tapir_perf_switches *s,
				    const struct tapir_perf_attr *attr)
{
	return attr == s->source;
}

/* ---- wake-ups -------------------------------------------------------------------------------- */

static void note_wake(struct tapir_perf_switches *s, const struct tapir_perf_record *record)
{
	const struct tapir_perf_format *format = format_of(s, record->attr, "sched_waking");
	struct tapir_perf_wake *wake;
	uint64_t tid;

	if (!format)
		format = format_of(s, record->attr, "sched_wakeup");
	if (!format || !tapir_perf_events__number(format, record, "pid", &tid))
		return;
	wake = tapir_keyed__add(&s->wakes, tid, WAKES_MAX, (struct tapir_perf_wake){});
	if (wake)
		*wake = (struct tapir_perf_wake){record->time_ns, record->tid};
}

static void add_wake(struct tapir_perf_switches *s, struct tapir_rec_switch *rec)
{
	struct tapir_perf_wake *wake = tapir_keyed__get(&s->wakes, rec->in_tid);

	if (!wake || !wake->time_ns || !rec->in_tid)
		return;
	rec->in_wake_ns = wake->time_ns;
	rec->in_waker_tid = wake->waker_tid;
	wake->time_ns = 0;
}

/* ---- switches -------------------------------------------------------------------------------- */

static void set_state(struct tapir_rec_switch *rec, uint64_t state)
{
	uint16_t out = (uint16_t)(state & (TAPIR_STATE_SLEEPING | TAPIR_STATE_UNINTERRUPTIBLE |
					   PREV_STOPPED | PREV_TRACED | PREV_PARKED));

	if (state & PREV_DEAD)
		out |= TAPIR_STATE_DEAD;
	if (state & PREV_IDLE)
		out |= TAPIR_STATE_UNINTERRUPTIBLE;
	if (!(state & PREV_STATES) || state & PREV_PREEMPTED) {
		rec->flags |= TAPIR_SWITCH_PREEMPTED;
		out = 0;
	}
	rec->out_state = out;
}

static void deliver_switch(struct tapir_perf_switches *s, struct tapir_rec_switch *rec,
			   const struct tapir_perf_record *record)
{
	tapir_rec__init(&rec->h, TAPIR_REC_SWITCH, sizeof(*rec), record->time_ns);
	rec->h.cpu = record->cpu < TAPIR_CPU_UNKNOWN ? (uint16_t)record->cpu : TAPIR_CPU_UNKNOWN;
	tapir_import_sink__put(s->sink, &rec->h);
}

/* If all switches of a CPU were recorded, the thread that leaves is the one that came last. */
static void follow_cpu(struct tapir_perf_switches *s, const struct tapir_rec_switch *rec,
		       uint32_t cpu)
{
	bool is_new = false;
	uint64_t *last = s->on_cpu.cnt < CPUS_MAX || tapir_map__get(&s->on_cpu, cpu)
				 ? tapir_map__put(&s->on_cpu, cpu, &is_new)
				 : NULL;

	if (!last)
		return;
	s->chained_cnt += !is_new && *last == rec->out_tid;
	s->unchained_cnt += !is_new && *last != rec->out_tid;
	*last = rec->in_tid;
}

bool tapir_perf_switches__take(struct tapir_perf_switches *s,
			       const struct tapir_perf_record *record, uint64_t stack_id,
			       uint64_t kstack_id)
{
	struct tapir_rec_switch rec = {.out_stack_id = stack_id, .out_kstack_id = kstack_id};
	const struct tapir_perf_format *format;
	uint64_t prev, next, state;

	if (record->attr != s->source || !s->source) {
		note_wake(s, record);
		return false;
	}
	format = format_of(s, record->attr, "sched_switch");
	if (!tapir_perf_events__number(format, record, "prev_pid", &prev) ||
	    !tapir_perf_events__number(format, record, "next_pid", &next) ||
	    !tapir_perf_events__number(format, record, "prev_state", &state))
		return false;
	rec.out_tid = (uint32_t)prev;
	rec.out_tgid = record->tid == rec.out_tid ? record->pid
						  : tapir_import_tasks__tgid(s->tasks, rec.out_tid);
	rec.in_tid = (uint32_t)next;
	rec.in_tgid = tapir_import_tasks__tgid(s->tasks, rec.in_tid);
	if (rec.out_tid)
		set_state(&rec, state);
	else
		rec.out_stack_id = rec.out_kstack_id = 0; /* of no thread */
	add_wake(s, &rec);
	follow_cpu(s, &rec, record->cpu);
	deliver_switch(s, &rec, record);
	return true;
}

/* SWITCH_ANY: u32 pid, u32 tid of the other thread. Only the half that leaves has all of it. */
void tapir_perf_switches__record(struct tapir_perf_switches *s,
				 const struct tapir_perf_record *record)
{
	bool is_any = record->type == TAPIR_PERF_REC_SWITCH_ANY;
	bool leaves = record->misc & TAPIR_PERF_MISC_OUT;
	struct tapir_rec_switch rec = {};

	if (s->source || (is_any && (!leaves || record->body_bytes < 8)))
		return;
	if (leaves) {
		rec.out_tgid = record->pid;
		rec.out_tid = record->tid;
		rec.in_tgid = is_any ? tapir_le__u32(record->body) : 0;
		rec.in_tid = is_any ? tapir_le__u32(record->body + 4) : 0;
	} else {
		rec.in_tgid = record->pid;
		rec.in_tid = record->tid;
	}
	if (rec.out_tid && record->misc & TAPIR_PERF_MISC_PREEMPT)
		rec.flags = TAPIR_SWITCH_PREEMPTED;
	else if (rec.out_tid)
		rec.out_state = TAPIR_STATE_SLEEPING;
	tapir_import_tasks__see(s->tasks, record->pid, record->tid, record->time_ns);
	add_wake(s, &rec);
	deliver_switch(s, &rec, record);
}

void tapir_perf_switches__add_limits(const struct tapir_perf_switches *s,
				     struct tapir_import_sink *sink)
{
	tapir_import_sink__beyond(sink, s->wakes.more, s->wakes.failed, "wake-ups");
	if (!s->source && !s->has_records)
		tapir_import_sink__limit(sink, "no waits: sched_switch was not recorded");
	else if (!s->source)
		tapir_import_sink__limit(sink, "waits have no stacks and no reasons: switches were "
					       "recorded by --switch-events, not by sched_switch");
	else if (s->chained_cnt <= s->unchained_cnt)
		tapir_import_sink__limit(sink, "waits have no end: sched_switch was recorded where "
					       "threads leave a CPU alone (record with -a)");
}
