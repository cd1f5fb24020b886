// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Payloads of HotSpot's probes, descriptors, and performance counters. The first byte says
 * which: counters, a descriptor, or the payload of a load or an unload.
 */
#include <stdlib.h>
#include <string.h>

#include "decode/java_name.h"
#include "runtime/jvm/jvm_methods.h"
#include "runtime/jvm/jvm_perfdata.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

/* The layout of record/images/site_layout.c for these probes; types may also be what a SPEC says.
 */
static void fuzz_event(const uint8_t *bytes, size_t len, bool is_load)
{
	static const char load[] = "compiled__method__load", unload[] = "compiled__method__unload";
	struct tapir_rec_probe probe_rec = {.field_cnt = is_load ? 8 : 6};
	struct tapir_rec_event event_rec = {};
	struct tapir_field fields[8];
	struct tapir_probe_view probe = {.rec = &probe_rec,
					 .fields = fields,
					 .provider = tapir_sv__of("hotspot"),
					 .event = tapir_sv__of(is_load ? load : unload),
					 .names = ""};
	struct tapir_event_view event = {.rec = &event_rec};
	struct tapir_jvm_method method;
	struct tapir_str name = {};

	if (len < 10)
		return;
	for (unsigned i = 0; i < 8; i++) {
		uint8_t normal = i < 6 && i % 2 == 0 ? TAPIR_FIELD_STRN : TAPIR_FIELD_INT;

		fields[i] = (struct tapir_field){.type = bytes[i] ? bytes[i] % 12 : normal};
	}
	memcpy(&event_rec.fault_mask, bytes + 8, 2);
	event.payload = bytes + 10;
	event.payload_bytes = len - 10;
	if (tapir_jvm_probe__of(&probe) == TAPIR_JVM_PROBE_OTHER)
		abort();
	if (!tapir_jvm_method__of(&probe, &event, &method, &name) &&
	    (!name.len || name.len > TAPIR_JAVA_NAME_MAX_BYTES || memchr(name.data, 0, name.len) ||
	     (is_load && method.start_va + method.size <= method.start_va)))
		abort();
	tapir_str__fini(&name);
}

static void fuzz_name(const char *bytes, size_t len)
{
	struct tapir_sv part = {bytes, len};
	struct tapir_str name = {};

	tapir_java_name__add(&name, part, part, part);
	tapir_java_name__add(&name, tapir_sv__of("A"), tapir_sv__of("f"), part);
	tapir_str__fini(&name);
}

static void fuzz_counters(const uint8_t *bytes, size_t len)
{
	struct tapir_jvm_gauges gauges;

	(void)tapir_jvm_perfdata__may_attach(bytes, len);
	(void)tapir_jvm_perfdata__read(bytes, len, &gauges);
	if (!memchr(gauges.gc_cause, '\0', sizeof(gauges.gc_cause)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	uint8_t *copy;

	if (len < 2)
		return 0;
	copy = malloc(len - 1); /* of this very size, for the address sanitizer */
	memcpy(copy, input + 1, len - 1);
	if (input[0] % 4 == 0)
		fuzz_counters(copy, len - 1);
	else if (input[0] % 4 == 1)
		fuzz_name((const char *)copy, len - 1);
	else
		fuzz_event(copy, len - 1, input[0] % 4 == 2);
	free(copy);
	return 0;
}
