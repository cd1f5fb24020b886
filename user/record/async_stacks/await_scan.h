/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * await_scan.h - collects all buffers of a recording, for await_runs.h: they come after what they
 * are about, so they are read in a pass before the others. One thread.
 */
#ifndef TAPIR_USER_AWAIT_SCAN_H
#define TAPIR_USER_AWAIT_SCAN_H

#include "record/async_stacks/await_runs.h"
#include "trace/reader.h"

/*
 * Reads the file of reader, of which a record was read already, once more for them, and seals. 0 or
 * -ENOMEM: what cannot be read is left out, and the reader will report it.
 */
int tapir_await_scan__run(struct tapir_await_runs *r, const struct tapir_reader *reader);

#endif
