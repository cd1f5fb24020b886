// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The window on a file's code: what is looked for is found wherever it lies, also across the end of
 * a window; a file that is cut meanwhile ends earlier. What padding is: test_unwind_table.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "elf_builder.h"
#include "attach/unwind/file_code.h"

#define WINDOW	   TAPIR_FILE_CODE_WINDOW
#define CODE_BYTES (5 * WINDOW / 2)

static const uint8_t wanted[] = {0x64, 0x48, 0x89, 0x14, 0x25, 0xf8, 0xff, 0xff, 0xff};

struct fixture {
	struct elf_builder b;
	struct tapir_elf *elf;
	struct tapir_file_code code;
	size_t off; /* of the second segment */
	int fd;
};

/* code: CODE_BYTES, a segment of its own, which ends where the file goes on. */
static void open_with(struct fixture *f, const uint8_t *code)
{
	elf_builder__init(&f->b, ET_DYN);
	f->off = elf_builder__append(&f->b, code, CODE_BYTES);
	elf_builder__add_phdr(&f->b, PT_LOAD, PF_R | PF_X, f->off, CODE_BYTES);
	elf_builder__finish(&f->b);
	f->fd = elf_builder__memfd(f->b.bytes, f->b.len);
	assert_int_equal(tapir_elf__open_fd(f->fd, &f->elf), 0);
	tapir_file_code__init(&f->code, f->elf);
	assert_int_equal(f->code.cnt, 2);
}

static void close_all(struct fixture *f)
{
	tapir_file_code__fini(&f->code);
	tapir_elf__free(f->elf);
	elf_builder__fini(&f->b);
	close(f->fd);
}

static void sequence_is_found_wherever_it_lies(void **state)
{
	static const size_t places[] = {0,
					1,
					WINDOW - sizeof(wanted),
					WINDOW - sizeof(wanted) + 1,
					WINDOW - 1,
					WINDOW,
					2 * WINDOW - 4,
					2 * WINDOW - 2,
					CODE_BYTES - sizeof(wanted)};
	static uint8_t code[CODE_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct fixture f;
		uint64_t off = 0;

		memset(code, 0, sizeof(code));
		memcpy(code + places[i], wanted, sizeof(wanted));
		open_with(&f, code);
		assert_false(tapir_file_code__search(&f.code, 0, wanted, sizeof(wanted), &off));
		assert_true(tapir_file_code__search(&f.code, 1, wanted, sizeof(wanted), &off));
		assert_int_equal(off, f.off + places[i]);
		off++;
		assert_false(tapir_file_code__search(&f.code, 1, wanted, sizeof(wanted), &off));
		assert_int_equal(off, f.off + places[i] + 1);
		close_all(&f);
	}
}

/* What follows in the file is no code. */
static void sequence_that_leaves_the_segment_is_not_found(void **state)
{
	static uint8_t code[CODE_BYTES];
	uint64_t off = 0;
	struct fixture f;

	(void)state;
	memset(code, 0, sizeof(code));
	memcpy(code + CODE_BYTES - 4, wanted, 4);
	open_with(&f, code);
	assert_int_equal(pwrite(f.fd, wanted + 4, sizeof(wanted) - 4, (off_t)f.off + CODE_BYTES),
			 sizeof(wanted) - 4);
	assert_false(tapir_file_code__search(&f.code, 1, wanted, sizeof(wanted), &off));
	close_all(&f);
}

static void bytes_are_those_of_the_file(void **state)
{
	static const size_t wants[] = {1, 16, 4000, WINDOW, 2 * WINDOW};
	static uint8_t code[CODE_BYTES];
	struct fixture f;

	(void)state;
	for (size_t i = 0; i < CODE_BYTES; i++)
		code[i] = (uint8_t)(i * 2654435761u >> 24);
	open_with(&f, code);
	for (size_t at = 0, i = 0; at < CODE_BYTES; at += 3001, i++) {
		/* forwards and backwards, near and far */
		size_t place = i % 2 ? at : CODE_BYTES - 1 - at, len = 0, want = wants[i % 5];
		const uint8_t *got = tapir_file_code__at(&f.code, f.off + place, want, &len);

		want = want < WINDOW ? want : WINDOW;
		want = want < CODE_BYTES - place ? want : CODE_BYTES - place;
		assert_non_null(got);
		assert_in_range(len, want, CODE_BYTES - place);
		assert_memory_equal(got, code + place, len);
	}
	assert_null(tapir_file_code__at(&f.code, f.off + CODE_BYTES, 1, &(size_t){0}));
	close_all(&f);
}

static void file_that_is_cut_meanwhile_ends_earlier(void **state)
{
	static uint8_t code[CODE_BYTES];
	uint64_t off = 0;
	struct fixture f;
	size_t len = 0;

	(void)state;
	memset(code, 0x90, sizeof(code));
	memcpy(code + 2 * WINDOW, wanted, sizeof(wanted));
	open_with(&f, code);
	assert_true(tapir_file_code__is_padding(&f.code, (uint32_t)f.off, (uint32_t)f.off + 99));
	assert_int_equal(ftruncate(f.fd, (off_t)f.off + WINDOW + 10), 0);
	assert_false(tapir_file_code__search(&f.code, 1, wanted, sizeof(wanted), &off));
	assert_non_null(tapir_file_code__at(&f.code, f.off + WINDOW, 99, &len));
	assert_int_equal(len, 10);
	assert_null(tapir_file_code__at(&f.code, f.off + 2 * WINDOW, 1, &len));
	assert_false(tapir_file_code__is_padding(&f.code, (uint32_t)f.off + WINDOW,
						 (uint32_t)f.off + WINDOW + 11));
	close_all(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sequence_is_found_wherever_it_lies),
		cmocka_unit_test(sequence_that_leaves_the_segment_is_not_found),
		cmocka_unit_test(bytes_are_those_of_the_file),
		cmocka_unit_test(file_that_is_cut_meanwhile_ends_earlier),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
