/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ring_names.h - events that a process knows by number alone (CoreCLR's own) get their names
 * before anybody compares them with a SPEC.
 */
#ifndef TAPIR_USER_RING_NAMES_H
#define TAPIR_USER_RING_NAMES_H

#include "trace/recbuf.h"

/*
 * A well-formed PROBE record -> the same with an event name. It is the record itself where there
 * is nothing to complete, else one in buf (until its next use). NULL: out of memory.
 */
const struct tapir_rec *tapir_ring_names__complete(struct tapir_recbuf *buf,
						   const struct tapir_rec *probe);

#endif
