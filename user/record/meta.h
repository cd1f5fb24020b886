/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * meta.h - META records: where, with what and how a recording was made. Keys are documented in
 * `tapir help records`. Any thread that may post.
 */
#ifndef TAPIR_USER_META_H
#define TAPIR_USER_META_H

#include "spec/spec.h"
#include "record/images/images.h"
#include "attach/flow/queue.h"

/* command_line: of this tapir; NULL leaves it out. */
int tapir_meta__post(struct tapir_queue *queue, const char *command_line);

/* Posts one more: key and value are copied. */
int tapir_meta__post_one(struct tapir_queue *queue, const char *key, const char *value);

/* Posts TAPIR_META_SPECS: one per line; a last "*" means that some did not fit. */
int tapir_meta__post_specs(struct tapir_queue *queue, const struct tapir_spec_list *specs);

#endif
