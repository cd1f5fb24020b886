// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counts every record of a file: a few look-ups by number each, while names are read once per row.
 * Rows of one name are one row: sites of one event differ in their operands only, and a thread has
 * a row for each of its names.
 */
#include "analyze/summary_impl.h"

#include <stdlib.h>
#include <string.h>

#include "decode/otel_resource.h"
#include "trace/rehost.h"

#define NO_ROW	  TAPIR_NO_ROW

/* The event 0 of each EventSource, with the text of what went wrong: it stands for no event. */
#define COMPLAINT "EventSourceMessage"

#define META_MAX  1024 /* keys; each is searched for among all */

/* A name that changes often takes no more of the text's bytes than its last value. */
static void replace(struct tapir_summary *s, char **text, struct tapir_sv sv)
{
	size_t old_bytes = *text ? strlen(*text) : 0;

	if (old_bytes == sv.len && !memcmp(*text ? *text : "", sv.data, sv.len))
		return;
	s->text_bytes -= old_bytes;
	free(*text);
	*text = tapir_summary__copy(s, sv);
}

/* ---- rows ------------------------------------------------------------------------------- */

/* Rows of one name are one row: sites of one event differ in their operands only. */
static uint64_t new_event_row(struct tapir_summary *s, const struct tapir_rec_probe *rec)
{
	struct tapir_probe_view view = {};
	struct tapir_event_row row = {};
	uint64_t *by_name;
	bool is_new = false;

	if (rec)
		tapir_probe_view__of(&rec->h, &view);
	by_name = tapir_summary__slot(
		s, &s->event_by_name,
		tapir_summary__hash(tapir_summary__hash(1, view.provider), view.event), &is_new);
	if (!by_name)
		return NO_ROW;
	if (!is_new)
		return *by_name;
	/* A name without a row stays in the map: other sites of the event get no row, either. */
	*by_name = NO_ROW;
	if (s->events.cnt == TAPIR_SUMMARY_MAX_ROWS)
		return NO_ROW;
	row.provider = tapir_summary__copy(s, view.provider);
	row.event = tapir_summary__copy(s, rec ? view.event : tapir_sv__of("(not described)"));
	row.is_complaint = rec && !rec->event_id && tapir_sv__is(view.event, COMPLAINT);
	row.made_idx = (uint32_t)s->events.cnt;
	if (tapir_vec__push(&s->events, row))
		*by_name = s->events.cnt - 1;
	else
		s->failed = true;
	return *by_name;
}

static uint64_t event_row(struct tapir_summary *s, const struct tapir_catalog *catalog,
			  uint32_t probe_id)
{
	bool is_new = false;
	uint64_t *idx = tapir_summary__slot(s, &s->event_by_probe, probe_id, &is_new);

	if (!idx)
		return NO_ROW;
	if (is_new)
		*idx = new_event_row(s, tapir_catalog__probe(catalog, probe_id));
	return *idx;
}

/* A process and a thread, as named by the records of that time: ids are reused. */
struct process_ref {
	uint32_t pid, tid;
	uint64_t life;
	const struct tapir_rec_thread *thread; /* NULL: unknown */
	struct tapir_sv host;		       /* empty: the file has one host */
};

static struct process_ref process_at(const struct tapir_catalog *catalog, uint32_t pid,
				     uint32_t tid, uint64_t time_ns)
{
	const struct tapir_rec_thread *thread =
		tid ? tapir_catalog__thread(catalog, tid, time_ns) : NULL;

	return (struct process_ref){.pid = pid,
				    .tid = tid,
				    .life = tapir_catalog__life(catalog, pid, time_ns),
				    .thread = thread && thread->tgid == pid ? thread : NULL,
				    .host = tapir_catalog__host_name(catalog, tapir_host__of(pid))};
}

static uint64_t key_of_process(const struct process_ref *ref)
{
	return ref->life ? tapir_hash__mix(ref->life, ref->pid) : ref->pid;
}

