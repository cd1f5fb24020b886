// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See finding_interp_hotspots.h. LOOK records are read from outside, at times of their own, so they
 * are weighed against the CPU samples of the same threads: a function is named only if those
 * threads used most of the CPU time.
 */
#include "diagnose/finding_interp_hotspots.h"

#include <inttypes.h>

#include "base/keyed.h"
#include "diagnose/diagnosis_impl.h"

#define MAX_THREADS 65536u

void tapir_finding_interp_hotspots__add(struct tapir_diagnosis *f,
					const struct tapir_rec_interp_sample *sample, uint32_t node)
{
	struct tapir_interp_thread *thread =
		tapir_keyed__add(&f->interp_hotspots.threads, sample->tid, MAX_THREADS,
				 ((struct tapir_interp_thread){.tid = sample->tid}));
	uint32_t name =
		tapir_app_code__or_library(&f->app_code, tapir_timeline__stacks(f->tl), node);

	if (!thread)
		return;
	tapir_function_sums__add(f, &thread->functions, name, 1);
	tapir_function_sums__add(f, &f->interp_hotspots.functions, name, 1);
}

void tapir_finding_interp_hotspots__sample(struct tapir_diagnosis *f, uint32_t tid)
{
	struct tapir_interp_thread *thread =
		f->interp_hotspots.threads.cnt ? tapir_keyed__get(&f->interp_hotspots.threads, tid)
					       : NULL;

	if (thread)
		thread->sample_cnt++;
}

static bool is_conclusive(const struct tapir_diagnosis *f,
			  const struct tapir_function_sums *functions)
{
	return functions->sum >= TAPIR_LIMIT(INTERP_SAMPLES) &&
	       tapir_diagnosis__top_function(f, functions);
}

static void add_sampled_function(const struct tapir_diagnosis *f,
				 const struct tapir_function_sums *functions, struct tapir_str *out)
{
	tapir_str__adds(out, "most in ");
	tapir_diagnosis__add_name(f, functions->top_name, out);
	tapir_str__addf(
		out, " (%" PRIu64 " of %" PRIu64 " times that running threads' frames were read)",
		functions->top, functions->sum);
}

const char *tapir_finding_interp_hotspots__append_top_function(const struct tapir_diagnosis *f,
							       struct tapir_str *out)
{
	const struct tapir_function_sums *functions = &f->interp_hotspots.functions;
	const struct tapir_interp_thread *thread;
	uint64_t sample_cnt = 0;

	tapir_vec_for_each (thread, &f->interp_hotspots.threads)
		sample_cnt += thread->sample_cnt;
	if (!is_conclusive(f, functions) || !TAPIR_IS_SHARE(DOMINANT, sample_cnt, f->cpu.samples))
		return NULL;
	add_sampled_function(f, functions, out);
	return tapir_timeline__stacks(f->tl)->names.data[functions->top_name];
}

bool tapir_finding_interp_hotspots__append_of_thread(const struct tapir_diagnosis *f, uint32_t tid,
						     const char *before, struct tapir_str *out)
{
	const struct tapir_interp_thread *thread =
		tapir_keyed__get(&f->interp_hotspots.threads, tid);

	if (!thread || !is_conclusive(f, &thread->functions))
		return false;
	tapir_str__adds(out, before);
	add_sampled_function(f, &thread->functions, out);
	return true;
}

void tapir_finding_interp_hotspots__fini(struct tapir_diagnosis *f)
{
	struct tapir_interp_thread *thread;

	tapir_vec_for_each (thread, &f->interp_hotspots.threads)
		tapir_function_sums__fini(&thread->functions);
	tapir_keyed__fini(&f->interp_hotspots.threads);
	tapir_function_sums__fini(&f->interp_hotspots.functions);
}
