// SPDX-License-Identifier: GPL-2.0-or-later
/* Function tables: which symbol names a place, and where symbols may come from. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "elf/debug_file.h"
#include "elf/symbols.h"
#include "elf_builder.h"

#define TEXT	   1 /* section of the builder */
#define DATA	   2
#define FUNC(bind) ELF64_ST_INFO(STB_##bind, STT_FUNC)
#define BARE(bind) ELF64_ST_INFO(STB_##bind, STT_NOTYPE)
#define AT(off)	   .st_value = TEXT_VA + (off)

struct named {
	const char *name;
	Elf64_Sym sym;
};

static void add_table(struct elf_builder *b, uint32_t type, const struct named *rows, size_t cnt)
{
	Elf64_Sym syms[64] = {};
	const char *names[64] = {""};

	assert_true(cnt < 64);
	for (size_t i = 0; i < cnt; i++) {
		syms[i + 1] = rows[i].sym;
		names[i + 1] = rows[i].name;
	}
	elf_builder__add_symbols(b, type, syms, cnt + 1, names);
}
#define ADD_TABLE(b, type, rows) add_table(b, type, rows, sizeof(rows) / sizeof(*(rows)))

static struct tapir_symtab *load(struct elf_builder *b)
{
	struct tapir_symtab *table = NULL;
	struct tapir_elf *elf;

	elf_builder__finish(b);
	elf = elf_builder__open(b);
	assert_non_null(elf);
	assert_int_equal(tapir_symtab__load(elf, &table), 0);
	tapir_elf__free(elf);
	return table;
}

/* name NULL: no symbol covers it. */
static void check_name(const struct tapir_symtab *table, uint64_t text_off, const char *name)
{
	struct tapir_symbol got;
	bool found = tapir_symtab__find(table, TEXT_OFF + text_off, &got);

	if (found != !!name || (found && strcmp(got.name, name) != 0))
		fail_msg("at %#llx: %s instead of %s", (unsigned long long)text_off,
			 found ? got.name : "nothing", name ? name : "nothing");
	if (found)
		assert_in_range(TEXT_OFF + text_off - got.start_off, 0, got.size - 1);
}

static void place_is_named_when_a_function_covers_it(void **state)
{
	static const struct named rows[] = {
		{"b", {.st_info = FUNC(GLOBAL), .st_shndx = TEXT, AT(0x200), .st_size = 0x10}},
		{"a", {.st_info = FUNC(LOCAL), .st_shndx = TEXT, AT(0x100), .st_size = 0x80}},
		{"inner", {.st_info = FUNC(LOCAL), .st_shndx = TEXT, AT(0x120), .st_size = 8}},
		{"unsized", {.st_info = BARE(GLOBAL), .st_shndx = TEXT, AT(0x400)}},
		{"last", {.st_info = BARE(LOCAL), .st_shndx = TEXT, AT(0x500)}},
		{"ifunc",
		 {.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC),
		  .st_shndx = TEXT,
		  AT(0x300),
		  .st_size = 4}},
	};
	const uint64_t end = DATA_OFF - TEXT_OFF;
	struct tapir_symtab *table;
	struct elf_builder b;

	(void)state;
	elf_builder__init(&b, ET_DYN);
	ADD_TABLE(&b, SHT_SYMTAB, rows);
	table = load(&b);
	assert_int_equal(tapir_symtab__cnt(table), 6);
	check_name(table, 0, NULL);
	check_name(table, 0xff, NULL);
	check_name(table, 0x100, "a");
	check_name(table, 0x11f, "a");
	check_name(table, 0x120, "inner");
	check_name(table, 0x127, "inner");
	check_name(table, 0x128, "a"); /* after the one nested in it */
	check_name(table, 0x17f, "a");
	check_name(table, 0x180, NULL);
	check_name(table, 0x20f, "b");
	check_name(table, 0x210, NULL);
	check_name(table, 0x303, "ifunc");
	check_name(table, 0x400, "unsized");
	check_name(table, 0x4ff, "unsized"); /* up to the next one */
	check_name(table, 0x500, "last");
	check_name(table, end - 1, "last"); /* up to the section's end */
	check_name(table, end, NULL);
	tapir_symtab__free(table);
	elf_builder__fini(&b);
}

