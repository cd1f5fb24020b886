// SPDX-License-Identifier: GPL-2.0-or-later
/* What is captured at a site: SPEC before note, note before table, table before operand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/diag.h"
#include "record/images/site_layout.h"

#define MAX_BYTES (TAPIR_EVENT_VAR_BYTES - 1)

static struct tapir_usdt_note note;
static struct tapir_spec *spec;
static struct tapir_site_layout plan;

static int setup(void **state)
{
	(void)state;
	tapir_diag__clear();
	note = (struct tapir_usdt_note){.provider = "prov", .name = "event", .args_text = ""};
	memset(&plan, 0xee, sizeof(plan));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tapir_spec__free(spec);
	spec = NULL;
	return 0;
}

static void add_arg(uint8_t kind, uint8_t size, bool is_signed)
{
	note.args[note.arg_cnt++] =
		(struct tapir_operand){.kind = kind, .size = size, .is_signed = is_signed};
}

static int make(const char *spec_text)
{
	tapir_spec__free(spec);
	spec = NULL;
	assert_int_equal(tapir_spec__parse(spec_text, &spec), 0);
	return tapir_site_layout__make(&note, spec, false, &plan);
}

static void fields_are_numbers_when_only_the_operand_is_known(void **state)
{
	(void)state;
	add_arg(TAPIR_OPERAND_REG, 4, true);
	add_arg(TAPIR_OPERAND_MEM, 8, false);
	add_arg(TAPIR_OPERAND_CONST, 1, false);
	note.args[2].is_float = 0;
	assert_int_equal(make("prov"), 0);
	assert_int_equal(plan.site.arg_cnt, 3);
	assert_int_equal(plan.site.flags, 0);
	assert_int_equal(plan.site.byte_arg_cnt, 0);
	assert_int_equal(plan.fields[0].type, TAPIR_FIELD_INT);
	assert_int_equal(plan.fields[0].size, 4);
	assert_int_equal(plan.fields[1].type, TAPIR_FIELD_UINT);
	assert_int_equal(plan.fields[1].size, 8);
	assert_int_equal(plan.fields[2].size, 1);
	assert_int_equal(plan.names[0].len, 0); /* argN */
	assert_memory_equal(&plan.site.args[1].operand, &note.args[1], sizeof(note.args[1]));
}

static void field_is_float_only_when_four_or_eight_bytes(void **state)
{
	(void)state;
	add_arg(TAPIR_OPERAND_REG, 8, false);
	add_arg(TAPIR_OPERAND_REG, 4, false);
	add_arg(TAPIR_OPERAND_REG, 2, false);
	strcpy(note.kinds, "fff");
	assert_int_equal(make("prov"), 0);
	assert_int_equal(plan.fields[0].type, TAPIR_FIELD_FLOAT);
	assert_int_equal(plan.fields[1].type, TAPIR_FIELD_FLOAT);
	assert_int_equal(plan.fields[2].type, TAPIR_FIELD_UINT);
}

static void note_says_what_an_argument_means(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 7; i++)
		add_arg(TAPIR_OPERAND_REG, 8, true);
	strcpy(note.kinds, "iupsbcx"); /* x: from a later header, nobody knows it */
	note.arg_names[3] = "query";
	assert_int_equal(make("prov"), 0);
	assert_int_equal(plan.fields[0].type, TAPIR_FIELD_INT);
	assert_int_equal(plan.fields[1].type, TAPIR_FIELD_UINT);
	assert_int_equal(plan.fields[2].type, TAPIR_FIELD_PTR);
	assert_int_equal(plan.fields[3].type, TAPIR_FIELD_STR);
	assert_int_equal(plan.fields[4].type, TAPIR_FIELD_BOOL);
	assert_int_equal(plan.fields[5].type, TAPIR_FIELD_CHAR);
	assert_int_equal(plan.fields[6].type, TAPIR_FIELD_INT);
	assert_int_equal(plan.fields[3].size, 0);
	assert_int_equal(plan.site.byte_arg_cnt, 1);
	assert_int_equal(plan.site.byte_args[0], 3);
	assert_int_equal(plan.site.args[3].max_bytes, MAX_BYTES);
	assert_memory_equal(plan.names[3].data, "query", 5);
}

