// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Collects samples and waits as rows (process, thread, stack, span). Rows are found by a hash of
 * what identifies them, which is compared in full; beyond a limit, further rows are counted.
 */
#include "base/keyed.h"
#include "output/render/otlp_samples.h"

#include <errno.h>

#include "output/render/offcpu_tree.h"

static uint64_t on_out(void *ctx, const struct tapir_rec_switch *out,
		       const struct tapir_trace_ids *ids);
static void on_span(void *ctx, const struct tapir_offcpu_span *span);

int tapir_otlp_samples__init(struct tapir_otlp_samples *s, const struct tapir_catalog *catalog,
			     uint64_t begin_ns, uint64_t begin_utc_ns)
{
	static const struct tapir_offcpu_fns fns = {on_out, on_span};

	*s = (struct tapir_otlp_samples){.catalog = catalog,
					 .begin_ns = begin_ns,
					 .begin_utc_ns = begin_utc_ns,
					 .first_utc_ns = UINT64_MAX};
	s->offcpu = tapir_offcpu__new(&fns, s);
	return s->offcpu ? 0 : -ENOMEM;
}

void tapir_otlp_samples__fini(struct tapir_otlp_samples *s)
{
	struct tapir_otlp_owner *owner;

	tapir_vec_for_each (owner, &s->owners) {
		free(owner->comm);
		free(owner->exe);
		free(owner->cgroup);
		free((char *)owner->resource.data);
	}
	tapir_keyed__fini(&s->owners);
	tapir_keyed__fini(&s->rows);
	tapir_keyed__fini(&s->links);
	tapir_vec__fini(&s->points);
	tapir_stack_tree__fini(&s->tree);
	tapir_offcpu__free(s->offcpu);
	s->offcpu = NULL;
}

/* ---- what identifies a row ------------------------------------------------------------------ */

static char *dup_otlp_text(struct tapir_otlp_samples *s, struct tapir_sv sv)
{
	char *text = sv.len ? strndup(sv.data, sv.len) : NULL;

	s->failed |= sv.len && !text;
	return text;
}

static uint64_t hash_text(uint64_t hash, struct tapir_sv text)
{
	return tapir_hash__bytes(tapir_hash__mix(hash, text.len), text.data, text.len);
}

static struct tapir_sv copy_of(struct tapir_otlp_samples *s, struct tapir_sv bytes)
{
	char *copy = bytes.len ? malloc(bytes.len) : NULL;

	s->failed |= bytes.len && !copy;
	if (!copy)
		return (struct tapir_sv){};
	memcpy(copy, bytes.data, bytes.len);
	return (struct tapir_sv){copy, bytes.len};
}

static void describe_owner(struct tapir_otlp_samples *s, struct tapir_otlp_owner *owner,
			   const struct tapir_process_view *view, struct tapir_sv resource)
{
	owner->comm = dup_otlp_text(s, view->comm);
	owner->exe = dup_otlp_text(s, view->exe);
	owner->cgroup = dup_otlp_text(s, view->cgroup);
	owner->resource = copy_of(s, resource);
}

/* The owner's index; UINT32_MAX: there is no more room. */
static uint32_t owner_of(struct tapir_otlp_samples *s, uint32_t tgid, uint64_t time_ns)
{
	const struct tapir_rec_process *rec = tapir_catalog__process(s->catalog, tgid, time_ns);
	const struct tapir_rec_resource *says = tapir_catalog__resource(s->catalog, tgid, time_ns);
	struct tapir_process_view view = {};
	struct tapir_resource_view resource = {};
	const size_t cnt = s->owners.cnt;
	uint64_t key = tapir_hash__mix(1, tgid);
	struct tapir_otlp_owner *owner;

	if (rec) {
		tapir_process_view__of(&rec->h, &view);
		key = tapir_hash__mix(key, rec->start_ns);
		key = hash_text(hash_text(key, view.comm), view.exe);
	}
	if (says) {
		tapir_resource_view__of(&says->h, &resource);
		key = hash_text(key, resource.payload);
	}
	owner = tapir_keyed__add(&s->owners, key, TAPIR_OTLP_MAX_OWNERS,
				 ((struct tapir_otlp_owner){.tgid = tgid}));
	if (s->owners.cnt > cnt)
		describe_owner(s, owner, &view, resource.payload);
	s->failed |= s->owners.failed;
	return owner ? (uint32_t)(owner - s->owners.data) : UINT32_MAX;
}