static void best_name_wins_when_several_share_a_place(void **state)
{
	static const struct named rows[] = {
		{"local", {.st_info = FUNC(LOCAL), .st_shndx = TEXT, AT(0x0), .st_size = 8}},
		{"global", {.st_info = FUNC(GLOBAL), .st_shndx = TEXT, AT(0x0), .st_size = 8}},
		{"weak", {.st_info = FUNC(WEAK), .st_shndx = TEXT, AT(0x0), .st_size = 8}},
		{"unsized", {.st_info = FUNC(GLOBAL), .st_shndx = TEXT, AT(0x10)}},
		{"sized", {.st_info = FUNC(LOCAL), .st_shndx = TEXT, AT(0x10), .st_size = 8}},
		{"__write", {.st_info = FUNC(GLOBAL), .st_shndx = TEXT, AT(0x20), .st_size = 8}},
		{"write_it", {.st_info = FUNC(GLOBAL), .st_shndx = TEXT, AT(0x20), .st_size = 8}},
		{"longer", {.st_info = FUNC(GLOBAL), .st_shndx = TEXT, AT(0x30), .st_size = 8}},
		{"long", {.st_info = FUNC(GLOBAL), .st_shndx = TEXT, AT(0x30), .st_size = 8}},
		{"label", {.st_info = BARE(GLOBAL), .st_shndx = TEXT, AT(0x40), .st_size = 8}},
		{"function", {.st_info = FUNC(GLOBAL), .st_shndx = TEXT, AT(0x40), .st_size = 8}},
		{"copy@@V_2", {.st_info = FUNC(GLOBAL), .st_shndx = TEXT, AT(0x50), .st_size = 8}},
	};
	static const struct named exported[] = {
		{"copy", {.st_info = FUNC(GLOBAL), .st_shndx = TEXT, AT(0x50), .st_size = 8}},
		{"dynamic", {.st_info = FUNC(GLOBAL), .st_shndx = TEXT, AT(0x60), .st_size = 8}},
	};
	struct tapir_symtab *table;
	struct elf_builder b;

	(void)state;
	elf_builder__init(&b, ET_DYN);
	ADD_TABLE(&b, SHT_SYMTAB, rows);
	ADD_TABLE(&b, SHT_DYNSYM, exported);
	table = load(&b);
	assert_int_equal(tapir_symtab__cnt(table), 7);
	check_name(table, 0x00, "global");
	check_name(table, 0x10, "sized");
	check_name(table, 0x20, "write_it");
	check_name(table, 0x30, "long");
	check_name(table, 0x40, "function");
	check_name(table, 0x50, "copy");
	check_name(table, 0x60, "dynamic");
	tapir_symtab__free(table);
	elf_builder__fini(&b);
}

static void symbol_is_left_out_when_it_is_no_code(void **state)
{
	static const struct named rows[] = {
		{"undefined", {.st_info = FUNC(GLOBAL), .st_shndx = SHN_UNDEF, AT(0x100)}},
		{"", {.st_info = FUNC(GLOBAL), .st_shndx = TEXT, AT(0x100)}},
		{".Llabel", {.st_info = BARE(LOCAL), .st_shndx = TEXT, AT(0x100)}},
		{"$x", {.st_info = BARE(LOCAL), .st_shndx = TEXT, AT(0x100)}},
		{"object",
		 {.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), .st_shndx = TEXT, AT(0)}},
		{"data", {.st_info = FUNC(GLOBAL), .st_shndx = DATA, .st_value = DATA_VA}},
		{"wrong_section", {.st_info = FUNC(GLOBAL), .st_shndx = DATA, AT(0x100)}},
		{"etext", {.st_info = BARE(GLOBAL), .st_shndx = TEXT, .st_value = DATA_VA}},
		{"nowhere", {.st_info = FUNC(GLOBAL), .st_shndx = TEXT, .st_value = UINT64_MAX}},
	};
	struct tapir_symtab *table;
	struct elf_builder b;

	(void)state;
	elf_builder__init(&b, ET_DYN);
	ADD_TABLE(&b, SHT_SYMTAB, rows);
	table = load(&b);
	assert_int_equal(tapir_symtab__cnt(table), 0);
	check_name(table, 0x100, NULL);
	tapir_symtab__free(table);
	elf_builder__fini(&b);
}

