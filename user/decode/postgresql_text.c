// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Types of locks are PostgreSQL's LockTagType, whose numbers spec/runtime_db/lore_postgresql.c
 * names. Names of relations come from a server's files and may hold any byte but a NUL: they stand
 * at the end of a line and are escaped, so that a line ends where it seems to.
 */
#include "decode/postgresql_text.h"

#include <string.h>

#include "base/map.h"
#include "spec/runtime_db/lore.h"

enum type {
	RELATION = 0,
	EXTEND = 1,
	FROZEN_IDS = 2,
	PAGE = 3,
	TUPLE = 4,
	TRANSACTION = 5,
	VIRTUAL_TRANSACTION = 6,
	SPECULATIVE = 7,
	OBJECT = 8,
	USER = 9,
	ADVISORY = 10,
};

bool tapir_postgresql_lock__is_of_relation(const struct tapir_postgresql_lock *lock)
{
	return lock->type == RELATION || lock->type == EXTEND || lock->type == PAGE ||
	       lock->type == TUPLE;
}

bool tapir_postgresql_lock__is_of_database(const struct tapir_postgresql_lock *lock)
{
	return tapir_postgresql_lock__is_of_relation(lock) || lock->type == FROZEN_IDS ||
	       lock->type == OBJECT || lock->type == USER || lock->type == ADVISORY;
}

static void add_database(uint32_t oid, const char *name, struct tapir_str *out)
{
	if (!oid) /* a relation of all databases */
		return;
	tapir_str__adds(out, " of database ");
	if (name)
		tapir_str__add_printable(out, name, strlen(name));
	else
		tapir_str__addu(out, oid);
}

static void add_relation(const struct tapir_postgresql_lock *lock, const char *relation,
			 const char *database, struct tapir_str *out)
{
	tapir_str__addc(out, ' ');
	if (relation) {
		tapir_str__add_printable(out, relation, strlen(relation));
		tapir_str__adds(out, " (");
	}
	tapir_str__addf(out, "OID %u", lock->fields[1]);
	add_database(lock->fields[0], database, out);
	tapir_str__adds(out, relation ? ")" : "");
	if (lock->type == PAGE || lock->type == TUPLE)
		tapir_str__addf(out, " page %u", lock->fields[2]);
	if (lock->type == TUPLE)
		tapir_str__addf(out, " row %u", lock->field4);
}

/* Keys of 64 bits are in two fields; so are those of 32 bits, which the last field marks. */
static void add_advisory(const struct tapir_postgresql_lock *lock, const char *database,
			 struct tapir_str *out)
{
	if (lock->field4 == 1)
		tapir_str__addf(out, " %lld",
				(long long)((uint64_t)lock->fields[1] << 32 | lock->fields[2]));
	else
		tapir_str__addf(out, " (%d, %d)", (int)lock->fields[1], (int)lock->fields[2]);
	add_database(lock->fields[0], database, out);
}

static void add_numbers(const struct tapir_postgresql_lock *lock, struct tapir_str *out)
{
	switch (lock->type) {
	case TRANSACTION:
		tapir_str__addf(out, " %u", lock->fields[0]);
		break;
	case VIRTUAL_TRANSACTION:
		tapir_str__addf(out, " %u/%u", lock->fields[0], lock->fields[1]);
		break;
	default:
		tapir_str__addf(out, " %u %u %u", lock->fields[0], lock->fields[1],
				lock->fields[2]);
	}
}

void tapir_postgresql_lock__add_text(const struct tapir_postgresql_lock *lock, const char *relation,
				     const char *database, struct tapir_str *out)
{
	const char *type = tapir_lore__value_name("postgresql", "lock", "tag_type", lock->type);

	if (type)
		tapir_str__adds(out, type);
	else
		tapir_str__addf(out, "type %u", lock->type);
	if (tapir_postgresql_lock__is_of_relation(lock))
		add_relation(lock, relation, database, out);
	else if (lock->type == ADVISORY)
		add_advisory(lock, database, out);
	else if (lock->type == FROZEN_IDS)
		add_database(lock->fields[0], database, out);
	else
		add_numbers(lock, out);
}

