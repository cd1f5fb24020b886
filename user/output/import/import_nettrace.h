/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * import_nettrace.h - a nettrace file of EventPipe (dotnet-trace, dotnet-monitor) as a recording:
 * events with their fields and managed stacks, samples of managed code, names of methods from the
 * rundown. One thread.
 */
#ifndef TAPIR_USER_IMPORT_NETTRACE_H
#define TAPIR_USER_IMPORT_NETTRACE_H

#include "output/import/import.h"

/* Does what tapir_import__file does, for a file of this format. */
int tapir_import_nettrace(const struct tapir_import_input *input,
			  const struct tapir_import_opts *opts, struct tapir_import_result *out);

#endif
