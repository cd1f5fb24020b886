// SPDX-License-Identifier: GPL-2.0-or-later
/* Opening ELF files: what is one, its identity, addresses and offsets, hostile headers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <sys/stat.h>

#include "base/diag.h"
#include "elf/image.h"
#include "elf_builder.h"

static void build(struct elf_builder *b)
{
	elf_builder__init(b, ET_DYN);
	elf_builder__finish(b);
}

static Elf64_Ehdr *head_of(struct elf_builder *b)
{
	return (Elf64_Ehdr *)b->bytes;
}

static void check_refused(const struct elf_builder *b)
{
	struct tapir_elf *elf = NULL;

	tapir_diag__clear();
	assert_int_equal(elf_builder__open_cut(b, b->len, &elf), -ENOEXEC);
	assert_null(elf);
	assert_int_equal(tapir_diag__cnt(), 1);
	tapir_diag__clear();
}

static void file_is_refused_when_it_is_no_regular_elf_file(void **state)
{
	char fifo[] = "/tmp/tapir-image-XXXXXX";
	struct tapir_elf *elf = NULL;

	(void)state;
	tapir_diag__clear();
	assert_int_equal(tapir_elf__open("/nonexistent/file", &elf), -ENOENT);
	assert_string_equal(tapir_diag__line(0),
			    "cannot read /nonexistent/file: No such file or directory");
	assert_int_equal(tapir_elf__open("/dev/null", &elf), -ENOEXEC);
	assert_int_equal(tapir_elf__open("/", &elf), -ENOEXEC);
	assert_int_equal(tapir_elf__open("/proc/self/maps", &elf), -ENOEXEC);
	assert_int_equal(tapir_elf__open_fd(-1, &elf), -EBADF);
	assert_int_equal(close(mkstemp(fifo)), 0);
	assert_int_equal(tapir_elf__open(fifo, &elf), -ENOEXEC); /* empty */
	assert_int_equal(unlink(fifo), 0);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(tapir_elf__open(fifo, &elf), -ENOEXEC); /* and does not block */
	assert_int_equal(unlink(fifo), 0);
	assert_null(elf);
	tapir_diag__clear();
}

static void file_is_refused_when_its_header_lies(void **state)
{
	struct elf_builder b;
	Elf64_Ehdr good;

	(void)state;
	build(&b);
	good = *head_of(&b);
#define REFUSED_WITH(change)                                                                       \
	do {                                                                                       \
		Elf64_Ehdr *h = head_of(&b);                                                       \
		change;                                                                            \
		check_refused(&b);                                                                 \
		*h = good;                                                                         \
	} while (0)
	REFUSED_WITH(h->e_ident[0] = 'x');
	REFUSED_WITH(h->e_ident[EI_CLASS] = ELFCLASS32);
	REFUSED_WITH(h->e_ident[EI_DATA] = ELFDATA2MSB);
	REFUSED_WITH(h->e_shentsize = 1);
	REFUSED_WITH(h->e_shnum = 0xfeff);
	REFUSED_WITH(h->e_shoff = UINT64_MAX - 8);
	REFUSED_WITH(h->e_shoff = b.len);
	REFUSED_WITH(h->e_phnum = 0xffff);
	REFUSED_WITH(h->e_phnum = 1024; h->e_phoff = b.len - 64);
	REFUSED_WITH(h->e_phoff = UINT64_MAX - 8);
	REFUSED_WITH(h->e_phentsize = 8);
	/* The count is in section 0 when it is 0 in the header. */
	REFUSED_WITH({
		h->e_shnum = 0;
		((Elf64_Shdr *)(b.bytes + h->e_shoff))->sh_size = 1ull << 40;
	});
	REFUSED_WITH({
		h->e_shnum = 0;
		((Elf64_Shdr *)(b.bytes + h->e_shoff))->sh_size = 60000; /* not in the file */
	});
#undef REFUSED_WITH
	elf_builder__fini(&b);
}

