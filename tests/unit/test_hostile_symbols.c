// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Files that are made to take long: each is given up in well under a second, and what it had is
 * counted. TAPIR_TIMES=1 prints how long each took.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <fcntl.h>
#include <lzma.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "elf/debug_file.h"
#include "elf/image.h"
#include "elf/symbols.h"

#define LIMIT_NS	 (900 * TAPIR_NS_PER_MS) /* of CPU time */
#define LIMIT_REFERENCES 80 /* or so many times reference_ns(), where that is more */
#define TEXT_VA		 0x1000u
#define HEAD		 0x40000u /* program headers end before it, and section headers begin there */

enum { SEC_NULL, SEC_TEXT, SEC_SYMTAB, SEC_STRTAB, SEC_NAMES, SEC_EXTRA, SEC_CNT };
static const char names[] = "\0.text\0.symtab\0.strtab\0.shstrtab\0.gnu_debugdata\0.gnu_debuglink";

/* One section after another, as much as each says; most of it may stay a hole. */
struct maker {
	int fd;
	uint64_t end;
	Elf64_Shdr sections[SEC_CNT];
	unsigned phdr_cnt;
};

static void make_head(struct maker *m, int fd, unsigned phdr_cnt)
{
	*m = (struct maker){.fd = fd, .end = HEAD + 0x1000, .phdr_cnt = phdr_cnt};
	m->sections[SEC_TEXT] = (Elf64_Shdr){.sh_name = 1,
					     .sh_type = SHT_PROGBITS,
					     .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
					     .sh_addr = 0,
					     .sh_offset = 0,
					     .sh_size = 1u << 30};
}

static void add(struct maker *m, unsigned idx, uint32_t name, uint32_t type, const void *data,
		uint64_t bytes)
{
	m->sections[idx] = (Elf64_Shdr){
		.sh_name = name, .sh_type = type, .sh_offset = m->end, .sh_size = bytes};
	if (data)
		assert_int_equal(pwrite(m->fd, data, bytes, (off_t)m->end), bytes);
	m->end += (bytes + 15) & ~15ull;
}

static void write_phdrs(const struct maker *m, bool in_order)
{
	Elf64_Phdr *phdrs = calloc(m->phdr_cnt, sizeof(*phdrs));

	assert_non_null(phdrs);
	for (unsigned i = 0; i < m->phdr_cnt; i++) {
		uint64_t va = TEXT_VA + 16ull * (in_order ? i : m->phdr_cnt - 1 - i);

		phdrs[i] = (Elf64_Phdr){.p_type = PT_LOAD,
					.p_flags = PF_R | PF_X,
					.p_offset = va,
					.p_vaddr = va,
					.p_filesz = 16};
	}
	assert_true(pwrite(m->fd, phdrs, m->phdr_cnt * sizeof(*phdrs), sizeof(Elf64_Ehdr)) > 0);
	free(phdrs);
}

static void finish(struct maker *m, bool in_order)
{
	Elf64_Ehdr head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			   .e_type = ET_DYN,
			   .e_machine = EM_X86_64,
			   .e_version = EV_CURRENT,
			   .e_ehsize = sizeof(head),
			   .e_phoff = sizeof(head),
			   .e_phentsize = sizeof(Elf64_Phdr),
			   .e_phnum = (uint16_t)m->phdr_cnt,
			   .e_shoff = HEAD,
			   .e_shentsize = sizeof(Elf64_Shdr),
			   .e_shnum = SEC_CNT,
			   .e_shstrndx = SEC_NAMES};

	add(m, SEC_NAMES, 23, SHT_STRTAB, names, sizeof(names));
	m->sections[SEC_SYMTAB].sh_link = SEC_STRTAB;
	m->sections[SEC_SYMTAB].sh_entsize = sizeof(Elf64_Sym);
	assert_int_equal(pwrite(m->fd, &head, sizeof(head), 0), sizeof(head));
	write_phdrs(m, in_order);
	assert_true(pwrite(m->fd, m->sections, sizeof(m->sections), HEAD) > 0);
	assert_int_equal(ftruncate(m->fd, (off_t)m->end), 0);
}

/* cnt functions, all over the segments; name_of says where in the strings each has its name. */
static void add_symbols(struct maker *m, uint32_t cnt, uint32_t (*name_of)(uint32_t))
{
	Elf64_Sym *syms = calloc(cnt, sizeof(*syms));

	assert_non_null(syms);
	for (uint32_t i = 1; i < cnt; i++)
		syms[i] = (Elf64_Sym){.st_name = name_of(i),
				      .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				      .st_shndx = SEC_TEXT,
				      .st_size = 16,
				      .st_value = TEXT_VA + 16ull * (i * 7919u % m->phdr_cnt)};
	add(m, SEC_SYMTAB, 7, SHT_SYMTAB, syms, cnt * sizeof(*syms));
	free(syms);
}

