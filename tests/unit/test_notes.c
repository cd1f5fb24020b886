// SPDX-License-Identifier: GPL-2.0-or-later
/* USDT notes: well-formed, moved by prelink, described by .note.tapir, and hostile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "base/diag.h"
#include "base/str.h"
#include "elf/notes.h"
#include "elf/operand.h"
#include "elf_builder.h"

#define SITE_VA	     (TEXT_VA + 0x10)
#define SEMAPHORE_VA (DATA_VA + 0x20)

/* ---- writing notes ----------------------------------------------------------------------- */

static void add_u32(struct tapir_str *s, uint32_t value)
{
	tapir_str__add(s, (const char *)&value, sizeof(value));
}

static void add_u64(struct tapir_str *s, uint64_t value)
{
	tapir_str__add(s, (const char *)&value, sizeof(value));
}

static void add_text(struct tapir_str *s, const char *text)
{
	tapir_str__add(s, text, strlen(text) + 1);
}

static void add_raw(struct tapir_str *s, const char *owner, uint32_t type, const void *desc,
		    size_t len)
{
	add_u32(s, (uint32_t)strlen(owner) + 1);
	add_u32(s, (uint32_t)len);
	add_u32(s, type);
	add_text(s, owner);
	while (s->len % 4)
		tapir_str__addc(s, '\0');
	tapir_str__add(s, desc, len);
	while (s->len % 4)
		tapir_str__addc(s, '\0');
}

static void add_moved(struct tapir_str *s, uint64_t site, uint64_t base, uint64_t semaphore,
		      const char *name, const char *args)
{
	struct tapir_str desc = {};

	add_u64(&desc, site);
	add_u64(&desc, base);
	add_u64(&desc, semaphore);
	add_text(&desc, "shop");
	add_text(&desc, name);
	add_text(&desc, args);
	add_raw(s, "stapsdt", 3, desc.data, desc.len);
	tapir_str__fini(&desc);
}

static void add_note(struct tapir_str *s, uint64_t site, const char *name, const char *args)
{
	add_moved(s, site, 0, 0, name, args);
}

/* names: separated by spaces. */
static void add_kinds(struct tapir_str *s, uint64_t site, const char *kinds, const char *names)
{
	struct tapir_str desc = {};

	add_u64(&desc, site);
	add_text(&desc, kinds);
	if (*names)
		add_text(&desc, names);
	for (size_t i = sizeof(site); i < desc.len; i++)
		if (desc.data[i] == ' ')
			desc.data[i] = '\0';
	add_raw(s, "tapir", 1, desc.data, desc.len);
	tapir_str__fini(&desc);
}

/* ---- reading them ------------------------------------------------------------------------ */

/* Takes the sections' contents; base_off: the address of .stapsdt.base, 0 for none. */
static struct tapir_usdt_notes read_notes(struct tapir_str *stapsdt, struct tapir_str *tapir,
					  uint64_t base_off)
{
	struct tapir_usdt_notes notes = {};
	struct elf_builder b;
	struct tapir_elf *elf;
	int cnt;

	elf_builder__init(&b, ET_DYN);
	if (base_off)
		elf_builder__add_header(&b, ".stapsdt.base", SHT_PROGBITS, SHF_ALLOC, base_off, 1);
	elf_builder__add_section(&b, ".note.stapsdt", SHT_NOTE, stapsdt->data, stapsdt->len);
	if (tapir)
		elf_builder__add_section(&b, ".note.tapir", SHT_NOTE, tapir->data, tapir->len);
	elf_builder__finish(&b);
	elf = elf_builder__open(&b);
	assert_non_null(elf);
	cnt = tapir_usdt_notes__read(elf, &notes);
	assert_true(cnt >= 0);
	assert_int_equal(cnt, notes.cnt);
	tapir_elf__free(elf);
	elf_builder__fini(&b);
	tapir_str__fini(stapsdt);
	if (tapir)
		tapir_str__fini(tapir);
	return notes;
}

