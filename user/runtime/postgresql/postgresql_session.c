// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * PgBackendStatus, as observed in PostgreSQL 14 to 18: the members that are read differ in their
 * places between versions, so a value counts only if it is what such a member can be.
 */
#include "runtime/postgresql/postgresql_session.h"

#include <string.h>

#define ENTRY_BYTES	 512u
#define EPOCH_US	 946684800000000ull /* 2000-01-01, of PostgreSQL's times */
#define FIRST_POINTER_AT 64u
#define NAME_BYTES	 64u /* of an application's name */
#define MAX_USER_VA	 (1ull << 56)

struct head { /* PgBackendStatus */
	uint32_t change_cnt, pid;
	uint32_t type, pad0;
	/* microseconds since 2000; 0: there is none */
	uint64_t process_us, transaction_us, activity_us, state_us;
};

/* The text at va, up to its end or the buffer's; what follows it may be unmapped. */
static size_t read_text(const struct tapir_process_memory *memory, uint64_t va, char *out,
			size_t max)
{
	size_t n = va && va < MAX_USER_VA ? memory->read(memory->ctx, va, out, max - 1) : 0;

	out[n] = 0;
	return n;
}

static bool is_printable_text(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' && !strchr("\t\n\r", *text))
			return false;
	return true;
}

/* The name of the application is followed by what it executed last: two pointers to texts. */
static bool read_statement(const struct tapir_process_memory *memory, const uint8_t *entry,
			   char text[TAPIR_POSTGRESQL_STATEMENT_BYTES])
{
	char name[NAME_BYTES + 1];

	for (size_t at = FIRST_POINTER_AT; at + 16 <= ENTRY_BYTES; at += 8) {
		uint64_t vas[2];

		memcpy(vas, entry + at, sizeof(vas));
		if (vas[0] < 4096 || vas[1] < 4096 || vas[0] == vas[1] ||
		    !read_text(memory, vas[0], name, sizeof(name)) || strlen(name) >= NAME_BYTES ||
		    !is_printable_text(name) ||
		    !read_text(memory, vas[1], text, TAPIR_POSTGRESQL_STATEMENT_BYTES))
			continue;
		if (*text && is_printable_text(text))
			return true;
	}
	*text = 0;
	return false;
}

bool tapir_postgresql_session__read(const struct tapir_process_memory *memory, uint64_t my_entry_va,
				    uint32_t pid, uint64_t now_us,
				    char text[TAPIR_POSTGRESQL_STATEMENT_BYTES],
				    struct tapir_postgresql_session *out)
{
	uint64_t entry_va = tapir_process_memory__u64(memory, my_entry_va);
	uint8_t entry[ENTRY_BYTES];
	struct head head;

	if (!tapir_process_memory__get(memory, entry_va, entry, sizeof(entry)))
		return false;
	memcpy(&head, entry, sizeof(head));
	now_us -= EPOCH_US;
	if (head.pid != pid || head.change_cnt & 1 || !head.transaction_us ||
	    head.process_us > head.transaction_us || head.transaction_us > head.state_us ||
	    head.state_us > now_us)
		return false;
	(void)read_statement(memory, entry, text);
	*out = (struct tapir_postgresql_session){.transaction_ns =
							 (now_us - head.transaction_us) * 1000,
						 .idle_ns = (now_us - head.state_us) * 1000,
						 .statement = {text, strlen(text)}};
	return true;
}