static uint64_t process_row(struct tapir_summary *s, const struct process_ref *ref)
{
	bool is_new = false;
	uint64_t *idx = tapir_summary__slot(s, &s->process_by_life, key_of_process(ref), &is_new);
	struct tapir_process_row row = {.pid = ref->pid};

	if (!idx || !is_new)
		return idx ? *idx : NO_ROW;
	*idx = NO_ROW;
	if (s->processes.cnt == TAPIR_SUMMARY_MAX_ROWS)
		return NO_ROW;
	row.comm = tapir_summary__copy(s, (struct tapir_sv){});
	row.exe = tapir_summary__copy(s, (struct tapir_sv){});
	row.service = tapir_summary__copy(s, (struct tapir_sv){});
	row.host = ref->host.len ? tapir_summary__copy(s, ref->host) : NULL;
	if (tapir_vec__push(&s->processes, row))
		*idx = s->processes.cnt - 1;
	return *idx;
}

static void name_process(struct tapir_summary *s, const struct process_ref *ref,
			 struct tapir_sv comm, struct tapir_sv exe)
{
	uint64_t idx = process_row(s, ref);
	struct tapir_process_row *row;

	if (idx == NO_ROW)
		return;
	row = &s->processes.data[idx];
	if (comm.len)
		replace(s, &row->comm, comm);
	if (exe.len)
		replace(s, &row->exe, exe);
}

/* A forked child runs its parent's program until it executes another one. */
static void inherit_program(struct tapir_summary *s, const struct process_ref *ref,
			    const struct process_ref *parent_ref)
{
	uint64_t child = process_row(s, ref);
	const uint64_t *parent = tapir_map__get(&s->process_by_life, key_of_process(parent_ref));

	if (child == NO_ROW || !parent || *parent == NO_ROW || *parent == child)
		return;
	replace(s, &s->processes.data[child].exe, tapir_sv__of(s->processes.data[*parent].exe));
}

/* Rows of threads are numbered as their names are. */
static uint64_t thread_row(struct tapir_summary *s, const struct process_ref *ref, bool is_used)
{
	uint64_t key = tapir_hash__mix(key_of_process(ref), ref->tid), process;
	size_t idx = tapir_thread_names__row(&s->thread_names, key, ref->thread, is_used,
					     TAPIR_SUMMARY_MAX_ROWS);
	const struct tapir_thread_row made = {.pid = ref->pid, .tid = ref->tid};
	bool is_new = idx == s->threads.cnt;
	struct tapir_thread_row *row = tapir_thread_names__slot(&s->threads, idx, made);
	const struct tapir_thread_name *name;

	s->failed |= s->thread_names.failed || (!row && idx != TAPIR_THREAD_NAMES_NO_ROW);
	if (!row)
		return NO_ROW;
	name = &s->thread_names.rows.data[idx];
	process = is_new && name->is_first ? process_row(s, ref) : NO_ROW;
	if (process != NO_ROW)
		s->processes.data[process].thread_cnt++;
	memcpy(row->comm, name->comm, sizeof(name->comm));
	return idx;
}

/* Both rows of a thread; NO_ROW where there is none. */
static void find_rows(struct tapir_summary *s, const struct tapir_catalog *catalog,
		      struct tapir_known_thread *out, uint64_t time_ns)
{
	const struct process_ref ref = process_at(catalog, out->pid, out->tid, time_ns),
				 last = process_at(catalog, out->pid, out->tid, UINT64_MAX);

	out->from_ns = time_ns;
	out->is_last = ref.life == last.life && ref.thread == last.thread;
	out->version = tapir_catalog__version(catalog);
	out->process = process_row(s, &ref);
	out->row = thread_row(s, &ref, true);
}

/*
 * Adds to the process's and the thread's row. Records of a thread come in a row, and as long as
 * nothing newer is known of it they count for the same two.
 */
static void count_captured(struct tapir_summary *s, const struct tapir_catalog *catalog,
			   uint32_t pid, uint32_t tid, uint64_t time_ns, int family,
			   uint64_t weight)
{
	struct tapir_known_thread *known = &s->known_threads[tid % TAPIR_KNOWN_THREADS];

	if (known->tid != tid || known->pid != pid || !known->is_last ||
	    known->version != tapir_catalog__version(catalog) || time_ns < known->from_ns) {
		*known = (struct tapir_known_thread){.pid = pid, .tid = tid};
		find_rows(s, catalog, known, time_ns);
	}
	if (known->process != NO_ROW)
		s->processes.data[known->process].captured[family] += weight;
	if (known->row != NO_ROW)
		s->threads.data[known->row].captured[family] += weight;
	s->more += known->process == NO_ROW || known->row == NO_ROW;
}

