// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Source lines of this very program, by way of a recording's mapping: what the process that reads
 * debug information answers, and what is left when it ends. Witness: __LINE__.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/image.h"
#include "base/foreign/helper.h"
#include "symbol/line_helper.c" /* NOLINT: ends its process */
#include "symbol/source_lines.h"
#include "trace/recbuf.h"

extern const char __executable_start[];

static __attribute__((noipa)) uint64_t caller(void)
{
	return (uintptr_t)__builtin_return_address(0) - 1 - (uintptr_t)__executable_start;
}

enum { INNER_LINE = __LINE__ + 3 };
static inline __attribute__((always_inline)) uint64_t inner(void)
{
	uint64_t va = caller();

	__asm__ volatile("" : "+r"(va));
	return va;
}

enum { OUTER_LINE = __LINE__ + 3 };
static __attribute__((noipa)) uint64_t outer(void)
{
	uint64_t va = inner();

	__asm__ volatile("" : "+r"(va));
	return va;
}

struct fixture {
	struct tapir_symbol_files *files;
	struct tapir_recbuf buf;
	struct tapir_source_lines *lines;
	struct tapir_line_helper *helper;
	char copy[64];
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	assert_int_equal(tapir_symbol_files__new(NULL, &f->files), 0);
	assert_int_equal(tapir_line_helper__new(&f->helper), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	tapir_source_lines__free(f->lines);
	tapir_line_helper__free(f->helper);
	tapir_symbol_files__free(f->files);
	tapir_recbuf__fini(&f->buf);
	if (*f->copy)
		unlink(f->copy);
	free(f);
	return 0;
}

/* A mapping of this program; another_build: whose build ID it does not have. */
static const struct tapir_rec_mapping *mapping(struct fixture *f, bool another_build)
{
	struct tapir_rec_mapping fixed = {.file_id = another_build ? 8 : 7,
					  .flags = TAPIR_MAPPING_EXEC};
	const Elf64_Phdr *code;
	struct tapir_elf *elf;
	char path[4096] = "";
	size_t len;

	assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	assert_int_equal(tapir_elf__open(path, &elf), 0);
	assert_non_null(tapir_elf__build_id(elf, &len));
	assert_true(len <= sizeof(fixed.build_id));
	memcpy(fixed.build_id, tapir_elf__build_id(elf, &len), len);
	fixed.build_id[0] ^= another_build;
	fixed.build_id_bytes = (uint8_t)len;
	code = tapir_elf__first_executable(elf);
	fixed.vaddr_pages = (int32_t)((code->p_vaddr - code->p_offset) / 4096);
	tapir_elf__free(elf);
	return (const void *)tapir_recbuf__mapping(&f->buf, &fixed, tapir_sv__of(path));
}

static struct tapir_source_locations find(struct fixture *f, bool with_inlined, uint64_t va,
					  bool another_build)
{
	struct tapir_source_lines_opts opts = {
		.files = f->files, .with_lines = true, .with_inlined = with_inlined};
	const struct tapir_rec_mapping *rec = mapping(f, another_build);
	struct tapir_line_source source;

	if (!f->lines)
		assert_int_equal(tapir_source_lines__new(&opts, &f->lines), 0);
	source = tapir_source_lines__source(f->lines);
	return source.find(source.ctx, rec, va - (uint64_t)(rec->vaddr_pages * 4096ll), NULL);
}

static void assert_ends(const char *path, const char *name)
{
	assert_non_null(path);
	assert_true(strlen(path) >= strlen(name));
	assert_string_equal(path + strlen(path) - strlen(name), name);
}

static void inlined_functions_are_found_innermost_first(void **state)
{
	struct tapir_source_locations found = find(*state, true, outer(), false);

	assert_int_equal(found.cnt, 2);
	assert_string_equal(found.locations[0].function, "inner");
	assert_null(found.locations[1].function);
	assert_int_equal(found.locations[0].line, INNER_LINE);
	assert_int_equal(found.locations[1].line, OUTER_LINE);
	assert_ends(found.locations[0].file, "/test_source_lines.c");
	assert_ends(found.locations[1].file, "/test_source_lines.c");
}

static void line_is_the_functions_own_when_inlined_ones_are_not_shown(void **state)
{
	struct tapir_source_locations found = find(*state, false, outer(), false);

	assert_int_equal(found.cnt, 1);
	assert_null(found.locations[0].function);
	assert_int_equal(found.locations[0].line, OUTER_LINE);
}

static void address_is_looked_up_once(void **state)
{
	struct fixture *f = *state;
	struct tapir_source_locations first = find(f, true, outer(), false);

	assert_ptr_equal(find(f, true, outer(), false).locations, first.locations);
	assert_int_equal(tapir_source_lines__counts(f->lines).file_cnt, 1);
}

static void file_of_another_build_has_no_lines(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(find(f, true, outer(), true).cnt, 0);
	assert_int_equal(tapir_source_lines__counts(f->lines).lineless_cnt, 1);
}

static void address_outside_of_code_has_no_lines(void **state)
{
	assert_int_equal(find(*state, true, 1ull << 60, false).cnt, 0);
}

/* ---- the process that reads --------------------------------------------------------------- */

/* A copy, because it is damaged. */
static struct tapir_line_file open_copy(struct fixture *f, char **content, size_t *len)
{
	struct tapir_line_file file = {.alt_fd = -1};
	struct stat st;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	strcpy(f->copy, "/tmp/tapir-lines-XXXXXX");
	file.fd = mkostemp(f->copy, O_CLOEXEC);
	assert_true(fd >= 0 && file.fd >= 0 && !fstat(fd, &st));
	*len = (size_t)st.st_size;
	*content = malloc(*len);
	assert_non_null(*content);
	assert_int_equal(read(fd, *content, *len), *len);
	assert_int_equal(write(file.fd, *content, *len), *len);
	close(fd);
	return file;
}

static int find_in(struct fixture *f, struct tapir_line_file *file, uint32_t *cnt)
{
	const struct tapir_lines_answer *found;
	int err = tapir_line_helper__find(f->helper, file, outer(), &found);

	*cnt = err ? 0 : found->cnt;
	return err;
}

static void file_that_ends_the_process_costs_the_others_nothing(void **state)
{
	struct fixture *f = *state;
	struct tapir_line_file whole, cut;
	size_t len;
	char *content;
	uint32_t cnt;

	cut = open_copy(f, &content, &len);
	free(content);
	whole = (struct tapir_line_file){
		.fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), .alt_fd = -1, .slot = 1};
	assert_int_equal(find_in(f, &whole, &cnt), 0);
	assert_int_equal(cnt, 2);
	/* Opened, but no unit is read yet: it is mapped, so what is read next is not there. */
	assert_int_equal(start_helper(f->helper), 0);
	assert_int_equal(open_in_process(f->helper, &cut), 0);
	assert_int_equal(ftruncate(cut.fd, 0), 0);
	assert_int_equal(find_in(f, &cut, &cnt), -EPIPE);
	assert_int_equal(find_in(f, &whole, &cnt), 0);
	assert_int_equal(cnt, 2);
	assert_int_equal(f->helper->generation, 2);
	close(whole.fd);
	close(cut.fd);
}

