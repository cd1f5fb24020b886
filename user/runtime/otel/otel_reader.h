/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * otel_reader.h - what processes publish of themselves (otel_process.h), each asked once. It waits
 * for one that does not answer a tenth of a second, four times in all. One thread.
 */
#ifndef TAPIR_USER_OTEL_READER_H
#define TAPIR_USER_OTEL_READER_H

#include "runtime/otel/otel_process.h"
#include "trace/record.h"

struct tapir_otel_reader {
	struct tapir_helper helper;
	struct tapir_str payload;
	unsigned stuck_cnt;
};
#define TAPIR_OTEL_READER_NONE                                                                     \
	(struct tapir_otel_reader)                                                                 \
	{                                                                                          \
		.helper = {.sock = -1 }                                                            \
	}

/*
 * Reads as tapir_otel_process__read does, with the payload in r->payload. *is_stuck: it did not
 * answer, and must not be read again. -ECANCELED: the program is to end.
 */
int tapir_otel_reader__read(struct tapir_otel_reader *r, struct tapir_otel_process *p,
			    bool *is_stuck);
/*
 * Returns the name of the service that a process is; empty: it publishes none. Borrowed until the
 * next call.
 */
struct tapir_sv tapir_otel_reader__service(struct tapir_otel_reader *r, uint32_t tgid);
/* Leaves the helper and frees the payload. */
void tapir_otel_reader__fini(struct tapir_otel_reader *r);

#endif
