// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Wanted names are searched in batches, since one walk of a server's buffers finds any number of
 * them. A process that has ended is replaced by its server.
 */
#include "runtime/postgresql/postgresql_namer.h"

#include <stdlib.h>
#include <string.h>

#include "base/keyed.h"
#include "base/vec.h"
#include "runtime/postgresql/postgresql_process.h"

#define MAX_ENTRIES 4096u
#define MAX_TRIES   3u
#define BATCH	    256u /* relations that are searched at once */

struct entry {
	uint32_t server, tgid, database, relation; /* relation 0: the database itself */
	unsigned tries, call; /* call: of __find, the last in which it was tried */
	char name[TAPIR_POSTGRESQL_RELATION_BYTES]; /* "": not found */
};

struct tapir_postgresql_namer {
	struct tapir_keyed(struct entry) entries;
	size_t done_cnt; /* entries before it are named, or were tried often enough */
	unsigned call;
};

struct tapir_postgresql_namer *tapir_postgresql_namer__new(void)
{
	return calloc(1, sizeof(struct tapir_postgresql_namer));
}

void tapir_postgresql_namer__free(struct tapir_postgresql_namer *n)
{
	if (!n)
		return;
	tapir_keyed__fini(&n->entries);
	free(n);
}

static void want(struct tapir_postgresql_namer *n, const struct entry *wanted)
{
	uint64_t key =
		tapir_postgresql_name__key(wanted->server, wanted->database, wanted->relation);

	(void)tapir_keyed__add(&n->entries, key, MAX_ENTRIES, *wanted);
}

void tapir_postgresql_namer__want(struct tapir_postgresql_namer *n, uint32_t server, uint32_t tgid,
				  const struct tapir_postgresql_lock *lock)
{
	struct entry wanted = {.server = server, .tgid = tgid, .database = lock->fields[0]};

	if (tapir_postgresql_lock__is_of_database(lock) && wanted.database)
		want(n, &wanted);
	wanted.relation = lock->fields[1];
	if (tapir_postgresql_lock__is_of_relation(lock) && wanted.relation)
		want(n, &wanted);
}

/* ---- finding -------------------------------------------------------------------------------- */

static bool is_open(const struct entry *e)
{
	return !*e->name && e->tries < MAX_TRIES;
}

static bool is_with(const struct tapir_postgresql_namer *n, const struct entry *e,
		    const struct entry *first)
{
	return is_open(e) && e->call != n->call && e->relation && e->server == first->server &&
	       e->database == first->database;
}

/* All of the database of the first one that are wanted now. */
static bool find_relations(struct tapir_postgresql_namer *n, struct entry *first,
			   struct tapir_postgresql_process *process)
{
	struct tapir_postgresql_relation found[BATCH];
	struct entry *e, *end = n->entries.data + n->entries.cnt, *of[BATCH];
	uint32_t cnt = 0;
	bool is_found = false;

	for (e = first; e < end && cnt < BATCH; e++) {
		if (!is_with(n, e, first))
			continue;
		of[cnt] = e;
		found[cnt++] = (struct tapir_postgresql_relation){.oid = e->relation};
	}
	tapir_postgresql_process__name_relations(process, first->database, found, cnt);
	for (uint32_t i = 0; i < cnt; i++) {
		of[i]->tries++;
		of[i]->call = n->call;
		memcpy(of[i]->name, found[i].name, sizeof(of[i]->name));
		is_found |= *of[i]->name;
	}
	return is_found;
}

static bool find_one(struct tapir_postgresql_namer *n, struct entry *e)
{
	struct tapir_postgresql_process *process = tapir_postgresql_process__new(e->tgid);
	bool is_found;

	if (!process && e->server)
		process = tapir_postgresql_process__new(e->server);
	if (!process) {
		e->tries = MAX_TRIES;
		return false;
	}
	if (e->relation) {
		is_found = find_relations(n, e, process);
	} else {
		e->tries++;
		e->call = n->call;
		tapir_postgresql_process__name_database(process, e->database, e->name);
		is_found = *e->name;
	}
	tapir_postgresql_process__free(process);
	return is_found;
}

/* A lock that was tried together with an earlier one waits for the next call. */
bool tapir_postgresql_namer__find(struct tapir_postgresql_namer *n)
{
	bool is_found = false;
	struct entry *e;

	while (n->done_cnt < n->entries.cnt && !is_open(&n->entries.data[n->done_cnt]))
		n->done_cnt++;
	n->call++;
	for (e = n->entries.data + n->done_cnt; e < n->entries.data + n->entries.cnt; e++)
		if (is_open(e) && e->call != n->call)
			is_found |= find_one(n, e);
	return is_found;
}

/* ---- what is known -------------------------------------------------------------------------- */

static const char *relation_name(const struct tapir_postgresql_namer *n, uint32_t server,
				 uint32_t database, uint32_t relation)
{
	const struct entry *e = tapir_keyed__get(
		&n->entries, tapir_postgresql_name__key(server, database, relation));

	return e && *e->name ? e->name : NULL;
}

void tapir_postgresql_namer__add_lock(const struct tapir_postgresql_namer *n, uint32_t server,
				      const struct tapir_postgresql_lock *lock,
				      struct tapir_str *out)
{
	tapir_postgresql_lock__add_text(lock,
					relation_name(n, server, lock->fields[0], lock->fields[1]),
					relation_name(n, server, lock->fields[0], 0), out);
}

void tapir_postgresql_namer__add_names(const struct tapir_postgresql_namer *n, size_t max_bytes,
				       struct tapir_str *out)
{
	const struct entry *e;
	struct tapir_str line = {};

	tapir_vec_for_each (e, &n->entries) {
		const struct tapir_postgresql_name name = {e->server, e->database, e->relation,
							   tapir_sv__of(e->name)};

		if (!*e->name)
			continue;
		tapir_str__clear(&line);
		tapir_postgresql_name__add(&name, &line);
		if (out->len + line.len <= max_bytes)
			tapir_str__add(out, line.data, line.len);
	}
	tapir_str__fini(&line);
}
