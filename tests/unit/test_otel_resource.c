// SPDX-License-Identifier: GPL-2.0-or-later
/* What a process says that it is: read from its memory, and decoded, whatever is there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>

#include "runtime/otel/otel_process.h"
#include "decode/otel_resource.h"
#include "fake_memory.h"
#include "tapir/otel_context.h"

#define SV(literal) ((struct tapir_sv){literal, sizeof(literal) - 1})

/* KeyValue messages: "service.name" = "cart"; "n" = -1, true, 0.5, ["a", 7], {k: 0x01ff}, nothing
 */
#define NAME	    "\x0a\x14\x0a\x0cservice.name\x12\x04\x0a\x02hi"
#define INT	    "\x0a\x10\x0a\x01n\x12\x0b\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
#define BOOL                                                                                       \
	"\x0a\x07\x0a\x01"                                                                         \
	"b\x12\x02\x10\x01"
#define DOUBLE                                                                                     \
	"\x0a\x0e\x0a\x01"                                                                         \
	"d\x12\x09\x21\x00\x00\x00\x00\x00\x00\xe0\x3f"
#define ARRAY                                                                                      \
	"\x0a\x10\x0a\x01"                                                                         \
	"a\x12\x0b\x2a\x09\x0a\x03\x0a\x01x\x0a\x02\x18\x07"
#define LIST	"\x0a\x12\x0a\x01l\x12\x0d\x32\x0b\x0a\x09\x0a\x01k\x12\x04\x3a\x02\x01\xff"
#define NOTHING "\x0a\x03\x0a\x01z"

static const char all[] = "\x0a\x6c" NAME INT BOOL DOUBLE ARRAY LIST NOTHING
			  /* attributes for readers of threads, and a field of the future */
			  "\x12\x05\x0a\x01t\x12\x00"
			  "\x1d\x01\x02\x03\x04";
_Static_assert(sizeof(NAME INT BOOL DOUBLE ARRAY LIST NOTHING) - 1 == 0x6c,
	       "length of the resource");

static void json_is(struct tapir_sv payload, const char *expected)
{
	struct tapir_str out = {};
	struct tapir_json j = tapir_json__to(&out);

	tapir_json__open(&j, NULL, '{');
	tapir_otel_resource__add_json(&j, payload);
	tapir_json__close(&j, '}');
	assert_string_equal(out.data, expected);
	tapir_str__fini(&out);
}

static void count(void *ctx, const struct tapir_otel_attribute *attribute)
{
	(void)attribute;
	++*(unsigned *)ctx;
}

static void values_of_every_kind_are_read(void **state)
{
	unsigned cnt = 0;
	struct tapir_sv name = tapir_otel_resource__text(SV(all), "service.name");

	(void)state;
	assert_true(tapir_sv__is(name, "hi"));
	assert_int_equal(tapir_otel_resource__text(SV(all), "n").len, 0);
	assert_int_equal(tapir_otel_resource__text(SV(all), "t").len, 0);
	assert_true(tapir_otel_resource__each(SV(all), count, &cnt));
	assert_int_equal(cnt, 7);
	json_is(SV(all), "{\"resource\":{\"service.name\":\"hi\",\"n\":-1,\"b\":true,\"d\":0.5,"
			 "\"a\":[\"x\",7],\"l\":[{\"key\":\"k\",\"value\":\"01ff\"}],\"z\":null}}");
	json_is((struct tapir_sv){}, "{\"resource\":{}}");
}

static void the_first_of_two_of_a_key_counts(void **state)
{
	static const char two[] = "\x0a\x2c" NAME NAME;

	(void)state;
	json_is(SV(two), "{\"resource\":{\"service.name\":\"hi\"}}");
}

/* Cut anywhere, or with any byte another one: what is there is read, and nothing else. */
static void payload_may_hold_anything(void **state)
{
	struct tapir_str out = {};

	(void)state;
	for (size_t len = 0; len < sizeof(all) - 1; len++) {
		char *cut = malloc(len + 1); /* its end is known to sanitizers */
		unsigned cnt = 0;

		memcpy(cut, all, len);
		/* After the resource, and after the attributes for readers, it is whole. */
		assert_int_equal(
			tapir_otel_resource__each((struct tapir_sv){cut, len}, count, &cnt),
			len == 0 || len == 0x6e || len == 0x75);
		free(cut);
	}
	for (size_t at = 0; at < sizeof(all) - 1; at++) {
		char changed[sizeof(all)];
		struct tapir_json j = tapir_json__to(&out);

		memcpy(changed, all, sizeof(all));
		changed[at] = (char)0xff;
		tapir_json__open(&j, NULL, '{');
		tapir_otel_resource__add_json(&j, (struct tapir_sv){changed, sizeof(all) - 1});
		tapir_json__close(&j, '}');
	}
	tapir_str__fini(&out);
}

static void attributes_beyond_the_bound_are_not_looked_at(void **state)
{
	char payload[3 + 300 * 5] = "\x0a\xdc\x0b"; /* 1,500 bytes */
	unsigned cnt = 0;

	(void)state;
	for (size_t i = 0; i < 300; i++)
		memcpy(payload + 3 + 5 * i, NOTHING, 5);
	assert_false(tapir_otel_resource__each((struct tapir_sv){payload, sizeof(payload)}, count,
					       &cnt));
	assert_int_equal(cnt, TAPIR_OTEL_ATTRIBUTES_MAX);
}

