// SPDX-License-Identifier: GPL-2.0-or-later
/* Who holds the monitors of a made-up CoreCLR: a wait is believed when all that is known of it
 * agrees. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "fake_memory.h"
#include "runtime/dotnet/dotnet_monitors.h"

#define JSON                                                                                       \
	"{\"types\":{\"Thread\":{\"Id\":16,\"OSId\":296,\"LinkNext\":[112,\"pointer\"]},"          \
	"\"ThreadStore\":{\"FirstThreadLink\":88},\"SyncBlock\":{\"InteropInfo\":56},"             \
	"\"SyncTableEntry\":{\"!\":16,\"SyncBlock\":0},"                                           \
	"\"Object\":{\"m_pMethTab\":0},\"Module\":{\"Path\":200},"                                 \
	"\"MethodTable\":{\"MTFlags\":0,\"MTFlags2\":8,\"Module\":24,\"PerInstInfo\":48}},"        \
	"\"globals\":{\"AppDomain\":[[1],\"pointer\"],\"ThreadStore\":[[2],\"pointer\"],"          \
	"\"SyncTableEntries\":[[3],\"pointer\"]}}"

enum {
	DESCRIPTOR = MEMORY_VA,
	POINTERS = MEMORY_VA + 0x100,
	GLOBALS = MEMORY_VA + 0x200,
	TEXT = MEMORY_VA + 0x400,
	STORE = MEMORY_VA + 0x1000,
	TABLE = MEMORY_VA + 0x1100,
	MONITOR = MEMORY_VA + 0x1800, /* the sync block 7 */
	HOLDER = MEMORY_VA + 0x2000,
	WAITER = MEMORY_VA + 0x4000,
	STACK = MEMORY_VA + 0x8000,
	ITEM = STACK + 0x40,
	DOMAIN = MEMORY_VA + 0x9000,
	OBJECT = MEMORY_VA + 0xa008,
	TYPE = MEMORY_VA + 0xa100,
	ELEMENTS = MEMORY_VA + 0xa180, /* the type of an array of TYPE */
	MODULE = MEMORY_VA + 0xa200,
	PATH = MEMORY_VA + 0xa400,
	HOLDER_TID = 4711,
	WAITER_TID = 4712,
};

static struct fake_memory memory;

static void put(uint64_t va, uint64_t value)
{
	fake_memory__put(&memory, va, value);
}

static void add_thread(uint64_t va, uint32_t number, uint32_t tid, uint64_t next_va)
{
	fake_memory__put32(&memory, va + 16, number);
	put(va + 296, tid);
	put(va + 112, next_va ? next_va + 112 : 0);
}

static int setup(void **state)
{
	(void)state;
	memset(&memory, 0, sizeof(memory));
	memory.size = MEMORY_BYTES;
	put(DESCRIPTOR, 0x0043414443434e44ull);
	fake_memory__put32(&memory, DESCRIPTOR + 8, 1);
	fake_memory__put32(&memory, DESCRIPTOR + 12, sizeof(JSON) - 1);
	put(DESCRIPTOR + 16, TEXT);
	fake_memory__put32(&memory, DESCRIPTOR + 24, 4);
	put(DESCRIPTOR + 32, POINTERS);
	memcpy(memory.bytes + (TEXT - MEMORY_VA), JSON, sizeof(JSON));
	for (unsigned i = 1; i <= 3; i++)
		put(POINTERS + 8 * i, GLOBALS + 8 * i);
	put(GLOBALS + 8, DOMAIN);
	put(GLOBALS + 16, STORE);
	put(GLOBALS + 24, TABLE);
	put(STORE + 88, HOLDER + 112);
	add_thread(HOLDER, 4, HOLDER_TID, WAITER);
	add_thread(WAITER, 5, WAITER_TID, 0);
	put(TABLE + 7 * 16, MONITOR);
	put(TABLE + 7 * 16 + 8, OBJECT);
	fake_memory__put32(&memory, OBJECT - 4, 0x8000007);
	put(OBJECT, TYPE | 1); /* marked */
	fake_memory__put32(&memory, TYPE + 8, 5 << 8 | 3);
	put(TYPE + 24, MODULE);
	put(MODULE + 200, PATH);
	for (unsigned i = 0; i < 6; i++) /* UTF-16 */
		memory.bytes[PATH - MEMORY_VA + 2 * i] = (uint8_t) "/a.dll"[i];
	fake_memory__put32(&memory, MONITOR, 0x41); /* locked, one waits */
	put(MONITOR + 8, 4);
	put(MONITOR + 16, HOLDER_TID);
	fake_memory__put32(&memory, MONITOR + 28, 0x80000007);
	put(WAITER + 672, ITEM);
	put(ITEM, MONITOR);
	put(ITEM + 8, DOMAIN);
	fake_memory__put32(&memory, ITEM + 20, UINT32_MAX);
	return 0;
}

