// SPDX-License-Identifier: GPL-2.0-or-later
/* The report as one JSON document. */
#include "base/json.h"
#include "cli/figures.h"
#include "cli/recording_file.h"
#include "cli/report_view.h"

/* The causes of one kind as an object: {"ring_full": 12}. */
static void json_losses(struct tapir_json *j, const char *key, const struct tapir_summary *s,
			int kind)
{
	tapir_json__open(j, key, '{');
	for (unsigned cause = 0; cause < TAPIR_LOSS_CAUSE_CNT; cause++)
		if (s->lost[cause] && tapir_loss__kind(cause) == kind)
			tapir_json__u64(j, tapir_loss__name(cause), s->lost[cause]);
	tapir_json__close(j, '}');
}

static void json_events(struct tapir_json *j, const struct tapir_summary *s)
{
	tapir_json__open(j, "events", '[');
	for (size_t i = 0; i < s->events.cnt; i++) {
		tapir_json__open(j, NULL, '{');
		tapir_json__str(j, "provider", s->events.data[i].provider);
		tapir_json__str(j, "event", s->events.data[i].event);
		tapir_json__u64(j, "captured", s->events.data[i].captured);
		tapir_json__u64(j, "lost", s->events.data[i].lost);
		tapir_json__close(j, '}');
	}
	tapir_json__close(j, ']');
	tapir_json__open(j, "samples", '{');
	tapir_json__u64(j, "captured", s->sample_cnt);
	tapir_json__u64(j, "lost", tapir_summary__lost(s, TAPIR_LOSS_KIND_SAMPLE));
	tapir_json__u64(j, "named", s->sample_named_cnt);
	tapir_json__close(j, '}');
	tapir_json__open(j, "switches", '{');
	tapir_json__u64(j, "captured", s->switch_cnt);
	tapir_json__u64(j, "lost", tapir_summary__lost(s, TAPIR_LOSS_KIND_SWITCH));
	tapir_json__close(j, '}');
}

static void json_processes(struct tapir_json *j, const struct tapir_summary *s)
{
	tapir_json__open(j, "processes", '[');
	for (size_t i = 0; i < s->processes.cnt; i++) {
		const struct tapir_process_row *row = &s->processes.data[i];

		tapir_json__open(j, NULL, '{');
		tapir_json__u64(j, "pid", row->pid);
		tapir_json__str(j, "comm", *row->comm ? row->comm : NULL);
		tapir_json__str(j, "exe", *row->exe ? row->exe : NULL);
		tapir_json__u64(j, "events", row->events);
		tapir_json__u64(j, "samples", row->samples);
		tapir_json__close(j, '}');
	}
	tapir_json__close(j, ']');
}

static void json_functions(struct tapir_json *j, const struct tapir_summary *s)
{
	tapir_json__open(j, "functions", '[');
	for (size_t i = 0; i < s->functions.cnt; i++) {
		const struct tapir_function_row *row = &s->functions.data[i];

		if (!row->samples)
			break;
		tapir_json__open(j, NULL, '{');
		tapir_json__str(j, "name", row->name);
		tapir_json__str(j, "module", *row->module ? row->module : NULL);
		tapir_json__u64(j, "samples", row->samples);
		tapir_json__close(j, '}');
	}
	tapir_json__close(j, ']');
}

static void json_stacks(struct tapir_json *j, const struct tapir_summary *s)
{
	tapir_json__open(j, "stacks", '[');
	for (size_t i = 0; i < s->stacks.cnt; i++) {
		const struct tapir_stack_row *row = &s->stacks.data[i];

		tapir_json__open(j, NULL, '{');
		tapir_json__str(j, "provider", s->events.data[row->event].provider);
		tapir_json__str(j, "event", s->events.data[row->event].event);
		tapir_json__u64(j, "events", row->events);
		tapir_json__open(j, "functions", '[');
		for (uint32_t f = 0; f < row->function_cnt; f++)
			tapir_json__str(j, NULL, s->functions.data[row->functions[f]].name);
		tapir_json__close(j, ']');
		tapir_json__close(j, '}');
	}
	tapir_json__close(j, ']');
}

static void json_gaps(struct tapir_json *j, const struct tapir_summary *s)
{
	tapir_json__open(j, "gaps", '[');
	for (size_t i = 0; i < s->gaps.cnt; i++) {
		const struct tapir_gap_row *gap = &s->gaps.data[i];

		tapir_json__open(j, NULL, '{');
		tapir_json__u64(j, "pid", gap->pid);
		tapir_json__str(j, "reason", tapir_gap__name(gap->reason));
		tapir_json__str(j, "path", gap->path);
		tapir_json__u64(j, "from_ns", gap->from_ns);
		tapir_json__u64(j, "until_ns", gap->until_ns);
		tapir_json__close(j, '}');
	}
	tapir_json__close(j, ']');
}

void tapir_report__write_json(const struct tapir_report_view *v, struct tapir_str *out)
{
	const struct tapir_summary *s = v->summary;
	struct tapir_json j = tapir_json__to(out);
	struct tapir_str utc = {};

	tapir_figure__add_utc(&utc, v->stats->created_utc_ns);
	tapir_json__open(&j, NULL, '{');
	tapir_json__u64(&j, "duration_ns", tapir_report__duration_ns(v));
	tapir_json__str(&j, "utc", utc.data);
	json_events(&j, s);
	json_processes(&j, s);
	json_losses(&j, "lost", s, TAPIR_LOSS_KIND_EVENT);
	json_losses(&j, "incomplete", s, TAPIR_LOSS_KIND_PART);
	tapir_json__u64(&j, "stacks_missing", s->no_stack_cnt);
	json_losses(&j, "not_wanted", s, TAPIR_LOSS_KIND_INFO);
	json_functions(&j, s);
	json_stacks(&j, s);
	json_gaps(&j, s);
	tapir_json__open(&j, "meta", '{');
	for (size_t i = 0; i < s->metas.cnt; i++)
		tapir_json__str(&j, s->metas.data[i].key, s->metas.data[i].value);
	tapir_json__close(&j, '}');
	tapir_json__bool(&j, "complete",
			 !v->stats->cut && !tapir_recording_file__is_damaged(v->stats));
	tapir_json__close(&j, '}');
	tapir_str__addc(out, '\n');
	tapir_str__fini(&utc);
}