/* ---- from a process's memory ---------------------------------------------------------------- */

#define HEADER_VA  MEMORY_VA
#define PAYLOAD_VA (MEMORY_VA + 0x1000)

static struct fake_memory memory;

static struct tapir_otel_process_header *put_header(void)
{
	struct tapir_otel_process_header *header = (void *)memory.bytes;

	memory = (struct fake_memory){.size = MEMORY_BYTES};
	*header = (struct tapir_otel_process_header){.version = TAPIR_OTEL_PROCESS_VERSION,
						     .payload_bytes = sizeof(all) - 1,
						     .published_at_ns = 1000,
						     .payload_va = PAYLOAD_VA};
	memcpy(header->signature, TAPIR_OTEL_PROCESS_SIGNATURE, sizeof(header->signature));
	memcpy(memory.bytes + 0x1000, all, sizeof(all) - 1);
	return header;
}

static int copy(uint64_t *published_ns)
{
	static uint8_t payload[TAPIR_RESOURCE_MAX_BYTES];
	struct tapir_process_memory of = fake_memory__of(&memory);
	size_t bytes = 0;
	int got = tapir_otel_process__copy(&of, HEADER_VA, published_ns, payload, &bytes);

	if (got == 1 && bytes)
		assert_memory_equal(payload, all, bytes);
	return got;
}

static void what_is_published_is_copied_once(void **state)
{
	struct tapir_otel_process_header *header = put_header();
	uint64_t published_ns = 0;

	(void)state;
	assert_int_equal(copy(&published_ns), 1);
	assert_int_equal(published_ns, 1000);
	assert_int_equal(copy(&published_ns), 0);
	header->published_at_ns = 1001;
	assert_int_equal(copy(&published_ns), 1);
	header->published_at_ns = 1002;
	header->payload_bytes = 0;
	assert_int_equal(copy(&published_ns), 1);
}

static void a_hostile_header_is_refused(void **state)
{
	struct tapir_otel_process_header *header = put_header();
	uint64_t published_ns = 0;

	(void)state;
	header->payload_bytes = UINT32_MAX;
	assert_int_equal(copy(&published_ns), -EFBIG);
	header->payload_bytes = 100;
	header->payload_va = MEMORY_VA + MEMORY_BYTES - 99;
	assert_int_equal(copy(&published_ns), -EFAULT);
	header->payload_va = UINT64_MAX - 10;
	assert_int_equal(copy(&published_ns), -EFAULT);
	header->published_at_ns = 0;
	assert_int_equal(copy(&published_ns), -EAGAIN);
	header->version = 3;
	assert_int_equal(copy(&published_ns), -ENOENT);
	(void)put_header();
	header->signature[7] = 'Y';
	assert_int_equal(copy(&published_ns), -ENOENT);
	memory.size = 31;
	assert_int_equal(copy(&published_ns), -ENOENT);
	assert_int_equal(published_ns, 0);
}

/* Changes between any two reads. */
static size_t read_flapping(void *ctx, uint64_t va, void *out, size_t bytes)
{
	struct tapir_otel_process_header *header = (void *)memory.bytes;
	size_t got = fake_memory__read(&memory, va, out, bytes);

	if (*(unsigned *)ctx) {
		--*(unsigned *)ctx;
		header->published_at_ns++;
	}
	return got;
}

static void a_payload_that_changes_meanwhile_is_read_again(void **state)
{
	static uint8_t payload[TAPIR_RESOURCE_MAX_BYTES];
	unsigned changes = 7;
	const struct tapir_process_memory of = {read_flapping, &changes};
	uint64_t published_ns = 0;
	size_t bytes;

	(void)state;
	(void)put_header();
	assert_int_equal(tapir_otel_process__copy(&of, HEADER_VA, &published_ns, payload, &bytes),
			 1);
	assert_int_equal(published_ns, 1007);
	changes = UINT32_MAX;
	published_ns = 0;
	assert_int_equal(tapir_otel_process__copy(&of, HEADER_VA, &published_ns, payload, &bytes),
			 -EAGAIN);
}

static void headers_are_known_by_their_mapping(void **state)
{
	(void)state;
	assert_true(tapir_otel_process__is_header("[anon_shmem:OTEL_CTX]"));
	assert_true(tapir_otel_process__is_header("[anon:OTEL_CTX]"));
	assert_true(tapir_otel_process__is_header("/memfd:OTEL_CTX"));
	assert_true(tapir_otel_process__is_header("/memfd:OTEL_CTX (deleted)"));
	assert_false(tapir_otel_process__is_header("/tmp/memfd:OTEL_CTX"));
	assert_false(tapir_otel_process__is_header("[anon:OTEL_CT]"));
	assert_false(tapir_otel_process__is_header(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_of_every_kind_are_read),
		cmocka_unit_test(the_first_of_two_of_a_key_counts),
		cmocka_unit_test(payload_may_hold_anything),
		cmocka_unit_test(attributes_beyond_the_bound_are_not_looked_at),
		cmocka_unit_test(what_is_published_is_copied_once),
		cmocka_unit_test(a_hostile_header_is_refused),
		cmocka_unit_test(a_payload_that_changes_meanwhile_is_read_again),
		cmocka_unit_test(headers_are_known_by_their_mapping),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