static void no_further_process_is_started_when_many_ended(void **state)
{
	struct fixture *f = *state;
	struct tapir_line_file file = {.fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
				       .alt_fd = -1};
	uint32_t cnt;

	for (unsigned i = 0; i < MAX_PROCESSES; i++) {
		assert_int_equal(find_in(f, &file, &cnt), 0);
		assert_int_equal(kill(f->helper->helper.pid, SIGKILL), 0);
		assert_int_equal(find_in(f, &file, &cnt), -EPIPE);
	}
	assert_int_equal(find_in(f, &file, &cnt), -ELOOP);
	close(file.fd);
}

/* One byte in eight hundred is another: whatever libdw makes of it, an answer comes. */
static void damaged_files_are_survived(void **state)
{
	struct fixture *f = *state;
	struct tapir_line_file file;
	size_t len;
	char *content;
	unsigned answered = 0;
	uint32_t cnt, seed = 1;

	file = open_copy(f, &content, &len);
	for (unsigned round = 0; round < 24; round++) {
		int err;

		for (size_t i = 0; i < len / 800; i++) {
			seed = seed * 1664525 + 1013904223;
			content[4096 + seed % (len - 4096)] ^= (char)(seed >> 24);
		}
		assert_int_equal(pwrite(file.fd, content, len, 0), len);
		file.slot = round;
		file.generation = 0;
		err = find_in(f, &file, &cnt);
		assert_true(!err || err == -ENODATA || err == -EPIPE || err == -ETIMEDOUT ||
			    err == -ELOOP);
		answered += !err || err == -ENODATA;
		if (err == -ELOOP) {
			tapir_line_helper__free(f->helper);
			assert_int_equal(tapir_line_helper__new(&f->helper), 0);
		}
	}
	assert_true(answered > 0);
	free(content);
	close(file.fd);
}

static void file_without_debug_information_is_enodata(void **state)
{
	struct fixture *f = *state;
	struct tapir_line_file file = {.fd = open("/dev/null", O_RDONLY | O_CLOEXEC), .alt_fd = -1};
	uint32_t cnt;

	assert_int_equal(find_in(f, &file, &cnt), -ENODATA);
	assert_int_equal(f->helper->generation, 1);
	close(file.fd);
}

/* ---- answers that are not to be believed -------------------------------------------------- */

static void answer_with_a_position_outside_of_its_texts_is_refused(void **state)
{
	struct tapir_lines_answer *a = calloc(1, sizeof(*a));

	(void)state;
	assert_non_null(a);
	assert_true(tapir_lines_answer__is_valid(a));
	a->cnt = 1;
	a->frames[0] = (struct tapir_lines_frame){TAPIR_LINES_NO_TEXT, 0, 3};
	assert_false(tapir_lines_answer__is_valid(a));
	a->text_bytes = 2;
	a->texts[0] = 'x';
	assert_true(tapir_lines_answer__is_valid(a));
	a->texts[1] = 'y';
	assert_false(tapir_lines_answer__is_valid(a));
	a->texts[1] = '\0';
	a->frames[0].function = 2;
	assert_false(tapir_lines_answer__is_valid(a));
	a->frames[0].function = 1;
	a->cnt = TAPIR_LINES_MAX_FRAMES + 1;
	assert_false(tapir_lines_answer__is_valid(a));
	a->cnt = 1;
	a->text_bytes = TAPIR_LINES_TEXT_BYTES + 1;
	assert_false(tapir_lines_answer__is_valid(a));
	free(a);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(inlined_functions_are_found_innermost_first),
		TEST(line_is_the_functions_own_when_inlined_ones_are_not_shown),
		TEST(address_is_looked_up_once),
		TEST(file_of_another_build_has_no_lines),
		TEST(address_outside_of_code_has_no_lines),
		TEST(file_that_ends_the_process_costs_the_others_nothing),
		TEST(no_further_process_is_started_when_many_ended),
		TEST(damaged_files_are_survived),
		TEST(file_without_debug_information_is_enodata),
		cmocka_unit_test(answer_with_a_position_outside_of_its_texts_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
