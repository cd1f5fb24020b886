/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * namer.h - names for the addresses of new stacks: generated code by the reports of its process, to
 * a JIT record; else from (process, address) by the catalog's mappings to (file, offset) and from
 * there by the file's symbols to a SYMBOL record.
 *
 * Runs on the session thread, once a second or when a stack is about to be printed.
 */
#ifndef TAPIR_USER_NAMER_H
#define TAPIR_USER_NAMER_H

#include "attach/flow/queue.h"
#include "trace/catalog.h"

struct tapir_namer;

/*
 * catalog is borrowed. dotnet_reports_methods: calls of __reports_methods for .NET processes may
 * follow soon.
 */
int tapir_namer__new(struct tapir_catalog *catalog, bool dotnet_reports_methods,
		     struct tapir_namer **out);
void tapir_namer__free(struct tapir_namer *n);

/*
 * Takes every describing record, after the catalog has it. fd: for a MAPPING its file, as it was
 * opened when it was mapped, borrowed; else -1.
 */
void tapir_namer__on_record(struct tapir_namer *n, const struct tapir_rec *rec, int fd);

/* Takes every EVENT. True: it was not requested, only enabled for the names of generated code. */
bool tapir_namer__on_event(struct tapir_namer *n, const struct tapir_rec_event *rec);

/*
 * The process sends events of what it compiles, from the note's time on; __on_loss: some of those
 * were lost.
 */
void tapir_namer__reports_methods(struct tapir_namer *n, const struct tapir_note_methods *note);
void tapir_namer__on_loss(struct tapir_namer *n, const struct tapir_rec_loss *loss);

/* Returns true if the probe is attached only for names. */
bool tapir_namer__is_for_names(const struct tapir_namer *n, uint32_t probe_id);

/*
 * Continues reading the names that processes write, once per TAPIR_NAMER_POLL_NS of now_ns: call it
 * as often as convenient, and at least that often while there are files to read. 0 or the writer's
 * error.
 */
#define TAPIR_NAMER_POLL_NS  50000000u

/*
 * Did stacks of the last round of __name_new_stacks that are hardly older than this have frames
 * whose names are on their way? Who prints them may wait a moment.
 */
#define TAPIR_NAMER_WORTH_NS 1500000000u
/*
 * Returns true if stacks of the last round of __name_new_stacks that are hardly older than
 * TAPIR_NAMER_WORTH_NS have frames whose names are on their way: a caller that prints them may wait
 * a moment.
 */
bool tapir_namer__have_pending(const struct tapir_namer *n);
/*
 * Continues reading the names that processes write, once per TAPIR_NAMER_POLL_NS of now_ns: call it
 * as often as convenient, and at least that often while there are files to read. 0 or the writer's
 * error.
 */
int tapir_namer__poll(struct tapir_namer *n, uint64_t now_ns);
/* Returns the number of lookups in files for which there was no descriptor. */
uint64_t tapir_namer__missed(const struct tapir_namer *namer);
bool tapir_namer__has_files(const struct tapir_namer *n);

/* Reads all that is there at the end of the recording, for at most a second. */
int tapir_namer__finish(struct tapir_namer *n);

/* Names what the catalog lists as unnamed. 0 or the writer's error. */
int tapir_namer__name_new_stacks(struct tapir_namer *n);

#endif
