// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of methods that were compiled into an assembly (fake_r2r.h), by their UNWIND_INFO; and
 * broken ones. Real assemblies: tests/e2e/case_dotnet_compiled.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "attach/unwind/r2r_rows.h"
#include "attach/unwind/rows.h"
#include "fake_r2r.h"

#define INFO 0x700u /* where the file has the UNWIND_INFO of its first function */

static struct fake_r2r file;

/* The file, with this UNWIND_INFO for its first function, 16 bytes at 0x600. */
static int make_rows(const uint8_t *info, size_t bytes, struct tapir_unwind_rows *out)
{
	int fd, err;

	fake_r2r__init(&file);
	fake_r2r__put_exceptions(&file, INFO);
	memcpy(file.data + INFO, info, bytes);
	fd = fake_r2r__file(&file, FAKE_R2R_BYTES);
	assert_true(fd >= 0);
	err = tapir_r2r_rows__make(fd, out);
	close(fd);
	return err;
}

static void assert_row(const struct tapir_unwind_rows *rows, uint32_t pc, unsigned rule, int cfa,
		       unsigned fp)
{
	size_t after = tapir_sorted__upper_bound(rows->vec.data, rows->vec.cnt, pc, pc);
	const struct tapir_unwind_row *row = &rows->vec.data[after - 1];

	assert_true(after > 0);
	assert_int_equal(row->rule, rule);
	assert_int_equal((int16_t)row->cfa, cfa);
	assert_int_equal(row->fp, fp);
}

static void method_without_a_frame_pointer_has_its_callers_place(void **state)
{
	/* push rbx, 1 byte; sub rsp, 32, 4 bytes */
	static const uint8_t info[] = {0x19, 5, 2, 0, 5, 0x32, 1, 0x30};
	struct tapir_unwind_rows rows = {};

	(void)state;
	assert_int_equal(make_rows(info, sizeof(info), &rows), 0);
	assert_row(&rows, 0x5ff, TAPIR_UNWIND_GAP, 0, 0);
	assert_row(&rows, 0x600, TAPIR_UNWIND_SP, 1, TAPIR_UNWIND_FP_SAME);
	assert_row(&rows, 0x601, TAPIR_UNWIND_SP, 2, TAPIR_UNWIND_FP_SAME);
	assert_row(&rows, 0x604, TAPIR_UNWIND_SP, 2, TAPIR_UNWIND_FP_SAME);
	assert_row(&rows, 0x605, TAPIR_UNWIND_SP, 6, TAPIR_UNWIND_FP_SAME);
	assert_row(&rows, 0x60f, TAPIR_UNWIND_SP, 6, TAPIR_UNWIND_FP_SAME);
	assert_row(&rows, 0x610, TAPIR_UNWIND_SP, 6,
		   TAPIR_UNWIND_FP_SAME); /* only aligns the next */
	assert_row(&rows, 0x620, TAPIR_UNWIND_SP, 1, TAPIR_UNWIND_FP_SAME);
	assert_row(&rows, 0x690, TAPIR_UNWIND_GAP, 0, 0);
	assert_int_equal(rows.function_cnt, 4);
	assert_int_equal(rows.broken_cnt + rows.unsupported_cnt, 0);
	tapir_unwind_rows__fini(&rows);
}

static void frame_pointer_is_found_where_it_was_saved_or_leads_to_the_frame(void **state)
{
	/* push rbp; push rbx; sub rsp, 0x88 (as words); lea rbp, [rsp + 0x90], which is 9 * 16 */
	static const uint8_t fixed[] = {0x19, 12,   5, 0x95, 12,   0x03, 8,
					0x01, 0x11, 0, 2,    0x30, 1,	 0x50};
	/* push rbp; lea rbp, [rsp + 0], by .NET's own code */
	static const uint8_t large[] = {0x19, 4, 4, 0x05, 4, 0x0b, 0, 0, 0, 0, 1, 0x50};
	struct tapir_unwind_rows rows = {};

	(void)state;
	assert_int_equal(make_rows(fixed, sizeof(fixed), &rows), 0);
	assert_row(&rows, 0x601, TAPIR_UNWIND_SP, 2, 2);
	assert_row(&rows, 0x602, TAPIR_UNWIND_SP, 3, 2);
	assert_row(&rows, 0x608, TAPIR_UNWIND_SP, 20, 2);
	assert_row(&rows, 0x60c, TAPIR_UNWIND_FP, 2, 2);
	tapir_unwind_rows__fini(&rows);
	rows = (struct tapir_unwind_rows){};
	assert_int_equal(make_rows(large, sizeof(large), &rows), 0);
	assert_row(&rows, 0x603, TAPIR_UNWIND_SP, 2, 2);
	assert_row(&rows, 0x604, TAPIR_UNWIND_FP, 2, 2);
	tapir_unwind_rows__fini(&rows);
}