static void tables_are_safe_when_they_are_hostile(void **state)
{
	static const struct named rows[] = {
		{"huge", {.st_info = FUNC(GLOBAL), .st_shndx = TEXT, AT(8), .st_size = UINT64_MAX}},
		{"section", {.st_info = FUNC(GLOBAL), .st_shndx = 0xfff0, AT(16), .st_size = 4}},
		{"odd", {.st_info = 0xff, .st_shndx = TEXT, AT(24), .st_size = 4}},
	};
	struct tapir_symtab *table;
	struct elf_builder b;
	unsigned symtab;

	(void)state;
	elf_builder__init(&b, ET_DYN);
	ADD_TABLE(&b, SHT_SYMTAB, rows);
	symtab = b.section_cnt - 1;
	b.bytes[b.len - sizeof(Elf64_Sym) * 2] = 0xff; /* the name of "section" points outside */
	b.bytes[b.len - sizeof(Elf64_Sym) * 2 + 3] = 0xff;
	b.sections[symtab - 1].sh_size--; /* the last string is not terminated */
	table = load(&b);
	assert_int_equal(tapir_symtab__cnt(table), 1);
	check_name(table, 8, "huge");
	tapir_symtab__free(table);
	elf_builder__fini(&b);
}

/* ---- symbols from elsewhere -------------------------------------------------------------- */

static const struct named exported_rows[] = {
	{"exported", {.st_info = FUNC(GLOBAL), .st_shndx = TEXT, AT(0x100), .st_size = 0x10}},
};
static const struct named hidden_rows[] = {
	{"hidden", {.st_info = FUNC(LOCAL), .st_shndx = TEXT, AT(0x200), .st_size = 0x10}},
};
static const uint8_t build_id_note[] = {4, 0, 0,   0,	4,   0, 0,    0,    3,	  0,
					0, 0, 'G', 'N', 'U', 0, 0xab, 0xcd, 0xef, 0x01};

static void add_build_id(struct elf_builder *b)
{
	memcpy(b->bytes + DATA_OFF, build_id_note, sizeof(build_id_note));
	elf_builder__add_header(b, ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, DATA_OFF,
				sizeof(build_id_note));
}

/* The debug file has the same sections and symbols, but its segments lead elsewhere. */
static void build_debug(struct elf_builder *b, bool with_id)
{
	elf_builder__init(b, ET_DYN);
	ADD_TABLE(b, SHT_SYMTAB, hidden_rows);
	if (with_id)
		add_build_id(b);
	b->phdrs[0].p_offset = 0x300;
	elf_builder__finish(b);
}

static void symbols_are_added_when_gnu_debugdata_holds_them(void **state)
{
	size_t packed_len = 0;
	struct tapir_symtab *table;
	struct elf_builder b, debug;
	uint8_t *packed = malloc(1 << 20);

	(void)state;
	assert_non_null(packed);
	build_debug(&debug, false);
	assert_int_equal(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, NULL, debug.bytes, debug.len,
						 packed, &packed_len, 1 << 20),
			 LZMA_OK);
	for (int broken = 0; broken < 2; broken++) {
		elf_builder__init(&b, ET_DYN);
		ADD_TABLE(&b, SHT_DYNSYM, exported_rows);
		packed[packed_len / 2] ^= broken;
		elf_builder__add_section(&b, ".gnu_debugdata", SHT_PROGBITS, packed, packed_len);
		table = load(&b);
		check_name(table, 0x108, "exported");
		check_name(table, 0x208, broken ? NULL : "hidden");
		tapir_symtab__free(table);
		elf_builder__fini(&b);
	}
	elf_builder__fini(&debug);
	free(packed);
}

static void write_file(const char *path, const struct elf_builder *b)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_int_equal(fwrite(b->bytes, 1, b->len, f), b->len);
	assert_int_equal(fclose(f), 0);
}

