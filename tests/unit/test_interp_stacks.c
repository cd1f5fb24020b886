// SPDX-License-Identifier: GPL-2.0-or-later
/* Records of stacks with what an interpreter runs: what is well-formed becomes one STACK. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "record/names/interp_stacks.h"

#define NATIVE_ID 17
#define STACK_ID  4711

struct fixture {
	struct tapir_catalog *catalog;
	struct tapir_interp_stacks *stacks;
	union {
		struct tapir_rec h;
		struct tapir_rec_interp_stack rec;
		uint64_t words[(sizeof(struct tapir_rec_interp_stack) + 8 * TAPIR_MAX_FRAMES) / 8];
	} in;
	unsigned described_cnt;
	struct {
		struct tapir_rec_stack stack;
		uint64_t frames[TAPIR_MAX_FRAMES];
	} out;
};

static void take(void *ctx, const struct tapir_rec *rec)
{
	struct fixture *f = ctx;

	f->described_cnt++;
	assert_int_equal(rec->type, TAPIR_REC_STACK);
	assert_in_range(rec->size, sizeof(f->out.stack), sizeof(f->out));
	memcpy(&f->out, rec, rec->size);
}

static int setup(void **state)
{
	static struct fixture f;

	f = (struct fixture){.catalog = tapir_catalog__new(TAPIR_CATALOG_LIVE, NULL)};
	f.stacks = tapir_interp_stacks__new(f.catalog, take, &f);
	assert_non_null(f.stacks);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	tapir_interp_stacks__free(f->stacks);
	tapir_catalog__free(f->catalog);
	return 0;
}

/* A process without an interpreter has ended, or executed another program. */
static struct tapir_interp_list *fill(struct fixture *f, uint16_t native_cnt, uint16_t cnt)
{
	struct tapir_rec_stack *stack = &f->in.rec.stack;
	struct tapir_interp_list *list;
	uint32_t room;

	memset(&f->in, 0, sizeof(f->in));
	*stack = (struct tapir_rec_stack){
		.stack_id = NATIVE_ID, .frame_cnt = native_cnt, .end = TAPIR_STACK_END_WHOLE};
	for (unsigned i = 0; i < native_cnt; i++)
		f->in.words[sizeof(*stack) / 8 + i] = 0x1000 + i;
	room = tapir_interp__room(stack);
	list = (void *)&f->in.words[sizeof(*stack) / 8 + room];
	*list = (struct tapir_interp_list){.stack_id = STACK_ID, .tgid = 100, .cnt = cnt};
	stack->h = (struct tapir_rec){.type = TAPIR_REC_INTERP_STACK,
				      .size = tapir_interp__record_bytes(room, cnt)};
	return list;
}

static void stack_has_its_addresses_and_the_id_of_both(void **state)
{
	static const uint16_t cnts[] = {0, 3, TAPIR_FRAMES, TAPIR_FRAMES + 1, TAPIR_MAX_FRAMES};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(cnts) / sizeof(*cnts); i++) {
		(void)fill(f, cnts[i], 2);
		assert_true(tapir_interp_stacks__on_stack(f->stacks, &f->in.h));
		assert_int_equal(f->described_cnt, i + 1);
		assert_int_equal(f->out.stack.stack_id, STACK_ID);
		assert_int_equal(f->out.stack.frame_cnt, cnts[i]);
		assert_int_equal(f->out.stack.end, TAPIR_STACK_END_WHOLE);
		for (unsigned frame = 0; frame < cnts[i]; frame++)
			assert_int_equal(f->out.frames[frame], 0x1000 + frame);
	}
}

static void malformed_records_describe_nothing(void **state)
{
	struct fixture *f = *state;

	(void)fill(f, 3, 2);
	for (uint32_t size = sizeof(struct tapir_rec); size < f->in.h.size; size += 8) {
		uint32_t whole = f->in.h.size;

		f->in.h.size = size;
		assert_false(tapir_interp_stacks__on_stack(f->stacks, &f->in.h));
		f->in.h.size = whole;
	}
	f->in.h.size += 8;
	assert_false(tapir_interp_stacks__on_stack(f->stacks, &f->in.h));
	fill(f, 3, 2)->cnt = 3;
	assert_false(tapir_interp_stacks__on_stack(f->stacks, &f->in.h));
	fill(f, 3, 2)->cnt = TAPIR_INTERP_FRAMES + 1;
	assert_false(tapir_interp_stacks__on_stack(f->stacks, &f->in.h));
	fill(f, 3, 2)->stack_id = 0;
	assert_false(tapir_interp_stacks__on_stack(f->stacks, &f->in.h));
	(void)fill(f, 3, 2);
	f->in.rec.stack.frame_cnt = TAPIR_FRAMES + 1; /* the list would be elsewhere */
	assert_false(tapir_interp_stacks__on_stack(f->stacks, &f->in.h));
	f->in.rec.stack.frame_cnt = UINT16_MAX;
	assert_false(tapir_interp_stacks__on_stack(f->stacks, &f->in.h));
	assert_int_equal(f->described_cnt, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(stack_has_its_addresses_and_the_id_of_both, setup,
						teardown),
		cmocka_unit_test_setup_teardown(malformed_records_describe_nothing, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
