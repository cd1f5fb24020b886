// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See postgresql_locks.h. Structures: PGPROC, LOCK and PROCLOCK, as observed in PostgreSQL 13
 * to 18.
 */
#include "runtime/postgresql/postgresql_locks.h"

#include <stddef.h>
#include <string.h>

#define ENTRY_BYTES	1024u /* of a PGPROC, within which its pid and its wait are */
#define MAX_HOLDERS	1024u /* of one lock */
#define MAX_LINKS	64u   /* of a chain of waits */
#define MAX_QUEUED	16u   /* waiters of one lock that are read */
#define MAX_HELD	1024u /* of one process, in one part of its list */
#define PART_CNT	16u   /* of it */
#define EXCLUSIVE_MODE	7u
#define TRANSACTION_TAG 5u /* LOCKTAG_TRANSACTION; 4 before 13 */
#define MODE_CNT	8u /* 1: AccessShare ... 8: AccessExclusive */

struct links { /* a list through its members, circular */
	uint64_t prev_va, next_va;
};

struct tag { /* LOCKTAG */
	uint32_t fields[3];
	uint16_t field4;
	uint8_t type, method;
};

struct lock { /* LOCK */
	struct tag tag;
	uint32_t granted_mask, wanted_mask;
	struct links holders;
};

struct proclock { /* PROCLOCK */
	uint64_t lock_va, entry_va;
	uint64_t leader_va; /* parallel workers of one do not block each other */
	uint32_t held_mask, released_mask;
	struct links links;
};

struct waiting { /* two neighbours of an entry, and what follows */
	uint64_t lock_va, proclock_va;
	uint32_t mode, held_mask;
};

struct search {
	const struct tapir_process_memory *memory;
	uint32_t pid_at; /* in an entry; the same in all */
	uint32_t wait_at;
};

/* ---- shared memory -------------------------------------------------------------------------- */

/* The modes that conflict with each mode: bit n is mode n. As documented ("Explicit Locking"). */
static const uint16_t conflicts[MODE_CNT + 1] = {0,	0x100, 0x180, 0x1e0, 0x1f0,
						 0x1d8, 0x1f8, 0x1fc, 0x1fe};

/* The entry's own number is somewhere in it. */
static bool find_pid(struct search *s, const uint8_t *entry, uint32_t pid)
{
	for (s->pid_at = 0; s->pid_at + 4 <= ENTRY_BYTES; s->pid_at += 4)
		if (!memcmp(entry + s->pid_at, &pid, sizeof(pid)))
			return true;
	return false;
}

static bool is_wait(const struct search *s, uint64_t entry_va, const struct waiting *w)
{
	uint64_t back[2];

	return w->lock_va && w->mode && w->mode <= MODE_CNT &&
	       tapir_process_memory__get(s->memory, w->proclock_va, back, sizeof(back)) &&
	       back[0] == w->lock_va && back[1] == entry_va;
}

static bool find_wait(struct search *s, uint64_t entry_va, const uint8_t *entry,
		      struct waiting *out)
{
	for (s->wait_at = 0; s->wait_at + sizeof(*out) <= ENTRY_BYTES; s->wait_at += 8) {
		memcpy(out, entry + s->wait_at, sizeof(*out));
		if (is_wait(s, entry_va, out))
			return true;
	}
	return false;
}

static bool read_wait(const struct search *s, uint64_t entry_va, struct waiting *out)
{
	return tapir_process_memory__get(s->memory, entry_va + s->wait_at, out, sizeof(*out)) &&
	       is_wait(s, entry_va, out);
}

static bool read_proclock(const struct search *s, uint64_t va, uint64_t lock_va,
			  struct proclock *out)
{
	return tapir_process_memory__get(s->memory, va, out, sizeof(*out)) &&
	       out->lock_va == lock_va;
}

/* Through the places in a lock's list, until it ends or what is there does not agree. */
struct walk {
	uint64_t list_va, at_va;
	unsigned cnt;
};

static struct walk begin_walk(const struct search *s, uint64_t lock_va)
{
	uint64_t list_va = lock_va + offsetof(struct lock, holders);