static void note_is_read_when_it_is_well_formed(void **state)
{
	struct tapir_str s = {};
	struct tapir_usdt_notes notes;
	const struct tapir_usdt_note *n;
	const char *text;
	size_t len;

	(void)state;
	add_moved(&s, SITE_VA, 0, SEMAPHORE_VA, "order__placed", "8@%rdi -4@$-5 8f@%xmm0");
	add_raw(&s, "other", 3, "whatever", 8); /* somebody else's */
	add_note(&s, SITE_VA + 1, "bare", "");
	notes = read_notes(&s, NULL, 0);
	assert_int_equal(notes.cnt, 2);
	assert_int_equal(notes.bad_cnt, 0);
	n = &notes.data[0];
	assert_string_equal(n->provider, "shop");
	assert_string_equal(n->name, "order__placed");
	assert_int_equal(n->site_va, SITE_VA);
	assert_int_equal(n->site_off, TEXT_OFF + 0x10);
	assert_int_equal(n->semaphore_va, SEMAPHORE_VA);
	assert_int_equal(n->semaphore_off, DATA_OFF + 0x20);
	assert_int_equal(n->arg_cnt, 3);
	assert_int_equal(n->args[0].reg, TAPIR_REG_DI);
	assert_int_equal(n->args[1].value, -5);
	assert_int_equal(n->args[2].kind, TAPIR_OPERAND_NONE);
	assert_int_equal(n->reasons[0], TAPIR_OPERAND_OK);
	assert_int_equal(n->reasons[2], TAPIR_OPERAND_VECTOR_REG);
	text = tapir_usdt_note__arg_text(n, 1, &len);
	assert_int_equal(len, 6);
	assert_memory_equal(text, "-4@$-5", len);
	assert_string_equal(n->kinds, "");
	assert_int_equal(notes.data[1].arg_cnt, 0);
	assert_int_equal(notes.data[1].semaphore_off, 0);
	tapir_usdt_notes__fini(&notes);
}

static void list_is_empty_when_the_file_has_no_notes(void **state)
{
	struct tapir_usdt_notes notes;
	struct elf_builder b;
	struct tapir_elf *elf;

	(void)state;
	elf_builder__init(&b, ET_DYN);
	elf_builder__add_header(&b, ".note.stapsdt", SHT_NOBITS, 0, 0, 100);
	elf_builder__finish(&b);
	elf = elf_builder__open(&b);
	assert_non_null(elf);
	assert_int_equal(tapir_usdt_notes__read(elf, &notes), 0);
	assert_int_equal(notes.cnt, 0);
	tapir_usdt_notes__fini(&notes);
	tapir_elf__free(elf);
	elf_builder__fini(&b);
}

static void addresses_are_corrected_when_the_base_has_moved(void **state)
{
	const uint64_t base_off = 0x3000, old = 0x7000000000; /* what prelink added */
	const uint64_t old_base = LOAD_BIAS + base_off - old;
	struct tapir_str s = {};
	struct tapir_usdt_notes notes;

	(void)state;
	add_moved(&s, SITE_VA - old, old_base, SEMAPHORE_VA - old, "moved", "");
	add_moved(&s, SITE_VA, LOAD_BIAS + base_off, SEMAPHORE_VA, "same", "");
	add_moved(&s, SITE_VA, 0, 0, "without_base", "");
	notes = read_notes(&s, NULL, base_off);
	assert_int_equal(notes.cnt, 3);
	for (size_t i = 0; i < notes.cnt; i++) {
		assert_int_equal(notes.data[i].site_va, SITE_VA);
		assert_int_equal(notes.data[i].site_off, TEXT_OFF + 0x10);
		assert_int_equal(notes.data[i].semaphore_off, i < 2 ? DATA_OFF + 0x20 : 0);
	}
	tapir_usdt_notes__fini(&notes);
}

static void arguments_are_counted_when_there_are_more_than_twelve(void **state)
{
	struct tapir_str s = {}, args = {};
	struct tapir_usdt_notes notes;

	(void)state;
	for (int i = 0; i < 15; i++)
		tapir_str__addf(&args, " -4@$%d", i);
	add_note(&s, SITE_VA, "many", args.data);
	notes = read_notes(&s, NULL, 0);
	assert_int_equal(notes.data[0].arg_cnt, 12);
	assert_int_equal(notes.data[0].dropped_arg_cnt, 3);
	assert_int_equal(notes.data[0].args[11].value, 11);
	tapir_usdt_notes__fini(&notes);
	tapir_str__fini(&args);
}