/* ---- a type each ------------------------------------------------------------------------ */

static void add_summary_event(struct tapir_summary *s, const struct tapir_catalog *catalog,
			      const struct tapir_rec *rec)
{
	const struct tapir_rec_event *ev = (const void *)rec;
	uint64_t event = event_row(s, catalog, ev->probe_id);
	struct tapir_event_view view;

	s->captured[TAPIR_FAMILY_EVENT]++;
	count_captured(s, catalog, ev->tgid, ev->tid, rec->time_ns, TAPIR_FAMILY_EVENT, 1);
	if (event == NO_ROW) {
		s->more++;
		return;
	}
	s->events.data[event].captured++;
	if (!ev->stack_id)
		return;
	tapir_event_view__of(rec, &view);
	tapir_summary__count_event_stack(s, catalog,
					 &(struct tapir_stack_ref){.tgid = ev->tgid,
								   .time_ns = rec->time_ns,
								   .stack_id = ev->stack_id,
								   .kstack_id = view.kstack_id,
								   .salt = event});
}

static void add_sample(struct tapir_summary *s, const struct tapir_catalog *catalog,
		       const struct tapir_rec *rec)
{
	const struct tapir_rec_sample *sample = (const void *)rec;

	s->captured[TAPIR_FAMILY_SAMPLE]++;
	s->sample_period = sample->period;
	count_captured(s, catalog, sample->tgid, sample->tid, rec->time_ns, TAPIR_FAMILY_SAMPLE, 1);
	tapir_summary__count_sample_stack(s, catalog, sample);
}

/* Counts grow coarser when the time grows: two parts become one. */
static void add_to_times(struct tapir_loss_row *row, uint64_t time_ns, uint64_t cnt)
{
	uint64_t part;

	if (time_ns < row->base_ns)
		time_ns = row->base_ns;
	while ((part = (time_ns - row->base_ns) / row->width_ns) >= TAPIR_SUMMARY_TIMES) {
		for (unsigned i = 0; i < TAPIR_SUMMARY_TIMES; i++)
			row->counts[i] = i < TAPIR_SUMMARY_TIMES / 2
						 ? row->counts[2 * i] + row->counts[2 * i + 1]
						 : 0;
		row->width_ns *= 2;
	}
	row->counts[part] += cnt;
}

#define FIRST_WIDTH_NS 100000000ull

/* A LOSS has a time range; the loss counts for its middle. */
static void count_loss(const struct tapir_summary *s, struct tapir_loss_row *row,
		       const struct tapir_rec_loss *loss)
{
	uint64_t until_ns = loss->until_ns ? loss->until_ns : loss->h.time_ns;
	uint64_t from_ns = loss->from_ns && loss->from_ns < until_ns ? loss->from_ns : until_ns;

	if (!row->width_ns) {
		row->width_ns = FIRST_WIDTH_NS;
		row->base_ns = s->start_ns && s->start_ns < until_ns ? s->start_ns : from_ns;
		row->from_ns = from_ns;
	}
	row->cnt += loss->count;
	if (from_ns < row->from_ns)
		row->from_ns = from_ns;
	if (until_ns > row->until_ns)
		row->until_ns = until_ns;
	add_to_times(row, from_ns + (until_ns - from_ns) / 2, loss->count);
}

static void add_loss(struct tapir_summary *s, const struct tapir_catalog *catalog,
		     const struct tapir_rec *rec)
{
	const struct tapir_rec_loss *loss = (const void *)rec;
	bool is_skipped = loss->cause == TAPIR_LOSS_NOT_WHERE;
	uint64_t event;

	if (loss->cause >= TAPIR_LOSS_CAUSE_CNT)
		return;
	count_loss(s, &s->lost[loss->cause], loss);
	if (!loss->probe_id ||
	    (!is_skipped && tapir_loss__kind(loss->cause) != TAPIR_LOSS_KIND_EVENT))
		return;
	event = event_row(s, catalog, loss->probe_id);
	if (event != NO_ROW && is_skipped)
		s->events.data[event].skipped_cnt += loss->count;
	else if (event != NO_ROW)
		s->events.data[event].lost += loss->count;
}