/* 0: none, or there is no more room. */
static uint32_t link_of(struct tapir_otlp_samples *s, const struct tapir_trace_ids *ids)
{
	uint64_t key = ids ? tapir_hash__bytes(3, ids, sizeof(*ids)) : 0;
	const struct tapir_trace_ids *link;

	if (!ids)
		return 0;
	link = s->rows.cnt < TAPIR_OTLP_MAX_ROWS
		       ? tapir_keyed__add(&s->links, key, TAPIR_OTLP_MAX_ROWS, *ids)
		       : tapir_keyed__get(&s->links, key);
	s->failed |= s->links.failed;
	return link ? (uint32_t)(link - s->links.data) + 1 : 0;
}

static uint64_t otlp_row_key(const struct tapir_otlp_row *row)
{
	uint64_t key = tapir_hash__mix(row->kind, (uint64_t)row->owner << 32 | row->node);

	return tapir_hash__mix(key, row->link);
}

/* The row's index; UINT32_MAX: there is no more room. */
static uint32_t find_row(struct tapir_otlp_samples *s, const struct tapir_otlp_row *row)
{
	const size_t cnt = s->rows.cnt;
	const struct tapir_otlp_row *found =
		tapir_keyed__add(&s->rows, otlp_row_key(row), TAPIR_OTLP_MAX_ROWS, *row);

	s->owners.data[row->owner].row_cnts[row->kind] += s->rows.cnt > cnt;
	s->failed |= s->rows.failed;
	return found ? (uint32_t)(found - s->rows.data) : UINT32_MAX;
}

/* The row in which the observations of such a stack are added up; UINT32_MAX: they are left out. */
static uint32_t otlp_row_of(struct tapir_otlp_samples *s, enum tapir_otlp_kind kind,
			    const struct tapir_stack_ref *ref, uint32_t node,
			    const struct tapir_trace_ids *ids)
{
	struct tapir_otlp_row row = {.node = node == UINT32_MAX ? TAPIR_OTLP_NO_NODE : node,
				     .owner = owner_of(s, ref->tgid, ref->time_ns),
				     .link = link_of(s, ids),
				     .kind = kind};
	uint32_t idx = row.owner == UINT32_MAX ? UINT32_MAX : find_row(s, &row);

	if (idx == UINT32_MAX && row.owner != UINT32_MAX && row.link) {
		row.link = 0;
		idx = find_row(s, &row);
	}
	if (idx != UINT32_MAX && ids && !row.link)
		s->untied++;
	return idx;
}

/* ---- observations --------------------------------------------------------------------------- */

static uint64_t utc_of(const struct tapir_otlp_samples *s, uint64_t time_ns)
{
	uint64_t utc_ns = tapir_catalog__utc_ns(s->catalog, time_ns);

	return utc_ns ? utc_ns : s->begin_utc_ns + (time_ns - s->begin_ns);
}

static void forget_times(struct tapir_otlp_samples *s)
{
	tapir_vec__fini(&s->points);
	s->has_no_times = true;
}

