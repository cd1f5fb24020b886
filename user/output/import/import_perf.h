/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * import_perf.h - a perf.data file as a recording: samples with their stacks, switches (of
 * sched_switch, else of --switch-events), other events with their fields, processes, mappings,
 * losses.
 *
 * The samples of the first event that is no tracepoint are the recording's CPU samples; those of
 * others are events of a provider "perf", with their period. One thread.
 */
#ifndef TAPIR_USER_IMPORT_PERF_H
#define TAPIR_USER_IMPORT_PERF_H

#include "output/import/import.h"

/* Does what tapir_import__file does, for a file of this format. */
int tapir_import_perf(const struct tapir_import_input *input, const struct tapir_import_opts *opts,
		      struct tapir_import_result *out);

#endif