static void sections_are_found_when_their_count_is_extended(void **state)
{
	struct elf_builder b;
	struct tapir_elf *elf;

	(void)state;
	build(&b);
	((Elf64_Shdr *)(b.bytes + head_of(&b)->e_shoff))->sh_size = b.section_cnt;
	head_of(&b)->e_shnum = 0;
	elf = elf_builder__open(&b);
	assert_non_null(elf);
	assert_non_null(tapir_elf__section(elf, ".text"));
	assert_null(tapir_elf__section(elf, ".missing"));
	tapir_elf__free(elf);
	elf_builder__fini(&b);
}

static void address_becomes_offset_and_back_when_a_segment_holds_it(void **state)
{
	struct elf_builder b;
	struct tapir_elf *elf;
	uint64_t off = 77;

	(void)state;
	elf_builder__init(&b, ET_DYN);
	b.phdrs[1].p_vaddr += 0x1000; /* as linkers do: the next page */
	b.phdrs[1].p_memsz += 0x10000;
	elf_builder__add_phdr(&b, PT_LOAD, PF_R, UINT64_MAX - 100, 200); /* wraps around, */
	elf_builder__add_phdr(&b, PT_LOAD, PF_R, 0x1000000, 0x1000);	 /* or is not in the file */
	elf_builder__finish(&b);
	elf = elf_builder__open(&b);
	assert_non_null(elf);
	assert_false(tapir_elf__va_to_off(elf, LOAD_BIAS - 1, &off));
	assert_false(tapir_elf__va_to_off(elf, DATA_VA, &off));
	assert_false(tapir_elf__va_to_off(elf, LOAD_BIAS + 0x1000000, &off));
	assert_false(tapir_elf__va_to_off(elf, LOAD_BIAS + IMAGE_BYTES + 0x1000, &off)); /* .bss */
	assert_int_equal(off, 77);
	assert_true(tapir_elf__va_to_off(elf, TEXT_VA + 5, &off));
	assert_int_equal(off, TEXT_OFF + 5);
	assert_true(tapir_elf__va_to_off(elf, DATA_VA + 0x1000, &off));
	assert_int_equal(off, DATA_OFF);
	assert_true(tapir_elf__off_to_va(elf, DATA_OFF, &off));
	assert_int_equal(off, DATA_VA + 0x1000);
	assert_false(tapir_elf__off_to_va(elf, IMAGE_BYTES, &off));
	tapir_elf__free(elf);
	elf_builder__fini(&b);
}

/* ---- identity ----------------------------------------------------------------------------- */

static void put_id(struct elf_builder *b, uint8_t last)
{
	const uint8_t note[] = {4, 0, 0,   0,	4,   0, 0, 0, 3, 0,
				0, 0, 'G', 'N', 'U', 0, 1, 2, 3, last};

	memcpy(b->bytes + DATA_OFF, note, sizeof(note));
}

static void check_id(const struct elf_builder *b, uint8_t last)
{
	struct tapir_elf *elf = elf_builder__open(b);
	const uint8_t want[] = {1, 2, 3, last}, *id;
	size_t len;

	assert_non_null(elf);
	id = tapir_elf__build_id(elf, &len);
	assert_non_null(id);
	assert_int_equal(len, sizeof(want));
	assert_memory_equal(id, want, len);
	tapir_elf__free(elf);
}

static void build_id_is_found_when_a_section_or_a_segment_has_it(void **state)
{
	struct elf_builder b;

	(void)state;
	elf_builder__init(&b, ET_DYN);
	put_id(&b, 4);
	elf_builder__add_header(&b, ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, DATA_OFF, 20);
	elf_builder__finish(&b);
	check_id(&b, 4);
	elf_builder__fini(&b);

	elf_builder__init(&b, ET_DYN);
	put_id(&b, 5);
	elf_builder__add_phdr(&b, PT_NOTE, PF_R, DATA_OFF, 20);
	elf_builder__finish(&b);
	check_id(&b, 5);
	elf_builder__fini(&b);
}

static void build_id_is_absent_when_its_note_is_bad(void **state)
{
	struct elf_builder b;
	size_t len;

	(void)state;
	for (unsigned bytes = 0; bytes < 20; bytes++) {
		struct tapir_elf *elf;

		elf_builder__init(&b, ET_DYN);
		put_id(&b, 4);
		elf_builder__add_header(&b, ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, DATA_OFF,
					bytes);
		elf_builder__add_phdr(&b, PT_NOTE, PF_R, UINT64_MAX - 8, 20);
		elf_builder__finish(&b);
		elf = elf_builder__open(&b);
		assert_non_null(elf);
		assert_null(tapir_elf__build_id(elf, &len));
		assert_int_equal(len, 0);
		tapir_elf__free(elf);
		elf_builder__fini(&b);
	}
}

