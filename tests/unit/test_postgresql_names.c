// SPDX-License-Identifier: GPL-2.0-or-later
/* Names in the buffers and files of a made-up server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_memory.h"
#include "postgresql_fixture.h"
#include "runtime/postgresql/postgresql_names.h"

#define PAGE	    TAPIR_POSTGRESQL_PAGE_BYTES
#define DESCRIPTORS MEMORY_VA
#define BLOCKS	    (MEMORY_VA + 0x1000)
#define BUFFERS	    6u
#define VALID	    (1u << 24)
#define DATABASE    16384u

/* Of each file the first two pages. */
struct fake_file {
	const char *path;
	uint8_t pages[2 * PAGE];
	size_t size;
};

static struct fake_memory memory;
static struct tapir_process_memory source;
static struct fake_file files[4];
static struct tapir_postgresql_server server;
static unsigned file_reads, closes;

static size_t read_file(void *ctx, const char *path, uint64_t off, void *out, size_t bytes)
{
	(void)ctx;
	closes += !path;
	for (size_t i = 0; path && i < 4; i++) {
		struct fake_file *f = &files[i];

		if (!f->path || strcmp(f->path, path) != 0 || off >= f->size)
			continue;
		file_reads++;
		bytes = bytes < f->size - off ? bytes : f->size - off;
		memcpy(out, f->pages + off, bytes);
		return bytes;
	}
	return 0;
}

/* The nth buffer has that page of that file. */
static uint8_t *buffer(uint32_t nth, uint32_t database, uint32_t file, uint32_t block)
{
	const uint32_t words[] = {1663, database, file, 0, block, nth, VALID};

	for (unsigned i = 0; i < 7; i++)
		fake_memory__put32(&memory, DESCRIPTORS + 64ull * nth + 4ull * i, words[i]);
	fixture__begin_page(memory.bytes + (BLOCKS - MEMORY_VA) + (uint64_t)nth * PAGE);
	return memory.bytes + (BLOCKS - MEMORY_VA) + (uint64_t)nth * PAGE;
}

static uint8_t *file(unsigned nth, const char *path)
{
	files[nth].path = path;
	files[nth].size = PAGE;
	fixture__begin_page(files[nth].pages);
	return files[nth].pages;
}

static void add(uint8_t *page, uint32_t oid, const char *name, uint32_t schema, uint32_t of_file)
{
	fixture__add_row(page, &(struct fixture_row){.oid = oid,
						     .name = name,
						     .numbers = {schema, 0, 0, 0, 0, of_file},
						     .flags = 0x0900});
}

static int setup(void **state)
{
	(void)state;
	memset(&memory, 0, sizeof(memory));
	memset(files, 0, sizeof(files));
	memory.size = MEMORY_BYTES;
	source = fake_memory__of(&memory);
	server = (struct tapir_postgresql_server){.memory = &source,
						  .blocks_va = BLOCKS,
						  .descriptors_va = DESCRIPTORS,
						  .buffer_cnt = BUFFERS,
						  .read_file = read_file};
	file_reads = closes = 0;
	return 0;
}

static const char *name_of(uint32_t oid)
{
	static struct tapir_postgresql_relation relation;

	relation = (struct tapir_postgresql_relation){.oid = oid};
	tapir_postgresql_names__relations(&server, DATABASE, "base/16384", &relation, 1);
	return relation.name;
}

static void relation_in_a_buffer_is_found(void **state)
{
	uint8_t *page = buffer(3, DATABASE, 1259, 0);

	(void)state;
	add(page, 2615, "pg_namespace", 11, 2615);
	add(page, 16412, "orders", 2200, 16412);
	add(page, 1259, "pg_class", 11, 0);
	add(buffer(1, 5, 1259, 0), 16412, "of_another_database", 2200, 16412);
	assert_string_equal(name_of(16412), "orders");
	assert_string_equal(name_of(1259), "pg_class");
	assert_int_equal(file_reads, 0);
	assert_string_equal(name_of(16413), "");
	assert_int_equal(closes, 3);
}

static void schema_is_named_unless_it_is_public(void **state)
{
	uint8_t *page = buffer(0, DATABASE, 1259, 0);

	(void)state;
	add(page, 2615, "pg_namespace", 11, 2777);
	add(page, 16412, "log", 16400, 16412);
	assert_string_equal(name_of(16412), "log");
	add(buffer(1, DATABASE, 2777, 0), 16400, "audit", 10, 0);
	assert_string_equal(name_of(16412), "audit.log");
}

static void page_that_is_in_no_buffer_is_read_from_the_file(void **state)
{
	uint8_t *page = file(0, "base/16384/1259");

	(void)state;
	add(page, 2615, "pg_namespace", 11, 2615);
	add(page, 16412, "orders", 2200, 16412);
	assert_string_equal(name_of(16412), "orders");
	/* The page of the file is older than the one in the buffer, which does not have it. */
	add(buffer(2, DATABASE, 1259, 0), 2615, "pg_namespace", 11, 2615);
	assert_string_equal(name_of(16412), "");
	fixture__begin_page(files[0].pages + PAGE);
	add(files[0].pages + PAGE, 16412, "orders_2", 2200, 16412);
	files[0].size = 2 * PAGE;
	assert_string_equal(name_of(16412), "orders_2");
}

