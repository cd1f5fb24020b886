/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * import_jfr.h - flight recordings of a JVM (JDK 11 and newer) as recordings: samples of Java code
 * are samples, all else is an event with its fields, thread and stack. See import.h.
 */
#ifndef TAPIR_USER_IMPORT_JFR_H
#define TAPIR_USER_IMPORT_JFR_H

#include "output/import/import.h"

/* Reads the file as tapir_import__file does, which calls this. */
int tapir_import_jfr(const struct tapir_import_input *input, const struct tapir_import_opts *opts,
		     struct tapir_import_result *out);

#endif