/* A file may claim that a byte is a string: nobody follows a pointer of one byte. */
static void argument_stays_a_number_when_it_cannot_be_a_pointer(void **state)
{
	(void)state;
	add_arg(TAPIR_OPERAND_REG, 1, false);
	add_arg(TAPIR_OPERAND_REG, 4, false);
	add_arg(TAPIR_OPERAND_REG, 16, false);
	strcpy(note.kinds, "sps");
	assert_int_equal(make("prov"), 0);
	assert_int_equal(plan.fields[0].type, TAPIR_FIELD_UINT);
	assert_int_equal(plan.fields[1].type, TAPIR_FIELD_UINT);
	assert_int_equal(plan.fields[2].type, TAPIR_FIELD_U128);
	assert_int_equal(plan.fields[2].size, 16);
	assert_int_equal(plan.site.byte_arg_cnt, 1); /* 16 bytes lie in the variable part */
}

static void table_says_what_the_note_does_not(void **state)
{
	(void)state;
	note.provider = "hotspot";
	note.name = "class__loaded";
	add_arg(TAPIR_OPERAND_REG, 8, false);
	add_arg(TAPIR_OPERAND_REG, 4, true);
	add_arg(TAPIR_OPERAND_REG, 8, false);
	add_arg(TAPIR_OPERAND_REG, 1, false);
	assert_int_equal(make("hotspot"), 0);
	assert_int_equal(plan.fields[0].type, TAPIR_FIELD_STRN);
	assert_int_equal(plan.fields[0].len_field, 1);
	assert_int_equal(plan.site.args[0].len_arg, 1);
	assert_true(plan.names[0].len > 0);
	strcpy(note.kinds, "uiub"); /* the program itself knows better */
	assert_int_equal(make("hotspot"), 0);
	assert_int_equal(plan.fields[0].type, TAPIR_FIELD_UINT);
	assert_int_equal(plan.site.byte_arg_cnt, 0);
}

static void spec_says_it_better_than_all(void **state)
{
	(void)state;
	add_arg(TAPIR_OPERAND_REG, 8, false);
	add_arg(TAPIR_OPERAND_REG, 8, false);
	add_arg(TAPIR_OPERAND_REG, 4, true);
	strcpy(note.kinds, "sui");
	assert_int_equal(make("prov:event::arg0=hex;arg1=strn(arg2)"), 0);
	assert_int_equal(plan.fields[0].type, TAPIR_FIELD_PTR);
	assert_int_equal(plan.fields[0].size, 8);
	assert_int_equal(plan.fields[1].type, TAPIR_FIELD_STRN);
	assert_int_equal(plan.fields[1].len_field, 2);
	assert_int_equal(plan.site.byte_arg_cnt, 1);
	assert_int_equal(plan.site.byte_args[0], 1);
	assert_int_equal(make("prov:event::arg1=str:64"), 0);
	assert_int_equal(plan.site.args[1].max_bytes, 64);
	assert_int_equal(make("prov:event::arg1=str:65535"), 0); /* more than a record holds */
	assert_int_equal(plan.site.args[1].max_bytes, MAX_BYTES);
	assert_int_equal(make("prov:event::verbose=1"), 0); /* the provider's own business */
}