static void make_dirs(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
}

/* Puts the debug file at root/place and returns what load_debug returns. */
static int load_with_debug_at(const char *place, const struct elf_builder *debug,
			      const struct elf_builder *stripped, bool *named)
{
	char root[] = "/tmp/tapir-symbols-XXXXXX", path[256], command[64];
	struct tapir_elf *elf = elf_builder__open(stripped);
	struct tapir_debug_location where = {.path = "/opt/bin/program"};
	struct tapir_symtab *table = NULL;
	struct tapir_symbol symbol;
	int result;

	assert_non_null(elf);
	assert_non_null(mkdtemp(root));
	snprintf(path, sizeof(path), "%s%s", root, place);
	make_dirs(path);
	write_file(path, debug);
	assert_int_equal(tapir_symtab__load(elf, &table), 0);
	where.root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	result = tapir_symtab__load_debug(table, elf, &where);
	close(where.root_fd);
	check_name(table, 0x108, "exported");
	*named = tapir_symtab__find(table, TEXT_OFF + 0x208, &symbol) &&
		 strcmp(symbol.name, "hidden") == 0;
	tapir_symtab__free(table);
	tapir_elf__free(elf);
	snprintf(command, sizeof(command), "rm -r %s", root);
	assert_int_equal(system(command), 0);
	return result;
}

static void debug_file_is_merged_when_its_build_id_is_right(void **state)
{
	struct elf_builder b, right, wrong;
	bool named;

	(void)state;
	elf_builder__init(&b, ET_DYN);
	ADD_TABLE(&b, SHT_DYNSYM, exported_rows);
	add_build_id(&b);
	elf_builder__finish(&b);
	build_debug(&right, true);
	build_debug(&wrong, false);
	assert_int_equal(
		load_with_debug_at("/usr/lib/debug/.build-id/ab/cdef01.debug", &right, &b, &named),
		1);
	assert_true(named);
	assert_int_equal(
		load_with_debug_at("/usr/lib/debug/.build-id/ab/cdef01.debug", &wrong, &b, &named),
		0);
	assert_false(named);
	assert_int_equal(
		load_with_debug_at("/usr/lib/debug/.build-id/ab/other.debug", &right, &b, &named),
		0);
	assert_false(named);
	elf_builder__fini(&b);
	elf_builder__fini(&right);
	elf_builder__fini(&wrong);
}

static void debug_file_is_merged_when_the_links_crc_is_right(void **state)
{
	static const char *const places[] = {"/opt/bin/program.debug",
					     "/opt/bin/.debug/program.debug",
					     "/usr/lib/debug/opt/bin/program.debug"};
	struct elf_builder debug;

	(void)state;
	build_debug(&debug, false);
	for (size_t i = 0; i < 2 * sizeof(places) / sizeof(*places); i++) {
		uint32_t crc = (uint32_t)crc32(0, debug.bytes, (uInt)debug.len);
		bool is_right = i % 2 == 0, named;
		char link[20] = "program.debug";
		struct elf_builder b;

		crc ^= !is_right;
		memcpy(link + 16, &crc, sizeof(crc));
		elf_builder__init(&b, ET_DYN);
		ADD_TABLE(&b, SHT_DYNSYM, exported_rows);
		elf_builder__add_section(&b, ".gnu_debuglink", SHT_PROGBITS, link, sizeof(link));
		elf_builder__finish(&b);
		assert_int_equal(load_with_debug_at(places[i / 2], &debug, &b, &named), is_right);
		assert_int_equal(named, is_right);
		elf_builder__fini(&b);
	}
	elf_builder__fini(&debug);
}

/* ---- real files -------------------------------------------------------------------------- */

/* The mapping of this process that holds va; its path and va's offset in that file. */
static bool find_mapping(uint64_t va, char *path, size_t len, uint64_t *off)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[4096];
	bool found = false;

	assert_non_null(maps);
	while (!found && fgets(line, sizeof(line), maps)) {
		unsigned long start, end, file_off;
		int path_at = 0;

		if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %n", &start, &end, &file_off, &path_at) <
			    3 ||
		    va < start || va >= end)
			continue;
		line[strcspn(line, "\n")] = '\0';
		snprintf(path, len, "%s", line + path_at);
		*off = va - start + file_off;
		found = true;
	}
	fclose(maps);
	return found;
}

