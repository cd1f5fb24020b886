// SPDX-License-Identifier: GPL-2.0-or-later
/* What a process publishes of itself, whatever is in it: each attribute, and all as JSON. */
#include <stdlib.h>
#include <string.h>

#include "decode/otel_resource.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

struct seen {
	struct tapir_sv payload;
	unsigned cnt;
};

static void is_within(struct tapir_sv inner, struct tapir_sv outer)
{
	if (inner.len && (inner.data < outer.data || inner.len > outer.len ||
			  inner.data - outer.data > (ptrdiff_t)(outer.len - inner.len)))
		abort();
}

static void check(void *ctx, const struct tapir_otel_attribute *a)
{
	struct seen *seen = ctx;

	if (++seen->cnt > TAPIR_OTEL_ATTRIBUTES_MAX || !a->key.len)
		abort();
	is_within(a->message, seen->payload);
	is_within(a->key, a->message);
	is_within(a->value, a->message);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	char *copy = malloc(len ? len : 1);
	struct seen seen = {.payload = {copy, len}};
	struct tapir_str out = {};
	struct tapir_json j = tapir_json__to(&out);

	if (!copy)
		abort();
	memcpy(copy, input, len);
	(void)tapir_otel_resource__each(seen.payload, check, &seen);
	is_within(tapir_otel_resource__text(seen.payload, "service.name"), seen.payload);
	tapir_json__open(&j, NULL, '{');
	tapir_otel_resource__add_json(&j, seen.payload);
	tapir_json__close(&j, '}');
	tapir_str__fini(&out);
	free(copy);
	return 0;
}
