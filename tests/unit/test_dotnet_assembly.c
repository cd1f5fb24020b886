// SPDX-License-Identifier: GPL-2.0-or-later
/* EventSources by the metadata of assemblies, well-formed and not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "metadata_builder.h"
#include "runtime/dotnet/dotnet_assembly.h"
#include "runtime/dotnet/dotnet_type_names.h"

static void source_has_its_name_keywords_and_events(void **state)
{
	struct tapir_event_sources sources = {};
	const struct tapir_layout_provider *p;
	struct metadata_builder b;

	(void)state;
	metadata__build(&b);
	assert_int_equal(tapir_dotnet_sources__add_metadata(&sources, b.bytes, b.len), 0);
	assert_int_equal(sources.all.cnt, 1);
	p = &sources.all.data[0];
	assert_string_equal(p->name, "My-Shop");
	assert_int_equal(p->keyword_cnt, 1);
	assert_string_equal(p->keywords[0].name, "Orders");
	assert_true(p->keywords[0].mask == 4);
	assert_int_equal(p->event_cnt, 1);
	assert_string_equal(p->events[0].name, "Placed");
	assert_int_equal(p->events[0].id, 7);
	assert_int_equal(p->events[0].level, 2);
	assert_true(p->events[0].keywords == 4);
	tapir_event_sources__fini(&sources);
}

/* What is kept of it, walked to the last byte. */
static size_t weigh(const struct tapir_event_sources *sources)
{
	const struct tapir_layout_provider *p;
	size_t sum = 0;

	tapir_vec_for_each (p, &sources->all) {
		sum += strlen(p->name);
		for (size_t i = 0; i < p->keyword_cnt; i++)
			sum += strlen(p->keywords[i].name);
		for (size_t i = 0; i < p->event_cnt; i++)
			sum += strlen(p->events[i].name);
	}
	return sum;
}

static void one_that_is_cut_at_any_byte_is_refused_or_less(void **state)
{
	struct metadata_builder b;
	unsigned refused_cnt = 0;

	(void)state;
	metadata__build(&b);
	for (size_t len = 0; len < b.len; len++) {
		struct tapir_event_sources sources = {};
		/* in memory of its own size: a sanitizer sees a step too far */
		uint8_t *cut = malloc(len ? len : 1);

		assert_non_null(cut);
		memcpy(cut, b.bytes, len);
		if (tapir_dotnet_sources__add_metadata(&sources, cut, len))
			refused_cnt++;
		assert_true(weigh(&sources) < 100);
		tapir_event_sources__fini(&sources);
		free(cut);
	}
	assert_true(refused_cnt > b.len / 2);
}

static void one_with_any_byte_changed_harms_nobody(void **state)
{
	static const uint8_t values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
	struct metadata_builder b;

	(void)state;
	metadata__build(&b);
	for (size_t at = 0; at < b.len; at++)
		for (size_t i = 0; i < sizeof(values); i++) {
			struct tapir_event_sources sources = {};
			uint8_t before = b.bytes[at];

			b.bytes[at] = values[i];
			(void)tapir_dotnet_sources__add_metadata(&sources, b.bytes, b.len);
			assert_true(weigh(&sources) < 4096);
			tapir_event_sources__fini(&sources);
			b.bytes[at] = before;
		}
}

static void put_at(int fd, uint64_t off, const void *bytes, size_t len)
{
	assert_int_equal(pwrite(fd, bytes, len, (off_t)off), len);
}

/* A PE32+ file with one section of va 0x2000 at 0x400: the CLI header, then the metadata. */
static int make_file(const struct metadata_builder *b)
{
	static const uint16_t section_cnt = 1, opt_bytes = 240, kind = 0x20b;
	const uint32_t pe = 0x80, cli = 0x2000;
	const uint32_t section[] = {0x1000, 0x2000, 0x1000, 0x400};
	const uint32_t metadata[] = {0x2100, (uint32_t)b->len};
	int fd = memfd_create("assembly", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 0x2000), 0);
	put_at(fd, 0x3c, &pe, 4);
	put_at(fd, pe, "PE\0\0", 4);
	put_at(fd, pe + 6, &section_cnt, 2);
	put_at(fd, pe + 20, &opt_bytes, 2);
	put_at(fd, pe + 24, &kind, 2);
	put_at(fd, pe + 24 + 112 + 14 * 8, &cli, 4);
	put_at(fd, pe + 24 + opt_bytes + 8, section, sizeof(section));
	put_at(fd, 0x400 + 8, metadata, sizeof(metadata));
	put_at(fd, 0x500, b->bytes, b->len);
	return fd;
}

static void file_leads_to_its_metadata(void **state)
{
	struct tapir_event_sources sources = {};
	struct metadata_builder b;
	int fd;

	(void)state;
	metadata__build(&b);
	fd = make_file(&b);
	assert_int_equal(tapir_dotnet_sources__add_file(&sources, fd), 0);
	assert_int_equal(sources.all.cnt, 1);
	assert_int_equal(ftruncate(fd, 0x500 + (off_t)b.len - 1), 0);
	assert_true(tapir_dotnet_sources__add_file(&sources, fd) < 0);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_true(tapir_dotnet_sources__add_file(&sources, fd) < 0);
	assert_int_equal(sources.all.cnt, 1);
	tapir_event_sources__fini(&sources);
	close(fd);
}

static void expect_type(const struct metadata_builder *b, uint32_t row, const char *wanted)
{
	struct tapir_metadata m;
	struct tapir_str name = {};

	assert_int_equal(tapir_metadata__init(&m, b->bytes, b->len), 0);
	tapir_dotnet_type__add_name(&m, row, &name);
	assert_string_equal(name.data ? name.data : "", wanted);
	tapir_str__fini(&name);
}

static void type_is_named_with_what_it_is_nested_in(void **state)
{
	struct metadata_builder b;
	char *keywords;

	(void)state;
	metadata__build(&b);
	expect_type(&b, 2, "Shop");
	expect_type(&b, 3, "Shop.Keywords");
	expect_type(&b, 0, "");
	expect_type(&b, 4, "");
	expect_type(&b, UINT32_MAX, "");
	keywords = memmem(b.bytes, b.len, "Keywords", 9);
	memcpy(keywords, "Keywor`2", 8);
	expect_type(&b, 3, "Shop.Keywor<,>");
	memcpy(keywords, "Ke`99999", 8);
	expect_type(&b, 3, "Shop.Ke<,,,,,,,,,,,,,,,>");
	b.bytes[b.len - 2] = 3; /* nested in itself */
	expect_type(&b, 2, "Shop");
	assert_int_equal(b.bytes[b.len - 4], 3);
	memcpy(keywords, "K\0\0\0\0\0\0", 8);
	expect_type(&b, 3, "K.K.K.K.K.K.K.K.K.K.K.K.K.K.K.K");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(source_has_its_name_keywords_and_events),
		cmocka_unit_test(one_that_is_cut_at_any_byte_is_refused_or_less),
		cmocka_unit_test(one_with_any_byte_changed_harms_nobody),
		cmocka_unit_test(file_leads_to_its_metadata),
		cmocka_unit_test(type_is_named_with_what_it_is_nested_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