static void what_a_row_cannot_hold_is_unsupported(void **state)
{
	static const uint8_t cases[][12] = {
		{0x21, 1, 1, 0, 1, 0x30},	/* continues another function's */
		{0x1b, 1, 1, 0, 1, 0x30},	/* version 3 */
		{0x19, 1, 1, 0x03, 1, 0x03},	/* rbx as the frame pointer */
		{0x19, 1, 1, 0, 1, 0x0a},	/* a trap frame: no such code here */
		{0x19, 1, 1, 0, 1, 0x01},	/* its operand lies outside */
		{0x19, 1, 2, 0, 1, 0x54, 9, 0}, /* rbp is saved above the frame */
		{0x19, 1, 3, 0, 1, 0x11, 0xff, 0xff, 0xff, 0x7f},
		{0x19, 2, 2, 0, 1, 0x30, 2, 0x30}, /* an earlier one follows */
		{0x19, 1, 1, 0xf5, 1, 0x03},	   /* rbp leads beyond it */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tapir_unwind_rows rows = {};

		assert_int_equal(make_rows(cases[i], sizeof(cases[i]), &rows), 0);
		assert_row(&rows, 0x60f, TAPIR_UNWIND_UNSUPPORTED, 0, 0);
		assert_int_equal(rows.unsupported_cnt, 1);
		tapir_unwind_rows__fini(&rows);
	}
}

static void functions_that_cannot_be_are_left_out_and_counted(void **state)
{
	/* Each: its place in the table of functions, and a value there. */
	static const uint32_t cases[][2] = {
		{0, 0xffffffff},	  {4, 0}, {8, 0xffffffff}, {8, 0}, {4, FAKE_R2R_VA(0x900)},
		{12, FAKE_R2R_VA(0x601)},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tapir_unwind_rows rows = {};
		int fd;

		fake_r2r__init(&file);
		fake_r2r__put_exceptions(&file, INFO);
		fake_r2r__put_at(&file, FAKE_R2R_FUNCTIONS + cases[i][0], cases[i][1], 4);
		fd = fake_r2r__file(&file, FAKE_R2R_BYTES);
		assert_int_equal(tapir_r2r_rows__make(fd, &rows), 0);
		close(fd);
		assert_int_equal(rows.function_cnt, 3);
		assert_int_equal(rows.broken_cnt, 1);
		tapir_unwind_rows__fini(&rows);
	}
}

static void a_file_without_functions_is_no_such_assembly(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct tapir_unwind_rows rows = {};
		int fd;

		fake_r2r__init(&file);
		if (i)
			fake_r2r__put_exceptions(&file, INFO);
		if (i == 1)
			fake_r2r__put_at(&file, FAKE_R2R_MACHINE, 0xaa64, 2);
		fd = fake_r2r__file(&file, i == 2 ? 0x300 : FAKE_R2R_BYTES);
		assert_int_equal(tapir_r2r_rows__make(fd, &rows), -ENOEXEC);
		close(fd);
		tapir_unwind_rows__fini(&rows);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(method_without_a_frame_pointer_has_its_callers_place),
		cmocka_unit_test(frame_pointer_is_found_where_it_was_saved_or_leads_to_the_frame),
		cmocka_unit_test(what_a_row_cannot_hold_is_unsupported),
		cmocka_unit_test(functions_that_cannot_be_are_left_out_and_counted),
		cmocka_unit_test(a_file_without_functions_is_no_such_assembly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
