// SPDX-License-Identifier: GPL-2.0-or-later
/* Signals by number. */
#include "analyze/view.h"

#define SIGNAL_CNT 65

struct touched {
	struct tapir_view_args args;
	uint64_t cnt[SIGNAL_CNT];
};

static void on_record(void *ctx, const struct tapir_rec *rec)
{
	const struct tapir_rec_touched *touched = (const void *)rec;
	struct touched *v = ctx;

	if (rec->type == TAPIR_REC_TOUCHED && touched->signal < SIGNAL_CNT)
		v->cnt[touched->signal]++;
}

static int finish(void *ctx, struct tapir_view_result *result)
{
	static const struct tapir_column columns[] = {
		{"signal", ">SIGNAL", TAPIR_CELL_ID}, {"count", ">COUNT", TAPIR_CELL_COUNT}, {}};
	struct touched *v = ctx;
	size_t t = tapir_view_result__table(result, "signals", NULL, columns);
	uint64_t sum = 0;

	for (unsigned i = 0; i < SIGNAL_CNT; i++) {
		if (!v->cnt[i])
			continue;
		sum += v->cnt[i];
		tapir_view_result__u64(result, t, i);
		tapir_view_result__u64(result, t, v->cnt[i]);
	}
	if (sum)
		tapir_str__addf(&result->headline, "%llu signals", (unsigned long long)sum);
	else
		tapir_view_result__nothing(result, "no signals: `tapir record --touched` has them");
	return 0;
}

const struct tapir_view tapir_view_touched = {
	.name = "touched",
	.summary = "signals that were sent, by number",
	.fns = {.record = on_record},
	.ctx_bytes = sizeof(struct touched),
	.finish = finish,
};