/* ---- .note.tapir -------------------------------------------------------------------------- */

static void kinds_are_joined_when_the_site_is_the_same(void **state)
{
	struct tapir_str s = {}, t = {};
	struct tapir_usdt_notes notes;

	(void)state;
	add_note(&s, SITE_VA, "one", "8@%rdi -4@%esi");
	add_note(&s, SITE_VA + 1, "two", "8@%rdi");
	add_note(&s, SITE_VA + 2, "three", "8@%rdi");
	add_kinds(&t, SITE_VA + 1, "s", "");
	add_kinds(&t, SITE_VA, "pi", "order count");
	notes = read_notes(&s, &t, 0);
	assert_string_equal(notes.data[0].kinds, "pi");
	assert_string_equal(notes.data[0].arg_names[0], "order");
	assert_string_equal(notes.data[0].arg_names[1], "count");
	assert_string_equal(notes.data[1].kinds, "s");
	assert_null(notes.data[1].arg_names[0]);
	assert_string_equal(notes.data[2].kinds, "");
	assert_int_equal(notes.bad_cnt, 0);
	tapir_usdt_notes__fini(&notes);
}

static void kinds_are_joined_when_the_base_has_moved(void **state)
{
	const uint64_t old = 0x7000000000, base_off = 0x3000;
	struct tapir_str s = {}, t = {};
	struct tapir_usdt_notes notes;

	(void)state;
	add_moved(&s, SITE_VA - old, LOAD_BIAS + base_off - old, 0, "one", "8@%rdi");
	add_kinds(&t, SITE_VA - old, "u", "id");
	notes = read_notes(&s, &t, base_off);
	assert_string_equal(notes.data[0].kinds, "u");
	assert_string_equal(notes.data[0].arg_names[0], "id");
	tapir_usdt_notes__fini(&notes);
}

static void kinds_are_ignored_when_they_do_not_fit_the_note(void **state)
{
	static const char *const wrong[] = {"",	  "i",	 "iii",
					    "ix", "i\1", "iiiiiiiiiiiiiiiiiiiiiiiiiiiiiii"};
	struct tapir_usdt_notes notes;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct tapir_str s = {}, t = {};

		add_note(&s, SITE_VA, "one", "8@%rdi -4@%esi");
		add_kinds(&t, SITE_VA, wrong[i], "a b");
		add_kinds(&t, SITE_VA + 99, "ii", "");
		add_raw(&t, "tapir", 1, "short", 5);
		add_raw(&t, "tapir", 1, "\0\0\0\0\0\0\0\0unterminated", 20);
		notes = read_notes(&s, &t, 0);
		assert_string_equal(notes.data[0].kinds, "");
		assert_null(notes.data[0].arg_names[0]);
		assert_int_equal(notes.bad_cnt, 4);
		tapir_usdt_notes__fini(&notes);
	}
}

static void add_taken(struct tapir_str *s, uint64_t site, const char *operand)
{
	struct tapir_str desc = {};

	add_u64(&desc, site);
	add_text(&desc, operand);
	add_raw(s, "tapir", 3, desc.data, desc.len);
	tapir_str__fini(&desc);
}