static void rewritten_catalog_is_found_by_its_map(void **state)
{
	uint8_t *map = file(0, "base/16384/pg_filenode.map");

	(void)state;
	fixture__put32(map, 0x592717);
	fixture__put32(map + 4, 1);
	fixture__put32(map + 8, 1259);
	fixture__put32(map + 12, 20000);
	files[0].size = 512;
	add(file(1, "base/16384/1259"), 16412, "before", 2200, 16412);
	add(buffer(0, DATABASE, 20000, 0), 16412, "orders", 2200, 16412);
	assert_string_equal(name_of(16412), "orders");
}

static void newer_version_of_a_row_holds(void **state)
{
	uint8_t *page = buffer(0, DATABASE, 1259, 0);

	(void)state;
	fixture__add_row(page,
			 &(struct fixture_row){
				 .oid = 16412, .name = "gone", .replaced_by = 9, .flags = 0x0500});
	assert_string_equal(name_of(16412), "");
	fixture__add_row(page, &(struct fixture_row){.oid = 16412,
						     .name = "orders_old",
						     .numbers = {2200},
						     .replaced_by = 9,
						     .flags = 0x0100});
	assert_string_equal(name_of(16412), "orders_old");
	add(page, 16412, "orders", 2200, 16412);
	assert_string_equal(name_of(16412), "orders");
}

static void buffer_that_changes_or_lies_is_not_used(void **state)
{
	static const struct {
		unsigned word;
		uint32_t value;
	} wrong[] = {{1, 5}, {2, 1260}, {3, 1}, {5, 9}, {6, 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		add(buffer(4, DATABASE, 1259, 0), 16412, "orders", 2200, 16412);
		fake_memory__put32(&memory, DESCRIPTORS + 64ull * 4 + 4ull * wrong[i].word,
				   wrong[i].value);
		assert_string_equal(name_of(16412), "");
	}
	buffer(4, DATABASE, 1259, 0);
	add(memory.bytes + (BLOCKS - MEMORY_VA) + 4ull * PAGE, 16412, "orders", 2200, 16412);
	memory.size = BLOCKS - MEMORY_VA + 4 * PAGE; /* the page cannot be read */
	assert_string_equal(name_of(16412), "");
	memory.size = 100; /* nor the descriptors */
	assert_string_equal(name_of(16412), "");
	memory.size = MEMORY_BYTES - 1;
	server.buffer_cnt = UINT32_MAX;
	assert_string_equal(name_of(16412), ""); /* more than there are */
	server.buffer_cnt = BUFFERS;
	server.descriptors_va = 0;
	assert_string_equal(name_of(16412), "");
}

static void database_is_found_in_what_all_share(void **state)
{
	char name[TAPIR_POSTGRESQL_NAME_BYTES];

	(void)state;
	tapir_postgresql_names__database(&server, DATABASE, name);
	assert_string_equal(name, "");
	add(file(0, "global/1262"), DATABASE, "shop", 10, 0);
	tapir_postgresql_names__database(&server, DATABASE, name);
	assert_string_equal(name, "shop");
	add(buffer(0, 0, 1262, 0), DATABASE, "store", 10, 0);
	tapir_postgresql_names__database(&server, DATABASE, name);
	assert_string_equal(name, "store");
}

static void many_are_found_at_once_in_any_order(void **state)
{
	struct tapir_postgresql_relation relations[] = {
		{.oid = 16414}, {.oid = 16412}, {.oid = 16414}, {.oid = 9}, {.oid = 16413}};
	uint8_t *page = buffer(0, DATABASE, 1259, 0);

	(void)state;
	add(page, 16412, "a", 2200, 1);
	add(page, 16413, "b", 2200, 2);
	add(page, 16414, "c", 2200, 3);
	tapir_postgresql_names__relations(&server, DATABASE, "base/16384", relations, 5);
	assert_string_equal(relations[0].name, "c");
	assert_string_equal(relations[1].name, "a");
	assert_string_equal(relations[2].name, "c");
	assert_string_equal(relations[3].name, "");
	assert_string_equal(relations[4].name, "b");
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(relation_in_a_buffer_is_found),
		TEST(schema_is_named_unless_it_is_public),
		TEST(page_that_is_in_no_buffer_is_read_from_the_file),
		TEST(rewritten_catalog_is_found_by_its_map),
		TEST(newer_version_of_a_row_holds),
		TEST(buffer_that_changes_or_lies_is_not_used),
		TEST(database_is_found_in_what_all_share),
		TEST(many_are_found_at_once_in_any_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
