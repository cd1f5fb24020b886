/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * comm_glob.h - the tables with which the BPF programs match a glob over process names
 * (bpf/glob_logic.bpf.h). They mean exactly what tapir_glob__match means: one is computed by the
 * other. Pure.
 */
#ifndef TAPIR_USER_COMM_GLOB_H
#define TAPIR_USER_COMM_GLOB_H

#include "bpf/glob_logic.bpf.h"

/*
 * Runs of stars count as one. -E2BIG without a line: more than TAPIR_COMM_GLOB_MAX elements, or
 * a set of hundreds of characters.
 */
int tapir_comm_glob__compile(const char *text, struct tapir_comm_glob *out);

#endif
