// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes a LOSS record for each counter that has increased since the last poll. BPF programs only
 * increase them: a poll that is late reports more at once, and no loss is missed between two
 * polls.
 */
#include "record/loss_poll.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/clock.h"
#include "trace/family.h"
#include "trace/recbuf.h"

int tapir_loss_poll__init(struct tapir_loss_poll *poll, uint32_t site_cap)
{
	struct tapir_loss_poll fresh = {
		.seen = calloc(site_cap + 1, sizeof(*fresh.seen)),
		.probe_cnt = site_cap + 1,
		.last_ns = tapir_clock__now_ns(),
	};

	if (!fresh.seen)
		return -ENOMEM;
	for (unsigned cause = 0; cause < TAPIR_LOSS_CAUSE_CNT; cause++)
		fresh.one_last_ns[cause] = fresh.last_ns;
	*poll = fresh;
	return 0;
}

void tapir_loss_poll__fini(struct tapir_loss_poll *poll)
{
	free(poll->seen);
	*poll = (struct tapir_loss_poll){};
}

struct report {
	uint64_t from_ns, until_ns;
	tapir_loss_fn fn;
	void *ctx;
};

static void report_growth(const struct report *r, uint32_t probe_id, uint32_t cause, uint64_t now,
			  uint64_t *seen)
{
	struct tapir_rec_loss loss = {
		.cause = cause,
		.probe_id = probe_id,
		.count = now - *seen,
		.from_ns = r->from_ns,
		.until_ns = r->until_ns,
	};

	if (now <= *seen)
		return; /* a sum over programs may lack one that could not be asked */
	*seen = now;
	tapir_rec__init(&loss.h, TAPIR_REC_LOSS, sizeof(loss), r->until_ns);
	r->fn(r->ctx, &loss);
}

/* Not counted by any BPF program: these belong to probe 0 and are set by __one. */
static bool is_counted_elsewhere(uint32_t probe, uint32_t cause)
{
	bool is_skipped = false;

	for (int i = 0; i < TAPIR_FAMILY_CNT; i++)
		is_skipped |= cause == tapir_families[i].skipped_cause;
	return !probe && (is_skipped || cause == TAPIR_LOSS_MALFORMED ||
			  cause == TAPIR_LOSS_NAME_QUEUE_FULL || cause == TAPIR_LOSS_DISK);
}

void tapir_loss_poll__one(struct tapir_loss_poll *poll, enum tapir_loss_cause cause, uint64_t cnt,
			  tapir_loss_fn fn, void *ctx)
{
	struct report r = {poll->one_last_ns[cause], tapir_clock__now_ns(), fn, ctx};

	report_growth(&r, 0, cause, cnt, &poll->seen[0].cnt[cause]);
	poll->one_last_ns[cause] = r.until_ns;
}

void tapir_loss_poll__run(struct tapir_loss_poll *poll, const struct tapir_programs *programs,
			  tapir_loss_fn fn, void *ctx)
{
	struct report r = {poll->last_ns, tapir_clock__now_ns(), fn, ctx};
	uint32_t cnt = tapir_programs__site_cnt(programs); /* the others have no probe */

	/* The first one's are of no probe. */
	for (uint32_t probe = 0; probe < poll->probe_cnt && (!probe || probe < cnt); probe++) {
		const uint64_t *now = tapir_programs__losses(programs, probe);

		for (uint32_t cause = 0; cause < TAPIR_LOSS_CAUSE_CNT; cause++)
			if (!is_counted_elsewhere(probe, cause))
				report_growth(&r, probe, cause, now[cause],
					      &poll->seen[probe].cnt[cause]);
	}
	for (int i = 0; i < TAPIR_FAMILY_CNT; i++) {
		enum tapir_loss_cause cause = tapir_families[i].skipped_cause;

		tapir_loss_poll__one(poll, cause, tapir_programs__misses(programs, cause), fn, ctx);
	}
	poll->last_ns = r.until_ns;
}