static void who_has_taken_the_event_is_where_the_third_note_says(void **state)
{
	static const struct {
		const char *operand;
		uint8_t kind;
		unsigned bad_cnt;
	} cases[] = {
		{"8@%r15", TAPIR_OPERAND_REG, 0},   {"8@24(%rsp)", TAPIR_OPERAND_MEM, 0},
		{"8@$0", TAPIR_OPERAND_NONE, 0}, /* no session ever has */
		{"4@%r15d", TAPIR_OPERAND_NONE, 1}, {"", TAPIR_OPERAND_NONE, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct tapir_str s = {}, t = {};
		struct tapir_usdt_notes notes;

		add_note(&s, SITE_VA, "one", "8@%rdi");
		add_taken(&t, SITE_VA, cases[i].operand);
		notes = read_notes(&s, &t, 0);
		assert_int_equal(notes.data[0].taken.kind, cases[i].kind);
		assert_int_equal(notes.bad_cnt, cases[i].bad_cnt);
		tapir_usdt_notes__fini(&notes);
	}
}

/* ---- hostile ------------------------------------------------------------------------------ */

static void note_is_skipped_when_it_points_nowhere(void **state)
{
	struct tapir_str s = {};
	struct tapir_usdt_notes notes;

	(void)state;
	add_note(&s, 0, "null", "");
	add_note(&s, UINT64_MAX, "far", "");
	add_note(&s, DATA_VA, "not_executable", "");
	add_moved(&s, SITE_VA, 0, TEXT_VA, "semaphore_not_writable", "");
	add_moved(&s, SITE_VA, 0, LOAD_BIAS + IMAGE_BYTES, "semaphore_outside", "");
	add_moved(&s, SITE_VA, UINT64_MAX, 0, "base_without_section", "");
	notes = read_notes(&s, NULL, 0);
	assert_int_equal(notes.cnt, 1);
	assert_string_equal(notes.data[0].name, "base_without_section");
	assert_int_equal(notes.bad_cnt, 5);
	tapir_usdt_notes__fini(&notes);
}

static void note_is_skipped_when_its_strings_are_bad(void **state)
{
	static const struct {
		const char *text;
		size_t len;
	} rows[] = {
#define BYTES(text) {text, sizeof(text) - 1}
		BYTES(""),
		BYTES("shop"), /* never terminated */
		BYTES("shop\0name"),
		BYTES("shop\0name\0args"),
		BYTES("\0name\0\0"), /* empty */
		BYTES("shop\0\0\0"),
		BYTES("sh\33op\0name\0\0"), /* not for terminals */
		BYTES("shop\0na me\0\0"),
		BYTES("shop\0na\nme\0\0"),
		BYTES("shop\0name\177\0\0"),
#undef BYTES
	};
	struct tapir_str s = {};
	struct tapir_usdt_notes notes;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct tapir_str desc = {};

		add_u64(&desc, SITE_VA);
		add_u64(&desc, 0);
		add_u64(&desc, 0);
		tapir_str__add(&desc, rows[i].text, rows[i].len);
		add_raw(&s, "stapsdt", 3, desc.data, desc.len);
		tapir_str__fini(&desc);
	}
	add_raw(&s, "stapsdt", 3, "short", 5);
	add_note(&s, SITE_VA, "good", "");
	notes = read_notes(&s, NULL, 0);
	assert_int_equal(notes.cnt, 1);
	assert_string_equal(notes.data[0].name, "good");
	assert_int_equal(notes.bad_cnt, sizeof(rows) / sizeof(*rows) + 1);
	tapir_usdt_notes__fini(&notes);
}

static void walk_ends_when_a_length_is_beyond_the_section(void **state)
{
	static const uint32_t heads[][3] = {
		{8, 0xffffffff, 3}, {0xffffffff, 8, 3}, {0xfffffffd, 0xfffffffd, 3}, {8, 1000, 3}};

	(void)state;
	for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++) {
		struct tapir_str s = {};
		struct tapir_usdt_notes notes;

		add_note(&s, SITE_VA, "good", "");
		tapir_str__add(&s, (const char *)heads[i], sizeof(heads[i]));
		add_text(&s, "stapsdt");
		notes = read_notes(&s, NULL, 0);
		assert_int_equal(notes.cnt, 1);
		assert_int_equal(notes.bad_cnt, 1);
		tapir_usdt_notes__fini(&notes);
	}
}

static void notes_are_dropped_and_said_so_when_there_are_too_many(void **state)
{
	struct tapir_str s = {};
	struct tapir_usdt_notes notes;

	(void)state;
	for (unsigned i = 0; i < TAPIR_MAX_NOTES + 10; i++)
		add_note(&s, SITE_VA, "x", "");
	tapir_diag__clear();
	notes = read_notes(&s, NULL, 0);
	assert_int_equal(notes.cnt, TAPIR_MAX_NOTES);
	assert_non_null(tapir_diag__line(0));
	assert_non_null(strstr(tapir_diag__line(0), "10 are dropped"));
	tapir_diag__clear();
	tapir_usdt_notes__fini(&notes);
}

