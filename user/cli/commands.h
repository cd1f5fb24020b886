/* SPDX-License-Identifier: GPL-2.0-or-later */
/* commands.h - every command, each in cmd_NAME.c; main.c puts them in order. Constant. */
#ifndef TAPIR_USER_COMMANDS_H
#define TAPIR_USER_COMMANDS_H

#include "cli/options.h"

extern const struct tapir_command tapir_cmd_archive;
extern const struct tapir_command tapir_cmd_cut;
extern const struct tapir_command tapir_cmd_diff;
extern const struct tapir_command tapir_cmd_doctor;
extern const struct tapir_command tapir_cmd_events;
extern const struct tapir_command tapir_cmd_export;
extern const struct tapir_command tapir_cmd_flamegraph;
extern const struct tapir_command tapir_cmd_html;
extern const struct tapir_command tapir_cmd_heap;
extern const struct tapir_command tapir_cmd_help;
extern const struct tapir_command tapir_cmd_import;
extern const struct tapir_command tapir_cmd_list;
extern const struct tapir_command tapir_cmd_mcp;
extern const struct tapir_command tapir_cmd_merge;
extern const struct tapir_command tapir_cmd_ps;
extern const struct tapir_command tapir_cmd_query;
extern const struct tapir_command tapir_cmd_record;
extern const struct tapir_command tapir_cmd_report;
extern const struct tapir_command tapir_cmd_serve;
extern const struct tapir_command tapir_cmd_stacks;
extern const struct tapir_command tapir_cmd_symbolize;
extern const struct tapir_command tapir_cmd_top;
extern const struct tapir_command tapir_cmd_trace;

#endif