static int compare_numbers(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* CPU time that sorting takes here: an emulated processor is many times as slow. */
static uint64_t reference_ns(void)
{
	static uint32_t numbers[1 << 18];
	uint64_t start_ns = tapir_clock__cpu_ns();

	for (uint32_t i = 0; i < 1 << 18; i++)
		numbers[i] = i * 2654435761u;
	qsort(numbers, 1 << 18, sizeof(*numbers), compare_numbers);
	return tapir_clock__cpu_ns() - start_ns;
}

static size_t load_in_time(int fd, const char *what, const struct tapir_debug_location *place)
{
	uint64_t start_ns = tapir_clock__cpu_ns(), took_ns;
	struct tapir_symtab *table = NULL;
	struct tapir_elf *elf = NULL;
	size_t dropped_cnt;

	assert_int_equal(tapir_elf__open_fd(fd, &elf), 0);
	assert_int_equal(tapir_symtab__load(elf, &table), 0);
	if (place)
		assert_int_equal(tapir_symtab__load_debug(table, elf, place), 0);
	took_ns = tapir_clock__cpu_ns() - start_ns;
	if (getenv("TAPIR_TIMES"))
		print_message("%s: %.0f ms (sorting: %.0f)\n", what, (double)took_ns / 1e6,
			      (double)reference_ns() / 1e6);
	dropped_cnt = tapir_symtab__dropped(table);
	tapir_symtab__free(table);
	tapir_elf__free(elf);
	if (took_ns > LIMIT_NS)
		assert_in_range(took_ns, 0, LIMIT_REFERENCES * reference_ns());
	return dropped_cnt;
}

/* ---- symbols times segments -------------------------------------------------------------------- */

static uint32_t name_each(uint32_t i)
{
	return 1 + i % 997 * 2;
}

static void million_symbols_find_their_segments_in_time(void **state)
{
	char strings[2000];

	(void)state;
	for (size_t i = 0; i < sizeof(strings); i++)
		strings[i] = i % 2 ? 'f' : '\0';
	for (int in_order = 0; in_order < 2; in_order++) {
		int fd = memfd_create("symbols", MFD_CLOEXEC);
		struct maker m;

		make_head(&m, fd, 1000);
		add_symbols(&m, 2u << 20, name_each);
		add(&m, SEC_STRTAB, 15, SHT_STRTAB, strings, sizeof(strings));
		finish(&m, in_order);
		assert_true(load_in_time(fd,
					 in_order ? "segments in order" : "segments in disorder",
					 NULL) > 0 ||
			    !in_order);
		close(fd);
	}
}

/* ---- one long name ------------------------------------------------------------------------------ */

#define LONG_NAME (64u << 20)

static uint32_t name_within(uint32_t i)
{
	return 1 + i % 65536;
}

static void name_that_all_symbols_share_is_not_read_by_each(void **state)
{
	char *strings = malloc(LONG_NAME);
	int fd = memfd_create("names", MFD_CLOEXEC);
	struct maker m;

	(void)state;
	assert_non_null(strings);
	memset(strings, 'n', LONG_NAME);
	strings[0] = strings[LONG_NAME - 1] = '\0';
	make_head(&m, fd, 4);
	add_symbols(&m, 1u << 20, name_within);
	add(&m, SEC_STRTAB, 15, SHT_STRTAB, strings, LONG_NAME);
	finish(&m, true);
	free(strings);
	assert_true(load_in_time(fd, "one long name", NULL) > 0);
	close(fd);
}

/* Names that are equal for 16,000 bytes are compared again and again while they are sorted. */
static uint32_t name_of_copy(uint32_t i)
{
	return 1 + i % 4000 * 16001;
}

static void names_that_differ_late_are_sorted_in_time(void **state)
{
	size_t bytes = 1 + 4000u * 16001u;
	char *strings = malloc(bytes);
	int fd = memfd_create("names", MFD_CLOEXEC);
	struct maker m;

	(void)state;
	assert_non_null(strings);
	memset(strings, 'n', bytes);
	for (size_t i = 0; i <= 4000; i++)
		strings[i * 16001] = '\0';
	make_head(&m, fd, 4);
	add_symbols(&m, 1u << 20, name_of_copy);
	add(&m, SEC_STRTAB, 15, SHT_STRTAB, strings, bytes);
	finish(&m, true);
	free(strings);
	load_in_time(fd, "names alike", NULL);
	close(fd);
}

/* ---- a slow machine ------------------------------------------------------------------------------ */

#define WORK_US	  1000 /* of each turn, and the rest of it passes as in a guest that is stopped */
#define STOLEN_NS (60 * TAPIR_NS_PER_MS)
static volatile sig_atomic_t steals; /* a signal may still come when the timer is off */

static void start_turn(void)
{
	struct itimerval soon = {.it_value.tv_usec = WORK_US};

	setitimer(ITIMER_REAL, &soon, NULL);
}

static void steal(int number)
{
	uint64_t until_ns = tapir_clock__cpu_ns() + STOLEN_NS;

	(void)number;
	while (tapir_clock__cpu_ns() < until_ns)
		;
	if (steals)
		start_turn();
}

/* A thread's CPU time is no measure of its work: names must not depend on it. */
static void names_are_all_there_on_a_slow_machine(void **state)
{
	struct sigaction action = {.sa_handler = steal, .sa_flags = SA_RESTART}, old;
	struct itimerval never = {};
	int fd = memfd_create("symbols", MFD_CLOEXEC);
	struct tapir_symtab *table = NULL;
	struct tapir_elf *elf = NULL;
	char strings[2000];
	struct maker m;

	(void)state;
	memset(strings, 'f', sizeof(strings));
	for (size_t i = 0; i < sizeof(strings); i += 2)
		strings[i] = '\0';
	make_head(&m, fd, 1000);
	add_symbols(&m, 200u << 10, name_each);
	add(&m, SEC_STRTAB, 15, SHT_STRTAB, strings, sizeof(strings));
	finish(&m, true);
	assert_int_equal(tapir_elf__open_fd(fd, &elf), 0);
	assert_int_equal(sigaction(SIGALRM, &action, &old), 0);
	steals = 1;
	start_turn();
	assert_int_equal(tapir_symtab__load(elf, &table), 0);
	steals = 0;
	setitimer(ITIMER_REAL, &never, NULL);
	sigaction(SIGALRM, &old, NULL);
	assert_int_equal(tapir_symtab__dropped(table), 0);
	assert_int_equal(tapir_symtab__cnt(table), 1000);
	tapir_symtab__free(table);
	tapir_elf__free(elf);
	close(fd);
}

/* ---- what is unpacked, what is summed ------------------------------------------------------------- */

/* Zeros, which xz makes ten thousand times smaller, or 7 bits of each 8. */
static uint8_t *pack(size_t bytes, bool zeros, size_t *packed_len)
{
	static uint8_t part[1 << 16];
	lzma_stream xz = LZMA_STREAM_INIT;
	size_t room = zeros ? 1 << 20 : bytes + (1 << 20);
	uint8_t *packed = malloc(room);
	uint32_t number = 1;

	assert_non_null(packed);
	assert_int_equal(lzma_easy_encoder(&xz, 0, LZMA_CHECK_NONE), LZMA_OK);
	xz.next_out = packed;
	xz.avail_out = room;
	for (size_t done = 0; done < bytes; done += sizeof(part)) {
		for (size_t i = 0; i < sizeof(part); i++)
			part[i] = zeros ? 0 : (number = number * 1664525u + 1013904223u) >> 25;
		xz.next_in = part;
		xz.avail_in = sizeof(part);
		assert_int_equal(lzma_code(&xz, LZMA_RUN), LZMA_OK);
	}
	assert_int_equal(lzma_code(&xz, LZMA_FINISH), LZMA_STREAM_END);
	*packed_len = xz.total_out;
	lzma_end(&xz);
	return packed;
}

static size_t load_packed(size_t bytes, bool zeros)
{
	size_t len = 0, dropped_cnt;
	uint8_t *packed = pack(bytes, zeros, &len);
	int fd = memfd_create("bomb", MFD_CLOEXEC);
	struct maker m;

	make_head(&m, fd, 1);
	add(&m, SEC_EXTRA, 33, SHT_PROGBITS, packed, len);
	finish(&m, true);
	dropped_cnt = load_in_time(fd, zeros ? "debugdata of zeros" : "debugdata", NULL);
	free(packed);
	close(fd);
	return dropped_cnt;
}

static void debugdata_that_unpacks_to_too_much_is_left(void **state)
{
	(void)state;
	assert_int_equal(load_packed(200u << 20, true), 1);
	assert_int_equal(load_packed(5u << 20, false), 1);
	assert_int_equal(load_packed(4u << 20, false), 0);
}

static void debug_link_to_a_huge_file_is_left(void **state)
{
	static const uint8_t link[12] = "x.debug\0\1\2\3\4";
	char root[] = "/tmp/tapir-huge-XXXXXX", path[64];
	struct tapir_debug_location place = {.path = "/program"};
	int fd = memfd_create("program", MFD_CLOEXEC), debug_fd;
	struct maker m;

	(void)state;
	assert_non_null(mkdtemp(root));
	snprintf(path, sizeof(path), "%s/x.debug", root);
	debug_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	make_head(&m, debug_fd, 1);
	finish(&m, true);
	assert_int_equal(ftruncate(debug_fd, 900ll << 20), 0); /* a hole */
	make_head(&m, fd, 1);
	add(&m, SEC_EXTRA, 48, SHT_PROGBITS, link, sizeof(link));
	finish(&m, true);
	place.root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(load_in_time(fd, "debug link", &place), 1);
	close(place.root_fd);
	close(debug_fd);
	close(fd);
	unlink(path);
	rmdir(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(million_symbols_find_their_segments_in_time),
		cmocka_unit_test(name_that_all_symbols_share_is_not_read_by_each),
		cmocka_unit_test(names_that_differ_late_are_sorted_in_time),
		cmocka_unit_test(names_are_all_there_on_a_slow_machine),
		cmocka_unit_test(debugdata_that_unpacks_to_too_much_is_left),
		cmocka_unit_test(debug_link_to_a_huge_file_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