static void add_summary_process(struct tapir_summary *s, const struct tapir_catalog *catalog,
				const struct tapir_rec *rec)
{
	struct tapir_process_view view;
	struct process_ref ref, parent;

	tapir_process_view__of(rec, &view);
	ref = process_at(catalog, view.rec->tgid, 0, rec->time_ns);
	parent = process_at(catalog, view.rec->parent_tgid, 0, rec->time_ns);
	if (view.rec->kind == TAPIR_PROCESS_FORK && !view.exe.len)
		inherit_program(s, &ref, &parent);
	name_process(s, &ref, view.comm, view.exe);
}

static void add_thread(struct tapir_summary *s, const struct tapir_catalog *catalog,
		       const struct tapir_rec *rec)
{
	struct tapir_thread_view view;
	struct process_ref ref;

	tapir_thread_view__of(rec, &view);
	ref = process_at(catalog, view.rec->tgid, 0, rec->time_ns);
	ref.tid = view.rec->tid;
	ref.thread = view.rec;
	(void)thread_row(s, &ref, false);
	name_process(s, &ref, view.leader_comm, (struct tapir_sv){});
}

static void add_gap(struct tapir_summary *s, const struct tapir_catalog *catalog,
		    const struct tapir_rec *rec)
{
	struct tapir_gap_view view;
	struct tapir_gap_row row;

	(void)catalog;
	tapir_gap_view__of(rec, &view);
	s->gap_cnt++;
	if (s->gaps.cnt == TAPIR_SUMMARY_MAX_ROWS) {
		s->more++;
		return;
	}
	row = (struct tapir_gap_row){.pid = view.rec->tgid,
				     .reason = view.rec->reason,
				     .path = tapir_summary__copy(s, view.path),
				     .from_ns = view.rec->from_ns,
				     .until_ns = view.rec->until_ns};
	s->failed |= !tapir_vec__push(&s->gaps, row);
}

static void add_meta(struct tapir_summary *s, const struct tapir_catalog *catalog,
		     const struct tapir_rec *rec)
{
	struct tapir_meta_view view;
	struct tapir_meta_row row, *known;

	(void)catalog;
	tapir_meta_view__of(rec, &view);
	tapir_vec_for_each (known, &s->metas)
		if (known->key && view.key.len == strlen(known->key) &&
		    !memcmp(known->key, view.key.data, view.key.len)) {
			replace(s, &known->value, view.value);
			return;
		}
	if (s->metas.cnt == META_MAX)
		return;
	row = (struct tapir_meta_row){.key = tapir_summary__copy(s, view.key),
				      .value = tapir_summary__copy(s, view.value)};
	s->failed |= !tapir_vec__push(&s->metas, row);
}

/* Counted for the first it is about: a thread that a switch lets in went out before. */
static void add_resource(struct tapir_summary *s, const struct tapir_catalog *catalog,
			 const struct tapir_rec *rec)
{
	struct tapir_resource_view view;
	struct tapir_sv service;
	struct process_ref ref;
	uint64_t idx;

	tapir_resource_view__of(rec, &view);
	service = tapir_otel_resource__text(view.payload, "service.name");
	ref = process_at(catalog, view.rec->tgid, 0, rec->time_ns);
	idx = service.len ? process_row(s, &ref) : NO_ROW;
	if (idx != NO_ROW)
		replace(s, &s->processes.data[idx].service, service);
}

static void add_captured(struct tapir_summary *s, const struct tapir_catalog *catalog,
			 const struct tapir_rec *rec, int family)
{
	int which = tapir_rec__counted_thread(rec);
	uint32_t tid = tapir_rec__tid(rec, which);
	uint64_t weight = tapir_rec__weight(rec);

	if (tapir_rec__is_snapshot(rec))
		return;
	s->captured[family] += weight;
	if (tid)
		count_captured(s, catalog, tapir_rec__tgid(rec, which), tid, rec->time_ns, family,
			       weight);
}

/* Not a description, which may describe something long past. */
static bool is_happening(const struct tapir_rec *rec)
{
	return tapir_family__of(rec->type) >= 0 || rec->type == TAPIR_REC_LOSS;
}

