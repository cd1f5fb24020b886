// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names of locks from a META entry. The recorder replaces the entry when it knows more names; by
 * the hash of its text it is read again then, and only then.
 */
#include "decode/lock_names.h"

#include <stdlib.h>
#include <string.h>

#include "decode/postgresql_text.h"

#define MAX_NAMES 65536u

uint32_t tapir_lock_names__server(const struct tapir_catalog *catalog, uint32_t tgid,
				  uint64_t now_ns)
{
	const struct tapir_rec_process *process = tapir_catalog__process(catalog, tgid, now_ns);

	return process ? process->parent_tgid : 0;
}

static void add_lock_name(struct tapir_lock_names *names, const struct tapir_postgresql_name *name)
{
	uint64_t key = tapir_postgresql_name__key(name->server, name->database, name->relation);
	char **text = tapir_keyed__add(&names->names, key, MAX_NAMES, NULL);

	if (text && !*text)
		*text = strndup(name->name.data, name->name.len);
	if (text && !*text)
		tapir_keyed__undo(&names->names, key);
}

static void drop_names(struct tapir_lock_names *names)
{
	char **name;

	tapir_vec_for_each (name, &names->names)
		free(*name);
	tapir_keyed__fini(&names->names);
}

static void read_names(struct tapir_lock_names *names, const struct tapir_catalog *catalog)
{
	struct tapir_sv text = tapir_catalog__meta_value(catalog, TAPIR_META_POSTGRESQL_NAMES);
	struct tapir_postgresql_name name;
	uint64_t hash = text.len ? tapir_hash__bytes(1, text.data, text.len) : 0;

	if (hash == names->hash)
		return;
	drop_names(names);
	names->hash = hash;
	while (names->names.cnt < MAX_NAMES && tapir_postgresql_name__next(&text, &name))
		add_lock_name(names, &name);
}

static const char *find_relation(const struct tapir_lock_names *names, uint32_t server,
				 uint32_t database, uint32_t relation)
{
	char *const *name = tapir_keyed__get(
		&names->names, tapir_postgresql_name__key(server, database, relation));

	return name ? *name : NULL;
}

bool tapir_lock_names__lock(const struct tapir_event_fields *fields,
			    struct tapir_postgresql_lock *out)
{
	static const char *const names[] = {"tag_field1", "tag_field2", "tag_field3", "tag_field4",
					    "tag_type"};
	uint64_t numbers[sizeof(names) / sizeof(*names)];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const struct tapir_value *v =
			tapir_event_fields__find(fields, names[i], strlen(names[i]));

		if (!v || v->bytes)
			return false;
		numbers[i] = v->u64;
	}
	*out = (struct tapir_postgresql_lock){
		.fields = {(uint32_t)numbers[0], (uint32_t)numbers[1], (uint32_t)numbers[2]},
		.field4 = (uint16_t)numbers[3],
		.type = (uint8_t)numbers[4],
	};
	return true;
}

bool tapir_lock_names__add_lock(struct tapir_lock_names *names, const struct tapir_catalog *catalog,
				uint32_t tgid, uint64_t now_ns,
				const struct tapir_event_fields *fields, struct tapir_str *out)
{
	struct tapir_postgresql_lock lock;
	uint32_t server = tapir_lock_names__server(catalog, tgid, now_ns);

	if (!tapir_lock_names__lock(fields, &lock))
		return false;
	read_names(names, catalog);
	tapir_postgresql_lock__add_text(
		&lock, find_relation(names, server, lock.fields[0], lock.fields[1]),
		find_relation(names, server, lock.fields[0], 0), out);
	return true;
}

void tapir_lock_names__fini(struct tapir_lock_names *names)
{
	drop_names(names);
}
