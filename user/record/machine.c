// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A site for each tracepoint, system call or counter; two sources that mean the same one share it,
 * so that an event is recorded once.
 */
#include "record/machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/sampler.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/log.h"
#include "trace/recbuf.h"

#define MAX_SITES   2048u
#define NO_TEXT_ARG 255u
#define RESULT_CNT  3u /* of a system call: ret, err, took */

struct one {
	const struct tapir_tracepoint *tracepoint;
	struct tapir_tracepoint_format format;
	struct tapir_machine_site site;
};

struct tapir_machine {
	struct tapir_tracepoint_list tracepoints;
	struct one *all;				   /* as many */
	struct tapir_vec(struct tapir_sampler *) samplers; /* of counters */
};

/* ---- which ones ----------------------------------------------------------------------------- */

/* Says how those that there are can be listed. */
static int fail_unknown(const struct tapir_machine_source *source)
{
	if (source->kind == TAPIR_MACHINE_SYSCALL)
		return tapir_diag__fail(-ENOENT,
					"no system call matches '%s' ('tapir list syscall:*' shows "
					"them)",
					source->text);
	if (source->kind == TAPIR_MACHINE_PERF)
		return tapir_diag__fail(-ENOENT,
					"no event matches '%s' ('tapir list perf:*' shows them)",
					source->text);
	return tapir_diag__fail(-ENOENT,
				"no tracepoint of this kernel matches '%s' ('tapir list "
				"tracepoint:*:*' shows them)",
				source->text);
}

static bool is_same_tracepoint(const struct tapir_tracepoint *a, const struct tapir_tracepoint *b)
{
	return !strcmp(a->name, b->name) && a->event == b->event && !a->rate_hz == !b->rate_hz &&
	       (!a->category || !b->category ? a->category == b->category
					     : !strcmp(a->category, b->category));
}

/* Removes those after the first had ones that are among these. */
static void drop_repeated(struct tapir_tracepoint_list *list, size_t had)
{
	size_t kept = had;

	for (size_t i = had; i < list->cnt; i++) {
		size_t j = 0;

		while (j < had && !is_same_tracepoint(&list->data[j], &list->data[i]))
			j++;
		if (j < had) {
			free(list->data[i].category);
			free(list->data[i].name);
		} else {
			list->data[kept++] = list->data[i];
		}
	}
	list->cnt = kept;
}

static int find_all(struct tapir_machine *m, const struct tapir_machine_source_list *sources)
{
	struct tapir_machine_source *const *source;
	int err = 0;

	tapir_vec_for_each (source, sources) {
		size_t had = m->tracepoints.cnt;

		if (tapir_machine_source__is_function(*source))
			continue;
		err = tapir_tracepoints__find(*source, &m->tracepoints);
		if (!err && m->tracepoints.cnt == had)
			err = fail_unknown(*source);
		if (err)
			return err;
		drop_repeated(&m->tracepoints, had);
	}
	if (m->tracepoints.cnt > MAX_SITES)
		return tapir_diag__fail(-E2BIG, "%zu tracepoints match: select at most %u",
					m->tracepoints.cnt, MAX_SITES);
	return 0;
}

/* ---- what is captured ----------------------------------------------------------------------- */

static void plan_call(struct one *one)
{
	struct tapir_machine_site *site = &one->site;
	unsigned text_cnt = 0;

	site->arg_cnt = (uint8_t)one->format.field_cnt;
	site->field_cnt = (uint8_t)(site->arg_cnt + RESULT_CNT);
	memset(site->text_args, NO_TEXT_ARG, sizeof(site->text_args));
	for (unsigned i = 0; i < site->arg_cnt; i++) {
		struct tapir_tracepoint_field *f = &one->format.fields[i];

		if (f->field_type != TAPIR_FIELD_STR)
			continue;
		if (text_cnt < TAPIR_CALL_TEXTS)
			site->text_args[text_cnt++] = (uint8_t)i;
		else
			f->field_type = TAPIR_FIELD_PTR;
	}
}

static int plan_one(struct one *one, const struct tapir_tracepoint *tracepoint, uint32_t probe_id,
		    bool with_stack)
{
	int err = tapir_tracepoint__format(tracepoint, &one->format);

	if (err)
		return err;
	one->tracepoint = tracepoint;
	one->site.probe_id = probe_id;
	one->site.flags = with_stack ? TAPIR_SITE_STACK : 0;
	one->site.field_cnt = (uint8_t)one->format.field_cnt;
	for (unsigned i = 0; i < one->format.field_cnt; i++)
		one->site.fields[i] = one->format.fields[i].machine_field;
	if (!tracepoint->category && !tracepoint->event)
		plan_call(one);
	if (one->format.skipped_cnt)
		tapir_info("%s:%s: only the first %u of its %u fields are recorded",
			   tracepoint->category, tracepoint->name, one->format.field_cnt,
			   one->format.field_cnt + one->format.skipped_cnt);
	return 0;
}

int tapir_machine__new(const struct tapir_machine_source_list *sources, bool with_stack,
		       struct tapir_machine **out)
{
	struct tapir_machine *m;
	int err;

