/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * messages.h - what the writers of protobuf messages have in common: rows of messages in an arena,
 * texts as readers may show them, packing, gzip. One thread.
 */
#ifndef TAPIR_USER_MESSAGES_H
#define TAPIR_USER_MESSAGES_H

#include <protobuf-c/protobuf-c.h>

#include "base/arena.h"
#include "base/str.h"

/* Zeroed room for cnt messages, and the pointers to them that a repeated field holds. NULL: out of
 * memory. */
void *tapir_messages__alloc(struct tapir_arena *arena, size_t cnt, size_t bytes, void ***pointers);
/* Returns a copy of a name of any bytes that is UTF-8, as messages require, and safe to show. */
char *tapir_messages__text(struct tapir_arena *arena, const char *text, size_t len);
/* Adds to out. 0 or -ENOMEM. */
int tapir_messages__pack(const ProtobufCMessage *message, struct tapir_str *out);
int tapir_messages__gzip(const void *data, size_t len, struct tapir_str *out);

#endif
