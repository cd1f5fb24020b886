// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The functions that the causes share: sums by name, roles of threads, the CPUs used. A thread's
 * name is read again every second of the recording, because threads rename themselves.
 */
#include <stdlib.h>
#include <string.h>

#include "base/keyed.h"
#include "diagnose/diagnosis_impl.h"
#include "diagnose/function_name.h"
#include "spec/runtime_db/lore.h"

#define MAX_NAMES   65536u
#define MAX_LABELS  4096u
#define MAX_THREADS 65536u

void tapir_function_sums__add(struct tapir_diagnosis *f, struct tapir_function_sums *w,
			      uint32_t name, uint64_t weight)
{
	uint64_t *sum;

	w->sum += weight;
	if (name == TAPIR_APP_CODE_NONE)
		return;
	sum = tapir_map__get(&w->by_name, name);
	if (!sum && w->by_name.cnt < MAX_NAMES)
		sum = tapir_map__put(&w->by_name, name, NULL);
	if (!sum) {
		f->names.more++;
		f->names.failed |= w->by_name.cnt < MAX_NAMES;
		return;
	}
	*sum += weight;
	if (*sum > w->top) {
		w->top = *sum;
		w->top_name = name;
	}
}

void tapir_function_sums__add_at(struct tapir_diagnosis *f, struct tapir_function_sums *w,
				 uint32_t name, uint32_t node, uint64_t weight)
{
	tapir_function_sums__add(f, w, name, weight);
	if (w->top && w->top_name == name)
		w->node = node;
}

const struct tapir_map_slot *tapir_function_sums__next(const struct tapir_function_sums *w,
						       const struct tapir_map_slot *after)
{
	const struct tapir_map_slot *best = NULL;

	for (size_t i = 0; i < w->by_name.cap; i++) {
		const struct tapir_map_slot *slot = &w->by_name.slots[i];
		bool is_later = !after || slot->value < after->value ||
				(slot->value == after->value && slot->key > after->key);

		if (slot->used && is_later &&
		    (!best || slot->value > best->value ||
		     (slot->value == best->value && slot->key < best->key)))
			best = slot;
	}
	return best;
}

void tapir_function_sums__fini(struct tapir_function_sums *w)
{
	tapir_map__fini(&w->by_name);
}

void tapir_label_sums__add(struct tapir_label_sums *labels, uint64_t key, const char *label,
			   uint32_t name, uint64_t ns)
{
	struct tapir_label_sum made = {.name = name}, *row;

	key = tapir_hash__bytes(tapir_hash__mix(key, name), label, strlen(label));
	row = tapir_keyed__add(&labels->rows, key, MAX_LABELS, made);
	if (row && !row->label)
		row->label = strdup(label);
	if (row && !row->label) {
		tapir_keyed__undo(&labels->rows, key);
		return;
	}
	if (!row)
		return;
	row->ns += ns;
	row->cnt++;
}

const struct tapir_label_sum *tapir_label_sums__largest(const struct tapir_label_sums *labels)
{
	const struct tapir_label_sum *row, *worst = NULL;

	tapir_vec_for_each (row, &labels->rows)
		if (!worst || row->ns > worst->ns ||
		    (row->ns == worst->ns && row->cnt > worst->cnt))
			worst = row;
	return worst;
}

const struct tapir_label_sum *tapir_label_sums__dominant(const struct tapir_label_sums *labels,
							 uint64_t of)
{
	const struct tapir_label_sum *worst = tapir_label_sums__largest(labels);

	return worst && TAPIR_IS_SHARE(DOMINANT, worst->ns, of) ? worst : NULL;
}

void tapir_label_sums__append_dominant(const struct tapir_label_sums *labels, uint64_t of,
				       struct tapir_str *out)
{
	const struct tapir_label_sum *most = tapir_label_sums__dominant(labels, of);

	if (most)
		tapir_str__adds(out, most->label);
}

void tapir_label_sums__fini(struct tapir_label_sums *labels)
{
	struct tapir_label_sum *row;

	tapir_vec_for_each (row, &labels->rows)
		free(row->label);
	tapir_keyed__fini(&labels->rows);
}

