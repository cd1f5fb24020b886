// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of records: each row is sound, lengths that lie are refused, members are read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "trace/schema.h"

static void every_type_has_a_row_of_a_name_and_a_size(void **state)
{
	(void)state;
	for (unsigned i = 1; i < TAPIR_REC_TYPE_CNT; i++) {
		assert_non_null(tapir_schemas[i].name);
		assert_non_null(tapir_schemas[i].members);
		assert_true(tapir_schemas[i].bytes >= sizeof(struct tapir_rec));
		assert_int_equal(tapir_schemas[i].bytes % 8, 0);
		for (unsigned k = 1; k < i; k++)
			assert_string_not_equal(tapir_schemas[k].name, tapir_schemas[i].name);
	}
	assert_string_equal(tapir_schema__of(TAPIR_REC_TYPE_CNT)->name, "unknown");
	assert_true(tapir_member__ends(tapir_schema__of(UINT16_MAX)->members));
}

static bool has_part(const struct tapir_schema *s, unsigned offset)
{
	for (unsigned i = 0; i < TAPIR_SCHEMA_PARTS && s->parts[i].bytes; i++)
		if (s->parts[i].offset == offset)
			return true;
	return false;
}

static void assert_member(const struct tapir_schema *s, const struct tapir_member *m)
{
	assert_true(m->offset + m->bytes <= s->bytes);
	switch (m->type) {
	case TAPIR_MEMBER_TEXT:
	case TAPIR_MEMBER_LIST:
	case TAPIR_MEMBER_RESOURCE:
		assert_true(has_part(s, m->offset));
		break;
	case TAPIR_MEMBER_COMM:
		assert_true(m->aux && m->aux + sizeof(uint32_t) <= s->bytes);
		assert_int_equal(m->bytes, sizeof(uint32_t));
		break;
	case TAPIR_MEMBER_WORD:
		assert_non_null(m->word);
		break;
	case TAPIR_MEMBER_UINT:
		assert_true(m->value || m->bytes == 1 || m->bytes == 2 || m->bytes == 4 ||
			    m->bytes == 8);
		break;
	default:
		break;
	}
	if (m->column)
		assert_true(!s->table || m->description);
}

static void members_lie_in_their_record(void **state)
{
	(void)state;
	for (unsigned i = 1; i < TAPIR_REC_TYPE_CNT; i++)
		for (const struct tapir_member *m = tapir_schemas[i].members;
		     !tapir_member__ends(m); m++)
			assert_member(&tapir_schemas[i], m);
}

static void no_name_stands_twice_in_a_record(void **state)
{
	(void)state;
	for (unsigned i = 1; i < TAPIR_REC_TYPE_CNT; i++)
		for (const struct tapir_member *a = tapir_schemas[i].members;
		     !tapir_member__ends(a); a++)
			for (const struct tapir_member *b = a + 1; !tapir_member__ends(b); b++) {
				assert_false(a->key && b->key && !strcmp(a->key, b->key));
				assert_false(a->column && b->column &&
					     !strcmp(a->column, b->column));
			}
}

/* ---- against abi.h ---------------------------------------------------------------------------- */

#define ABI "include/tapir/abi.h" /* tests run at the root of the tree */

static const struct tapir_schema *schema_called(const char *name)
{
	/* JSON and SQL call it as they did before its structure was renamed. */
	if (!strcmp(name, "interp_sample"))
		name = "look";
	for (unsigned i = 1; i < TAPIR_REC_TYPE_CNT; i++)
		if (!strcmp(tapir_schemas[i].name, name))
			return &tapir_schemas[i];
	return NULL;
}

static bool tells_of(const struct tapir_schema *s, const char *member)
{
	for (const struct tapir_member *m = s->members; !tapir_member__ends(m); m++)
		if (m->name && m->description && !strcmp(m->name, member))
			return true;
	return false;
}

/* The page of records has each member that a struct of abi.h has, but padding and the header. */
static void every_member_of_abi_h_is_described(void **state)
{
	char line[256], word[64], member[64];
	const struct tapir_schema *schema = NULL;
	unsigned record_cnt = 0, member_cnt = 0;
	FILE *f = fopen(ABI, "r");

	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "struct tapir_rec_%63[a-z_] %1[{]", word, member) == 2) {
			schema = schema_called(word);
			if (!schema)
				fail_msg("%s: struct tapir_rec_%s has no row", ABI, word);
			record_cnt++;
		} else if (line[0] == '}') {
			schema = NULL;
		} else if (schema && line[0] == '\t' &&
			   sscanf(line, "\t%63[a-z0-9_] %63[a-z0-9_]%1[;[]", word, member, word) ==
				   3 &&
			   strncmp(member, "pad", 3)) {
			if (!tells_of(schema, member))
				fail_msg("%s: %s of %s is not described", ABI, member,
					 schema->name);
			member_cnt++;
		}
	}
	fclose(f);
	assert_int_equal(record_cnt,
			 TAPIR_REC_TYPE_CNT - 2); /* INLINED is a struct tapir_rec_jit */
	assert_true(member_cnt > 100);
}

