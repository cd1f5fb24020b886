/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * otel_tls_locations.h - where threads of a process publish their trace ids (tapir/otel_context.h),
 * for the BPF programs that read them. A process has one place: that of its program, else of the
 * library that was mapped last. Children inherit it and exec removes it in bpf/process.bpf.c.
 */
#ifndef TAPIR_USER_OTEL_TLS_LOCATIONS_H
#define TAPIR_USER_OTEL_TLS_LOCATIONS_H

#include <stdint.h>

#include "attach/programs.h"
#include "elf/tls_symbol.h"

/*
 * A process has mapped a file with that symbol; bias: what its addresses are more than as linked.
 * No model, or no programs: does nothing. -errno with a line.
 */
int tapir_otel_tls_locations__see(struct tapir_programs *p, uint32_t tgid,
				  const struct tapir_tls_symbol *symbol, uint64_t bias);

#endif
