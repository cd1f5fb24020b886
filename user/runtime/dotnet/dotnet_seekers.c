// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds who holds the monitor for which a thread waits, and the type of its object. The names of a
 * process's threads show whether it may be one of .NET; only then is its memory read.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/dotnet/dotnet.h"
#include "runtime/dotnet/dotnet_monitors.h"
#include "runtime/dotnet/dotnet_ops.h"
#include "runtime/dotnet/dotnet_type_names.h"

struct seeker {
	uint32_t tgid;
	struct tapir_process_memory memory;
	struct tapir_dotnet_monitors *monitors;
};

/* A process has a ".NET Finalizer", a ".NET SigHandler" and more. */
static bool may_be_one(const struct tapir_thread_list *threads)
{
	const struct tapir_thread_seen *seen;

	tapir_vec_for_each (seen, &threads->vec)
		if (!strncmp(seen->thread.comm, ".NET ", 5))
			return true;
	return false;
}

static void close_process(void *state)
{
	struct seeker *s = state;

	if (s)
		tapir_dotnet_monitors__free(s->monitors);
	free(s);
}

static void *open_process(uint32_t tgid, const struct tapir_thread_list *threads)
{
	struct tapir_dotnet_info dotnet;
	struct seeker *s;

	if (!may_be_one(threads) || tapir_dotnet__inspect(tgid, &dotnet) <= 0 ||
	    !dotnet.contract_va || dotnet.kind == TAPIR_DOTNET_NATIVE_AOT)
		return NULL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->tgid = tgid;
	s->memory = (struct tapir_process_memory){tapir_process_memory__read_fn, &s->tgid};
	if (!tapir_dotnet_monitors__new(&s->memory, dotnet.contract_va, &s->monitors))
		return s;
	close_process(s);
	return NULL;
}

static void find(const void *state, const struct tapir_lock_seeker *thread,
		 struct tapir_lock_found *out)
{
	const struct seeker *s = state;
	struct tapir_dotnet_type *type;

	if (!thread->futex_va)
		return;
	out->owner = tapir_dotnet_monitors__owner(s->monitors, thread->number, thread->memory,
						  thread->bytes, thread->stack_va);
	type = out->owner ? malloc(sizeof(*type)) : NULL; /* else it has no name */
	if (type && tapir_dotnet_monitors__type(s->monitors, thread->number, thread->memory,
						thread->bytes, thread->stack_va, type))
		out->lock = type;
	else
		free(type);
}

/* ---- names of types ------------------------------------------------------------------------- */

static void *new_names(void)
{
	return calloc(1, sizeof(struct tapir_dotnet_type_names));
}

static void free_names(void *names)
{
	if (names)
		tapir_dotnet_type_names__fini(names);
	free(names);
}

/* "Shop.Cart[]"; nothing where it is not known. */
static void add_name(void *names, uint32_t tgid, const void *lock, struct tapir_str *out)
{
	const struct tapir_dotnet_type *type = lock;
	struct tapir_dotnet_type_names *n = names;
	const char *name;

	if (n->tgid != tgid)
		tapir_dotnet_type_names__fini(n);
	n->tgid = tgid;
	name = tapir_dotnet_type_names__of(n, type->path, type->row);
	if (!name)
		return;
	tapir_str__adds(out, name);
	for (uint32_t i = 0; i < type->array_depth; i++)
		tapir_str__adds(out, "[]");
}

const struct tapir_lock_ops tapir_dotnet_lock_ops = {
	.open = open_process,
	.close = close_process,
	.find = find,
	.names_new = new_names,
	.names_free = free_names,
	.add_name = add_name,
};
