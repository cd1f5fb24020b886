// SPDX-License-Identifier: GPL-2.0-or-later
/* Whether a jitdump ends where a record ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "decode/jitdump_format.h"
#include "runtime/dotnet/dotnet_dump.h"

#define RECORDS 3000u /* of more than what is read at once */
#define BYTES	100u

static int setup(void **state)
{
	static int fd;
	const struct tapir_jitdump_header header = {.magic = TAPIR_JITDUMP_MAGIC,
						    .version = TAPIR_JITDUMP_VERSION,
						    .total_bytes = sizeof(header)};
	const struct tapir_jitdump_prefix record = {.total_bytes = BYTES};

	fd = memfd_create("dump", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
	for (unsigned i = 0; i < RECORDS; i++)
		assert_int_equal(pwrite(fd, &record, sizeof(record),
					(off_t)(sizeof(header) + (size_t)i * BYTES)),
				 sizeof(record));
	assert_int_equal(ftruncate(fd, (off_t)(sizeof(header) + (size_t)RECORDS * BYTES)), 0);
	*state = &fd;
	return 0;
}

static int teardown(void **state)
{
	close(*(int *)*state);
	return 0;
}

static void file_that_ends_within_a_record_is_cut(void **state)
{
	int fd = *(int *)*state;
	size_t end = sizeof(struct tapir_jitdump_header) + (size_t)RECORDS * BYTES;

	assert_false(tapir_dotnet_dump__is_truncated(fd));
	for (size_t less = 1; less < BYTES; less++) {
		assert_int_equal(ftruncate(fd, (off_t)(end - less)), 0);
		if (!tapir_dotnet_dump__is_truncated(fd))
			fail_msg("%zu bytes less", less);
	}
	assert_int_equal(ftruncate(fd, (off_t)(end - BYTES)), 0);
	assert_false(tapir_dotnet_dump__is_truncated(fd));
}

static void what_is_no_jitdump_is_left_to_its_reader(void **state)
{
	static const uint32_t lengths[] = {0, 1, sizeof(struct tapir_jitdump_prefix) - 1};
	int fd = *(int *)*state;

	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		assert_int_equal(
			pwrite(fd, &lengths[i], 4, sizeof(struct tapir_jitdump_header) + BYTES + 4),
			4);
		assert_false(tapir_dotnet_dump__is_truncated(fd));
	}
	assert_int_equal(pwrite(fd, "JiTX", 4, 0), 4);
	assert_false(tapir_dotnet_dump__is_truncated(fd));
	assert_int_equal(ftruncate(fd, 3), 0);
	assert_false(tapir_dotnet_dump__is_truncated(fd));
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_false(tapir_dotnet_dump__is_truncated(fd));
	assert_false(tapir_dotnet_dump__is_truncated(-1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(file_that_ends_within_a_record_is_cut, setup,
						teardown),
		cmocka_unit_test_setup_teardown(what_is_no_jitdump_is_left_to_its_reader, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
