// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See heap_allocations.h. The recording is read twice: first the samples and what collections
 * moved, then the snapshot at its end.
 */
#include "heap/heap_allocations.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "analyze/allocators.h"
#include "base/diag.h"
#include "base/file.h"
#include "decode/probe_name.h"
#include "heap/heap_events.h"

#define NAME "the recording of allocations" /* in messages */

static int record_allocations(struct tapir_heap_allocations *a,
			      const struct tapir_heap_record_opts *opts)
{
	struct tapir_writer_opts file = {
		.sz = sizeof(file), .path = NAME, .has_fd = true, .fd = a->fd};
	struct tapir_heap_record_opts with_file = *opts;

	with_file.file = &file;
	return tapir_heap__record(&with_file, NULL);
}

static int open_reader(const struct tapir_heap_allocations *a, struct tapir_reader **out)
{
	int err = tapir_reader__open_fd(a->fd, NAME, out);

	if (!err)
		tapir_reader__complete_probes(*out, tapir_probe_name__complete);
	return err;
}

/* ---- samples ----------------------------------------------------------------------------------- */

static uint64_t field_of(const struct tapir_event_fields *f, const char *name)
{
	const struct tapir_value *v = tapir_event_fields__find(f, name, strlen(name));

	return v && !v->bytes ? v->u64 : 0;
}

/* A runtime that samples has ticks, too: one of them is enough. */
static void follow_allocation(struct tapir_heap_allocations *a,
			      const struct tapir_tl_thread *thread,
			      const struct tapir_probe_view *probe,
			      const struct tapir_event_view *event, bool is_sample)
{
	const struct tapir_event_fields *f = tapir_timeline__fields(a->tl, probe, event);
	struct tapir_heap_sample sample = {
		.va = field_of(f, "Address"),
		.type_id = field_of(f, "TypeID"),
		.is_small = !field_of(f, "AllocationKind"),
		.node = event->rec->stack_id ? thread->last_node : TAPIR_NO_NODE,
	};

	sample.bytes = is_sample ? tapir_allocation_sample__bytes(field_of(f, "ObjectSize"))
				 : field_of(f, "AllocationAmount64");
	if (is_sample && !a->follows_samples) {
		tapir_heap_follow__fini(&a->follow);
		a->follow = (struct tapir_heap_follow){};
		a->follows_samples = true;
	}
	if (is_sample == a->follows_samples && sample.va)
		tapir_heap_follow__add(&a->follow, &sample);
}

static void allocations_on_event(void *ctx, struct tapir_tl_thread *thread,
				 const struct tapir_probe_view *probe,
				 const struct tapir_event_view *event)
{
	struct tapir_heap_allocations *a = ctx;
	bool has_ended = a->end_ns && event->rec->h.time_ns > a->end_ns;
	bool is_tick = tapir_event_counts__add(&a->ticks, thread, probe, event);
	bool is_sample = !is_tick && tapir_event_counts__add(&a->samples, thread, probe, event);

	if (has_ended)
		return;
	if (is_tick || is_sample)
		follow_allocation(a, thread, probe, event, is_sample);
	else if (tapir_sv__is(probe->provider, TAPIR_HEAP_PROVIDER))
		tapir_heap_follow__event(&a->follow, probe->rec->event_id, event->payload,
					 event->payload_bytes);
}

/* The objects and references of the heap need not be sorted by time. */
static bool is_content(const struct tapir_catalog *catalog, const struct tapir_rec *rec)
{
	const struct tapir_rec_probe *probe =
		rec->type == TAPIR_REC_EVENT
			? tapir_catalog__probe(catalog,
					       ((const struct tapir_rec_event *)rec)->probe_id)
			: NULL;
	struct tapir_probe_view about;

	if (!probe || !tapir_heap_event__is_content(probe->event_id))
		return false;
	tapir_probe_view__of(&probe->h, &about);
	return tapir_sv__is(about.provider, TAPIR_HEAP_PROVIDER);
}

