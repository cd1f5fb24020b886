// SPDX-License-Identifier: GPL-2.0-or-later
/* Asks each runtime that has locks of its own (runtime/lock_ops.h) about a copied thread. */
#include "record/threads/lock_owners.h"

#include <errno.h>
#include <stdlib.h>

#include "base/diag.h"
#include "runtime/runtime_ops.h"

struct tapir_lock_owners {
	void *states[TAPIR_RUNTIME_OPS_CNT]; /* NULL: the process has no such locks */
};

struct tapir_lock_owners *tapir_lock_owners__new(uint32_t tgid,
						 const struct tapir_thread_list *threads)
{
	struct tapir_lock_owners *o = calloc(1, sizeof(*o));
	int mark = tapir_diag__cnt();

	for (size_t i = 0; o && tapir_runtimes[i]; i++)
		if (tapir_runtimes[i]->locks)
			o->states[i] = tapir_runtimes[i]->locks->open(tgid, threads);
	tapir_diag__rewind(mark); /* without them no owners are known */
	return o;
}

void tapir_lock_owners__free(struct tapir_lock_owners *o)
{
	if (!o)
		return;
	for (size_t i = 0; tapir_runtimes[i]; i++)
		if (o->states[i])
			tapir_runtimes[i]->locks->close(o->states[i]);
	free(o);
}

static struct tapir_lock_seeker seeker_of(const struct tapir_thread_copy *copy)
{
	const struct tapir_rec_thread *thread = &copy->seen.thread;

	return (struct tapir_lock_seeker){
		.tgid = thread->tgid,
		.tid = thread->tid,
		.number = tapir_number_of_thread(thread->tid, thread->ns_tid),
		.futex_va = copy->futex_va,
		.memory = copy->memory,
		.bytes = copy->bytes,
		.stack_va = copy->seen.sp & ~7ull,
	};
}

void tapir_lock_owners__find_running(const struct tapir_lock_owners *o,
				     struct tapir_thread_copy *copy)
{
	const struct tapir_lock_seeker seeker = seeker_of(copy);

	for (size_t i = 0; tapir_runtimes[i]; i++)
		if (o->states[i] && tapir_runtimes[i]->locks->find_running)
			tapir_runtimes[i]->locks->find_running(o->states[i], &seeker, &copy->found);
}

void tapir_lock_owners__find(const struct tapir_lock_owners *o, struct tapir_thread_copy *copy)
{
	const struct tapir_lock_seeker seeker = seeker_of(copy);

	for (size_t i = 0; tapir_runtimes[i]; i++) {
		if (!o->states[i] || copy->found.lock)
			continue;
		copy->runtime_idx = (unsigned)i;
		tapir_runtimes[i]->locks->find(o->states[i], &seeker, &copy->found);
	}
	copy->owner = copy->found.owner;
	copy->owner_tid = copy->found.owner_tid;
}

/* ---- names ---------------------------------------------------------------------------------- */

int tapir_lock_namers__init(struct tapir_lock_namers *n)
{
	*n = (struct tapir_lock_namers){};
	for (size_t i = 0; tapir_runtimes[i]; i++) {
		if (!tapir_runtimes[i]->locks)
			continue;
		n->names[i] = tapir_runtimes[i]->locks->names_new();
		if (!n->names[i])
			return -ENOMEM;
	}
	return 0;
}

void tapir_lock_namers__fini(struct tapir_lock_namers *n)
{
	for (size_t i = 0; tapir_runtimes[i]; i++)
		if (tapir_runtimes[i]->locks)
			tapir_runtimes[i]->locks->names_free(n->names[i]);
}

void tapir_lock_namers__find(struct tapir_lock_namers *n, const struct tapir_process_copy *p)
{
	const struct tapir_thread_copy *copy;

	tapir_vec_for_each (copy, &p->copies)
		if (copy->found.lock && tapir_runtimes[copy->runtime_idx]->locks->want_name)
			tapir_runtimes[copy->runtime_idx]->locks->want_name(
				n->names[copy->runtime_idx], p->tgid, copy->found.lock);
	for (size_t i = 0; tapir_runtimes[i]; i++)
		if (tapir_runtimes[i]->locks && tapir_runtimes[i]->locks->find_names)
			tapir_runtimes[i]->locks->find_names(n->names[i]);
}

void tapir_lock_namers__add(const struct tapir_lock_namers *n, const struct tapir_thread_copy *copy,
			    struct tapir_str *out)
{
	if (copy->found.lock)
		tapir_runtimes[copy->runtime_idx]->locks->add_name(
			n->names[copy->runtime_idx], copy->seen.thread.tgid, copy->found.lock, out);
}
