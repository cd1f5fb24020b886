/* SPDX-License-Identifier: GPL-2.0-or-later */
/* perf_script.h - samples and events with stacks as perf script prints them (perf-script(1)). */
#ifndef TAPIR_USER_PERF_SCRIPT_H
#define TAPIR_USER_PERF_SCRIPT_H

#include "base/str.h"
#include "trace/catalog.h"

/* Appends a well-formed SAMPLE, or an EVENT that has a stack; nothing for any other record. */
void tapir_perf_script__add(const struct tapir_catalog *catalog, const struct tapir_rec *rec,
			    struct tapir_str *out);

#endif