	return (struct walk){.list_va = list_va,
			     .at_va = tapir_process_memory__u64(
				     s->memory, list_va + offsetof(struct links, next_va))};
}

static bool next_proclock(const struct search *s, struct walk *walk, uint64_t lock_va,
			  struct proclock *out)
{
	if (!walk->at_va || walk->at_va == walk->list_va || walk->cnt++ == MAX_HOLDERS ||
	    !read_proclock(s, walk->at_va - offsetof(struct proclock, links), lock_va, out))
		return false;
	walk->at_va = out->links.next_va;
	return true;
}

/* 0: no process; of several holders the first that waits for another lock, too. */
static uint64_t held_by(const struct search *s, const struct waiting *w, uint64_t leader_va)
{
	struct walk walk = begin_walk(s, w->lock_va);
	struct waiting theirs;
	struct proclock proclock;
	uint64_t found = 0;

	while (next_proclock(s, &walk, w->lock_va, &proclock)) {
		if (proclock.leader_va == leader_va || !(proclock.held_mask & conflicts[w->mode]))
			continue;
		if (read_wait(s, proclock.entry_va, &theirs))
			return proclock.entry_va;
		found = found ? found : proclock.entry_va;
	}
	return found;
}

/*
 * If no holder is in its way, a waiter waits for those before it in the queue that want the lock in
 * a mode that conflicts: the process in their way is in its way as well.
 */
static uint64_t holder_of(const struct search *s, const struct waiting *w)
{
	struct walk walk = begin_walk(s, w->lock_va);
	struct waiting theirs;
	struct proclock proclock, own;
	uint64_t found;
	unsigned tries = 0;

	if (!read_proclock(s, w->proclock_va, w->lock_va, &own))
		return 0;
	found = held_by(s, w, own.leader_va);
	while (!found && tries < MAX_QUEUED && next_proclock(s, &walk, w->lock_va, &proclock)) {
		if (proclock.leader_va == own.leader_va ||
		    !read_wait(s, proclock.entry_va, &theirs) || theirs.lock_va != w->lock_va ||
		    !(conflicts[w->mode] & 1u << theirs.mode))
			continue;
		tries++;
		found = held_by(s, &theirs, proclock.leader_va);
		found = found == proclock.entry_va ? 0 : found;
	}
	return found;
}

static bool leads_back(const struct search *s, uint64_t from_va, uint64_t to_va)
{
	struct waiting w;

	for (unsigned i = 0; i < MAX_LINKS && from_va && from_va != to_va; i++)
		from_va = read_wait(s, from_va, &w) ? holder_of(s, &w) : 0;
	return from_va == to_va;
}

/* The entry that MyProc points to, and its wait; 0: it waits for nothing. */
static uint64_t find_own(struct search *s, uint64_t my_proc_va, uint32_t pid, struct waiting *out)
{
	uint64_t entry_va = tapir_process_memory__u64(s->memory, my_proc_va);
	uint8_t entry[ENTRY_BYTES];

	return tapir_process_memory__get(s->memory, entry_va, entry, sizeof(entry)) &&
			       find_pid(s, entry, pid) && find_wait(s, entry_va, entry, out)
		       ? entry_va
		       : 0;
}

bool tapir_postgresql_locks__wanted(const struct tapir_process_memory *memory, uint64_t my_proc_va,
				    uint32_t pid, struct tapir_postgresql_lock *out)
{
	struct search s = {.memory = memory};
	struct waiting w;
	struct tag tag;

	if (!find_own(&s, my_proc_va, pid, &w) ||
	    !tapir_process_memory__get(memory, w.lock_va + offsetof(struct lock, tag), &tag,
				       sizeof(tag)))
		return false;
	*out = (struct tapir_postgresql_lock){.field4 = tag.field4, .type = tag.type};
	memcpy(out->fields, tag.fields, sizeof(out->fields));
	return true;
}