static void file_is_safe_when_it_is_cut_at_any_byte(void **state)
{
	struct tapir_str s = {}, t = {};
	struct elf_builder b;
	size_t with_notes = 0;

	(void)state;
	elf_builder__init(&b, ET_DYN);
	add_moved(&s, SITE_VA, 0, SEMAPHORE_VA, "one",
		  "8@%rdi -4@missing(%rip) 8@x@GOTPCREL(%rip)");
	add_kinds(&t, SITE_VA, "pip", "a b c");
	elf_builder__add_section(&b, ".note.stapsdt", SHT_NOTE, s.data, s.len);
	elf_builder__add_section(&b, ".note.tapir", SHT_NOTE, t.data, t.len);
	elf_builder__finish(&b);
	/* There are only zeros between the headers and the sections. */
	for (size_t len = 0; len <= b.len;
	     len += len == TEXT_OFF ? IMAGE_BYTES - 64 - TEXT_OFF : 1) {
		struct tapir_elf *elf = NULL;
		struct tapir_usdt_notes notes;
		int err = elf_builder__open_cut(&b, len, &elf);

		assert_true(err == 0 || err == -ENOEXEC);
		if (!err && tapir_usdt_notes__read(elf, &notes) >= 0) {
			with_notes += notes.cnt;
			tapir_usdt_notes__fini(&notes);
		}
		tapir_elf__free(elf);
		tapir_diag__clear();
	}
	assert_int_equal(with_notes, 1); /* only when nothing is cut off */
	elf_builder__fini(&b);
	tapir_str__fini(&s);
	tapir_str__fini(&t);
}

static void file_is_safe_when_any_byte_is_flipped(void **state)
{
	struct tapir_str s = {};
	struct elf_builder b;

	(void)state;
	elf_builder__init(&b, ET_DYN);
	add_moved(&s, SITE_VA, 0, SEMAPHORE_VA, "one", "8@%rdi -4@missing(%rip)");
	elf_builder__add_section(&b, ".note.stapsdt", SHT_NOTE, s.data, s.len);
	elf_builder__finish(&b);
	for (size_t at = 0; at < b.len; at++) {
		if (at == 0x400)
			at = IMAGE_BYTES;
		for (int bit = 0; bit < 8; bit += 7) {
			struct tapir_elf *elf = NULL;
			struct tapir_usdt_notes notes;

			b.bytes[at] ^= (uint8_t)(1 << bit);
			if (!elf_builder__open_cut(&b, b.len, &elf) &&
			    tapir_usdt_notes__read(elf, &notes) >= 0) {
				assert_true(notes.cnt <= 1);
				tapir_usdt_notes__fini(&notes);
			}
			tapir_elf__free(elf);
			tapir_diag__clear();
			b.bytes[at] ^= (uint8_t)(1 << bit);
		}
	}
	elf_builder__fini(&b);
	tapir_str__fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(note_is_read_when_it_is_well_formed),
		cmocka_unit_test(list_is_empty_when_the_file_has_no_notes),
		cmocka_unit_test(addresses_are_corrected_when_the_base_has_moved),
		cmocka_unit_test(arguments_are_counted_when_there_are_more_than_twelve),
		cmocka_unit_test(kinds_are_joined_when_the_site_is_the_same),
		cmocka_unit_test(kinds_are_joined_when_the_base_has_moved),
		cmocka_unit_test(kinds_are_ignored_when_they_do_not_fit_the_note),
		cmocka_unit_test(who_has_taken_the_event_is_where_the_third_note_says),
		cmocka_unit_test(note_is_skipped_when_it_points_nowhere),
		cmocka_unit_test(note_is_skipped_when_its_strings_are_bad),
		cmocka_unit_test(walk_ends_when_a_length_is_beyond_the_section),
		cmocka_unit_test(notes_are_dropped_and_said_so_when_there_are_too_many),
		cmocka_unit_test(file_is_safe_when_it_is_cut_at_any_byte),
		cmocka_unit_test(file_is_safe_when_any_byte_is_flipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
