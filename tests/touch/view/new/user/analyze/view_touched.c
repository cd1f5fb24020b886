// SPDX-License-Identifier: GPL-2.0-or-later
/* CPU samples by CPU. */
#include "analyze/view.h"

#define CPU_CNT 1024

struct touched {
	struct tapir_view_args args;
	uint64_t cnt[CPU_CNT];
};

static void on_sample(void *ctx, struct tapir_tl_thread *thread, const struct tapir_rec_sample *s)
{
	struct touched *v = ctx;

	(void)thread;
	if (s->h.cpu < CPU_CNT)
		v->cnt[s->h.cpu]++;
}

static int finish(void *ctx, struct tapir_view_result *result)
{
	static const struct tapir_column columns[] = {
		{"cpu", ">CPU", TAPIR_CELL_ID}, {"samples", ">SAMPLES", TAPIR_CELL_COUNT}, {}};
	struct touched *v = ctx;
	size_t t = tapir_view_result__table(result, "cpus", NULL, columns);
	uint64_t sum = 0;

	for (unsigned cpu = 0; cpu < CPU_CNT; cpu++) {
		if (!v->cnt[cpu])
			continue;
		sum += v->cnt[cpu];
		tapir_view_result__u64(result, t, cpu);
		tapir_view_result__u64(result, t, v->cnt[cpu]);
	}
	tapir_str__addf(&result->headline, "%llu samples", (unsigned long long)sum);
	return 0;
}

const struct tapir_view tapir_view_touched = {
	.name = "touched",
	.summary = "CPU samples by CPU",
	.fns = {.sample = on_sample},
	.ctx_bytes = sizeof(struct touched),
	.finish = finish,
};
