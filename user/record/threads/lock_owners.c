// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds who holds the lock for which a thread waits, by reading the process's memory. The names of
 * its threads show whether a process may have locks of a runtime; only then is it read.
 */
#include "record/threads/lock_owners.h"

#include <stdlib.h>
#include <string.h>

#include "attach/proc.h"
#include "base/clock.h"
#include "base/diag.h"
#include "runtime/dotnet/dotnet.h"
#include "runtime/dotnet/dotnet_monitors.h"
#include "runtime/postgresql/postgresql_locks.h"
#include "runtime/postgresql/postgresql_process.h"
#include "runtime/postgresql/postgresql_session.h"

#define STATEMENT_BYTES TAPIR_POSTGRESQL_STATEMENT_BYTES

struct tapir_lock_owners {
	struct tapir_process_memory memory;
	uint32_t tgid;
	struct tapir_dotnet_monitors *monitors; /* NULL: not CoreCLR, or before .NET 9 */
	uint64_t my_proc_va, query_va;		/* 0: not PostgreSQL */
	uint64_t my_entry_va;
};

/* ---- .NET ----------------------------------------------------------------------------------- */

/* Every process of it has a ".NET Finalizer", a ".NET SigHandler" and more. */
static bool may_be_dotnet(const struct tapir_thread_list *threads)
{
	static const char begin[] = ".NET ";

	for (size_t i = 0; i < threads->vec.cnt; i++)
		if (!strncmp(threads->vec.data[i].thread.comm, begin, sizeof(begin) - 1))
			return true;
	return false;
}

static void open_monitors(struct tapir_lock_owners *o)
{
	struct tapir_dotnet_info dotnet;

	if (tapir_dotnet__inspect(o->tgid, &dotnet) > 0 && dotnet.contract_va &&
	    dotnet.kind != TAPIR_DOTNET_NATIVE_AOT)
		(void)tapir_dotnet_monitors__new(&o->memory, dotnet.contract_va, &o->monitors);
}

/* ---- PostgreSQL ----------------------------------------------------------------------------- */

static bool may_be_postgresql(const struct tapir_thread_list *threads)
{
	return threads->vec.cnt && !strcmp(threads->vec.data[0].thread.comm, "postgres");
}

static void open_postgresql(struct tapir_lock_owners *o)
{
	struct tapir_postgresql_process *p = tapir_postgresql_process__new(o->tgid);

	if (!p)
		return;
	o->my_proc_va = tapir_postgresql_process__my_proc_va(p);
	o->query_va = tapir_postgresql_process__query_va(p);
	o->my_entry_va = tapir_postgresql_process__my_entry_va(p);
	tapir_postgresql_process__free(p);
}

/* NULL: it executes none. */
static char *statement_of(const struct tapir_lock_owners *o, uint32_t tgid)
{
	char text[STATEMENT_BYTES];

	tapir_postgresql__statement(tgid, o->query_va, text, sizeof(text));
	return *text ? strdup(text) : NULL;
}

/* Describes the session of a process that executes nothing in a transaction; NULL for any other. */
static char *session_of(const struct tapir_lock_owners *o, uint32_t tgid, uint32_t pid)
{
	const struct tapir_process_memory memory = {tapir_process_memory__read_fn, &tgid};
	struct tapir_postgresql_session session;
	char text[TAPIR_POSTGRESQL_STATEMENT_BYTES];
	struct tapir_str out = {};

	if (!tapir_postgresql_session__read(&memory, o->my_entry_va, pid,
					    tapir_clock__ns(CLOCK_REALTIME) / 1000, text, &session))
		return NULL;
	session.transaction = tapir_postgresql_locks__transaction(&memory, o->my_proc_va, pid);
	tapir_postgresql_session__add(&session, &out);
	if (!out.failed)
		return out.data;
	tapir_str__fini(&out);
	return NULL;
}

struct holder_search {
	const struct tapir_lock_owners *owners;
	const struct tapir_postgresql_holder *holder;
	uint32_t tgid; /* 0: not found */
};

