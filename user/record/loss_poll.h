/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * loss_poll.h - the BPF programs' loss counters, turned into LOSS records of what was added since
 * the last poll. A cause that did not move gives no record. Session thread.
 */
#ifndef TAPIR_USER_LOSS_POLL_H
#define TAPIR_USER_LOSS_POLL_H

#include <stdint.h>

#include "attach/programs.h"

struct tapir_loss_poll {
	struct tapir_losses *seen; /* by probe id, what was reported */
	uint32_t probe_cnt;
	uint64_t last_ns;
	uint64_t one_last_ns[TAPIR_LOSS_CAUSE_CNT]; /* of __one, by cause */
};

typedef void (*tapir_loss_fn)(void *ctx, const struct tapir_rec_loss *loss);

/*
 * site_cap: the greatest number of sites. 0 or -ENOMEM; nothing was lost yet. __fini frees the last
 * values.
 */
int tapir_loss_poll__init(struct tapir_loss_poll *poll, uint32_t site_cap);
void tapir_loss_poll__fini(struct tapir_loss_poll *poll);

/* The BPF programs' counters, and the kernel's count of programs it skipped. */
void tapir_loss_poll__run(struct tapir_loss_poll *poll, const struct tapir_programs *programs,
			  tapir_loss_fn fn, void *ctx);

/* Reports a cause of no probe that user space counts: cnt since the session started. */
void tapir_loss_poll__one(struct tapir_loss_poll *poll, enum tapir_loss_cause cause, uint64_t cnt,
			  tapir_loss_fn fn, void *ctx);

#endif
