/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_finding.h - the last words of `tapir record` about the file that was just written: on a
 * terminal the first screen of `tapir report`, else its first line; and the next commands. One
 * thread.
 */
#ifndef TAPIR_USER_RECORD_FINDING_H
#define TAPIR_USER_RECORD_FINDING_H

#include <stdbool.h>

#include "base/str.h"

/*
 * On stderr, as information; nothing for what is no regular file. The file is read again; the
 * finding is left out where that is larger than 256 MB or takes more than 2 s of CPU time or 10 s
 * altogether, or when SIGINT or SIGTERM comes. has_samples: what is assumed of the file then.
 */
void tapir_record_finding__print(const char *path, bool has_samples);

/*
 * The same lines, each with '\n', for the head of an export, however long that takes: two exports
 * of a file are equal. Nothing for a file of more than 256 MB, or one that is no regular file.
 * with_also: those of the next findings, too. 0; -EINTR, with a line: a signal came.
 */
int tapir_record_finding__add(const char *path, bool with_also, struct tapir_str *out);

#endif
