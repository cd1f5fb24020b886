/* SPDX-License-Identifier: GPL-2.0-or-later */
/* answer.h - small answers to a client: one JSON document or an error. The agent, or its tasks. */
#ifndef TAPIR_USER_ANSWER_H
#define TAPIR_USER_ANSWER_H

#include "base/str.h"
#include "serve/wire.h"

/*
 * HEAD, body, END to the client's socket. flags: of send(2), MSG_DONTWAIT where nobody may wait.
 * 0 or -errno; with MSG_DONTWAIT, -EAGAIN: part of it did not fit.
 */
int tapir_answer__send(int fd, const struct tapir_wire_head *head, const char *body, size_t len,
		       int flags);
/* {"error": text} */
int tapir_answer__error(int fd, unsigned status, const char *text, int flags);
/* The same with the lines of the diagnostic list, which is empty afterwards. */
int tapir_answer__diag(int fd, unsigned status, int flags);

/* The HTTP status for an -errno of tapir's. */
unsigned tapir_answer__status(int err);

#endif
