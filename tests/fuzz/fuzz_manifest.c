// SPDX-License-Identifier: GPL-2.0-or-later
// fuzz: user/cli/manifest/c_names.c user/cli/manifest/emit_header.c user/cli/manifest/emit_source.c
// fuzz: user/cli/manifest/emit_serializer.c user/cli/manifest/emit_dtrace.c
/* Any bytes as a manifest. What is accepted has names everywhere, events in order, and can be code.
 */
#include <stdlib.h>

#include "base/diag.h"
#include "decode/manifest.h"
#include "cli/manifest/emit_c.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

/* As deep as the reader lets through; the sanitizer checks every access. */
static void check_fields(const struct tapir_layout_field *fields, unsigned cnt)
{
	for (unsigned i = 0; i < cnt; i++) {
		if (!*fields[i].name || fields[i].type >= TAPIR_LAYOUT_TYPE_CNT)
			abort();
		if (fields[i].repeat == TAPIR_REPEAT_FIELD && fields[i].count >= i)
			abort();
		check_fields(fields[i].members, fields[i].member_cnt);
	}
}

static void check_provider(const struct tapir_layout_provider *p)
{
	for (unsigned i = 0; i < p->event_cnt; i++) {
		if (!*p->events[i].name || (i && p->events[i].id < p->events[i - 1].id))
			abort();
		check_fields(p->events[i].fields, p->events[i].field_cnt);
	}
}

static void emit(const struct tapir_manifest *manifest, unsigned idx, bool is_coreclr)
{
	struct tapir_str out = {};
	struct c_provider p;

	if (!c_provider__init(&p, manifest, idx, is_coreclr)) {
		emit_header(&p, &out);
		emit_source(&p, &out);
		emit_dtrace(&p, &out);
	}
	c_provider__fini(&p);
	for (size_t i = 0; i < out.len; i++)
		if (!out.data[i])
			abort();
	tapir_str__fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	struct tapir_manifest *manifest;

	if (tapir_manifest__parse("fuzz", input, len, &manifest)) {
		tapir_diag__clear();
		return 0;
	}
	for (unsigned i = 0; i < tapir_manifest__provider_cnt(manifest); i++) {
		check_provider(tapir_manifest__provider(manifest, i));
		emit(manifest, i, len & 1);
	}
	tapir_diag__clear();
	tapir_manifest__free(manifest);
	return 0;
}