static int read_allocations(struct tapir_heap_allocations *a)
{
	static const struct tapir_timeline_fns fns = {.event = allocations_on_event};
	const struct tapir_catalog *catalog = tapir_reader__catalog(a->reader);
	const struct tapir_rec *rec;
	int err = tapir_timeline__listen(a->tl, &fns, a);

	tapir_reader__deliver_descriptions(a->reader, true);
	while (!err && (err = tapir_reader__next(a->reader, &rec)) > 0) {
		err = is_content(catalog, rec) ? 0 : tapir_timeline__add(a->tl, rec);
		if (rec->type == TAPIR_REC_LOSS)
			a->lost_cnt += ((const struct tapir_rec_loss *)rec)->count;
	}
	if (!err)
		err = tapir_timeline__finish(a->tl);
	a->lost_cnt += tapir_timeline__stats(a->tl)->late;
	tapir_event_counts__sort(&a->ticks);
	tapir_event_counts__sort(&a->samples);
	return err;
}

static int read_snapshot(const struct tapir_heap_allocations *a, struct tapir_heap_snapshot *out)
{
	struct tapir_reader *reader;
	int mark = tapir_diag__cnt(), err = open_reader(a, &reader);

	if (err)
		return err;
	err = tapir_heap_snapshot__read(out, reader, NAME);
	tapir_reader__close(reader);
	if (err != -ENODATA)
		return err;
	tapir_diag__rewind(mark);
	return 0;
}

int tapir_heap_allocations__record(struct tapir_heap_allocations *a,
				   const struct tapir_heap_record_opts *opts,
				   struct tapir_heap_snapshot *snapshot)
{
	const struct tapir_timeline_opts tl = {.wants_stacks = true};
	int err;

	*a = TAPIR_HEAP_NO_ALLOCATIONS;
	a->fd = memfd_create("tapir-heap", MFD_CLOEXEC);
	if (a->fd < 0)
		return tapir_diag__fail(-errno, "cannot create a file in memory: %s",
					tapir_errno__text(errno));
	err = record_allocations(a, opts);
	if (!err)
		err = read_snapshot(a, snapshot);
	if (!err)
		err = open_reader(a, &a->reader);
	if (err)
		return err;
	a->tl = tapir_timeline__new(tapir_reader__catalog(a->reader), &a->pairs, &tl);
	if (!a->tl)
		return -ENOMEM;
	a->end_ns = snapshot->end_ns;
	a->ticks.id = TAPIR_COUNTS_ALLOCATIONS;
	a->samples.id = TAPIR_COUNTS_ALLOCATION_SAMPLES;
	a->ticks.tl = a->samples.tl = a->tl;
	return read_allocations(a);
}

const struct tapir_event_counts_row *
tapir_heap_allocations__of(const struct tapir_heap_allocations *a, const char *type)
{
	const struct tapir_event_counts *t = a->samples.cnt ? &a->samples : &a->ticks;
	struct tapir_event_counts_row *const *row;
	struct tapir_str name = {};

	tapir_vec_for_each (row, &t->rows) {
		tapir_str__clear(&name);
		tapir_heap_type__add_name(&name, (*row)->label);
		if (name.data && !strcmp(name.data, type))
			break;
	}
	tapir_str__fini(&name);
	return t->rows.data && row < t->rows.data + t->rows.cnt ? *row : NULL;
}

void tapir_heap_allocations__fini(struct tapir_heap_allocations *a)
{
	tapir_heap_follow__fini(&a->follow);
	tapir_event_counts__fini(&a->ticks);
	tapir_event_counts__fini(&a->samples);
	tapir_timeline__free(a->tl);
	tapir_pairs__fini(&a->pairs);
	tapir_reader__close(a->reader);
	tapir_guard__fd(&a->fd);
	*a = TAPIR_HEAP_NO_ALLOCATIONS;
}