uint32_t tapir_diagnosis__function(struct tapir_diagnosis *f, uint32_t node)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(f->tl);
	uint32_t name = tapir_app_code__or_native(&f->app_code, tree, node);

	return name != TAPIR_APP_CODE_NONE ? name
					   : tapir_app_code__or_library(&f->app_code, tree, node);
}

void tapir_diagnosis__add_stack(struct tapir_diagnosis *f, struct tapir_function_sums *w,
				uint32_t node, uint64_t weight)
{
	tapir_function_sums__add_at(f, w, tapir_diagnosis__function(f, node), node, weight);
}

void tapir_diagnosis__add_app_stack(struct tapir_diagnosis *f, struct tapir_function_sums *w,
				    uint32_t node, uint64_t weight)
{
	tapir_function_sums__add_at(f, w, tapir_diagnosis__own(f, node), node, weight);
}

uint32_t tapir_diagnosis__own(struct tapir_diagnosis *f, uint32_t node)
{
	return tapir_app_code__of(&f->app_code, tapir_timeline__stacks(f->tl), node);
}

const struct tapir_lore_wait *tapir_diagnosis__wait_at(struct tapir_diagnosis *f, uint32_t node)
{
	return tapir_wait_reasons__find(&f->reasons, tapir_timeline__stacks(f->tl), node);
}

const char *tapir_diagnosis__reason_at(struct tapir_diagnosis *f, uint32_t node)
{
	return tapir_wait_reasons__of(&f->reasons, tapir_timeline__stacks(f->tl), node);
}

const struct tapir_lore_wait *tapir_diagnosis__lore_wait(struct tapir_diagnosis *f,
							 const struct tapir_wait *w)
{
	return w->state ? tapir_diagnosis__wait_at(f, w->node) : NULL;
}

const char *tapir_diagnosis__reason(struct tapir_diagnosis *f, const struct tapir_wait *w)
{
	return w->state ? tapir_diagnosis__reason_at(f, w->node) : NULL;
}

double tapir_diagnosis__percent(uint64_t part, uint64_t of)
{
	return of ? 100.0 * (double)part / (double)of : 0;
}

const char *tapir_diagnosis__top_function(const struct tapir_diagnosis *f,
					  const struct tapir_function_sums *w)
{
	if (!w->top || tapir_diagnosis__percent(w->top, w->sum) < TAPIR_LIMIT(SIGNIFICANT))
		return NULL;
	return tapir_timeline__stacks(f->tl)->names.data[w->top_name];
}

bool tapir_diagnosis__append_top_function(const struct tapir_diagnosis *f,
					  const struct tapir_function_sums *w, const char *before,
					  struct tapir_str *out)
{
	if (!tapir_diagnosis__top_function(f, w))
		return false;
	tapir_str__adds(out, before);
	tapir_diagnosis__add_name(f, w->top_name, out);
	return true;
}

void tapir_diagnosis__add_name(const struct tapir_diagnosis *f, uint32_t name,
			       struct tapir_str *out)
{
	tapir_function_name__add(tapir_timeline__stacks(f->tl)->names.data[name], out);
}

struct tapir_sv tapir_diagnosis__meta(const struct tapir_diagnosis *f, const char *key)
{
	return tapir_catalog__meta_value(tapir_timeline__catalog(f->tl), key);
}

void tapir_diagnosis__add_waits(const char *reason, struct tapir_str *out)
{
	if (tapir_wait_reason__is_sleep(reason))
		tapir_str__adds(out, "sleeps");
	else
		tapir_str__addf(out, "waits for a %s", reason);
}

/* "clerk-*": threads of one purpose have a name in common. */
void tapir_diagnosis__add_thread(const struct tapir_diagnosis *f, uint32_t tid,
				 struct tapir_str *out)
{
	struct tapir_sv comm =
		tapir_timeline__comm(f->tl, tid, tapir_timeline__stats(f->tl)->last_ns);
	size_t len = 0;

