// SPDX-License-Identifier: GPL-2.0-or-later
/* Any JSON as the documents of every page: none of their markup comes through. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/pages/pages.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(struct tapir_str *out)
{
	if (out->failed || !out->data || memmem(out->data, out->len, "<evil", 5))
		abort();
	tapir_str__clear(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *d = json_loadb((const char *)data, size, JSON_ALLOW_NUL, NULL), *list;
	const struct tapir_page_results results = {d, d, d, d, d, d, d, d, d, d};
	struct tapir_str out = {};

	if (!d)
		return 0;
	list = json_pack("[O]", d);
	tapir_page__process(&out, d, d, list, &results);
	check(&out);
	tapir_page__session(&out, d, &results);
	check(&out);
	tapir_page__stacks(&out, d, "1", d);
	check(&out);
	tapir_page__sessions(&out, d, d);
	check(&out);
	json_decref(list);
	json_decref(d);
	tapir_str__fini(&out);
	return 0;
}
