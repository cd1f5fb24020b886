// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the bytes of a thread's OpenTelemetry context, by the model of its thread-local
 * variable. A location with got_va 0 is in the program itself and wins: a library that defines the
 * same variable does not replace it.
 */
#include "attach/otel_tls_locations.h"

static struct tapir_otel_tls_location location_of_symbol(const struct tapir_tls_symbol *symbol,
							 uint64_t bias)
{
	static const uint32_t kinds[] = {
		[TAPIR_TLS_TPOFF] = TAPIR_TRACE_GOT_TPOFF,
		[TAPIR_TLS_DESC] = TAPIR_TRACE_GOT_DESC,
		[TAPIR_TLS_MODULE] = TAPIR_TRACE_GOT_MODULE,
	};

	if (symbol->model == TAPIR_TLS_LOCAL)
		return (struct tapir_otel_tls_location){.kind = TAPIR_TRACE_STATIC,
							.value = symbol->value};
	return (struct tapir_otel_tls_location){.kind = kinds[symbol->model],
						.got_va = bias + (uint64_t)symbol->value};
}

int tapir_otel_tls_locations__see(struct tapir_programs *p, uint32_t tgid,
				  const struct tapir_tls_symbol *symbol, uint64_t bias)
{
	struct tapir_otel_tls_location known, location;

	if (symbol->model == TAPIR_TLS_NONE || !tapir_programs__are_there(p))
		return 0;
	location = location_of_symbol(symbol, bias);
	if (location.got_va && tapir_programs__otel_tls_location(p, tgid, &known) &&
	    known.kind == TAPIR_TRACE_STATIC && !known.got_va)
		return 0;
	return tapir_programs__set_otel_tls_location(p, tgid, &location);
}
