// SPDX-License-Identifier: GPL-2.0-or-later
/* Signals by number. */
#include "analyze/view.h"

#define SIGNAL_CNT 65

struct touched {
	struct tapir_view_args args;
	uint64_t sum, cnt[SIGNAL_CNT];
};

static void on_record(void *ctx, const struct tapir_rec *rec)
{
	const struct tapir_rec_touched *touched = (const void *)rec;
	struct touched *v = ctx;

	if (rec->type != TAPIR_REC_TOUCHED || touched->signal >= SIGNAL_CNT)
		return;
	v->cnt[touched->signal]++;
	v->sum++;
}

static int finish(void *ctx, struct tapir_view_result *result)
{
	static const struct tapir_column columns[] = {
		{"signal", ">SIGNAL", TAPIR_CELL_ID}, {"count", ">COUNT", TAPIR_CELL_COUNT}, {}};
	struct touched *v = ctx;
	size_t t = tapir_view_result__table(result, "signals", NULL, columns);

	for (unsigned i = 0; i < SIGNAL_CNT; i++) {
		if (!v->cnt[i])
			continue;
		tapir_view_result__u64(result, t, i);
		tapir_view_result__u64(result, t, v->cnt[i]);
	}
	tapir_str__addf(&result->headline, "%llu signals", (unsigned long long)v->sum);
	return 0;
}

const struct tapir_view tapir_view_touched = {
	.name = "touched",
	.summary = "signals that were sent, by number",
	.fns = {.record = on_record},
	.nothing = "no signal was sent",
	.source = {"signals", "`tapir record --touched`", .family = TAPIR_FAMILY_TOUCHED,
		   .is_alone = true},
	.found_off = TAPIR_VIEW_NUMBER(struct touched, sum),
	.ctx_bytes = sizeof(struct touched),
	.finish = finish,
};
