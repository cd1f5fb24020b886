/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * await_code.h - while recording: the addresses in buffers of .NET 11's AsyncProfilerEventSource
 * are described to the catalog as stacks, so that the file gets their names like those of others.
 * One thread.
 */
#ifndef TAPIR_USER_AWAIT_CODE_H
#define TAPIR_USER_AWAIT_CODE_H

#include "base/keyed.h"
#include "decode/async_buffer.h"
#include "trace/catalog.h"
#include "trace/recbuf.h"

#define TAPIR_AWAIT_CODE_MAX_PROCESSES 1024u

struct tapir_await_code { /* zeroed at first */
	/* for the functions alone */
	struct tapir_map probes;			       /* of buffers */
	struct tapir_keyed(struct tapir_async_layout) layouts; /* by tgid */
	struct tapir_recbuf recbuf;
};

/* A PROBE record. */
void tapir_await_code__learn(struct tapir_await_code *a, const struct tapir_rec *rec);
/* Takes any event, of which it uses those of its kinds. 0 or the writer's error. */
int tapir_await_code__on_event(struct tapir_await_code *a, struct tapir_catalog *catalog,
			       const struct tapir_rec_event *ev);
void tapir_await_code__fini(struct tapir_await_code *a);

/* Returns true if the probe's event has such buffers. */
bool tapir_await_code__is_of_buffers(const struct tapir_rec_probe *probe);

#endif