	*out = NULL;
	if (!sources->cnt)
		return 0;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	err = find_all(m, sources);
	if (!err && !m->tracepoints.cnt) {
		tapir_machine__free(m);
		return 0;
	}
	if (!err) {
		m->all = calloc(m->tracepoints.cnt, sizeof(*m->all));
		err = m->all ? 0 : -ENOMEM;
	}
	for (size_t i = 0; !err && i < m->tracepoints.cnt; i++)
		/*
		 * The id is the place of its site in the kernel's table, of which 0 is not in use.
		 */
		err = plan_one(&m->all[i], &m->tracepoints.data[i], (uint32_t)i + 1, with_stack);
	if (err) {
		tapir_machine__free(m);
		return err;
	}
	*out = m;
	return 0;
}

void tapir_machine__free(struct tapir_machine *m)
{
	struct tapir_sampler **sampler;

	if (!m)
		return;
	tapir_tracepoint_list__fini(&m->tracepoints);
	tapir_vec_for_each (sampler, &m->samplers)
		tapir_sampler__stop(*sampler);
	tapir_vec__fini(&m->samplers);
	free(m->all);
	free(m);
}

uint32_t tapir_machine__cnt(const struct tapir_machine *m)
{
	return m ? (uint32_t)m->tracepoints.cnt : 0;
}

void tapir_machine__plan(const struct tapir_machine *m, struct tapir_programs_opts *out)
{
	const struct tapir_tracepoint *t;

	out->machine_cap = tapir_machine__cnt(m);
	if (!m)
		return;
	tapir_vec_for_each (t, &m->tracepoints)
		*(t->is_function ? &out->with_functions
		  : t->category	 ? &out->with_tracepoints
		  : t->event	 ? &out->with_counters
				 : &out->with_calls) = true;
	out->with_machine_stacks = m->all[0].site.flags & TAPIR_SITE_STACK;
}

/* ---- programs and records ------------------------------------------------------------------- */

static void add_field(struct tapir_field *field, struct tapir_sv *name, uint8_t type, uint8_t size,
		      const char *text)
{
	*field = (struct tapir_field){.type = type, .size = type < TAPIR_FIELD_STR ? size : 0};
	*name = tapir_sv__of(text);
}

static int announce_event(const struct one *one, struct tapir_recbuf *buf,
			  struct tapir_queue *queue)
{
	struct tapir_rec_probe fixed = {.probe_id = one->site.probe_id,
					.encoding = TAPIR_ENCODING_SLOTS,
					.lane = TAPIR_LANE_PROBE};
	struct tapir_field fields[TAPIR_MACHINE_FIELDS];
	struct tapir_sv names[TAPIR_MACHINE_FIELDS];
	unsigned cnt = one->format.field_cnt;
	const struct tapir_rec *rec;
	char provider[TAPIR_TRACEPOINT_PROVIDER_BYTES];

	for (unsigned i = 0; i < cnt; i++)
		add_field(&fields[i], &names[i], one->format.fields[i].field_type,
			  (uint8_t)one->format.fields[i].machine_field.size,
			  one->format.fields[i].name);
	if (!one->tracepoint->category && !one->tracepoint->event) {
		add_field(&fields[cnt], &names[cnt], TAPIR_FIELD_INT, 8, "ret");
		add_field(&fields[cnt + 1], &names[cnt + 1], TAPIR_FIELD_UINT, 4, "err");
		add_field(&fields[cnt + 2], &names[cnt + 2], TAPIR_FIELD_UINT, 8, "took");
		cnt += RESULT_CNT;
	}
	tapir_tracepoint__provider(one->tracepoint, provider);
	tapir_rec__init(&fixed.h, TAPIR_REC_PROBE, sizeof(fixed), tapir_clock__now_ns());
	rec = tapir_recbuf__probe(buf, &fixed, tapir_sv__of(provider),
				  tapir_sv__of(one->tracepoint->name), (struct tapir_sv){},
				  (struct tapir_sv){}, fields, names, cnt);
	return rec ? tapir_queue__post(queue, rec, -1) : -ENOMEM;
}

static int start_counter(struct tapir_machine *m, const struct one *one, int prog_fd)
{
	const struct tapir_tracepoint *t = one->tracepoint;
	const struct tapir_sampler_plan plan = {.event = t->event,
						.hz = t->rate_hz,
						.period = t->period,
						.cookie = one->site.probe_id};
	struct tapir_sampler *sampler;
	int err = tapir_sampler__start(prog_fd, &plan, &sampler);

	if (err || tapir_vec__push(&m->samplers, sampler))
		return err;
	tapir_sampler__stop(sampler);
	return -ENOMEM;
}

static int start_one(struct tapir_machine *m, const struct one *one,
		     struct tapir_programs *programs)
{
	const struct tapir_tracepoint *t = one->tracepoint;
	uint32_t idx = one->site.probe_id;
	int err = tapir_programs__set_machine_site(programs, idx, &one->site);

	if (err)
		return err;
	if (t->event)
		return start_counter(m, one, tapir_programs__counter_fd(programs));
	return t->category ? tapir_programs__attach_tracepoint(programs, t, idx)
			   : tapir_programs__set_call(programs, t->nr, idx);
}

int tapir_machine__start(struct tapir_machine *m, struct tapir_programs *programs,
			 struct tapir_queue *queue)
{
	struct tapir_recbuf buf = {};
	bool has_calls = false;
	int err = 0;

	for (uint32_t i = 0; !err && i < tapir_machine__cnt(m); i++) {
		err = announce_event(&m->all[i], &buf, queue);
		if (!err)
			err = start_one(m, &m->all[i], programs);
		has_calls |= !m->all[i].tracepoint->category && !m->all[i].tracepoint->event;
	}
	tapir_recbuf__fini(&buf);
	return !err && has_calls ? tapir_programs__attach_calls(programs) : err;
}
