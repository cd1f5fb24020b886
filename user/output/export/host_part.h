/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * host_part.h - the recordings that a merged one consists of, each as a file without a name, so
 * that it can be merged with others. One thread.
 */
#ifndef TAPIR_USER_HOST_PART_H
#define TAPIR_USER_HOST_PART_H

#include "base/vec.h"
#include "trace/reader.h"

struct tapir_host_names tapir_vec(char *);

/* Appends the hosts of a merged recording; none: it is not one. 0 or -errno. */
int tapir_host_names__read(const struct tapir_reader *reader, struct tapir_host_names *out);
void tapir_host_names__fini(struct tapir_host_names *names);

/*
 * Opens the recording of a host, as 'tapir cut --host' gives it back; *out is the caller's to
 * close. path: of the merged one, in messages. check: ends it with its error. -EBADMSG with a line:
 * the merged one is damaged.
 */
int tapir_host_part__open(const struct tapir_reader *merged, const char *path, const char *name,
			  int (*check)(void *ctx), void *ctx, struct tapir_reader **out);

#endif