static void check_function(const void *function, const char *name)
{
	struct tapir_symtab *table = NULL;
	struct tapir_elf *elf = NULL;
	struct tapir_symbol symbol = {};
	char path[4096];
	uint64_t off = 0;

	assert_true(find_mapping((uintptr_t)function, path, sizeof(path), &off));
	assert_int_equal(tapir_elf__open(path, &elf), 0);
	assert_int_equal(tapir_symtab__load(elf, &table), 0);
	if (!tapir_symtab__find(table, off + 1, &symbol) || strcmp(symbol.name, name) != 0)
		fail_msg("%s: %s instead of %s", path, symbol.name ?: "nothing", name);
	assert_int_equal(symbol.start_off, off);
	tapir_symtab__free(table);
	tapir_elf__free(elf);
}

static void functions_are_named_when_they_are_mapped_here(void **state)
{
	(void)state;
	check_function((const void *)(uintptr_t)check_function, "check_function");
	check_function((const void *)(uintptr_t)tapir_symtab__load, "tapir_symtab__load");
	check_function(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"), "gnu_get_libc_version");
	check_function(dlsym(RTLD_DEFAULT, "lzma_easy_buffer_encode"), "lzma_easy_buffer_encode");
}

/* ---- somebody else's debug file ------------------------------------------------------------- */

/*
 * A library of .NET's with the debug file that Microsoft gives for it, in one directory, where
 * tests/e2e/case_dotnet.py puts them: a function only the debug file knows gets its name.
 */
static void names_come_from_the_debug_file_of_a_dotnet_library(void **state)
{
	const char *dir = getenv("TAPIR_DOTNET_DEBUG_DIR"),
		   *local = getenv("TAPIR_DOTNET_DEBUG_NAME"),
		   *va_text = getenv("TAPIR_DOTNET_DEBUG_VA");
	uint64_t off = 0;
	struct tapir_debug_location place = {};
	struct tapir_symtab *symtab;
	struct tapir_symbol found;
	struct tapir_elf *elf;
	char path[4096];
	size_t cnt;

	(void)state;
	assert_true(dir && local && va_text);
	snprintf(path, sizeof(path), "%s/libSystem.Native.so", dir);
	assert_int_equal(tapir_elf__open(path, &elf), 0);
	assert_int_equal(tapir_symtab__load(elf, &symtab), 0);
	assert_true(tapir_elf__va_to_off(elf, strtoull(va_text, NULL, 16), &off));
	assert_false(tapir_symtab__find(symtab, off, &found) && !strcmp(found.name, local));
	cnt = tapir_symtab__cnt(symtab);
	place.root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	place.path = path;
	assert_int_equal(tapir_symtab__load_debug(symtab, elf, &place), 1);
	close(place.root_fd);
	assert_true(tapir_symtab__cnt(symtab) > cnt);
	assert_true(tapir_symtab__find(symtab, off, &found));
	assert_string_equal(found.name, local);
	tapir_symtab__free(symtab);
	tapir_elf__free(elf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(place_is_named_when_a_function_covers_it),
		cmocka_unit_test(best_name_wins_when_several_share_a_place),
		cmocka_unit_test(symbol_is_left_out_when_it_is_no_code),
		cmocka_unit_test(tables_are_safe_when_they_are_hostile),
		cmocka_unit_test(symbols_are_added_when_gnu_debugdata_holds_them),
		cmocka_unit_test(debug_file_is_merged_when_its_build_id_is_right),
		cmocka_unit_test(debug_file_is_merged_when_the_links_crc_is_right),
		cmocka_unit_test(functions_are_named_when_they_are_mapped_here),
	};

	const struct CMUnitTest real[] = {
		cmocka_unit_test(names_come_from_the_debug_file_of_a_dotnet_library),
	};

	if (getenv("TAPIR_DOTNET_DEBUG_DIR"))
		return cmocka_run_group_tests(real, NULL, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
