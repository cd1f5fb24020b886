// SPDX-License-Identifier: GPL-2.0-or-later
/* Arguments of functions of the kernel, by type information that this program makes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <bpf/btf.h>

#include "attach/kernel_functions.h"
#include "trace/record.h"

static struct btf *types;
static int signed_int, u16_type, flag, pointer, pair, alias;

static int setup(void **state)
{
	(void)state;
	types = btf__new_empty();
	signed_int = btf__add_int(types, "int", 4, BTF_INT_SIGNED);
	u16_type = btf__add_int(types, "u16", 2, 0);
	flag = btf__add_int(types, "_Bool", 1, BTF_INT_BOOL);
	pair = btf__add_struct(types, "pair", 16);
	pointer = btf__add_ptr(types, pair);
	alias = btf__add_typedef(types, "alias_t", btf__add_const(types, signed_int));
	return alias < 0;
}

static int teardown(void **state)
{
	(void)state;
	btf__free(types);
	return 0;
}

static void add_function(const char *name, int ret, const int *params, const char *const *names,
			 int cnt)
{
	int proto = btf__add_func_proto(types, ret);

	for (int i = 0; i < cnt; i++)
		assert_int_equal(btf__add_func_param(types, names[i], params[i]), 0);
	assert_true(btf__add_func(types, name, BTF_FUNC_STATIC, proto) > 0);
}

static void arguments_have_their_names_and_types(void **state)
{
	static const char *const names[] = {"file", "", "mode", "flag"};
	const int params[] = {pointer, alias, u16_type, flag};
	struct tapir_tracepoint_format f;

	(void)state;
	add_function("opens", signed_int, params, names, 4);
	tapir_kernel_function__format_by(types, "opens", false, &f);
	assert_int_equal(f.field_cnt, 4);
	assert_int_equal(f.skipped_cnt, 0);
	assert_string_equal(f.fields[0].name, "file");
	assert_int_equal(f.fields[0].field_type, TAPIR_FIELD_PTR);
	assert_string_equal(f.fields[1].name, "arg1");
	assert_int_equal(f.fields[1].field_type, TAPIR_FIELD_INT);
	assert_int_equal(f.fields[1].machine_field.size, 4);
	assert_true(f.fields[1].machine_field.is_signed);
	assert_int_equal(f.fields[2].field_type, TAPIR_FIELD_UINT);
	assert_int_equal(f.fields[2].machine_field.size, 2);
	assert_int_equal(f.fields[3].field_type, TAPIR_FIELD_BOOL);
	tapir_kernel_function__format_by(types, "opens", true, &f);
	assert_int_equal(f.field_cnt, 1);
	assert_string_equal(f.fields[0].name, "ret");
	assert_int_equal(f.fields[0].machine_field.size, 4);
	assert_true(f.fields[0].machine_field.is_signed);
}

static void arguments_end_at_a_struct_and_at_the_sixth(void **state)
{
	static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
	const int by_value[] = {signed_int, pair, signed_int};
	int many[8];
	struct tapir_tracepoint_format f;

	(void)state;
	for (int i = 0; i < 8; i++)
		many[i] = signed_int;
	add_function("by_value", signed_int, by_value, names, 3);
	tapir_kernel_function__format_by(types, "by_value", false, &f);
	assert_int_equal(f.field_cnt, 1);
	assert_int_equal(f.skipped_cnt, 2);
	add_function("many", signed_int, many, names, 8);
	tapir_kernel_function__format_by(types, "many", false, &f);
	assert_int_equal(f.field_cnt, 6);
	assert_int_equal(f.skipped_cnt, 2);
}

static void nothing_is_named_that_the_types_do_not_have(void **state)
{
	struct tapir_tracepoint_format f;

	(void)state;
	add_function("returns_nothing", 0, NULL, NULL, 0);
	tapir_kernel_function__format_by(types, "returns_nothing", true, &f);
	assert_int_equal(f.field_cnt, 0);
	tapir_kernel_function__format_by(types, "returns_nothing", false, &f);
	assert_int_equal(f.field_cnt, 0);
	for (int i = 0; i < 2; i++) {
		tapir_kernel_function__format_by(i ? types : NULL, "unknown", false, &f);
		assert_int_equal(f.field_cnt, 6);
		assert_string_equal(f.fields[5].name, "arg5");
		assert_int_equal(f.fields[5].machine_field.size, 8);
		tapir_kernel_function__format_by(i ? types : NULL, "unknown", true, &f);
		assert_int_equal(f.field_cnt, 1);
		assert_string_equal(f.fields[0].name, "ret");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(arguments_have_their_names_and_types, setup,
						teardown),
		cmocka_unit_test_setup_teardown(arguments_end_at_a_struct_and_at_the_sixth, setup,
						teardown),
		cmocka_unit_test_setup_teardown(nothing_is_named_that_the_types_do_not_have, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
