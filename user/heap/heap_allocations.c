// SPDX-License-Identifier: GPL-2.0-or-later
/* See heap_allocations.h. */
#include "heap/heap_allocations.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/diag.h"
#include "base/file.h"
#include "collect/request.h"
#include "decode/probe_name.h"
#include "heap/heap_events.h"

#define NAME	"the recording of allocations" /* in messages */
#define PROFILE "allocations"

static int record(struct tapir_heap_allocations *a, uint32_t tgid, uint64_t duration_ns)
{
	struct tapir_writer_opts file = {
		.sz = sizeof(file), .path = NAME, .has_fd = true, .fd = a->fd};
	struct tapir_request request = {.sz = sizeof(request),
					.no_samples = true,
					.no_sched = true,
					.duration_ns = duration_ns};
	struct tapir_recording_result result = {};
	struct tapir_recording_plan plan = {};
	int err = -ENOMEM;

	if (tapir_vec__push(&request.rules.pids, tgid) &&
	    tapir_vec__push(&request.profiles, PROFILE))
		err = tapir_request__plan(&request, &plan);
	plan.opts.file = &file;
	if (!err)
		err = tapir_recording__run(&plan.opts, &result);
	tapir_recording_plan__fini(&plan);
	tapir_vec__fini(&request.rules.pids);
	tapir_vec__fini(&request.profiles);
	return err;
}

static void on_event(void *ctx, struct tapir_tl_thread *thread,
		     const struct tapir_probe_view *probe, const struct tapir_event_view *event)
{
	struct tapir_heap_allocations *a = ctx;

	if (!tapir_tally__add(&a->ticks, thread, probe, event))
		tapir_tally__add(&a->samples, thread, probe, event);
}

static int read_all(struct tapir_heap_allocations *a)
{
	static const struct tapir_timeline_fns fns = {.event = on_event};
	const struct tapir_rec *rec;
	int err = tapir_timeline__listen(a->tl, &fns, a);

	tapir_reader__deliver_descriptions(a->reader, true);
	while (!err && (err = tapir_reader__next(a->reader, &rec)) > 0)
		err = tapir_timeline__add(a->tl, rec);
	if (!err)
		err = tapir_timeline__finish(a->tl);
	tapir_tally__sort(&a->ticks);
	tapir_tally__sort(&a->samples);
	return err;
}

int tapir_heap_allocations__record(struct tapir_heap_allocations *a, uint32_t tgid,
				   uint64_t duration_ns)
{
	const struct tapir_timeline_opts opts = {.wants_stacks = true};
	int err;

	*a = TAPIR_HEAP_NO_ALLOCATIONS;
	a->fd = memfd_create("tapir-heap", MFD_CLOEXEC);
	if (a->fd < 0)
		return tapir_diag__fail(-errno, "cannot create a file in memory: %s",
					tapir_errno__text(errno));
	err = record(a, tgid, duration_ns);
	if (!err)
		err = tapir_reader__open_fd(a->fd, NAME, &a->reader);
	if (err)
		return err;
	tapir_reader__complete_probes(a->reader, tapir_probe_name__complete);
	a->tl = tapir_timeline__new(tapir_reader__catalog(a->reader), &a->pairs, &opts);
	if (!a->tl)
		return -ENOMEM;
	a->ticks.id = TAPIR_TALLY_ALLOCATIONS;
	a->samples.id = TAPIR_TALLY_ALLOCATION_SAMPLES;
	a->ticks.tl = a->samples.tl = a->tl;
	return read_all(a);
}

const struct tapir_tally_row *tapir_heap_allocations__of(const struct tapir_heap_allocations *a,
							 const char *type)
{
	const struct tapir_tally *t = a->samples.cnt ? &a->samples : &a->ticks;
	struct tapir_tally_row *const *row;
	struct tapir_str name = {};

	tapir_vec_for_each (row, &t->rows) {
		tapir_str__clear(&name);
		tapir_heap_type__add_name(&name, (*row)->what);
		if (name.data && !strcmp(name.data, type))
			break;
	}
	tapir_str__fini(&name);
	return t->rows.data && row < t->rows.data + t->rows.cnt ? *row : NULL;
}

void tapir_heap_allocations__fini(struct tapir_heap_allocations *a)
{
	tapir_tally__fini(&a->ticks);
	tapir_tally__fini(&a->samples);
	tapir_timeline__free(a->tl);
	tapir_pairs__fini(&a->pairs);
	tapir_reader__close(a->reader);
	tapir_guard__fd(&a->fd);
	*a = TAPIR_HEAP_NO_ALLOCATIONS;
}
