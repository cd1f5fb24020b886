/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * describe.h - builds records about processes and mappings, from /proc and images, in the caller's
 * buffer. One thread for each buffer.
 */
#ifndef TAPIR_USER_DESCRIBE_H
#define TAPIR_USER_DESCRIBE_H

#include "attach/proc.h"
#include "record/images/images.h"
#include "trace/recbuf.h"

/* Each returns a record borrowed from buf until its next use; NULL: out of memory. */

/* A process that runs already. no_command_lines: without its arguments. */
const struct tapir_rec *tapir_describe__process(struct tapir_recbuf *buf,
						const struct tapir_proc *proc,
						bool no_command_lines);

/*
 * Builds a PROCESS record of what BPF saw (rec), with the parts that only /proc has (command line,
 * cgroup path).
 */
const struct tapir_rec *tapir_describe__process_event(struct tapir_recbuf *buf,
						      const struct tapir_rec_process *rec,
						      const struct tapir_proc *proc,
						      bool no_command_lines);

/*
 * Builds a PROCESS record of what BPF saw, with the path and the command line that BPF has read.
 * cmdline: in place of the latter, if it is longer; else with data NULL.
 */
const struct tapir_rec *tapir_describe__process_read(struct tapir_recbuf *buf,
						     const struct tapir_rec_process *rec,
						     struct tapir_sv cmdline,
						     const char *cgroup_path,
						     bool no_command_lines);

/*
 * Builds a MAPPING record. image: NULL for memory without a file, or a file that could not be
 * opened. from_ns: since when it is mapped, or earlier than anything that is recorded of it.
 */
const struct tapir_rec *tapir_describe__mapping(struct tapir_recbuf *buf, uint32_t tgid,
						uint64_t from_ns,
						const struct tapir_mapping_line *line,
						const struct tapir_image *image);

#endif
