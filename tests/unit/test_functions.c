// SPDX-License-Identifier: GPL-2.0-or-later
/* Ranges of functions by .eh_frame: those of the symbols of this very program; hostile ones. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <signal.h>

#include "eh_frame_builder.h"
#include "elf_builder.h"
#include "attach/unwind/functions.h"

static const uint8_t nop[] = {0};

static struct tapir_functions *functions_of(const struct built *section, int *err)
{
	struct tapir_functions *functions = NULL;
	struct tapir_elf *elf;
	struct elf_builder b;

	elf_builder__init(&b, ET_DYN);
	elf_builder__add_section(&b, ".eh_frame", SHT_PROGBITS, section->bytes, section->len);
	elf_builder__finish(&b);
	elf = elf_builder__open(&b);
	assert_non_null(elf);
	*err = tapir_functions__load(elf, &functions);
	tapir_elf__free(elf);
	elf_builder__fini(&b);
	return functions;
}

static void ranges_are_those_of_the_symbols(void **state)
{
	struct tapir_functions *functions;
	struct tapir_function_range range;
	struct tapir_elf_syms syms;
	struct tapir_elf *elf;
	unsigned cnt = 0, equal_cnt = 0;
	uint64_t off;

	(void)state;
	assert_int_equal(tapir_elf__open("/proc/self/exe", &elf), 0);
	assert_int_equal(tapir_functions__load(elf, &functions), 0);
	assert_int_equal(tapir_elf__syms(elf, SHT_SYMTAB, &syms), 0);
	for (size_t i = 0; i < syms.cnt; i++) {
		const Elf64_Sym *sym = &syms.syms[i];

		if (ELF64_ST_TYPE(sym->st_info) != STT_FUNC || !sym->st_size ||
		    !tapir_elf__va_to_off(elf, sym->st_value, &off))
			continue;
		cnt++;
		equal_cnt += tapir_functions__find(functions, off + sym->st_size - 1, &range) &&
			     range.start_off == off && range.size == sym->st_size &&
			     range.start_va == sym->st_value;
	}
	assert_in_range(cnt, 50, UINT32_MAX);
	assert_in_range(equal_cnt * 100, cnt * 98, cnt * 100); /* the start files have no FDEs */
	tapir_functions__free(functions);
	tapir_elf__free(elf);
}

static void offset_between_functions_is_of_none(void **state)
{
	struct built *section = calloc(1, sizeof(*section));
	struct tapir_function_range range = {.size = 99};
	struct tapir_functions *functions;
	int err;

	(void)state;
	begin(section);
	add_fde(section, TEXT_VA + 64, 16, nop, sizeof(nop));
	add_fde(section, TEXT_VA, 32, nop, sizeof(nop));
	functions = functions_of(section, &err);
	assert_int_equal(err, 0);
	assert_int_equal(tapir_functions__cnt(functions), 2);
	assert_false(tapir_functions__find(functions, TEXT_OFF - 1, &range));
	assert_false(tapir_functions__find(functions, TEXT_OFF + 32, &range));
	assert_false(tapir_functions__find(functions, TEXT_OFF + 80, &range));
	assert_int_equal(range.size, 99);
	assert_true(tapir_functions__find(functions, TEXT_OFF + 31, &range));
	assert_int_equal(range.start_off, TEXT_OFF);
	assert_int_equal(range.start_va, TEXT_VA);
	assert_true(tapir_functions__find(functions, TEXT_OFF + 79, &range));
	assert_int_equal(range.start_va, TEXT_VA + 64);
	assert_int_equal(range.size, 16);
	tapir_functions__free(functions);
	free(section);
}

static void entries_of_no_code_are_left_out(void **state)
{
	struct built *section = calloc(1, sizeof(*section));
	struct tapir_functions *functions;
	int err;

	(void)state;
	begin(section);
	add_fde(section, 0, 32, nop, sizeof(nop));		     /* dropped by the linker */
	add_fde(section, DATA_VA, 32, nop, sizeof(nop));	     /* data */
	add_fde(section, TEXT_VA, 1ull << 40, nop, sizeof(nop));     /* larger than any code */
	add_fde(section, UINT64_MAX - 8, 4, nop, sizeof(nop));	     /* beyond the file */
	add_fde(section, TEXT_VA, UINT64_MAX - 8, nop, sizeof(nop)); /* ends before it begins */
	functions = functions_of(section, &err);
	assert_int_equal(err, -ENOENT);
	assert_null(functions);
	add_fde(section, TEXT_VA + 8, 8, nop, sizeof(nop));
	functions = functions_of(section, &err);
	assert_int_equal(err, 0);
	assert_int_equal(tapir_functions__cnt(functions), 1);
	tapir_functions__free(functions);
	free(section);
}

static void section_may_end_anywhere(void **state)
{
	struct built *section = calloc(1, sizeof(*section));
	size_t len;
	int err;

	(void)state;
	begin(section);
	for (unsigned i = 0; i < 4; i++)
		add_fde(section, TEXT_VA + 16 * i, 16, nop, sizeof(nop));
	len = section->len;
	for (section->len = 0; section->len < len; section->len++) {
		struct tapir_functions *functions = functions_of(section, &err);

		if (!err)
			assert_in_range(tapir_functions__cnt(functions), 1, 3);
		tapir_functions__free(functions);
	}
	free(section);
}

static void file_without_section_has_none(void **state)
{
	struct tapir_functions *functions = NULL;
	struct tapir_elf *elf;
	struct elf_builder b;

	(void)state;
	elf_builder__init(&b, ET_DYN);
	elf_builder__finish(&b);
	elf = elf_builder__open(&b);
	assert_int_equal(tapir_functions__load(elf, &functions), -ENOENT);
	tapir_elf__free(elf);
	elf_builder__fini(&b);
}

static void *volatile returns_to;

static void on_signal(int number)
{
	(void)number;
	returns_to = __builtin_return_address(0);
}

/* Where the kernel had a real handler return to; a caller's address is looked up one byte before.
 */
static void signal_trampoline_is_known(void **state)
{
	struct tapir_functions *functions;
	struct tapir_function_range range;
	struct tapir_elf *elf;
	Dl_info info;
	uint64_t off;

	(void)state;
	signal(SIGUSR1, on_signal);
	assert_int_equal(raise(SIGUSR1), 0);
	assert_true(dladdr(returns_to, &info));
	assert_int_equal(tapir_elf__open(info.dli_fname, &elf), 0);
	assert_int_equal(tapir_functions__load(elf, &functions), 0);
	assert_true(tapir_elf__va_to_off(
		elf, (uint64_t)((const char *)returns_to - (const char *)info.dli_fbase), &off));
	assert_true(tapir_functions__find(functions, off - 1, &range));
	assert_true(range.is_signal);
	assert_true(tapir_elf__va_to_off(elf,
					 (uint64_t)((const char *)dlsym(RTLD_DEFAULT, "qsort") -
						    (const char *)info.dli_fbase),
					 &off));
	assert_true(tapir_functions__find(functions, off, &range));
	assert_false(range.is_signal);
	tapir_functions__free(functions);
	tapir_elf__free(elf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_are_those_of_the_symbols),
		cmocka_unit_test(offset_between_functions_is_of_none),
		cmocka_unit_test(entries_of_no_code_are_left_out),
		cmocka_unit_test(section_may_end_anywhere),
		cmocka_unit_test(file_without_section_has_none),
		cmocka_unit_test(signal_trampoline_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