	while (len < comm.len && (comm.data[len] < '0' || comm.data[len] > '9'))
		len++;
	tapir_str__add_printable(out, comm.data, len);
	if (len < comm.len)
		tapir_str__addc(out, '*');
}

void tapir_diagnosis__count_thread(const struct tapir_diagnosis *f, struct tapir_label_sums *names,
				   uint32_t tid, uint64_t ns)
{
	struct tapir_str name = {};

	tapir_diagnosis__add_thread(f, tid, &name);
	if (name.data)
		tapir_label_sums__add(names, 1, name.data, TAPIR_APP_CODE_NONE, ns);
	tapir_str__fini(&name);
}

void tapir_diagnosis__add_thread_id(const struct tapir_diagnosis *f, uint32_t tid,
				    struct tapir_str *out)
{
	struct tapir_sv comm =
		tapir_timeline__comm(f->tl, tid, tapir_timeline__stats(f->tl)->last_ns);

	tapir_str__add_printable(out, comm.data, comm.len);
	tapir_str__addf(out, " %u", tid);
}

/* ---- what is not the program's own ---------------------------------------------------------- */

static enum tapir_thread_role find_role(struct tapir_sv comm)
{
	tapir_lore_for_each (lore) {
		if (tapir_sv__starts_with_any(comm, lore->tracer_threads))
			return TAPIR_ROLE_TRACER;
		if (lore->pool_thread && tapir_sv__starts_with(comm, lore->pool_thread))
			return TAPIR_ROLE_WORKER;
		if (lore->finalizer_thread && tapir_sv__starts_with(comm, lore->finalizer_thread))
			return TAPIR_ROLE_FINALIZER;
	}
	return TAPIR_ROLE_PROGRAM;
}

/*
 * A thread's name is read again every second: it may get another one. That of a tracer's is
 * asked for each time: a program that tapir starts has tapir's name until its exec, and what it
 * does then is its own.
 */
enum tapir_thread_role tapir_diagnosis__role(struct tapir_diagnosis *f,
					     struct tapir_tl_thread *thread, uint64_t time_ns)
{
	uint64_t second = tapir_tl_memo__second(time_ns), *known;

	if (thread->is_of_tapir)
		return TAPIR_ROLE_TRACER;
	if (thread->role.second == second && thread->role.value != TAPIR_ROLE_TRACER)
		return (enum tapir_thread_role)thread->role.value;
	thread->role.second = second;
	thread->role.value = find_role(tapir_timeline__comm(f->tl, thread->tid, time_ns));
	known = tapir_map__get(&f->role_by_tid, thread->tid);
	if (!known && f->role_by_tid.cnt < MAX_THREADS)
		known = tapir_map__put(&f->role_by_tid, thread->tid, NULL);
	if (known)
		*known = thread->role.value;
	return (enum tapir_thread_role)thread->role.value;
}

/* ---- the CPU -------------------------------------------------------------------------------- */

double tapir_diagnosis__cpus(const struct tapir_diagnosis *f)
{
	uint64_t span_ns = tapir_timeline__switched_ns(f->tl);

	double cpus = span_ns ? (double)f->cpu.ns / (double)span_ns : -1;

	if (!f->has_clock)
		return -1;
	/* More than there are, or much of few samples: the recording is too short to know. */
	if ((f->cpu.cpu_cnt && TAPIR_IS_SHARE(CPUS_MOST, cpus, f->cpu.cpu_cnt)) ||
	    (f->cpu.samples < TAPIR_LIMIT(SAMPLES) && cpus > TAPIR_LIMIT(CPUS_FEW)))
		return -1;
	return cpus;
}

double tapir_diagnosis__wanted_cpus(const struct tapir_diagnosis *f)
{
	double cpus = tapir_diagnosis__cpus(f);
	uint64_t span_ns = tapir_timeline__switched_ns(f->tl);

	return cpus < 0 || !span_ns ? cpus
				    : cpus + (double)f->cpu_pressure.runnable_ns / (double)span_ns;
}
