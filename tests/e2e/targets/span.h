/* SPDX-License-Identifier: MIT */
/*
 * span.h - a publisher of OpenTelemetry's thread context, written from OTEP 4947 and without
 * libtapir. What includes it decides by its flags which TLS model it has; SPAN_PAD makes its TLS
 * block too large for what libc keeps for libraries that are loaded later.
 */
#ifndef TAPIR_TEST_SPAN_H
#define TAPIR_TEST_SPAN_H

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

struct span_record {
	uint8_t trace_id[16], span_id[8];
	uint8_t valid, flags;
	uint16_t attrs_bytes;
	uint8_t attrs[64];
};

__attribute__((visibility("default"))) __thread struct span_record *otel_thread_ctx_v1;
static __thread struct span_record span_own;
#ifdef SPAN_PAD
__attribute__((visibility("default"))) __thread char span_pad[SPAN_PAD];
#endif

/* NULL: none. */
__attribute__((visibility("default"), noinline)) void span_set(const uint8_t *trace,
							       const uint8_t *span)
{
	volatile uint8_t *valid = &span_own.valid;

	*valid = 0;
	atomic_signal_fence(memory_order_seq_cst);
	if (trace) {
		memcpy(span_own.trace_id, trace, 16);
		memcpy(span_own.span_id, span, 8);
		atomic_signal_fence(memory_order_seq_cst);
		*valid = 1;
	}
	otel_thread_ctx_v1 = &span_own;
#ifdef SPAN_PAD
	span_pad[0] = 1;
#endif
}

#endif
