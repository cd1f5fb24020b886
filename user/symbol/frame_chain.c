// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lists of functions at one address, each with a number. Frames are numbered again whenever names
 * change, so equal lists are kept once: otherwise a long recording would fill the memory with the
 * same few.
 */
#include "symbol/frame_chain.h"

#define MAX_FUNCTIONS 64u

static uint64_t keep_chain(struct tapir_frame_chains *chains, const uint64_t *numbers, unsigned cnt)
{
	uint64_t key = tapir_hash__bytes(cnt, numbers, cnt * sizeof(*numbers));
	bool is_new = false;
	uint64_t *at = tapir_map__put(&chains->by_numbers, key, &is_new);
	size_t begin = chains->all.cnt;
	bool has_room = at != NULL;

	if (at && !is_new)
		return TAPIR_FRAME_CHAIN | (*at - 1);
	has_room = has_room && tapir_vec__push(&chains->all, cnt);
	for (unsigned i = 0; has_room && i < cnt; i++)
		has_room = tapir_vec__push(&chains->all, numbers[i]);
	if (!has_room) {
		chains->all.cnt = begin;
		tapir_map__del(&chains->by_numbers, key);
		return numbers[cnt - 1];
	}
	*at = begin + 1;
	return TAPIR_FRAME_CHAIN | begin;
}

uint64_t
tapir_frame_chains__number(struct tapir_frame_chains *chains, const struct tapir_frame *frame,
			   uint64_t (*number_of)(void *ctx, const struct tapir_frame *function),
			   void *ctx)
{
	unsigned cnt = tapir_frame__function_cnt(frame);
	uint64_t numbers[MAX_FUNCTIONS];

	if (cnt > MAX_FUNCTIONS)
		cnt = MAX_FUNCTIONS;
	for (unsigned i = 0; i < cnt; i++) {
		struct tapir_frame function = tapir_frame__function(frame, i);

		numbers[i] = number_of(ctx, &function);
	}
	return cnt == 1 ? numbers[0] : keep_chain(chains, numbers, cnt);
}

unsigned tapir_frame_chains__get(const struct tapir_frame_chains *chains, const uint64_t *number,
				 const uint64_t **numbers)
{
	const uint64_t *at;

	*numbers = number;
	if (!(*number & TAPIR_FRAME_CHAIN))
		return 1;
	at = &chains->all.data[*number & ~TAPIR_FRAME_CHAIN];
	*numbers = at + 1;
	return (unsigned)*at;
}

void tapir_frame_chains__fini(struct tapir_frame_chains *chains)
{
	tapir_vec__fini(&chains->all);
	tapir_map__fini(&chains->by_numbers);
}