static uint32_t owner_of(uint32_t tid)
{
	const struct tapir_process_memory source = fake_memory__of(&memory);
	struct tapir_dotnet_monitors *m = NULL;
	uint32_t owner;

	if (tapir_dotnet_monitors__new(&source, DESCRIPTOR, &m))
		return UINT32_MAX;
	owner = tapir_dotnet_monitors__owner(m, tid, memory.bytes + (STACK - MEMORY_VA), 0x100,
					     STACK);
	tapir_dotnet_monitors__free(m);
	return owner;
}

static void owner_is_known_by_its_number_or_its_address(void **state)
{
	(void)state;
	assert_int_equal(owner_of(WAITER_TID), HOLDER_TID);
	put(MONITOR + 8, HOLDER); /* as in .NET 9 */
	assert_int_equal(owner_of(WAITER_TID), HOLDER_TID);
	assert_int_equal(owner_of(HOLDER_TID), 0);
	assert_int_equal(owner_of(1), 0);
}

static void nothing_is_an_owner_when_something_disagrees(void **state)
{
	static const struct {
		uint64_t va, value;
	} changes[] = {
		{MONITOR, 0x40},      /* not locked */
		{MONITOR + 8, 6},     /* another number */
		{MONITOR + 16, 4713}, /* no thread of it */
		{MONITOR + 16, 0},
		{MONITOR + 24, 0x8000000800000000ull}, /* another index */
		{TABLE + 7 * 16, 0},
		{ITEM, MONITOR + 8},
		{ITEM + 8, DOMAIN + 8},
		{ITEM + 16, 1},		      /* it waits for a pulse */
		{WAITER + 672, STACK + 0xf8}, /* beyond the copy */
		{WAITER + 672, STACK - 8},
		{HOLDER + 296, 4713},
	};

	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		setup(state);
		put(changes[i].va, changes[i].value);
		if (owner_of(WAITER_TID))
			fail_msg("change %zu", i);
	}
}

static uint32_t array_depth;

static uint32_t row_of(uint32_t tid, char path[TAPIR_DOTNET_PATH_BYTES])
{
	const struct tapir_process_memory source = fake_memory__of(&memory);
	struct tapir_dotnet_monitors *m = NULL;
	struct tapir_dotnet_type type = {};
	bool is_known;

	assert_int_equal(tapir_dotnet_monitors__new(&source, DESCRIPTOR, &m), 0);
	is_known = tapir_dotnet_monitors__type(m, tid, memory.bytes + (STACK - MEMORY_VA), 0x100,
					       STACK, &type);
	tapir_dotnet_monitors__free(m);
	strcpy(path, is_known ? type.path : "");
	array_depth = is_known ? type.array_depth : 99;
	return is_known ? type.row : 0;
}

static void object_is_known_with_its_type(void **state)
{
	char path[TAPIR_DOTNET_PATH_BYTES];

	(void)state;
	assert_int_equal(row_of(WAITER_TID, path), 5);
	assert_string_equal(path, "/a.dll");
	assert_int_equal(array_depth, 0);
	assert_int_equal(row_of(HOLDER_TID, path), 0);
}

static void array_is_known_by_its_elements(void **state)
{
	char path[TAPIR_DOTNET_PATH_BYTES];

	(void)state;
	put(OBJECT, ELEMENTS);
	put(ELEMENTS, 0xa0000);
	put(ELEMENTS + 48, TYPE);
	assert_int_equal(row_of(WAITER_TID, path), 5);
	assert_int_equal(array_depth, 1);
	put(ELEMENTS + 48, ELEMENTS); /* without an end */
	assert_int_equal(row_of(WAITER_TID, path), 0);
	put(ELEMENTS + 48, TYPE | 2); /* of pointers */
	assert_int_equal(row_of(WAITER_TID, path), 0);
	put(ELEMENTS + 48, 0);
	assert_int_equal(row_of(WAITER_TID, path), 0);
	put(ELEMENTS + 48, TYPE);
	put(ELEMENTS, 0x80000); /* of two dimensions */
	assert_int_equal(row_of(WAITER_TID, path), 0);
}