/* ---- names ---------------------------------------------------------------------------------- */

uint64_t tapir_postgresql_name__key(uint32_t server, uint32_t database, uint32_t relation)
{
	return tapir_hash__mix(tapir_hash__mix(tapir_hash__mix(3, server), database), relation);
}

void tapir_postgresql_name__add(const struct tapir_postgresql_name *name, struct tapir_str *out)
{
	tapir_str__addf(out, "%u %u %u ", name->server, name->database, name->relation);
	tapir_str__add_printable(out, name->name.data, name->name.len);
	tapir_str__addc(out, '\n');
}

static bool take_number(struct tapir_sv *line, uint32_t *out)
{
	uint64_t value = 0;
	size_t len = 0;

	for (; len < line->len && line->data[len] >= '0' && line->data[len] <= '9'; len++) {
		value = value * 10 + (uint64_t)(line->data[len] - '0');
		if (value > UINT32_MAX)
			return false;
	}
	if (!len || len == line->len || line->data[len] != ' ')
		return false;
	*line = (struct tapir_sv){line->data + len + 1, line->len - len - 1};
	*out = (uint32_t)value;
	return true;
}

bool tapir_postgresql_name__next(struct tapir_sv *text, struct tapir_postgresql_name *out)
{
	while (text->len) {
		struct tapir_sv line = tapir_sv__next_line(text);

		if (!take_number(&line, &out->server) || !take_number(&line, &out->database) ||
		    !take_number(&line, &out->relation) || !line.len)
			continue;
		out->name = line;
		return true;
	}
	return false;
}

/* ---- sessions ------------------------------------------------------------------------------- */

void tapir_postgresql_session__add(const struct tapir_postgresql_session *session,
				   struct tapir_str *out)
{
	tapir_str__addf(out, "%u %u %u ", (uint32_t)(session->transaction_ns / 1000000),
			(uint32_t)(session->idle_ns / 1000000), session->transaction);
	tapir_str__add(out, session->statement.data, session->statement.len);
}

bool tapir_postgresql_session__parse(struct tapir_sv text, struct tapir_postgresql_session *out)
{
	uint32_t transaction_ms, idle_ms, transaction;

	if (!take_number(&text, &transaction_ms) || !take_number(&text, &idle_ms) ||
	    !take_number(&text, &transaction))
		return false;
	*out = (struct tapir_postgresql_session){.transaction_ns = transaction_ms * 1000000ull,
						 .idle_ns = idle_ms * 1000000ull,
						 .transaction = transaction,
						 .statement = text};
	return true;
}

/* ---- titles --------------------------------------------------------------------------------- */

/*
 * The rest of the title behind the words, or from them on; empty: they are not there. A cluster may
 * have a name.
 */
static struct tapir_sv find_words(struct tapir_sv title, const char *words, bool with_them)
{
	size_t len = strlen(words);
	const char *at;

	if (!tapir_sv__starts_with(title, "postgres: "))
		return (struct tapir_sv){};
	at = memmem(title.data, title.len, words, len);
	if (!at)
		return (struct tapir_sv){};
	at += with_them ? 0 : len;
	return (struct tapir_sv){at, title.len - (size_t)(at - title.data)};
}

uint32_t tapir_postgresql_title__leader(struct tapir_sv title)
{
	struct tapir_sv text = find_words(title, "parallel worker for PID ", false);
	uint64_t pid = 0;

	for (size_t i = 0; i < text.len && text.data[i] >= '0' && text.data[i] <= '9'; i++)
		pid = pid > UINT32_MAX ? pid : pid * 10 + (uint64_t)(text.data[i] - '0');
	return pid <= UINT32_MAX ? (uint32_t)pid : 0;
}

struct tapir_sv tapir_postgresql_title__autovacuum(struct tapir_sv title)
{
	struct tapir_sv text = find_words(title, "autovacuum worker", true);

	while (text.len && (text.data[text.len - 1] == ' ' || !text.data[text.len - 1]))
		text.len--;
	return text;
}
