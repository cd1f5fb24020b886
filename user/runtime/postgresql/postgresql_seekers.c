// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds who holds the lock for which a process of a server waits, and what both execute. The name
 * of a process shows whether it may be a server's; only then is its memory read.
 */
#include <stdlib.h>
#include <string.h>

#include "attach/proc.h"
#include "base/clock.h"
#include "base/diag.h"
#include "runtime/postgresql/postgresql_locks.h"
#include "runtime/postgresql/postgresql_namer.h"
#include "runtime/postgresql/postgresql_ops.h"
#include "runtime/postgresql/postgresql_process.h"
#include "runtime/postgresql/postgresql_session.h"

struct seeker {
	uint32_t tgid;
	uint64_t my_proc_va, query_va, my_entry_va; /* 0: not exported */
};

static void *open_process(uint32_t tgid, const struct tapir_thread_list *threads)
{
	bool may_be_one = threads->vec.cnt && !strcmp(threads->vec.data[0].thread.comm, "postgres");
	struct tapir_postgresql_process *p =
		may_be_one ? tapir_postgresql_process__new(tgid) : NULL;
	struct seeker *s = p ? malloc(sizeof(*s)) : NULL;

	if (s)
		*s = (struct seeker){tgid, tapir_postgresql_process__my_proc_va(p),
				     tapir_postgresql_process__query_va(p),
				     tapir_postgresql_process__my_entry_va(p)};
	tapir_postgresql_process__free(p);
	return s;
}

/* NULL: it executes none. */
static char *statement_of(const struct seeker *s, uint32_t tgid)
{
	char text[TAPIR_POSTGRESQL_STATEMENT_BYTES];

	tapir_postgresql__statement(tgid, s->query_va, text, sizeof(text));
	return *text ? strdup(text) : NULL;
}

/* Describes the session of a process that executes nothing in a transaction; NULL for any other. */
static char *session_of(const struct seeker *s, uint32_t tgid, uint32_t pid)
{
	const struct tapir_process_memory memory = {tapir_process_memory__read_fn, &tgid};
	struct tapir_postgresql_session session;
	char text[TAPIR_POSTGRESQL_STATEMENT_BYTES];
	struct tapir_str out = {};

	if (!tapir_postgresql_session__read(&memory, s->my_entry_va, pid,
					    tapir_clock__ns(CLOCK_REALTIME) / 1000, text, &session))
		return NULL;
	session.transaction = tapir_postgresql_locks__transaction(&memory, s->my_proc_va, pid);
	tapir_postgresql_session__add(&session, &out);
	if (!out.failed)
		return out.data;
	tapir_str__fini(&out);
	return NULL;
}

struct holder_search {
	const struct seeker *seeker;
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
	    (thread.ns_tid ? thread.ns_tid : thread.tid) != search->holder->pid ||
	    tapir_process_memory__u64(&memory, search->seeker->my_proc_va) !=
		    search->holder->entry_va)
		return 0;
	search->tgid = tgid;
	return 1;
}

static void find_lock(const struct tapir_process_memory *memory, const struct seeker *s,
		      uint32_t pid, struct tapir_lock_found *out)
{
	struct tapir_postgresql_lock lock;

	if (!tapir_postgresql_locks__wanted(memory, s->my_proc_va, pid, &lock))
		return;
	out->lock = malloc(sizeof(lock)); /* else it has no name */
	if (out->lock)
		memcpy(out->lock, &lock, sizeof(lock));
}

static void find_holder(const struct seeker *s, const struct tapir_lock_seeker *thread,
			struct tapir_lock_found *out)
{
	const struct tapir_process_memory memory = {tapir_process_memory__read_fn,
						    (void *)(uintptr_t)&s->tgid};
	struct tapir_postgresql_holder holder;
	struct holder_search search = {.seeker = s, .holder = &holder};

	find_lock(&memory, s, thread->number, out);
	if (!tapir_postgresql_locks__holder(&memory, s->my_proc_va, thread->number, &holder))
		return;
	if (!on_process(holder.pid, &search) && thread->number != thread->tid)
		(void)tapir_proc__each(on_process, &search); /* in a namespace of its own */
	out->owner_tid = search.tgid;
	out->is_owner_elsewhere = !holder.is_cycle;
	if (search.tgid)
		out->holder_statement = statement_of(s, search.tgid);
	if (search.tgid && !out->holder_statement)
		out->holder_session = session_of(s, search.tgid, holder.pid);
}

static void find(const void *state, const struct tapir_lock_seeker *thread,
		 struct tapir_lock_found *out)
{
	const struct seeker *s = state;

	if (!s->my_proc_va || thread->tid != thread->tgid)
		return;
	out->statement = statement_of(s, s->tgid);
	if (!out->statement)
		out->session = session_of(s, s->tgid, thread->number);
	find_holder(s, thread, out);
}

static void find_running(const void *state, const struct tapir_lock_seeker *thread,
			 struct tapir_lock_found *out)
{
	const struct seeker *s = state;

	if (s->query_va && thread->tid == thread->tgid)
		out->statement = statement_of(s, s->tgid);
}

/* ---- names of locks ------------------------------------------------------------------------- */

struct names {
	struct tapir_postgresql_namer *namer;
	uint32_t tgid, server; /* of the last process: its parent, 0: it has ended */
};

static void free_names(void *names)
{
	struct names *n = names;

	if (n)
		tapir_postgresql_namer__free(n->namer);
	free(n);
}

static void *new_names(void)
{
	struct names *n = calloc(1, sizeof(*n));

	if (n)
		n->namer = tapir_postgresql_namer__new();
	if (n && n->namer)
		return n;
	free_names(n);
	return NULL;
}

static uint32_t server_of(struct names *n, uint32_t tgid)
{
	int mark = tapir_diag__cnt();
	struct tapir_proc proc;

	if (n->tgid == tgid)
		return n->server;
	n->tgid = tgid;
	n->server = 0;
	if (!tapir_proc__read(tgid, &proc)) {
		n->server = proc.parent_tgid;
		tapir_proc__fini(&proc);
	}
	tapir_diag__rewind(mark);
	return n->server;
}

static void want_name(void *names, uint32_t tgid, const void *lock)
{
	struct names *n = names;

	tapir_postgresql_namer__want(n->namer, server_of(n, tgid), tgid, lock);
}

static void find_names(void *names)
{
	(void)tapir_postgresql_namer__find(((struct names *)names)->namer);
}

static void add_name(void *names, uint32_t tgid, const void *lock, struct tapir_str *out)
{
	struct names *n = names;

	tapir_postgresql_namer__add_lock(n->namer, server_of(n, tgid), lock, out);
}

const struct tapir_lock_ops tapir_postgresql_lock_ops = {
	.open = open_process,
	.close = free,
	.find = find,
	.find_running = find_running,
	.names_new = new_names,
	.names_free = free_names,
	.want_name = want_name,
	.find_names = find_names,
	.add_name = add_name,
};
