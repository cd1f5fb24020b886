/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ring_request.h - what a session requests of a ring lane, before it is in the lane's control file:
 * its selections, and the text that their arguments are in. 300 KB: not for a stack. One thread.
 */
#ifndef TAPIR_USER_RING_REQUEST_H
#define TAPIR_USER_RING_REQUEST_H

#include "spec/spec.h"
#include "tapir/ring.h"

struct tapir_ring_request {
	struct tapir_ring_selection all[TAPIR_RING_SELECTIONS];
	uint32_t text_bytes;
	char text[TAPIR_RING_TEXT_BYTES]; /* each of the arguments is followed by NUL */
};

/* Removes all selections and their text. */
void tapir_ring_request__clear(struct tapir_ring_request *request);

/* Stores the arguments of a SPEC, once however often; false: no room is left. */
bool tapir_ring_request__add_args(struct tapir_ring_request *request, const struct tapir_spec *spec,
				  struct tapir_ring_selection *selection);

/* Returns the arguments of a selection, borrowed from request; "": none. */
const char *tapir_ring_request__args(const struct tapir_ring_request *request,
				     const struct tapir_ring_selection *selection);

#endif