static void type_is_not_known_when_something_disagrees(void **state)
{
	static const struct {
		uint64_t va, value;
	} changes[] = {
		{TABLE + 7 * 16 + 8, 0},
		{TABLE + 7 * 16 + 8, 3},
		{OBJECT - 8, 0x8000008ull << 32}, /* of another monitor */
		{OBJECT - 8, 0xc000007ull << 32}, /* a hash */
		{OBJECT, 0},
		{TYPE, 0x80000},   /* an array of more dimensions */
		{TYPE + 8, 3},	   /* no row */
		{TYPE + 24, 8},	   /* no module */
		{MODULE + 200, 0}, /* in memory alone */
		{PATH, 0},
		{PATH, 0x00e400620061002full},
		{MODULE + 200, MEMORY_VA + MEMORY_BYTES - 2}, /* without an end */
	};
	char path[TAPIR_DOTNET_PATH_BYTES];

	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		setup(state);
		memory.bytes[MEMORY_BYTES - 2] = 'x';
		put(changes[i].va, changes[i].value);
		if (row_of(WAITER_TID, path))
			fail_msg("change %zu: %s", i, path);
	}
}

static void waiting_for_oneself_is_no_wait(void **state)
{
	(void)state;
	put(MONITOR + 8, 5);
	put(MONITOR + 16, WAITER_TID);
	assert_int_equal(owner_of(WAITER_TID), 0);
}

static void list_of_threads_that_has_no_end_is_left(void **state)
{
	(void)state;
	put(WAITER + 112, HOLDER + 112);
	assert_int_equal(owner_of(WAITER_TID), HOLDER_TID);
	assert_true(memory.read_cnt < 200000);
}

static void descriptor_that_is_none_is_refused(void **state)
{
	static const struct {
		uint64_t va, value;
	} changes[] = {
		{DESCRIPTOR, 1},
		{DESCRIPTOR + 8, 3 | (sizeof(JSON) - 1) << 32}, /* of 32 bits */
		{DESCRIPTOR + 8, 1 | 0xffffffffull << 32},
		{DESCRIPTOR + 8, 1 | (sizeof(JSON) - 2) << 32}, /* cut */
		{DESCRIPTOR + 16, 0},
		{DESCRIPTOR + 24, 3}, /* pointers */
		{DESCRIPTOR + 32, MEMORY_VA - 4096},
		{GLOBALS + 8, 0},
	};

	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		setup(state);
		put(changes[i].va, changes[i].value);
		if (owner_of(WAITER_TID) != UINT32_MAX)
			fail_msg("change %zu", i);
	}
	setup(state);
	memory.size = 16;
	assert_int_equal(owner_of(WAITER_TID), UINT32_MAX);
}

static void description_of_another_form_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"{",
		"[]",
		"null",
		"{\"types\":[]}",
		"{\"types\":{},\"globals\":{}}",
		"{\"types\":{\"Thread\":{\"Id\":-1}},\"globals\":{}}",
	};
	struct tapir_dotnet_contract c = {.thread_number = 99};
	char json[sizeof(JSON)];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_int_equal(tapir_dotnet_contract__parse(texts[i], strlen(texts[i]), &c),
				 -EINVAL);
	strcpy(json, JSON);
	memcpy(strstr(json, "296"), "1e9", 3); /* not a whole number */
	assert_int_equal(tapir_dotnet_contract__parse(json, strlen(json), &c), -EINVAL);
	strcpy(json, JSON);
	memcpy(strstr(json, "56"), "28", 2); /* shorter than what is read of a monitor */
	assert_int_equal(tapir_dotnet_contract__parse(json, strlen(json), &c), -EINVAL);
	assert_int_equal(c.thread_number, 99);
	assert_int_equal(tapir_dotnet_contract__parse(JSON, strlen(JSON), &c), 0);
	assert_int_equal(c.thread_tid, 296);
	assert_int_equal(c.thread_link, 112);
	assert_int_equal(c.sync_table_idx, 3);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(owner_is_known_by_its_number_or_its_address),
		TEST(nothing_is_an_owner_when_something_disagrees),
		TEST(object_is_known_with_its_type),
		TEST(array_is_known_by_its_elements),
		TEST(type_is_not_known_when_something_disagrees),
		TEST(waiting_for_oneself_is_no_wait),
		TEST(list_of_threads_that_has_no_end_is_left),
		TEST(descriptor_that_is_none_is_refused),
		TEST(description_of_another_form_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
