// SPDX-License-Identifier: GPL-2.0-or-later
/* Any text as a SPEC: parsed or refused with a line, matched and suggested without harm. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "spec/spec.h"
#include "base/diag.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const struct tapir_spec *spec, const char *text)
{
	const char *const candidates[] = {"hotspot:gc__begin", "a:b", ":", "", text};
	struct tapir_spec_capture capture;
	const struct tapir_spec_arg *arg;

	(void)tapir_spec__matches(spec, spec->path, spec->provider, "GCStart_V2");
	(void)tapir_spec__matches(spec, NULL, "hotspot", text);
	(void)tapir_spec__suggest(spec, candidates, 5);
	tapir_vec_for_each (arg, &spec->args)
		(void)tapir_spec__capture(arg, &capture);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct tapir_spec *spec = NULL;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	tapir_diag__clear();
	if (!tapir_spec__parse(text, &spec))
		use(spec, text);
	else if (!tapir_diag__cnt() || spec)
		abort(); /* refused without a word, or an output was touched */
	tapir_spec__free(spec);
	free(text);
	return 0;
}
