// SPDX-License-Identifier: GPL-2.0-or-later
/* Names by file and offset, of files that may be gone since, in bounded memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/diag.h"
#include "eh_frame_builder.h"
#include "elf_builder.h"
#include "symbol/symbolizer.h"
#include "symbol/vdso.h"

#define FILE_ID 7

static void add_function(struct elf_builder *b, const char *name, uint64_t text_off, uint64_t size)
{
	Elf64_Sym syms[2] = {{}, {.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 1}};
	const char *names[2] = {"", name};

	syms[1].st_value = TEXT_VA + text_off;
	syms[1].st_size = size;
	elf_builder__add_symbols(b, SHT_SYMTAB, syms, 2, names);
}

static int file_with_function(const char *name)
{
	struct elf_builder b;
	int fd;

	elf_builder__init(&b, ET_DYN);
	add_function(&b, name, 16, 32);
	elf_builder__finish(&b);
	fd = elf_builder__memfd(b.bytes, b.len);
	elf_builder__fini(&b);
	return fd;
}

static void name_is_demangled_when_offset_is_inside(void **state)
{
	struct tapir_symbolizer *s;
	struct tapir_symbol_name got;
	int fd = file_with_function("_ZN5tapir4nameEi");

	(void)state;
	assert_int_equal(tapir_symbolizer__new(&s), 0);
	tapir_symbolizer__add_file(s, FILE_ID, fd, "/none", 0);
	close(fd); /* its own descriptor keeps the file */
	assert_true(tapir_symbolizer__name(s, FILE_ID, TEXT_OFF + 20, &got));
	assert_string_equal(got.name, "tapir::name");
	assert_int_equal(got.start_off, TEXT_OFF + 16);
	assert_int_equal(got.size, 32);
	assert_false(tapir_symbolizer__name(s, FILE_ID, TEXT_OFF + 48, &got));
	assert_false(tapir_symbolizer__name(s, FILE_ID + 1, TEXT_OFF + 20, &got));
	tapir_symbolizer__free(s);
}

static void stripped_function_is_called_by_its_start(void **state)
{
	struct built *section = calloc(1, sizeof(*section));
	static const uint8_t nop[] = {0};
	struct tapir_symbolizer *s;
	struct tapir_symbol_name got;
	struct elf_builder b;
	int fd;

	(void)state;
	begin(section);
	add_fde(section, TEXT_VA, 64, nop, sizeof(nop));
	add_fde(section, TEXT_VA + 64, 32, nop, sizeof(nop));
	elf_builder__init(&b, ET_DYN);
	add_function(&b, "known", 64, 32);
	elf_builder__add_section(&b, ".eh_frame", SHT_PROGBITS, section->bytes, section->len);
	elf_builder__finish(&b);
	fd = elf_builder__memfd(b.bytes, b.len);
	elf_builder__fini(&b);
	assert_int_equal(tapir_symbolizer__new(&s), 0);
	tapir_symbolizer__add_file(s, FILE_ID, fd, "/none", 0);
	assert_true(tapir_symbolizer__name(s, FILE_ID, TEXT_OFF + 63, &got));
	assert_string_equal(got.name, "fn_201000"); /* TEXT_VA */
	assert_true(got.is_range);
	assert_int_equal(got.start_off, TEXT_OFF);
	assert_int_equal(got.size, 64);
	assert_true(tapir_symbolizer__name(s, FILE_ID, TEXT_OFF + 64, &got));
	assert_string_equal(got.name, "known");
	assert_false(got.is_range);
	assert_false(tapir_symbolizer__name(s, FILE_ID, TEXT_OFF + 96, &got));
	tapir_symbolizer__free(s);
	close(fd);
	free(section);
}

static void first_file_stays_when_id_comes_again(void **state)
{
	struct tapir_symbolizer *s;
	struct tapir_symbol_name got;
	int first = file_with_function("first"), second = file_with_function("second");

	(void)state;
	assert_int_equal(tapir_symbolizer__new(&s), 0);
	tapir_symbolizer__add_file(s, FILE_ID, first, "/none", 0);
	tapir_symbolizer__add_file(s, FILE_ID, second, "/none", 0);
	assert_true(tapir_symbolizer__name(s, FILE_ID, TEXT_OFF + 16, &got));
	assert_string_equal(got.name, "first");
	tapir_symbolizer__free(s);
	close(first);
	close(second);
}