bool tapir_postgresql_locks__holder(const struct tapir_process_memory *memory, uint64_t my_proc_va,
				    uint32_t pid, struct tapir_postgresql_holder *out)
{
	struct search s = {.memory = memory};
	uint64_t entry_va, holder_va;
	struct waiting w;

	entry_va = find_own(&s, my_proc_va, pid, &w);
	holder_va = entry_va ? holder_of(&s, &w) : 0;
	if (!holder_va ||
	    !tapir_process_memory__get(memory, holder_va + s.pid_at, &out->pid, sizeof(out->pid)))
		return false;
	out->entry_va = holder_va;
	out->is_cycle = leads_back(&s, holder_va, entry_va);
	return out->pid && out->pid != pid;
}

/* ---- what it holds -------------------------------------------------------------------------- */

/* A process lists its places in 16 parts, by their locks' hashes; an empty one points to itself. */
struct held_lists {
	struct links parts[PART_CNT];
};

struct held_proclock {
	struct proclock proclock;
	struct links of_process;
};

static bool is_empty(const struct links *links, uint64_t va)
{
	return links->prev_va == va && links->next_va == va;
}

static bool read_held(const struct search *s, uint64_t link_va, uint64_t entry_va,
		      struct held_proclock *out)
{
	uint64_t va = link_va - offsetof(struct held_proclock, of_process);

	return tapir_process_memory__get(s->memory, va, out, sizeof(*out)) &&
	       out->proclock.entry_va == entry_va;
}

/* Returns true if these are its lists: each is empty, or leads to a place of that process. */
static bool are_lists(const struct search *s, const struct held_lists *lists, uint64_t va,
		      uint64_t entry_va)
{
	struct held_proclock held;
	unsigned empty_cnt = 0;

	for (unsigned i = 0; i < PART_CNT; i++) {
		if (is_empty(&lists->parts[i], va + i * sizeof(struct links)))
			empty_cnt++;
		else if (!read_held(s, lists->parts[i].next_va, entry_va, &held))
			return false;
	}
	return empty_cnt >= PART_CNT / 2;
}

static bool find_lists(const struct search *s, uint64_t entry_va, const uint8_t *entry,
		       struct held_lists *out, uint64_t *va)
{
	for (size_t at = 0; at + sizeof(*out) <= ENTRY_BYTES; at += 8) {
		memcpy(out, entry + at, sizeof(*out));
		*va = entry_va + at;
		if (are_lists(s, out, *va, entry_va))
			return true;
	}
	return false;
}

static uint32_t transaction_in(const struct search *s, uint64_t list_va, uint64_t entry_va)
{
	uint64_t at_va =
		tapir_process_memory__u64(s->memory, list_va + offsetof(struct links, next_va));
	struct held_proclock held;
	struct tag tag;

	for (unsigned i = 0; i < MAX_HELD && at_va != list_va; i++) {
		if (!read_held(s, at_va, entry_va, &held) ||
		    !tapir_process_memory__get(s->memory,
					       held.proclock.lock_va + offsetof(struct lock, tag),
					       &tag, sizeof(tag)))
			break;
		if (tag.type == TRANSACTION_TAG && held.proclock.held_mask & 1u << EXCLUSIVE_MODE)
			return tag.fields[0];
		at_va = held.of_process.next_va;
	}
	return 0;
}

uint32_t tapir_postgresql_locks__transaction(const struct tapir_process_memory *memory,
					     uint64_t my_proc_va, uint32_t pid)
{
	uint64_t entry_va = tapir_process_memory__u64(memory, my_proc_va), lists_va;
	struct search s = {.memory = memory};
	uint32_t transaction = 0;
	struct held_lists lists;
	uint8_t entry[ENTRY_BYTES];

	if (!tapir_process_memory__get(memory, entry_va, entry, sizeof(entry)) ||
	    !find_pid(&s, entry, pid) || !find_lists(&s, entry_va, entry, &lists, &lists_va))
		return 0;
	for (unsigned i = 0; i < PART_CNT && !transaction; i++)
		transaction = transaction_in(&s, lists_va + i * sizeof(struct links), entry_va);
	return transaction;
}
