// SPDX-License-Identifier: GPL-2.0-or-later
/* The input is the memory of a server that claims to have a buffer, a file of its data directory,
 * and the names in a recording: what is found in them ends, and has an end. */
#include <stdlib.h>

#include "decode/postgresql_text.h"
#include "runtime/postgresql/postgresql_names.h"
#include "tests/unit/fake_memory.h"

struct input {
	const uint8_t *data;
	size_t size;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t read_file(void *ctx, const char *path, uint64_t off, void *out, size_t bytes)
{
	const struct input *input = ctx;

	if (!path || off >= input->size)
		return 0;
	bytes = bytes < input->size - off ? bytes : input->size - off;
	memcpy(out, input->data + off, bytes);
	return bytes;
}

static void check_names(const uint8_t *data, size_t size)
{
	struct tapir_sv rest = {(const char *)data, size};
	struct tapir_postgresql_name name;
	size_t before = rest.len;

	while (tapir_postgresql_name__next(&rest, &name)) {
		if (!name.name.len || rest.len >= before)
			abort();
		before = rest.len;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fake_memory memory;
	const struct tapir_process_memory source = fake_memory__of(&memory);
	struct input input = {data, size};
	struct tapir_postgresql_relation relations[] = {{.oid = 16384}, {.oid = 1259}};
	struct tapir_postgresql_server server = {.memory = &source,
						 .descriptors_va = MEMORY_VA,
						 .blocks_va = MEMORY_VA + 64,
						 .buffer_cnt = 8,
						 .read_file = read_file,
						 .ctx = &input};
	char name[TAPIR_POSTGRESQL_NAME_BYTES];

	memory.size = size < MEMORY_BYTES ? size : MEMORY_BYTES;
	memcpy(memory.bytes, data, memory.size);
	tapir_postgresql_names__relations(&server, 5, "base/5", relations, 2);
	tapir_postgresql_names__database(&server, 5, name);
	if (!memchr(name, 0, sizeof(name)) ||
	    !memchr(relations[0].name, 0, sizeof(relations[0].name)))
		abort();
	check_names(data, size);
	return 0;
}
