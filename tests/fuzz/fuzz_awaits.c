// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events of tasks in any order, with any numbers and lengths, on a few threads with a few stacks:
 * each record comes back, in order, with a stack that is described.
 */
#include "../unit/await_feeder.h"
#include "record/async_stacks/await_stacks.h"

#define STACKS 6

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

static void feed_stacks(struct feeder *f, uint64_t ids[STACKS])
{
	static const unsigned all[] = {BURN,	 PAY,	   BOX,	 PLACE_ORDER, BOX,	CHECKOUT,
				       DISPATCH, RUN_TASK, BURN, LAMBDA,      RUN_TASK, DISPATCH};

	for (unsigned i = 0; i < STACKS; i++)
		ids[i] = feed_stack(f, all + i, sizeof(all) / sizeof(*all) - 2 * i,
				    i & 1 ? TAPIR_STACK_MORE : 0);
}

/* Four bytes: what, on which thread and with which stack, two numbers of a payload. */
static void feed_one(struct feeder *f, const uint64_t ids[STACKS], const uint8_t *in)
{
	uint32_t tid = 200 + (in[1] & 3), payload[5] = {in[2], in[3], in[2], in[1] >> 6, in[3]};
	uint64_t stack_id = ids[in[1] % STACKS];

	switch (in[0] & 7) {
	case 0:
	case 1:
	case 2:
	case 3:
		if ((in[0] & 7) == PROBE_WAIT)
			payload[3] = 2;
		feed_event(f, (in[0] & 7) + 1u, tid, stack_id, payload,
			   in[0] & 128 ? (in[0] >> 3) % 21u : sizeof(payload));
		break;
	case 4:
		feed_switch(f, tid, stack_id, in[2] & 1);
		break;
	default:
		feed_sample(f, tid, stack_id);
	}
}

static void check(const struct tapir_catalog *catalog, const struct tapir_rec *rec)
{
	uint64_t id = rec->type == TAPIR_REC_SAMPLE
			      ? ((const struct tapir_rec_sample *)rec)->stack_id
		      : rec->type == TAPIR_REC_SWITCH
			      ? ((const struct tapir_rec_switch *)rec)->out_stack_id
			      : ((const struct tapir_rec_event *)rec)->stack_id;

	if (!tapir_catalog__stack(catalog, id))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	struct tapir_await_stacks *stacks;
	struct tapir_reader *reader;
	const struct tapir_rec *rec;
	uint64_t ids[STACKS], fed = 0, seen = 0, last_ns = 0;
	struct feeder f;

	feed_start(&f);
	feed_stacks(&f, ids);
	for (; len - fed * 4 >= 4 && fed < 4096; fed++)
		feed_one(&f, ids, input + fed * 4);
	reader = feed_reader(&f);
	stacks = tapir_await_stacks__new(reader);
	while (tapir_reader__next(reader, &rec) == 1) {
		if (tapir_rec_type__describes(rec->type))
			continue;
		if (rec->time_ns < last_ns)
			abort();
		last_ns = rec->time_ns;
		check(tapir_reader__catalog(reader), rec);
		seen++;
	}
	if (seen != fed)
		abort();
	tapir_await_stacks__free(stacks);
	tapir_reader__close(reader);
	feed_fini(&f);
	return 0;
}
