/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * event_lines.h - records as lines, for a person or for a program; the same for a file that is read
 * and for a recording that is watched.
 *
 * Text:	"   0.001234 postgres 4242/4242 postgresql:query__start query="select 1"": seconds
 *   since the start, process name, pid/tid, event, arguments; the stack is
 *   indented below. Losses and gaps are in capitals. MAPPING records and processes
 *   that merely exist are left out.
 * JSON:	one object a line: type (event, sample, switch, process, ...), time_ns, utc, cpu,
 *   pid, tid, comm, then what the type has (trace/schema.c). What is not known is
 *   null. An incomplete value is named in "marks" (decode/value.h).
 *
 * Nothing here writes to a file; nothing allocates per line once it has seen its probes. One
 * thread.
 */
#ifndef TAPIR_USER_EVENT_LINES_H
#define TAPIR_USER_EVENT_LINES_H

#include "base/str.h"
#include "decode/event_layout.h"
#include "decode/fields.h"
#include "trace/catalog.h"
#include "trace/record.h"
#include "trace/schema.h"

struct tapir_event_lines;

enum tapir_event_format { TAPIR_EVENT_TEXT, TAPIR_EVENT_JSON };

/*
 * catalog: what the ids of the records mean, borrowed; it may learn more between lines.
 * start_ns: where text counts from; 0: from the first record. NULL: out of memory.
 */
struct tapir_event_lines *tapir_event_lines__new(enum tapir_event_format format,
						 const struct tapir_catalog *catalog,
						 uint64_t start_ns);
void tapir_event_lines__free(struct tapir_event_lines *lines);

/*
 * Appends the lines of a well-formed record to out; nothing for a type that has none. Out
 * of memory shows in out->failed.
 */
void tapir_event_lines__add(struct tapir_event_lines *lines, const struct tapir_rec *rec,
			    struct tapir_str *out);

/*
 * For a reader of single fields of an EVENT: returns its values in the order of its layout,
 * borrowed until the next record (NULL: its probe is not described); all of them as the JSON object
 * "args" of its line, where lines is of TAPIR_EVENT_JSON.
 */
const struct tapir_value *tapir_event_lines__values(struct tapir_event_lines *lines,
						    const struct tapir_rec *rec, unsigned *cnt);
void tapir_event_lines__add_args(struct tapir_event_lines *lines, const struct tapir_rec *rec,
				 struct tapir_str *out);
/*
 * Reads a member of any record, as its type says: text is borrowed from the record, the catalog or
 * room, which is overwritten. NULL also for stacks and what else is more than a value.
 */
struct tapir_member_value tapir_event_lines__read(const struct tapir_event_lines *l,
						  const struct tapir_rec *rec,
						  const struct tapir_member *member,
						  struct tapir_str *room);
/* Returns the process's name; empty: not known. */
struct tapir_sv tapir_line__comm(const struct tapir_event_lines *l, uint32_t tgid, uint32_t tid,
				 uint64_t time_ns);

/* Returns the number of payloads so far that did not match their layout, or had none. */
struct tapir_layout_mismatches tapir_event_lines__mismatches(const struct tapir_event_lines *lines);

#endif
