/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * otel_process.h - copies what a process publishes of itself by OpenTelemetry's process context
 * (tapir/otel_context.h). The process may put anything there, change it during the read, or have a
 * page that never answers: its memory is read by a helper process (base/foreign/helper.h), as long
 * as a limit says. decode/otel_resource.h says what is in the copy. One thread.
 */
#ifndef TAPIR_USER_OTEL_PROCESS_H
#define TAPIR_USER_OTEL_PROCESS_H

#include "base/str.h"
#include "base/foreign/helper.h"
#include "runtime/process_memory.h"

struct tapir_otel_process {
	uint32_t tgid;
	uint64_t header_va;    /* 0: not found by now */
	uint64_t published_ns; /* of what was copied last; 0: nothing was */
};

/*
 * 1: payload has what was published since the last copy. 0: nothing is, or nothing new.
 * -errno without a line: there is something, and it could not be read. -EAGAIN: it was always being
 * changed. -EFBIG: more than TAPIR_RESOURCE_MAX_BYTES. -ETIMEDOUT, -EBUSY: the helper is stuck.
 */
int tapir_otel_process__read(struct tapir_otel_process *p, struct tapir_helper *helper,
			     uint64_t limit_ns, struct tapir_str *payload);

/*
 * The reading alone. payload has room for TAPIR_RESOURCE_MAX_BYTES. 1: *bytes were copied,
 * published at *published_ns, which was the last one's before. 0: that is still so. -ENOENT: there
 * is no header. Else as above.
 */
int tapir_otel_process__copy(const struct tapir_process_memory *memory, uint64_t header_va,
			     uint64_t *published_ns, void *payload, size_t *bytes);

/* Returns true if a mapping is named as the context's header. */
bool tapir_otel_process__is_header(const char *path);

#endif