static void spec_is_refused_when_it_cannot_be_done(void **state)
{
	static const char *const bad[] = {
		"prov:event::arg3=str",	       /* there is none */
		"prov:event::arg1=str",	       /* 4 bytes are no pointer */
		"prov:event::arg0=strn(arg3)", /* no length there */
		"prov:event::arg0=buf(arg11)", "prov:event::arg0=strn(arg2)", /* unreadable */
		"prov:event::arg0=nonsense",
	};
	struct tapir_site_layout before;

	(void)state;
	add_arg(TAPIR_OPERAND_REG, 8, false);
	add_arg(TAPIR_OPERAND_REG, 4, true);
	add_arg(TAPIR_OPERAND_NONE, 8, false);
	before = plan;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		tapir_diag__clear();
		if (make(bad[i]) != -EINVAL || tapir_diag__cnt() != 1)
			fail_msg("%s: not refused with one line", bad[i]);
		assert_memory_equal(&plan, &before, sizeof(plan)); /* untouched */
	}
	assert_int_equal(make("prov:event::arg0=strn(arg1)"), 0);
}

static void field_has_its_reason_when_it_cannot_be_read(void **state)
{
	(void)state;
	add_arg(TAPIR_OPERAND_NONE, 8, false);
	add_arg(TAPIR_OPERAND_REG, 8, false);
	note.reasons[0] = TAPIR_OPERAND_VECTOR_REG;
	strcpy(note.kinds, "ss");
	assert_int_equal(make("prov"), 0);
	assert_int_equal(plan.fields[0].type, TAPIR_FIELD_NONE);
	assert_int_equal(plan.fields[0].reason, TAPIR_OPERAND_VECTOR_REG);
	assert_int_equal(plan.site.byte_arg_cnt, 1); /* only the readable string */
	assert_int_equal(plan.site.byte_args[0], 1);
}

static void flags_say_what_the_site_needs(void **state)
{
	struct tapir_cfi_row row = {.cfa_off = 24, .fp_off = -16, .fp_is_saved = true};

	(void)state;
	for (unsigned i = 0; i < TAPIR_MAX_ARGS; i++)
		add_arg(TAPIR_OPERAND_TLS, 8, false);
	assert_int_equal(tapir_spec__parse("prov", &spec), 0);
	assert_int_equal(tapir_site_layout__make(&note, spec, true, &plan), 0);
	assert_int_equal(plan.site.arg_cnt, TAPIR_MAX_ARGS);
	assert_int_equal(plan.site.flags, TAPIR_SITE_STACK | TAPIR_SITE_TLS);
	tapir_site_layout__set_caller(&plan, &row);
	assert_int_equal(plan.site.flags, TAPIR_SITE_STACK | TAPIR_SITE_TLS);
	assert_int_equal(plan.site.caller.rule, TAPIR_UNWIND_SP);
	assert_int_equal(plan.site.caller.cfa, 3); /* words */
	assert_int_equal(plan.site.caller.fp, 2);
	assert_int_equal(tapir_site_layout__make(&note, spec, false, &plan), 0);
	row = (struct tapir_cfi_row){.cfa_is_from_fp = true, .cfa_off = 16};
	tapir_site_layout__set_caller(&plan, &row);
	assert_int_equal(plan.site.caller.rule, TAPIR_UNWIND_FP);
	assert_int_equal(plan.site.caller.cfa, 2);
	assert_int_equal(plan.site.caller.fp, TAPIR_UNWIND_FP_SAME);
	row.cfa_off = 12; /* no multiple of a word: a row cannot hold it */
	assert_int_equal(tapir_site_layout__make(&note, spec, false, &plan), 0);
	tapir_site_layout__set_caller(&plan, &row);
	assert_int_equal(plan.site.caller.rule, TAPIR_UNWIND_GAP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		CASE(fields_are_numbers_when_only_the_operand_is_known),
		CASE(field_is_float_only_when_four_or_eight_bytes),
		CASE(note_says_what_an_argument_means),
		CASE(argument_stays_a_number_when_it_cannot_be_a_pointer),
		CASE(table_says_what_the_note_does_not),
		CASE(spec_says_it_better_than_all),
		CASE(spec_is_refused_when_it_cannot_be_done),
		CASE(field_has_its_reason_when_it_cannot_be_read),
		CASE(flags_say_what_the_site_needs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
