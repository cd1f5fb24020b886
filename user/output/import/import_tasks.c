// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See import_tasks.h. A map finds each thread's process and another each process's name. Both are
 * bounded, because a damaged file may name any number of threads.
 */
#include "output/import/import_tasks.h"

#include <string.h>

#define TASKS_MAX (1u << 20)

void tapir_import_tasks__fini(struct tapir_import_tasks *t)
{
	tapir_keyed__fini(&t->names);
	tapir_map__fini(&t->tgid_by_tid);
}

/* The name of a process, NULL: not known. */
static const char *imported_task_name(const struct tapir_import_tasks *t, uint32_t tgid)
{
	const struct tapir_import_name *name = tapir_keyed__get(&t->names, tgid);

	return name ? name->comm : NULL;
}

static void set_name(struct tapir_import_tasks *t, uint32_t tgid, const char *name, size_t len)
{
	struct tapir_import_name made = {}, *row;

	memcpy(made.comm, name, len < TAPIR_COMM_BYTES ? len : TAPIR_COMM_BYTES - 1);
	row = tapir_keyed__add(&t->names, tgid, TASKS_MAX, made);
	if (row)
		*row = made;
}

static void put_process(struct tapir_import_tasks *t, uint32_t tgid, uint32_t parent_tgid,
			enum tapir_process_kind kind, uint64_t time_ns)
{
	struct tapir_rec_process fixed = {
		.tgid = tgid, .parent_tgid = parent_tgid, .kind = (uint8_t)kind, .uid = UINT32_MAX};
	const struct tapir_sv none = {};

	tapir_rec__init(&fixed.h, TAPIR_REC_PROCESS, sizeof(fixed), time_ns);
	tapir_import_sink__describe(t->sink,
				    tapir_recbuf__process(&t->sink->buf, &fixed,
							  tapir_sv__of(imported_task_name(t, tgid)),
							  none, none, none));
}

static void put_thread(struct tapir_import_tasks *t, uint32_t tgid, uint32_t tid, const char *name,
		       size_t len, uint64_t time_ns)
{
	struct tapir_rec_thread rec = {.tgid = tgid, .tid = tid};
	const char *leader = imported_task_name(t, tgid);

	if (len >= TAPIR_COMM_BYTES)
		len = TAPIR_COMM_BYTES - 1;
	if (name)
		memcpy(rec.comm, name, len);
	if (leader)
		memcpy(rec.leader_comm, leader, TAPIR_COMM_BYTES - 1);
	tapir_rec__init(&rec.h, TAPIR_REC_THREAD, sizeof(rec), time_ns);
	tapir_import_sink__describe(t->sink, &rec.h);
}

/* Returns true if the thread was not known as one of this process. */
static bool add_thread(struct tapir_import_tasks *t, uint32_t tgid, uint32_t tid)
{
	uint64_t *known = tapir_map__get(&t->tgid_by_tid, tid);

	if (known && *known == tgid)
		return false;
	if (!known && t->tgid_by_tid.cnt < TASKS_MAX)
		known = tapir_map__put(&t->tgid_by_tid, tid, NULL);
	if (known) {
		*known = tgid;
	} else {
		t->more++;
		t->failed |= t->tgid_by_tid.cnt < TASKS_MAX;
	}
	return known;
}

void tapir_import_tasks__name(struct tapir_import_tasks *t, uint32_t tgid, uint32_t tid,
			      const char *name, size_t len, bool is_exec, uint64_t time_ns)
{
	bool is_new = add_thread(t, tgid, tid);

	if (tgid == tid) {
		set_name(t, tgid, name, len);
		put_process(t, tgid, 0,
			    is_exec && !is_new ? TAPIR_PROCESS_EXEC : TAPIR_PROCESS_EXISTING,
			    time_ns);
	}
	put_thread(t, tgid, tid, name, len, time_ns);
}

void tapir_import_tasks__fork(struct tapir_import_tasks *t, uint32_t tgid, uint32_t tid,
			      uint32_t parent_tgid, bool has_started_before, uint64_t time_ns)
{
	const char *name = imported_task_name(t, parent_tgid);

	add_thread(t, tgid, tid);
	if (tgid != parent_tgid && tgid == tid) {
		set_name(t, tgid, name ? name : "", name ? strlen(name) : 0);
		put_process(t, tgid, parent_tgid,
			    has_started_before ? TAPIR_PROCESS_EXISTING : TAPIR_PROCESS_FORK,
			    time_ns);
	}
	put_thread(t, tgid, tid, name, name ? strlen(name) : 0, time_ns);
}

void tapir_import_tasks__exit(struct tapir_import_tasks *t, uint32_t tgid, uint32_t tid,
			      uint64_t time_ns)
{
	if (tgid == tid && tapir_import_tasks__tgid(t, tid) == tgid)
		put_process(t, tgid, 0, TAPIR_PROCESS_EXIT, time_ns);
}

void tapir_import_tasks__see(struct tapir_import_tasks *t, uint32_t tgid, uint32_t tid,
			     uint64_t time_ns)
{
	const char *name = imported_task_name(t, tgid);

	if (!add_thread(t, tgid, tid))
		return;
	if (!name && tgid)
		put_process(t, tgid, 0, TAPIR_PROCESS_EXISTING, time_ns);
	put_thread(t, tgid, tid, name, name ? strlen(name) : 0, time_ns);
}

void tapir_import_tasks__add_limits(const struct tapir_import_tasks *t)
{
	tapir_import_sink__beyond(t->sink, t->more + t->names.more, t->failed || t->names.failed,
				  "records of threads and names of processes");
}

uint32_t tapir_import_tasks__tgid(const struct tapir_import_tasks *t, uint32_t tid)
{
	const uint64_t *tgid = tapir_map__get(&t->tgid_by_tid, tid);

	return tgid ? (uint32_t)*tgid : 0;
}
