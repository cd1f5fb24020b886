/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * import_cpuprofile.h - a CPU profile of V8 (node --cpu-prof, Chromium's developer tools) as a
 * recording: samples with stacks of JavaScript functions. One thread.
 */
#ifndef TAPIR_USER_IMPORT_CPUPROFILE_H
#define TAPIR_USER_IMPORT_CPUPROFILE_H

#include "output/import/import.h"

/* Does what tapir_import__file does, for a file of this format, in memory: at most 256 MB. */
int tapir_import_cpuprofile(const struct tapir_import_input *input,
			    const struct tapir_import_opts *opts, struct tapir_import_result *out);

#endif
