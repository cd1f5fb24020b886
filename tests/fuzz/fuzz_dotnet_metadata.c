// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Metadata of assemblies, which anybody may have written: every text that is kept has its end. An
 * even first byte: the rest is metadata; an odd one: it is changes (u16 place, u8 value) to some
 * that is good, which chance would not come upon.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/dotnet/dotnet_assembly.h"
#include "tests/unit/metadata_builder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile size_t sum;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tapir_event_sources sources = {};
	const struct tapir_layout_provider *p;
	struct metadata_builder b;

	if (!size)
		return 0;
	if (*data % 2) {
		metadata__build(&b);
		for (size_t i = 1; i + 3 <= size; i += 3)
			b.bytes[(data[i] | (size_t)data[i + 1] << 8) % b.len] = data[i + 2];
		(void)tapir_dotnet_sources__add_metadata(&sources, b.bytes, b.len);
	} else {
		(void)tapir_dotnet_sources__add_metadata(&sources, data + 1, size - 1);
	}
	tapir_vec_for_each (p, &sources.all) {
		sum += strlen(p->name);
		for (size_t i = 0; i < p->keyword_cnt; i++)
			sum += strlen(p->keywords[i].name);
		for (size_t i = 0; i < p->event_cnt; i++)
			sum += strlen(p->events[i].name);
	}
	tapir_event_sources__fini(&sources);
	return 0;
}
