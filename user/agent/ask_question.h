/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ask_question.h - a client's question: a recording of its events alone, and what 'tapir events'
 * adds up of it without privileges. One thread.
 */
#ifndef TAPIR_USER_ASK_QUESTION_H
#define TAPIR_USER_ASK_QUESTION_H

#include "agent/ask.h"

/* Checks sources and target, in the agent. -EINVAL with a line. */
int tapir_ask_question__check(const struct tapir_ask *ask);
/*
 * Parses the expressions, and determines what to record and the command that reads the recording
 * from standard input. For the task, which ends with its answer: nothing is freed. -EINVAL with
 * lines.
 */
int tapir_ask_question__prepare(struct tapir_ask *ask, struct tapir_words *argv);

#endif
