/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lane_handover.h - when probes are detached because rings carry their events, and when they are
 * attached again: a program that tapir starts has its probes before its ring, and would trap for
 * the whole recording.
 *
 * One thread, that of the targets.
 */
#ifndef TAPIR_USER_LANE_HANDOVER_H
#define TAPIR_USER_LANE_HANDOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/rings/ring_reader.h"
#include "record/images/images.h"

enum tapir_lane_handover_stage {
	TAPIR_HANDOVER_ATTACHED,
	TAPIR_HANDOVER_ANNOUNCED, /* forked children no longer leave events to probes */
	TAPIR_HANDOVER_DETACHED
};

struct tapir_lane_handover {
	struct tapir_images *images;
	struct tapir_ring_reader *rings; /* borrowed, both; NULL: probes stay */
	enum tapir_lane_handover_stage stage;
	uint64_t quiet_ns;   /* for which no process must have come before the next try */
	uint64_t since_ns;   /* the last one came */
	uint64_t checked_ns; /* rings had all events then */
};

void tapir_lane_handover__init(struct tapir_lane_handover *h, struct tapir_images *images,
			       struct tapir_ring_reader *rings);

/* Call it when a process was forked, executed a program or mapped an image: probes come back. */
void tapir_lane_handover__disturb(struct tapir_lane_handover *h, uint64_t now_ns);

/* Events of the process may be missing since then, in which its ring had ended. */
typedef void (*tapir_handover_gap_fn)(void *ctx, uint32_t tgid, const struct tapir_image *image,
				      uint64_t since_ns);

/* Twice a second; live: the processes that are traced, by tgid. */
void tapir_lane_handover__poll(struct tapir_lane_handover *h, const struct tapir_map *live,
			       uint64_t now_ns, tapir_handover_gap_fn fn, void *ctx);

#endif
