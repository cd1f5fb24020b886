/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * namer.h - names for the addresses of new stacks: from (process, address) by the catalog's
 * mappings to (file, offset), from there by the file's symbols to a SYMBOL record.
 *
 * Runs on the session thread, once a second or when a stack is about to be printed.
 */
#ifndef TAPIR_USER_NAMER_H
#define TAPIR_USER_NAMER_H

#include "trace/catalog.h"

struct tapir_namer;

/* catalog is borrowed. */
int tapir_namer__new(struct tapir_catalog *catalog, struct tapir_namer **out);
void tapir_namer__free(struct tapir_namer *n);

/* The file behind a mapping, as it was opened when it was mapped. fd is borrowed. */
void tapir_namer__add_file(struct tapir_namer *n, const struct tapir_rec_mapping *mapping, int fd);

/* Names what the catalog lists as unnamed. 0 or the writer's error. */
int tapir_namer__name_new_stacks(struct tapir_namer *n);

#endif
