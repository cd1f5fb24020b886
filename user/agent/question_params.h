/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * question_params.h - a client's question: a recording of its events alone, and what 'tapir events'
 * adds up of it without privileges. One thread.
 */
#ifndef TAPIR_USER_QUESTION_PARAMS_H
#define TAPIR_USER_QUESTION_PARAMS_H

#include "agent/request_params.h"

/* Checks sources and target, in the agent, before a task is started. 0 or -EINVAL with a line. */
int tapir_question_params__check(const struct tapir_request_params *params);
/*
 * Parses the expressions, and determines what to record and the command that reads the recording
 * from standard input. For the task, which ends with its answer: nothing is freed. -EINVAL with
 * lines.
 */
int tapir_question_params__prepare(struct tapir_request_params *params, struct tapir_words *argv);

#endif
