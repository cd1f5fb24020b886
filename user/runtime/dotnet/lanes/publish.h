/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * publish.h - what libtapir-coreclr.so publishes of .NET's events (TAPIR_RING_WANTS_PROBES) made
 * findable: a link for each image and for the library (probe_links.h), and a line on stderr for
 * what came, with one that can be pasted.
 *
 * The images are the traced process's: names and notes are read as any file's are. One thread.
 */
#ifndef TAPIR_USER_PUBLISH_H
#define TAPIR_USER_PUBLISH_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/dotnet/lanes/dotnet_lanes.h"

struct tapir_publish_opts {
	size_t sz;
	uint64_t key;			  /* of our lanes */
	struct tapir_dotnet_lanes *lanes; /* borrowed until __free, like rings */
	struct tapir_ring_reader *rings;
};

struct tapir_publish;

/* Opens the directory of links. -errno with a line: there can be no links. */
int tapir_publish__open(struct tapir_publish **out);
/* Before the first __look. */
void tapir_publish__start(struct tapir_publish *p, const struct tapir_publish_opts *opts);
/* Scans for new images, if it is time. NULL is fine, as for all of these. */
void tapir_publish__poll(struct tapir_publish *p, uint64_t now_ns);
uint64_t tapir_publish__next_ns(const struct tapir_publish *p); /* UINT64_MAX: never */
/* Scans a last time, prints what was published, removes the links. Before the lanes are closed. */
void tapir_publish__stop(struct tapir_publish *p);
/* Removes links that are left, and frees. */
void tapir_publish__free(struct tapir_publish *p);

#endif
