// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/finding.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/view.h"

#define MAX_LOCKS    4096u
#define GC_PERCENT   5	/* of the CPU, or of the time: from there on it is worth a word */
#define JIT_PERCENT  20 /* of the CPU */
#define LOCK_PERCENT 10 /* of the time, all threads together */
#define HEAP_PERCENT 10 /* of what was allocated, from one method */

static void on_sample(void *ctx, struct tapir_tl_thread *t, const struct tapir_rec_sample *sample)
{
	struct tapir_finding *f = ctx;
	enum tapir_work work =
		tapir_works__of(&f->works, f->tl, t, TAPIR_NO_NODE, sample->h.time_ns);

	f->samples++;
	f->gc_samples += work == TAPIR_WORK_GC;
	f->jit_samples += work == TAPIR_WORK_JIT;
}

static void on_event(void *ctx, struct tapir_tl_thread *t, const struct tapir_probe_view *probe,
		     const struct tapir_event_view *event)
{
	struct tapir_finding *f = ctx;

	tapir_allocators__add(&f->allocators, f->tl, t, probe, event);
}

/* A .NET collection is inside its pause; one in the background stops the program only briefly. */
static void count_dotnet_gc(struct tapir_finding *f, struct tapir_interval *i)
{
	const struct tapir_kind *kind = &tapir_timeline__pairs(f->tl)->kinds.data[i->kind];

	if (!i->label || strcmp(kind->name, "gc") != 0 ||
	    strcmp(kind->provider, "Microsoft-Windows-DotNETRuntime") != 0 ||
	    strstr(i->label, "BackgroundGC"))
		return;
	f->dotnet_gc_cnt++;
	f->dotnet_gen2_cnt += i->label[0] == '2';
	if (i->until_ns - i->from_ns < f->dotnet_gc_ns)
		return;
	f->dotnet_gc_ns = i->until_ns - i->from_ns;
	free(f->dotnet_gc_label);
	f->dotnet_gc_label = i->label;
	i->label = NULL; /* taken */
}

static char *lock_label(const struct tapir_finding *f, const struct tapir_interval *i)
{
	const struct tapir_kind *kind = &tapir_timeline__pairs(f->tl)->kinds.data[i->kind];
	struct tapir_str text = {};

	tapir_str__adds(&text, kind->name);
	if (i->label) {
		tapir_str__addc(&text, ' ');
		tapir_str__add_printable(&text, i->label, strlen(i->label));
	}
	return text.data;
}

static void count_lock(struct tapir_finding *f, const struct tapir_interval *i)
{
	uint64_t key = tapir_hash__mix(tapir_hash__mix(1, i->tgid), i->kind), *idx;
	struct tapir_lock_found lock = {};

	key = tapir_hash__bytes(key, i->label ? i->label : "", i->label ? strlen(i->label) : 0);
	idx = tapir_map__get(&f->lock_by_key, key);
	if (!idx && f->locks.cnt < MAX_LOCKS) {
		lock.key = key;
		lock.label = lock_label(f, i);
		idx = lock.label ? tapir_map__put(&f->lock_by_key, key, NULL) : NULL;
		if (!idx || !tapir_vec__push(&f->locks, lock)) {
			free(lock.label);
			return;
		}
		*idx = f->locks.cnt - 1;
	}
	if (!idx || *idx >= f->locks.cnt)
		return;
	f->locks.data[*idx].ns += i->until_ns - i->from_ns;
	f->locks.data[*idx].cnt++;
}

static void on_close(void *ctx, struct tapir_interval *i)
{
	struct tapir_finding *f = ctx;
	uint64_t took_ns = i->until_ns - i->from_ns;

	if (i->flags & (TAPIR_INTERVAL_UNBEGUN | TAPIR_INTERVAL_UNENDED))
		return;
	if (i->cause == TAPIR_CAUSE_NONE)
		count_dotnet_gc(f, i);
	if (i->cause == TAPIR_CAUSE_GC) {
		f->gc_cnt++;
		f->gc_ns += took_ns;
		f->gc_worst_ns = took_ns > f->gc_worst_ns ? took_ns : f->gc_worst_ns;
	}
	if (i->cause == TAPIR_CAUSE_LOCK) {
		f->lock_cnt++;
		f->lock_ns += took_ns;
		count_lock(f, i);
	}
}