static void no_name_and_no_message_when_file_is_no_elf(void **state)
{
	struct tapir_symbolizer *s;
	struct tapir_symbol_name got;
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(tapir_symbolizer__new(&s), 0);
	tapir_symbolizer__add_file(s, FILE_ID, fds[0], "/none", 0);
	assert_false(tapir_symbolizer__name(s, FILE_ID, 0, &got));
	assert_false(tapir_symbolizer__name(s, FILE_ID, 0, &got));
	assert_int_equal(tapir_diag__cnt(), 0);
	tapir_symbolizer__free(s);
	close(fds[0]);
	close(fds[1]);
}

/* With few descriptors the file that was asked longest ago goes, and requests for it count. */
static void files_beyond_the_limit_replace_the_oldest(void **state)
{
	enum { LIMIT = 256, FILES = LIMIT / 4, MORE = 5 };
	struct rlimit old, low;
	struct tapir_symbolizer *s;
	struct tapir_symbol_name got;
	int fd = file_with_function("f");

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	low = (struct rlimit){.rlim_cur = LIMIT, .rlim_max = old.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	assert_int_equal(tapir_symbolizer__new(&s), 0);
	for (unsigned i = 1; i <= FILES; i++)
		tapir_symbolizer__add_file(s, i, fd, "/none", 0);
	assert_true(tapir_symbolizer__name(s, 1, TEXT_OFF + 16, &got)); /* now the newest */
	for (unsigned i = FILES + 1; i <= FILES + MORE; i++)
		tapir_symbolizer__add_file(s, i, fd, "/none", 0);
	assert_int_equal(tapir_symbolizer__missed(s), 0);
	for (unsigned i = 1; i <= FILES + MORE; i++)
		assert_int_equal(tapir_symbolizer__name(s, i, TEXT_OFF + 16, &got),
				 i == 1 || i > MORE + 1);
	assert_int_equal(tapir_symbolizer__missed(s), MORE);
	tapir_symbolizer__add_file(s, 2, fd, "/none", 0); /* mapped again */
	assert_true(tapir_symbolizer__name(s, 2, TEXT_OFF + 16, &got));
	tapir_symbolizer__add_file(s, 1000, -1, "/none", 0); /* could not be opened */
	assert_false(tapir_symbolizer__name(s, 1000, TEXT_OFF + 16, &got));
	assert_false(tapir_symbolizer__name(s, 1001, TEXT_OFF + 16, &got)); /* never seen */
	assert_int_equal(tapir_symbolizer__missed(s), MORE + 1);
	tapir_symbolizer__free(s);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	close(fd);
}

/* The dynamic linker says where the vdso and its function are. */
static void kernels_own_library_has_names(void **state)
{
	void *handle = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
	char *function = handle ? dlsym(handle, "__vdso_clock_gettime") : NULL;
	struct tapir_mapping_line line = {.path = "[vdso]", .path_len = 6};
	const struct tapir_vdso *vdso = tapir_vdso__get();
	struct tapir_symbolizer *s;
	struct tapir_symbol_name got;
	Dl_info info;

	(void)state;
	if (!function || !vdso)
		skip();
	assert_true(dladdr(function, &info));
	line.start_va = (uintptr_t)info.dli_fbase;
	line.end_va = line.start_va + vdso->bytes;
	assert_ptr_equal(tapir_vdso__at(&line), vdso);
	assert_int_equal(tapir_symbolizer__new(&s), 0);
	assert_true(tapir_symbolizer__name(s, vdso->file_id,
					   (uintptr_t)function - line.start_va + 1, &got));
	assert_string_equal(got.name, "__vdso_clock_gettime");
	assert_int_equal(got.start_off, (uintptr_t)function - line.start_va);
	tapir_symbolizer__free(s);
	dlclose(handle);
	/* what is not the same one: a 32-bit program's, another size, a file called so */
	line.start_va = 0xf7fc0000;
	line.end_va = line.start_va + vdso->bytes;
	assert_null(tapir_vdso__at(&line));
	line.start_va += 1ull << 40;
	line.end_va = line.start_va + vdso->bytes + 4096;
	assert_null(tapir_vdso__at(&line));
	line.end_va -= 4096;
	assert_non_null(tapir_vdso__at(&line));
	line.inode = 7;
	assert_null(tapir_vdso__at(&line));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(name_is_demangled_when_offset_is_inside),
		cmocka_unit_test(stripped_function_is_called_by_its_start),
		cmocka_unit_test(first_file_stays_when_id_comes_again),
		cmocka_unit_test(no_name_and_no_message_when_file_is_no_elf),
		cmocka_unit_test(files_beyond_the_limit_replace_the_oldest),
		cmocka_unit_test(kernels_own_library_has_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