void tapir_summary__pass(struct tapir_summary *s, const struct tapir_rec *rec)
{
	if (is_happening(rec) && (!s->first_ns || rec->time_ns < s->first_ns))
		s->first_ns = rec->time_ns;
	if (is_happening(rec) && rec->type != TAPIR_REC_LOSS && rec->time_ns > s->until_ns)
		s->until_ns = rec->time_ns;
	if (rec->time_ns > s->last_ns)
		s->last_ns = rec->time_ns;
}

void tapir_summary__add(struct tapir_summary *s, const struct tapir_catalog *catalog,
			const struct tapir_rec *rec)
{
	static void (*const adders[])(struct tapir_summary *, const struct tapir_catalog *,
				      const struct tapir_rec *) = {
		[TAPIR_REC_EVENT] = add_summary_event,
		[TAPIR_REC_SAMPLE] = add_sample,
		[TAPIR_REC_LOSS] = add_loss,
		[TAPIR_REC_THREAD] = add_thread,
		[TAPIR_REC_PROCESS] = add_summary_process,
		[TAPIR_REC_GAP] = add_gap,
		[TAPIR_REC_META] = add_meta,
		[TAPIR_REC_RESOURCE] = add_resource,
	};

	int family = tapir_family__of(rec->type);

	tapir_summary__pass(s, rec);
	if (family >= 0 && family != TAPIR_FAMILY_SAMPLE) /* those are counted with their stacks */
		tapir_stack_ends__add(&s->ends, catalog, rec, (enum tapir_family_id)family);
	if (rec->type < sizeof(adders) / sizeof(adders[0]) && adders[rec->type])
		adders[rec->type](s, catalog, rec);
	else if (family >= 0)
		add_captured(s, catalog, rec, family);
}

void tapir_summary__fini(struct tapir_summary *s)
{
	for (size_t i = 0; i < s->events.cnt; i++) {
		free(s->events.data[i].provider);
		free(s->events.data[i].event);
	}
	for (size_t i = 0; i < s->processes.cnt; i++) {
		free(s->processes.data[i].comm);
		free(s->processes.data[i].exe);
		free(s->processes.data[i].service);
		free(s->processes.data[i].host);
	}
	for (size_t i = 0; i < s->modules.cnt; i++)
		free(s->modules.data[i].name);
	for (size_t i = 0; i < s->functions.cnt; i++) {
		free(s->functions.data[i].name);
		free(s->functions.data[i].module);
	}
	for (size_t i = 0; i < s->stacks.cnt; i++)
		free(s->stacks.data[i].functions);
	for (size_t i = 0; i < s->gaps.cnt; i++)
		free(s->gaps.data[i].path);
	for (size_t i = 0; i < s->metas.cnt; i++) {
		free(s->metas.data[i].key);
		free(s->metas.data[i].value);
	}
	tapir_vec__fini(&s->events);
	tapir_vec__fini(&s->processes);
	tapir_vec__fini(&s->threads);
	tapir_vec__fini(&s->functions);
	tapir_vec__fini(&s->modules);
	tapir_vec__fini(&s->stacks);
	tapir_vec__fini(&s->gaps);
	tapir_vec__fini(&s->metas);
	tapir_map__fini(&s->event_by_probe);
	tapir_map__fini(&s->event_by_name);
	tapir_map__fini(&s->process_by_life);
	tapir_map__fini(&s->function_by_name);
	tapir_thread_names__fini(&s->thread_names);
	tapir_map__fini(&s->module_by_name);
	tapir_stack_cache__fini(&s->memo);
	tapir_frame_cache__fini(&s->frame_cache);
	tapir_frame_chains__fini(&s->chains);
	tapir_vec__fini(&s->resolved);
	tapir_vec__fini(&s->frames);
	tapir_map__fini(&s->stack_by_functions);
	tapir_stack_ends__fini(&s->ends);
}

uint64_t tapir_summary__lost(const struct tapir_summary *s, int kind)
{
	uint64_t sum = 0;

	for (unsigned cause = 0; cause < TAPIR_LOSS_CAUSE_CNT; cause++)
		if (tapir_loss__kind(cause) == kind)
			sum += s->lost[cause].cnt;
	return sum;
}

const char *tapir_summary__meta(const struct tapir_summary *s, const char *key)
{
	for (size_t i = 0; i < s->metas.cnt; i++)
		if (s->metas.data[i].key && !strcmp(s->metas.data[i].key, key))
			return s->metas.data[i].value;
	return NULL;
}