static uint64_t file_id_of(const struct elf_builder *b)
{
	struct tapir_elf *elf = elf_builder__open(b);
	uint64_t id;

	assert_non_null(elf);
	id = tapir_elf__file_id(elf);
	tapir_elf__free(elf);
	assert_int_not_equal(id, 0);
	return id;
}

static void file_id_is_the_same_when_the_content_is(void **state)
{
	struct elf_builder with, other, without;

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct elf_builder *b = i ? &other : &with;

		elf_builder__init(b, ET_DYN);
		put_id(b, (uint8_t)(4 + i));
		elf_builder__add_phdr(b, PT_NOTE, PF_R, DATA_OFF, 20);
		elf_builder__finish(b);
	}
	build(&without);
	assert_int_equal(file_id_of(&with), file_id_of(&with)); /* two files */
	assert_int_not_equal(file_id_of(&with), file_id_of(&other));
	assert_int_not_equal(file_id_of(&without), file_id_of(&without));
	elf_builder__fini(&with);
	elf_builder__fini(&other);
	elf_builder__fini(&without);
}

/* ---- content that is not there ------------------------------------------------------------- */

static void section_has_no_data_when_it_lies_outside(void **state)
{
	static const Elf64_Shdr rows[] = {
		{.sh_type = SHT_PROGBITS, .sh_offset = UINT64_MAX, .sh_size = 1},
		{.sh_type = SHT_PROGBITS, .sh_offset = 0, .sh_size = 64u << 20},
		{.sh_type = SHT_PROGBITS, .sh_offset = MAX_BYTES, .sh_size = 1},
		{.sh_type = SHT_PROGBITS, .sh_offset = 0, .sh_size = 0},
		{.sh_type = SHT_NOBITS, .sh_offset = 0, .sh_size = 64},
	};
	const Elf64_Shdr huge = {.sh_type = SHT_PROGBITS, .sh_size = UINT64_MAX};
	const void *data = &rows;
	struct elf_builder b;
	struct tapir_elf *elf;
	size_t len = 7;

	(void)state;
	build(&b);
	elf = elf_builder__open(&b);
	assert_non_null(elf);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_int_equal(tapir_elf__data(elf, &rows[i], &data, &len), -ENODATA);
	assert_int_equal(tapir_elf__data(elf, &huge, &data, &len), -EFBIG);
	assert_ptr_equal(data, &rows);
	assert_int_equal(len, 7);
	tapir_elf__free(elf);
	elf_builder__fini(&b);
	tapir_diag__clear();
}

static void reading_fails_when_the_file_shrinks_behind_us(void **state)
{
	struct elf_builder b;
	struct tapir_elf *elf = NULL;
	const void *data;
	size_t len;
	int fd;

	(void)state;
	build(&b);
	fd = elf_builder__memfd(b.bytes, b.len);
	assert_int_equal(tapir_elf__open_fd(fd, &elf), 0);
	assert_int_equal(ftruncate(fd, 100), 0);
	assert_int_equal(tapir_elf__data(elf, tapir_elf__section(elf, ".text"), &data, &len),
			 -ENODATA);
	tapir_elf__free(elf);
	close(fd);
	elf_builder__fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(file_is_refused_when_it_is_no_regular_elf_file),
		cmocka_unit_test(file_is_refused_when_its_header_lies),
		cmocka_unit_test(sections_are_found_when_their_count_is_extended),
		cmocka_unit_test(address_becomes_offset_and_back_when_a_segment_holds_it),
		cmocka_unit_test(build_id_is_found_when_a_section_or_a_segment_has_it),
		cmocka_unit_test(build_id_is_absent_when_its_note_is_bad),
		cmocka_unit_test(file_id_is_the_same_when_the_content_is),
		cmocka_unit_test(section_has_no_data_when_it_lies_outside),
		cmocka_unit_test(reading_fails_when_the_file_shrinks_behind_us),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
