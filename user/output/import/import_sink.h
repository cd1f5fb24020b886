/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * import_sink.h - where the records of an imported file go: a recording as a recorder writes it,
 * with segments, descriptions before their use, names, losses by cause.
 *
 * The first error of the writer stays in err, and later calls do nothing. One thread.
 */
#ifndef TAPIR_USER_IMPORT_SINK_H
#define TAPIR_USER_IMPORT_SINK_H

#include "base/map.h"
#include "base/str.h"
#include "output/import/import_names.h"
#include "trace/family.h"
#include "trace/recbuf.h"
#include "trace/writer.h"

struct tapir_import_sink {
	struct tapir_writer *w; /* borrowed */
	struct tapir_catalog *catalog;
	struct tapir_import_names *names;
	struct tapir_recbuf buf;
	struct tapir_str limits;
	struct tapir_map functions; /* hash of a function's name -> its number */
	uint64_t captured[TAPIR_FAMILY_CNT];
	uint64_t refused_cnt; /* descriptions for which there was no memory */
	uint64_t first_ns, last_ns, segment_ns, flushed_ns;
	int err;
};

/* first_ns: of the first record. 0 or -ENOMEM. */
int tapir_import_sink__init(struct tapir_import_sink *s, struct tapir_writer *w, uint64_t first_ns);
void tapir_import_sink__fini(struct tapir_import_sink *s);

/* A describing record, borrowed; NULL: out of memory. */
void tapir_import_sink__describe(struct tapir_import_sink *s, const struct tapir_rec *rec);
/* A record of a family, in the order of time. */
void tapir_import_sink__put(struct tapir_import_sink *s, const struct tapir_rec *rec);
/*
 * For formats that have functions and no addresses: returns an address within the function of that
 * name, one that no process has. It is described, as code of tgid, when it is new; 0: no name, or
 * no memory.
 */
uint64_t tapir_import_sink__function(struct tapir_import_sink *s, uint32_t tgid,
				     const struct tapir_str *name);
/* Addresses, innermost first. Returns the stack's id, 0 for an empty one. */
uint64_t tapir_import_sink__stack(struct tapir_import_sink *s, const uint64_t *frames_va,
				  unsigned frame_cnt, uint16_t flags, enum tapir_stack_end end,
				  uint64_t time_ns);
void tapir_import_sink__lose(struct tapir_import_sink *s, enum tapir_loss_cause cause, uint64_t cnt,
			     uint64_t time_ns);
void tapir_import_sink__meta(struct tapir_import_sink *s, const char *key, const char *value);
/* A sentence about what the file does not have. */
void tapir_import_sink__limit(struct tapir_import_sink *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* The same of a table (base/keyed.h) that had no room for some; fails where memory was short. */
void tapir_import_sink__beyond(struct tapir_import_sink *s, uint64_t more, bool failed,
			       const char *noun);

/* After the last record: names, limits, and what was refused. 0 or the error. */
int tapir_import_sink__finish(struct tapir_import_sink *s);

#endif
