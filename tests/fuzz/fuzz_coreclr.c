// SPDX-License-Identifier: GPL-2.0-or-later
// fuzz: usdt/coreclr/coreclr_blob.c usdt/coreclr/coreclr_text.c usdt/coreclr/coreclr_wants.c
/*
 * What libtapir-coreclr.so reads that others wrote: an event's description by the runtime, and the
 * selections of a session, which any process that may write the control file fills. Inputs are
 * laid out so that one byte beyond them is an error; what comes out must be ended text.
 */
#include <stdlib.h>
#include <string.h>

#include "usdt/coreclr/coreclr_impl.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

static struct coreclr_provider known = {"Microsoft-Windows-DotNETRuntime"};

uint32_t coreclr_providers__limit(void)
{
	return 2;
}

const struct coreclr_provider *coreclr_providers__at(uint32_t idx)
{
	return idx ? &known : NULL;
}

static void fuzz_blob(const uint8_t *bytes, uint32_t len)
{
	struct coreclr_blob blob;
	char name[64];
	uint16_t wide[64];
	uint32_t n;

	(void)coreclr_blob__parse(bytes, len, &blob);
	n = coreclr_text__narrow(name, sizeof(name), blob.name, blob.name_units);
	if (n >= sizeof(name) || strlen(name) != n)
		abort();
	n = coreclr_text__widen(wide, 64, name);
	if (n >= 64 || wide[n])
		abort();
}

static void fuzz_wants(const uint8_t *bytes, size_t len)
{
	static struct tapir_ring_ctl ctl;
	static struct coreclr_wants wants;

	memset(ctl.sessions, 0, sizeof(ctl.sessions));
	ctl.sessions[0].state = ctl.sessions[7].state = TAPIR_RING_OPEN;
	memcpy(ctl.selections[0], bytes,
	       len < sizeof(ctl.selections[0]) ? len : sizeof(ctl.selections[0]));
	memcpy(ctl.selections[7], ctl.selections[0], 4000);
	memcpy(ctl.text[0], bytes, len < sizeof(ctl.text[0]) ? len : sizeof(ctl.text[0]));
	memcpy(ctl.text[7], "A=1;B=2", 7);
	coreclr_wants__collect(&wants, &ctl);
	if (wants.cnt > CORECLR_WANT_MAX || !coreclr_wants__are_equal(&wants, &wants))
		abort();
	for (uint32_t i = 0; i < wants.cnt; i++)
		if (strnlen(wants.all[i].provider, CORECLR_NAME_BYTES) == CORECLR_NAME_BYTES ||
		    wants.all[i].args_off >= wants.text_bytes ||
		    !memchr(wants.text + wants.all[i].args_off, 0,
			    wants.text_bytes - wants.all[i].args_off) ||
		    wants.all[i].level > 5 || !wants.all[i].keywords)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	uint8_t *exact = malloc(len ? len : 1);

	if (!exact)
		return 0;
	memcpy(exact, input, len);
	fuzz_blob(len ? exact : NULL, (uint32_t)len);
	fuzz_wants(exact, len);
	free(exact);
	return 0;
}