/* A process of the same server has the variable at the same address. */
static int on_process(uint32_t tgid, void *ctx)
{
	struct holder_search *search = ctx;
	const struct tapir_process_memory memory = {tapir_process_memory__read_fn, &tgid};
	struct tapir_thread thread;

	if (tapir_thread__read(tgid, tgid, &thread) ||
	    tapir_number_of_thread(thread.tid, thread.ns_tid) != search->holder->pid ||
	    tapir_process_memory__u64(&memory, search->owners->my_proc_va) !=
		    search->holder->entry_va)
		return 0;
	search->tgid = tgid;
	return 1;
}

static void find_postgresql_holder(const struct tapir_lock_owners *o,
				   struct tapir_thread_copy *copy)
{
	const struct tapir_rec_thread *thread = &copy->seen.thread;
	struct tapir_postgresql_holder holder;
	struct holder_search search = {.owners = o, .holder = &holder};
	uint32_t pid = tapir_number_of_thread(thread->tid, thread->ns_tid);

	copy->has_lock =
		tapir_postgresql_locks__wanted(&o->memory, o->my_proc_va, pid, &copy->lock);
	if (!tapir_postgresql_locks__holder(&o->memory, o->my_proc_va, pid, &holder))
		return;
	if (!on_process(holder.pid, &search) && pid != thread->tid)
		(void)tapir_proc__each(on_process, &search); /* in a namespace of its own */
	copy->owner_tid = search.tgid;
	copy->is_owner_elsewhere = !holder.is_cycle;
	if (search.tgid)
		copy->holder_statement = statement_of(o, search.tgid);
	if (search.tgid && !copy->holder_statement)
		copy->holder_session = session_of(o, search.tgid, holder.pid);
}

static void find_postgresql(const struct tapir_lock_owners *o, struct tapir_thread_copy *copy)
{
	const struct tapir_rec_thread *thread = &copy->seen.thread;

	copy->statement = statement_of(o, o->tgid);
	if (!copy->statement)
		copy->session =
			session_of(o, o->tgid, tapir_number_of_thread(thread->tid, thread->ns_tid));
	find_postgresql_holder(o, copy);
}

/* --------------------------------------------------------------------------------------------- */

struct tapir_lock_owners *tapir_lock_owners__new(uint32_t tgid,
						 const struct tapir_thread_list *threads)
{
	struct tapir_lock_owners *o = calloc(1, sizeof(*o));
	int mark = tapir_diag__cnt();

	if (!o)
		return NULL;
	o->tgid = tgid;
	o->memory = (struct tapir_process_memory){tapir_process_memory__read_fn, &o->tgid};
	if (may_be_dotnet(threads))
		open_monitors(o);
	if (may_be_postgresql(threads))
		open_postgresql(o);
	tapir_diag__rewind(mark); /* without them no owners are known */
	return o;
}

void tapir_lock_owners__free(struct tapir_lock_owners *o)
{
	if (!o)
		return;
	tapir_dotnet_monitors__free(o->monitors);
	free(o);
}

static void find_monitor(const struct tapir_lock_owners *o, struct tapir_thread_copy *copy)
{
	const struct tapir_rec_thread *thread = &copy->seen.thread;
	uint32_t number = tapir_number_of_thread(thread->tid, thread->ns_tid);
	uint64_t stack_va = copy->seen.sp & ~7ull;
	struct tapir_dotnet_type type;

	copy->owner = tapir_dotnet_monitors__owner(o->monitors, number, copy->memory, copy->bytes,
						   stack_va);
	if (!copy->owner || !tapir_dotnet_monitors__type(o->monitors, number, copy->memory,
							 copy->bytes, stack_va, &type))
		return;
	copy->type_path = strdup(type.path); /* else it has no name */
	copy->type_row = type.row;
	copy->array_depth = type.array_depth;
}

void tapir_lock_owners__find_statement(const struct tapir_lock_owners *o,
				       struct tapir_thread_copy *copy)
{
	if (o->query_va && copy->seen.thread.tid == copy->seen.thread.tgid)
		copy->statement = statement_of(o, o->tgid);
}

void tapir_lock_owners__find(const struct tapir_lock_owners *o, struct tapir_thread_copy *copy)
{
	const struct tapir_rec_thread *thread = &copy->seen.thread;

	if (o->monitors && copy->futex_va)
		find_monitor(o, copy);
	if (o->my_proc_va && thread->tid == thread->tgid)
		find_postgresql(o, copy);
}
