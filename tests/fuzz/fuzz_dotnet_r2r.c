// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An assembly with compiled code: a sound one (tests/unit/fake_r2r.h) of which three bytes each,
 * two for the place, are changed. What is found has a name of bounded length.
 */
#include <stdlib.h>

#include "../unit/fake_r2r.h"
#include "symbol/dotnet_r2r.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

static void ask(const struct tapir_r2r *r, uint64_t off)
{
	struct tapir_r2r_method method;
	struct tapir_str name = {};

	if (!tapir_r2r__find(r, off, &method))
		return;
	if (off < method.start_off || off - method.start_off >= method.size)
		abort();
	tapir_r2r__put_name(r, &method, &name);
	if (name.len > 16 * FAKE_R2R_BYTES)
		abort();
	tapir_str__fini(&name);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	struct tapir_r2r *r;
	struct fake_r2r f;
	int fd;

	fake_r2r__init(&f);
	for (size_t i = 0; i + 3 <= len && i < 300; i += 3)
		f.data[(input[i] | input[i + 1] << 8) % FAKE_R2R_BYTES] = input[i + 2];
	fd = fake_r2r__file(&f, FAKE_R2R_BYTES);
	if (fd < 0)
		return 0;
	if (!tapir_r2r__load(fd, &r)) {
		for (uint64_t off = 0; off < FAKE_R2R_BYTES; off += 16)
			ask(r, off);
		tapir_r2r__free(r);
	}
	close(fd);
	return 0;
}