static void observe(struct tapir_otlp_samples *s, uint32_t row, uint64_t time_ns, uint64_t value)
{
	struct tapir_otlp_point point = {row, utc_of(s, time_ns), value};

	if (row >= s->rows.cnt) {
		s->skipped_cnt++;
		return;
	}
	s->rows.data[row].sum += value;
	s->owners.data[s->rows.data[row].owner].sums[s->rows.data[row].kind] += value;
	if (point.utc_ns < s->first_utc_ns)
		s->first_utc_ns = point.utc_ns;
	if (point.utc_ns >= s->end_utc_ns)
		s->end_utc_ns = point.utc_ns + 1;
	if (s->points.cnt == TAPIR_OTLP_MAX_POINTS)
		forget_times(s);
	if (s->has_no_times)
		return;
	s->rows.data[row].cnt++;
	s->failed |= !tapir_vec__push(&s->points, point);
}

static uint64_t on_out(void *ctx, const struct tapir_rec_switch *out,
		       const struct tapir_trace_ids *ids)
{
	struct tapir_otlp_samples *s = ctx;
	struct tapir_stack_ref ref = {.tgid = out->out_tgid, .time_ns = out->h.time_ns};
	uint32_t node;

	if (s->trace && !tapir_trace_filter__is(s->trace, ids))
		return UINT64_MAX;
	node = tapir_offcpu_tree__node(&s->tree, s->catalog, out);
	return node == UINT32_MAX ? UINT64_MAX : otlp_row_of(s, TAPIR_OTLP_OFFCPU, &ref, node, ids);
}

static void on_span(void *ctx, const struct tapir_offcpu_span *span)
{
	if (span->token != UINT64_MAX)
		observe(ctx, (uint32_t)span->token, span->from_ns, span->until_ns - span->from_ns);
}

static void add_sample(struct tapir_otlp_samples *s, const struct tapir_rec_sample *sample)
{
	struct tapir_stack_ref ref = {.tgid = sample->tgid,
				      .time_ns = sample->h.time_ns,
				      .stack_id = sample->stack_id,
				      .kstack_id = sample->kstack_id};
	uint64_t period = sample->period ? sample->period : 1;
	uint32_t row;

	if (s->trace && !tapir_trace_filter__has(s->trace, &sample->h)) {
		s->has_samples = true;
		return;
	}
	row = otlp_row_of(s, TAPIR_OTLP_CPU, &ref,
			  tapir_stack_tree__node(&s->tree, s->catalog, &ref),
			  tapir_rec__trace_ids(&sample->h));

	s->periods_differ |= s->has_samples && s->period != period;
	s->has_samples = true;
	s->period = period;
	s->sample_cnt += row < s->rows.cnt;
	observe(s, row, ref.time_ns, period);
}

/* Events are for files without samples: what came before the first one is not written. */
static void add_otlp_event(struct tapir_otlp_samples *s, const struct tapir_rec_event *ev)
{
	struct tapir_stack_ref ref = {
		.tgid = ev->tgid, .time_ns = ev->h.time_ns, .stack_id = ev->stack_id};
	struct tapir_event_view view;
	uint32_t node;

	tapir_event_view__of(&ev->h, &view);
	ref.kstack_id = view.kstack_id;
	if (s->has_samples || (s->trace && !tapir_trace_filter__has(s->trace, &ev->h)))
		return;
	node = tapir_stack_tree__node(&s->tree, s->catalog, &ref);
	if (node != UINT32_MAX)
		observe(s, otlp_row_of(s, TAPIR_OTLP_EVENTS, &ref, node, view.trace), ref.time_ns,
			1);
}

int tapir_otlp_samples__add(struct tapir_otlp_samples *s, const struct tapir_rec *rec)
{
	int err = 0;

	if (rec->type == TAPIR_REC_SAMPLE)
		add_sample(s, (const void *)rec);
	else if (rec->type == TAPIR_REC_EVENT)
		add_otlp_event(s, (const void *)rec);
	else
		err = tapir_offcpu__add(s->offcpu, rec, NULL, NULL);
	return s->failed || s->tree.failed ? -ENOMEM : err;
}

int tapir_otlp_samples__finish(struct tapir_otlp_samples *s)
{
	int err = tapir_offcpu__finish(s->offcpu);

	return s->failed || s->tree.failed ? -ENOMEM : err;
}