static void every_record_is_explained(void **state)
{
	(void)state;
	for (unsigned i = 1; i < TAPIR_REC_TYPE_CNT; i++) {
		assert_non_null(tapir_schemas[i].description);
		assert_true(!tapir_schemas[i].parts[0].bytes || tapir_schemas[i].after);
	}
}

/* ---- reading ---------------------------------------------------------------------------------- */

/* Each length in turn says one unit more than there is. */
static void record_is_refused_when_a_part_reaches_out(void **state)
{
	_Alignas(8) char bytes[512];
	struct tapir_rec *rec = (void *)bytes;

	(void)state;
	for (unsigned i = 1; i < TAPIR_REC_TYPE_CNT; i++) {
		const struct tapir_schema *s = &tapir_schemas[i];

		for (unsigned k = 0; k < TAPIR_SCHEMA_PARTS && s->parts[k].bytes; k++) {
			const uint16_t cnt = (uint16_t)(16 / s->parts[k].unit + 1);

			memset(bytes, 0, sizeof(bytes));
			memset(bytes + sizeof(*rec), 1, 8); /* a stack has an id */
			*rec = (struct tapir_rec){.type = (uint16_t)i, .size = s->bytes + 16u};
			for (unsigned n = 0; n < TAPIR_SCHEMA_PARTS && s->parts[n].bytes; n++)
				memset(bytes + s->parts[n].offset, 0, s->parts[n].bytes);
			memcpy(bytes + s->parts[k].offset, &cnt, sizeof(cnt));
			assert_int_equal(tapir_schema__part_bytes(s, rec), cnt * s->parts[k].unit);
			assert_false(tapir_record__ok(rec, sizeof(bytes)));
		}
	}
}

static const struct tapir_member *member_of(unsigned type, const char *key)
{
	const struct tapir_member *m = tapir_schema__of(type)->members;

	while (!tapir_member__ends(m) && (!m->key || strcmp(m->key, key)))
		m++;
	assert_false(tapir_member__ends(m));
	return m;
}

static void assert_text(const struct tapir_rec *rec, const char *key, const char *want)
{
	struct tapir_member_value v = tapir_member__read(member_of(rec->type, key), rec);

	assert_int_equal(v.kind, want ? TAPIR_MEMBER_IS_TEXT : TAPIR_MEMBER_IS_NULL);
	if (want)
		assert_true(tapir_sv__is(v.text, want));
}

static void members_of_a_process_are_read(void **state)
{
	struct {
		struct tapir_rec_process p;
		char text[16];
	} r = {.p = {.h = {.type = TAPIR_REC_PROCESS, .size = sizeof(r)},
		     .tgid = 7,
		     .kind = TAPIR_PROCESS_EXEC,
		     .exit_status = -1,
		     .comm_len = 2,
		     .exe_len = 3,
		     .cgroup_len = 1},
	       .text = "sh/sh/"};
	const struct tapir_rec *rec = &r.p.h;

	(void)state;
	assert_true(tapir_record__ok(rec, sizeof(r)));
	assert_text(rec, "exe", "/sh");
	assert_text(rec, "cgroup", "/");
	assert_text(rec, "kind", "exec");
	assert_int_equal(tapir_member__read(member_of(rec->type, "pid"), rec).u64, 7);
	assert_text(rec, "exit_status", NULL); /* it runs */
	r.p.kind = TAPIR_PROCESS_EXIT;
	assert_int_equal(tapir_member__read(member_of(rec->type, "exit_status"), rec).i64, -1);
	r.p.kind = 9;
	assert_text(rec, "kind", NULL);
}

static void tails_of_a_wait_end_with_the_record(void **state)
{
	struct {
		struct tapir_rec_wait w;
		char text[8];
	} r = {.w = {.h = {.type = TAPIR_REC_WAIT, .size = sizeof(r)}, .text_len = 3},
	       .text = {'f', '(', ')', 'm', '\0', 's', 'q', 'l'}};

	(void)state;
	assert_text(&r.w.h, "call", "f()");
	assert_text(&r.w.h, "object_type", "m");
	assert_text(&r.w.h, "statement", "sql");
	assert_text(&r.w.h, "holder_statement", NULL);
	r.w.text_len = sizeof(r.text);
	assert_text(&r.w.h, "object_type", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_has_a_row_of_a_name_and_a_size),
		cmocka_unit_test(members_lie_in_their_record),
		cmocka_unit_test(no_name_stands_twice_in_a_record),
		cmocka_unit_test(every_member_of_abi_h_is_described),
		cmocka_unit_test(every_record_is_explained),
		cmocka_unit_test(record_is_refused_when_a_part_reaches_out),
		cmocka_unit_test(members_of_a_process_are_read),
		cmocka_unit_test(tails_of_a_wait_end_with_the_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