const struct tapir_timeline_fns tapir_finding_fns = {
	.sample = on_sample, .event = on_event, .close = on_close};

/* ---- the sentence --------------------------------------------------------------------------- */

static double percent(uint64_t part, uint64_t of)
{
	return of ? 100.0 * (double)part / (double)of : 0;
}

static void begin_part(struct tapir_str *out, size_t from)
{
	if (out->len > from)
		tapir_str__adds(out, "; ");
}

/* "7 of 7 collections gen 2, the longest AllocLarge NonConcurrentGC" */
static void add_dotnet_gcs(const struct tapir_finding *f, struct tapir_str *out)
{
	const char *why = f->dotnet_gc_label ? strchr(f->dotnet_gc_label, ' ') : NULL;

	if (!f->dotnet_gen2_cnt)
		return;
	tapir_str__addf(out, ", %" PRIu64 " of %" PRIu64 " collections gen 2", f->dotnet_gen2_cnt,
			f->dotnet_gc_cnt);
	if (!why)
		return;
	tapir_str__adds(out, ", the longest");
	tapir_str__add_printable(out, why, strlen(why));
}

static void add_allocator(const struct tapir_finding *f, struct tapir_str *out)
{
	const char *method = tapir_allocators__most(&f->allocators, f->tl);
	double share = percent(f->allocators.best_bytes, f->allocators.bytes);

	if (!method || share < HEAP_PERCENT)
		return;
	tapir_str__addf(out, "; %.0f%% of %.1f MB allocated from ", share,
			(double)f->allocators.bytes / 1e6);
	tapir_str__add_printable(out, method, strlen(method));
}

static void add_gc(const struct tapir_finding *f, uint64_t span_ns, struct tapir_str *out)
{
	char sum[TAPIR_NS_TEXT_BYTES], worst[TAPIR_NS_TEXT_BYTES];
	double cpu = percent(f->gc_samples, f->samples), time = percent(f->gc_ns, span_ns);

	if (cpu < GC_PERCENT && time < GC_PERCENT)
		return;
	if (cpu >= GC_PERCENT)
		tapir_str__addf(out, "%.0f%% of the CPU in GC", cpu);
	else
		tapir_str__addf(out, "%.0f%% of the time in GC", time);
	if (f->gc_cnt)
		tapir_str__addf(out,
				": %" PRIu64 " pause%s of %s in all (%.0f%% of the time), the "
				"longest %s",
				f->gc_cnt, f->gc_cnt == 1 ? "" : "s", tapir_ns__text(f->gc_ns, sum),
				time, tapir_ns__text(f->gc_worst_ns, worst));
	add_dotnet_gcs(f, out);
	add_allocator(f, out);
}

static void add_locks(const struct tapir_finding *f, uint64_t span_ns, size_t from,
		      struct tapir_str *out)
{
	const struct tapir_lock_found *lock, *worst = NULL;
	char waited[TAPIR_NS_TEXT_BYTES];

	if (percent(f->lock_ns, span_ns) < LOCK_PERCENT)
		return;
	tapir_vec_for_each (lock, &f->locks)
		if (!worst || lock->ns > worst->ns)
			worst = lock;
	begin_part(out, from);
	tapir_str__addf(out, "threads waited %s for locks", tapir_ns__text(f->lock_ns, waited));
	if (worst)
		tapir_str__addf(out, ", %.0f%% of it for %s", percent(worst->ns, f->lock_ns),
				worst->label);
}

void tapir_finding__add_text(const struct tapir_finding *f, struct tapir_str *out)
{
	uint64_t span_ns = tapir_timeline__span_ns(f->tl);
	size_t from = out->len;

	add_gc(f, span_ns, out);
	add_locks(f, span_ns, from, out);
	if (percent(f->jit_samples, f->samples) >= JIT_PERCENT) {
		begin_part(out, from);
		tapir_str__addf(out, "%.0f%% of the CPU in the JIT compiler",
				percent(f->jit_samples, f->samples));
	}
}

void tapir_finding__fini(struct tapir_finding *f)
{
	struct tapir_lock_found *lock;

	tapir_vec_for_each (lock, &f->locks)
		free(lock->label);
	tapir_vec__fini(&f->locks);
	tapir_map__fini(&f->lock_by_key);
	tapir_works__fini(&f->works);
	tapir_allocators__fini(&f->allocators);
	free(f->dotnet_gc_label);
}
