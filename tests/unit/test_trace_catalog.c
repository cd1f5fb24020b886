// SPDX-License-Identifier: GPL-2.0-or-later
/* The catalog: ids and addresses that mean different things at different times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <errno.h>

#include "base/diag.h"
#include "trace/ordset.h"
#include "trace_sample.h"

struct fixture {
	struct tapir_catalog *live, *read;
	struct tapir_recbuf b;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->live = tapir_catalog__new(TAPIR_CATALOG_LIVE, NULL);
	f->read = tapir_catalog__new(TAPIR_CATALOG_READ, NULL);
	*state = f;
	return f->live && f->read ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	tapir_catalog__free(f->live);
	tapir_catalog__free(f->read);
	tapir_recbuf__fini(&f->b);
	free(f);
	return 0;
}

static int map_at(struct fixture *f, struct tapir_catalog *c, uint32_t tgid, uint64_t time_ns,
		  uint64_t start_va, uint64_t end_va, uint64_t file_id)
{
	struct tapir_rec_mapping m = {.h.time_ns = time_ns,
				      .tgid = tgid,
				      .start_va = start_va,
				      .end_va = end_va,
				      .file_id = file_id};

	return tapir_catalog__describe(c, tapir_recbuf__mapping(&f->b, &m, SV("/x")));
}

static int process_at(struct fixture *f, struct tapir_catalog *c, uint32_t tgid, uint32_t parent,
		      uint64_t time_ns, enum tapir_process_kind kind)
{
	struct tapir_rec_process p = {
		.h.time_ns = time_ns, .tgid = tgid, .parent_tgid = parent, .kind = (uint8_t)kind};

	return tapir_catalog__describe(
		c, tapir_recbuf__process(&f->b, &p, SV("c"), SV("e"), SV(""), SV("")));
}

/* file_id of what covers va; 0: nothing. */
static uint64_t file_at(const struct tapir_catalog *c, uint32_t tgid, uint64_t va, uint64_t time_ns)
{
	const struct tapir_rec_mapping *m = tapir_catalog__mapping(c, tgid, va, time_ns);

	return m ? m->file_id : 0;
}

static void mapping_holds_from_its_time_until_another_takes_its_place(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(map_at(f, f->read, 1, 0, 0x1000, 0x9000, 1), 1);
	assert_int_equal(map_at(f, f->read, 1, 0, 0x1000, 0x9000, 1), 0); /* a repeat */
	assert_int_equal(map_at(f, f->read, 1, 50, 0x3000, 0x4000, 2), 1);
	assert_int_equal(map_at(f, f->read, 1, 90, 0x3000, 0x3800, 3), 1);
	assert_int_equal(file_at(f->read, 1, 0x0fff, 10), 0);
	assert_int_equal(file_at(f->read, 1, 0x1000, 10), 1);
	assert_int_equal(file_at(f->read, 1, 0x3100, 49), 1);
	assert_int_equal(file_at(f->read, 1, 0x3100, 50), 2);
	assert_int_equal(file_at(f->read, 1, 0x3100, 90), 3);
	assert_int_equal(file_at(f->read, 1, 0x4000, 90), 1); /* around the nested one */
	assert_int_equal(file_at(f->read, 1, 0x9000, 90), 0);
	assert_int_equal(file_at(f->read, 2, 0x3100, 90), 0);
}

static void exec_ends_the_mappings_before_it(void **state)
{
	struct fixture *f = *state;

	process_at(f, f->live, 1, 0, 5, TAPIR_PROCESS_EXISTING);
	map_at(f, f->live, 1, 0, 0x1000, 0x2000, 1);
	map_at(f, f->live, 1, 10, 0x2000, 0x3000, 1);
	process_at(f, f->live, 1, 0, 100, TAPIR_PROCESS_EXEC);
	map_at(f, f->live, 1, 101, 0x5000, 0x6000, 2);
	map_at(f, f->live, 1, 0, 0x7000, 0x8000, 3); /* from the start of this program */
	assert_int_equal(file_at(f->live, 1, 0x1000, 99), 1);
	assert_int_equal(file_at(f->live, 1, 0x1000, 200), 0);
	assert_int_equal(file_at(f->live, 1, 0x2000, 200), 0);
	assert_int_equal(file_at(f->live, 1, 0x5000, 200), 2);
	assert_int_equal(file_at(f->live, 1, 0x7000, 200), 3);
	assert_int_equal(file_at(f->live, 1, 0x7000, 99), 0);
}

static void forked_child_inherits_mappings_in_a_live_catalog_only(void **state)
{
	struct fixture *f = *state;
	struct tapir_catalog *both[] = {f->live, f->read};

	for (int i = 0; i < 2; i++) {
		map_at(f, both[i], 1, 0, 0x1000, 0x2000, 7);
		process_at(f, both[i], 2, 1, 50, TAPIR_PROCESS_FORK);
	}
	assert_int_equal(file_at(f->live, 2, 0x1800, 60), 7);
	assert_int_equal(file_at(f->read, 2, 0x1800, 60), 0);
	process_at(f, f->live, 2, 1, 70, TAPIR_PROCESS_EXEC);
	assert_int_equal(file_at(f->live, 2, 0x1800, 80), 0);
	assert_int_equal(file_at(f->live, 2, 0x1800, 60), 7);
}

static void reused_ids_are_distinguished_by_time(void **state)
{
	struct fixture *f = *state;
	struct tapir_rec_thread t = {.tid = 5};

	process_at(f, f->read, 5, 1, 100, TAPIR_PROCESS_FORK);
	process_at(f, f->read, 5, 2, 900, TAPIR_PROCESS_FORK);
	assert_int_equal(tapir_catalog__process(f->read, 5, 500)->parent_tgid, 1);
	assert_int_equal(tapir_catalog__process(f->read, 5, 900)->parent_tgid, 2);
	assert_int_equal(tapir_catalog__process(f->read, 5, 1)->parent_tgid, 1);
	assert_null(tapir_catalog__process(f->read, 6, 1));
	for (uint32_t i = 0; i < 40; i++) { /* more than are remembered, in any order */
		t.tgid = (i * 7 + 3) % 40;
		tapir_rec__init(&t.h, TAPIR_REC_THREAD, sizeof(t), 10 * t.tgid);
		assert_int_equal(tapir_catalog__describe(f->read, &t.h), 1);
	}
	assert_int_equal(tapir_catalog__thread(f->read, 5, 395)->tgid, 39);
	assert_int_equal(tapir_catalog__thread(f->read, 5, 359)->tgid, 35);
}

/* The clock is set: a time is converted by the last pair before it, in whatever order they come. */
static void utc_is_by_the_pair_before_when_clocks_jump(void **state)
{
	static const struct {
		uint64_t time_ns, utc_ns;
	} pairs[] = {{1000, 5000000}, {2000, 900}, {3000, 7000000000}, {2500, 4000000000}};
	struct fixture *f = *state;

	assert_int_equal(tapir_catalog__utc_ns(f->read, 1000), 0);
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		struct tapir_rec_clock clock = {.utc_ns = pairs[i].utc_ns};

		tapir_rec__init(&clock.h, TAPIR_REC_CLOCK, sizeof(clock), pairs[i].time_ns);
		assert_int_equal(tapir_catalog__describe(f->read, &clock.h), 1);
		assert_int_equal(tapir_catalog__utc_ns(f->read, pairs[i].time_ns + 10),
				 pairs[i].utc_ns + 10);
	}
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		assert_int_equal(tapir_catalog__utc_ns(f->read, pairs[i].time_ns + 10),
				 pairs[i].utc_ns + 10);
}

static void repeated_process_is_no_news_and_stays_what_it_was(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(process_at(f, f->read, 1, 0, 10, TAPIR_PROCESS_EXEC), 1);
	assert_int_equal(process_at(f, f->read, 1, 0, 10, TAPIR_PROCESS_EXISTING), 0);
	assert_int_equal(tapir_catalog__process(f->read, 1, 10)->kind, TAPIR_PROCESS_EXEC);
	assert_int_equal(process_at(f, f->read, 1, 0, 20, TAPIR_PROCESS_EXIT), 1);
	assert_int_equal(tapir_catalog__process(f->read, 1, 30)->kind, TAPIR_PROCESS_EXEC);
}

static void dead_process_is_forgotten_after_the_segment_behind_its_exit(void **state)
{
	struct fixture *f = *state;

	process_at(f, f->live, 1, 0, 10, TAPIR_PROCESS_FORK);
	process_at(f, f->live, 2, 0, 10, TAPIR_PROCESS_FORK);
	map_at(f, f->live, 1, 11, 0x1000, 0x2000, 1);
	map_at(f, f->live, 2, 11, 0x1000, 0x2000, 2);
	process_at(f, f->live, 1, 0, 20, TAPIR_PROCESS_EXIT);
	tapir_catalog__new_segment(f->live);
	assert_int_equal(file_at(f->live, 1, 0x1800, 15), 1);
	tapir_catalog__new_segment(f->live);
	assert_int_equal(file_at(f->live, 1, 0x1800, 15), 0);
	assert_null(tapir_catalog__process(f->live, 1, 15));
	assert_int_equal(file_at(f->live, 2, 0x1800, 15), 2); /* it lives */
}

static void describe_thread_at(struct fixture *f, uint32_t tgid, uint32_t tid, uint64_t time_ns)
{
	struct tapir_rec_thread rec = {.tgid = tgid, .tid = tid};

	(void)f;
	tapir_rec__init(&rec.h, TAPIR_REC_THREAD, sizeof(rec), time_ns);
	assert_true(tapir_catalog__describe(f->live, &rec.h) >= 0);
}

/* Also a thread that was seen while its process was being forgotten. */
static void threads_are_forgotten_with_or_after_their_process(void **state)
{
	struct fixture *f = *state;

	process_at(f, f->live, 1, 0, 10, TAPIR_PROCESS_EXEC);
	process_at(f, f->live, 2, 0, 10, TAPIR_PROCESS_EXEC);
	describe_thread_at(f, 1, 1, 11);
	describe_thread_at(f, 2, 2, 11);
	process_at(f, f->live, 1, 0, 20, TAPIR_PROCESS_EXIT);
	tapir_catalog__new_segment(f->live);
	tapir_catalog__new_segment(f->live);
	describe_thread_at(f, 1, 3, 19); /* a record of another CPU that came late */
	for (int i = 0; i < 4; i++)
		tapir_catalog__new_segment(f->live);
	assert_null(tapir_catalog__thread(f->live, 1, 30));
	assert_null(tapir_catalog__thread(f->live, 3, 30));
	assert_non_null(tapir_catalog__thread(f->live, 2, 30));
}

static void stack_is_kept_for_two_segments(void **state)
{
	struct fixture *f = *state;
	struct tapir_rec_stack s = {.stack_id = 8};
	uint64_t va = 1;

	tapir_catalog__describe(f->live, tapir_recbuf__stack(&f->b, &s, &va, 1));
	tapir_catalog__new_segment(f->live);
	assert_non_null(tapir_catalog__stack(f->live, 8));
	tapir_catalog__new_segment(f->live);
	assert_null(tapir_catalog__stack(f->live, 8));
}

#define STACKS 20000u

/* The address a stack leads to; 0: it is not known. */
static uint64_t top_of(const struct tapir_catalog *c, uint64_t id)
{
	const struct tapir_rec_stack *stack = tapir_catalog__stack(c, id);
	struct tapir_stack_view view;

	if (!stack)
		return 0;
	assert_int_equal(stack->stack_id, id);
	tapir_stack_view__of(&stack->h, &view);
	return view.frames_va[stack->frame_cnt - 1];
}

/* Segment n has the stacks whose number n divides, a few frames each; every 64th differs each time.
 */
static void stacks_are_those_of_the_last_two_segments(void **state)
{
	struct fixture *f = *state;

	for (uint64_t segment = 1; segment <= 5; segment++) {
		for (uint64_t id = segment; id <= STACKS; id += segment) {
			struct tapir_rec_stack s = {.stack_id = id};
			unsigned cnt = 1 + (unsigned)(id % 8);
			uint64_t frames_va[8] = {};
			bool is_old = segment > 1 && id % (segment - 1) == 0 && id % 64;

			frames_va[cnt - 1] = id % 64 ? id : id + segment;
			assert_int_equal(
				tapir_catalog__describe(
					f->read, tapir_recbuf__stack(&f->b, &s, frames_va, cnt)),
				!is_old);
		}
		for (uint64_t id = 1; id <= STACKS; id++) {
			uint64_t last = id % segment == 0    ? segment
					: id % (segment - 1) ? 0
							     : segment - 1;

			assert_int_equal(top_of(f->read, id), !last ? 0 : id % 64 ? id : id + last);
		}
		tapir_catalog__new_segment(f->read);
	}
}

/* A reader that remembers the names of a stack need not forget them when the stack is described
 * again. */
static void version_is_of_names_not_of_stacks(void **state)
{
	struct fixture *f = *state;
	uint64_t va = 1, version = tapir_catalog__version(f->read);

	for (unsigned segment = 0; segment < 5; segment++) {
		struct tapir_rec_stack s = {.stack_id = segment / 2 + 1};

		tapir_catalog__describe(f->read, tapir_recbuf__stack(&f->b, &s, &va, 1));
		tapir_catalog__new_segment(f->read);
	}
	assert_int_equal(tapir_catalog__version(f->read), version);
	map_at(f, f->read, 1, 10, 0x1000, 0x2000, 1);
	assert_true(tapir_catalog__version(f->read) > version);
}

static void stacks_are_bounded_when_they_never_end(void **state)
{
	static uint64_t frames_va[127];
	struct fixture *f = *state;
	struct tapir_rec_stack s = {};
	int err = 0;

	while (err >= 0 && s.stack_id < 1000000) {
		s.stack_id++;
		err = tapir_catalog__describe(f->read,
					      tapir_recbuf__stack(&f->b, &s, frames_va, 127));
	}
	assert_int_equal(err, -ENOSPC);
	assert_true(s.stack_id <= TAPIR_CATALOG_READ_MAX_BYTES / sizeof(frames_va) + 1);
	assert_true(s.stack_id > TAPIR_CATALOG_READ_MAX_BYTES / sizeof(frames_va) / 10 * 9);
	assert_int_equal(tapir_catalog__refused(f->read), 1);
	tapir_diag__clear();
}

static void symbol_covers_its_size_or_reaches_to_the_next(void **state)
{
	struct fixture *f = *state;
	struct tapir_rec_symbol a = {.file_id = 1, .start_off = 0x100, .size = 0x10};
	struct tapir_rec_symbol b = {.file_id = 1, .start_off = 0x200};

	tapir_catalog__describe(f->read, tapir_recbuf__symbol(&f->b, &a, SV("a")));
	tapir_catalog__describe(f->read, tapir_recbuf__symbol(&f->b, &b, SV("b")));
	assert_null(tapir_catalog__symbol(f->read, 1, 0xff));
	assert_int_equal(tapir_catalog__symbol(f->read, 1, 0x10f)->start_off, 0x100);
	assert_null(tapir_catalog__symbol(f->read, 1, 0x110));
	assert_int_equal(tapir_catalog__symbol(f->read, 1, 0x5000)->start_off, 0x200);
	assert_null(tapir_catalog__symbol(f->read, 2, 0x100));
}

static void jit_name_holds_from_and_until(void **state)
{
	struct fixture *f = *state;
	struct tapir_rec_jit j = {
		.tgid = 1, .start_va = 0x1000, .size = 0x100, .from_ns = 10, .until_ns = 50};
	struct tapir_rec_jit k = {.tgid = 1, .start_va = 0x1000, .size = 0x80, .from_ns = 50};

	tapir_catalog__describe(f->read, tapir_recbuf__jit(&f->b, &j, SV("old")));
	tapir_catalog__describe(f->read, tapir_recbuf__jit(&f->b, &k, SV("new")));
	assert_null(tapir_catalog__jit(f->read, 1, 0x1000, 9));
	assert_int_equal(tapir_catalog__jit(f->read, 1, 0x10ff, 49)->from_ns, 10);
	assert_int_equal(tapir_catalog__jit(f->read, 1, 0x1000, 50)->from_ns, 50);
	assert_null(tapir_catalog__jit(f->read, 1, 0x10ff, 50));
}

static void use_stack_at(struct fixture *f, uint64_t time_ns)
{
	struct tapir_use use = {.tgid = SAMPLE_TGID,
				.tid = SAMPLE_TGID + 1,
				.time_ns = time_ns,
				.stack_id = SAMPLE_STACK_ID};

	assert_int_equal(tapir_catalog__use(f->live, &use), 0);
}

static void unnamed_stacks_are_asked_for_once_a_segment(void **state)
{
	struct fixture *f = *state;
	struct tapir_unnamed u;

	sample_describe(f->live, &f->b);
	for (int i = 0; i < 3; i++)
		use_stack_at(f, 2000);
	assert_true(tapir_catalog__next_unnamed(f->live, &u));
	assert_int_equal(u.tgid, SAMPLE_TGID);
	assert_int_equal(u.stack_id, SAMPLE_STACK_ID);
	assert_int_equal(u.time_ns, 2000);
	assert_int_equal(u.stack->stack_id, SAMPLE_STACK_ID);
	assert_false(tapir_catalog__next_unnamed(f->live, &u));
	tapir_catalog__new_segment(f->live);
	use_stack_at(f, 2000);
	sample_name(f->live, &f->b);
	tapir_catalog__new_segment(f->live);
	use_stack_at(f, 2000);
	assert_false(tapir_catalog__next_unnamed(f->live, &u)); /* all named by now */
}

static void stack_is_asked_for_in_the_next_round_when_its_name_is_late(void **state)
{
	struct fixture *f = *state;
	struct tapir_unnamed u;

	sample_describe(f->live, &f->b);
	use_stack_at(f, 2000);
	assert_true(tapir_catalog__next_unnamed(f->live, &u));
	tapir_catalog__ask_again(f->live, &u);
	assert_false(tapir_catalog__next_unnamed(f->live, &u)); /* the end of this round */
	assert_true(tapir_catalog__next_unnamed(f->live, &u));
	assert_int_equal(u.time_ns, 2000);
	assert_false(tapir_catalog__next_unnamed(f->live, &u));
	assert_false(tapir_catalog__next_unnamed(f->live, &u));
}

static void stack_is_asked_for_again_when_a_name_of_its_process_ended(void **state)
{
	struct fixture *f = *state;
	struct tapir_rec_jit first = {.tgid = SAMPLE_TGID, .start_va = 0x7000, .size = 0x100};
	struct tapir_unnamed u;

	sample_describe(f->live, &f->b);
	tapir_catalog__describe(f->live, tapir_recbuf__jit(&f->b, &first, SV("first")));
	use_stack_at(f, 2000);
	assert_true(tapir_catalog__next_unnamed(f->live, &u));
	assert_false(tapir_catalog__next_unnamed(f->live, &u));
	use_stack_at(f, 3000);
	assert_false(tapir_catalog__next_unnamed(f->live, &u));
	first.until_ns = 3500;
	assert_int_equal(
		tapir_catalog__describe(f->live, tapir_recbuf__jit(&f->b, &first, SV("first"))), 1);
	use_stack_at(f, 4000);
	assert_true(tapir_catalog__next_unnamed(f->live, &u));
	assert_int_equal(u.time_ns, 4000);
}

/* Of generated code, of which somebody wants to know; an address without any is known, too. */
static void stack_has_no_name_without_what_is_inlined(void **state)
{
	struct fixture *f = *state;
	struct tapir_rec_jit jit = {.tgid = SAMPLE_TGID, .size = 1u << 30}, inlined = jit;
	struct tapir_unnamed u;

	sample_describe(f->live, &f->b);
	use_stack_at(f, 2000);
	assert_true(tapir_catalog__next_unnamed(f->live, &u));
	tapir_catalog__describe(f->live, tapir_recbuf__jit(&f->b, &jit, SV("whole")));
	tapir_catalog__ask_again(f->live, &u);
	assert_false(tapir_catalog__next_unnamed(f->live, &u));
	assert_false(tapir_catalog__next_unnamed(f->live, &u));
	tapir_catalog__ask_again(f->live, &u);
	tapir_catalog__ask_for_inlined(f->live, SAMPLE_TGID);
	assert_false(tapir_catalog__next_unnamed(f->live, &u));
	assert_true(tapir_catalog__next_unnamed(f->live, &u));
	for (unsigned i = 0; i < u.stack->frame_cnt; i++) {
		inlined.start_va = ((const uint64_t *)(u.stack + 1))[i] - (i > 0);
		tapir_catalog__describe(f->live, tapir_recbuf__inlined(&f->b, &inlined,
								       tapir_sv__of(i ? "" : "a")));
		assert_non_null(
			tapir_catalog__inlined(f->live, SAMPLE_TGID, inlined.start_va, 2000));
		assert_null(
			tapir_catalog__inlined(f->live, SAMPLE_TGID, inlined.start_va + 9, 2000));
	}
	tapir_catalog__ask_again(f->live, &u);
	assert_false(tapir_catalog__next_unnamed(f->live, &u));
	assert_false(tapir_catalog__next_unnamed(f->live, &u));
}

static void memory_is_bounded_when_descriptions_never_end(void **state)
{
	static char blob[120 * 1024];
	struct fixture *f = *state;
	struct tapir_rec_metadata m = {};
	struct tapir_sv sv = {blob, sizeof(blob)};
	int err = 0;

	for (m.probe_id = 0; err >= 0 && m.probe_id < 4000; m.probe_id++)
		err = tapir_catalog__describe(f->read, tapir_recbuf__metadata(&f->b, &m, sv));
	assert_int_equal(err, -ENOSPC);
	assert_true(m.probe_id < TAPIR_CATALOG_READ_MAX_BYTES / sizeof(blob) + 2);
	assert_int_equal(tapir_catalog__refused(f->read), 1);
	assert_int_equal(tapir_diag__cnt(), 1);
	tapir_diag__clear();
}

/* Random inserts, removals and floors beside a plain array. */
static void ordset_agrees_with_a_model(void **state)
{
	enum { KEYS = 200 };
	static struct tapir_ordset_node nodes[KEYS];
	bool in[KEYS] = {};
	struct tapir_ordset set = {};

	(void)state;
	srand(11);
	for (int step = 0; step < 20000; step++) {
		int k = rand() % KEYS, want = rand() % KEYS;
		struct tapir_ordset_node *got;

		if (in[k])
			tapir_ordset__remove(&set, &nodes[k]);
		else
			nodes[k] = (struct tapir_ordset_node){.pos = (uint64_t)k / 4,
							      .time = (uint64_t)k % 4};
		if (!in[k])
			tapir_ordset__insert(&set, &nodes[k]);
		in[k] = !in[k];
		got = tapir_ordset__floor(&set, (uint64_t)want / 4, (uint64_t)want % 4);
		for (k = want; k >= 0 && !in[k]; k--)
			;
		assert_ptr_equal(got, k < 0 ? NULL : &nodes[k]);
		got = tapir_ordset__ceil(&set, (uint64_t)want / 4, (uint64_t)want % 4);
		for (k = want; k < KEYS && !in[k]; k++)
			;
		assert_ptr_equal(got, k == KEYS ? NULL : &nodes[k]);
	}
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static int meta_at(struct fixture *f, uint64_t time_ns, const char *key)
{
	return tapir_catalog__describe(
		f->read, tapir_recbuf__meta(&f->b, time_ns, tapir_sv__of(key), SV("")));
}

static void span_is(const struct fixture *f, uint64_t from_ns, uint64_t until_ns)
{
	uint64_t from = 100, until = 200; /* of what happened; the last record is of 300 */

	tapir_catalog__widen_span(f->read, 300, &from, &until);
	assert_int_equal(from, from_ns);
	assert_int_equal(until, until_ns);
}

static void span_is_of_the_recording_when_it_says_when_it_ran(void **state)
{
	struct fixture *f = *state;
	uint64_t from = 0, until = 0;

	span_is(f, 100, 300); /* it was killed */
	assert_true(meta_at(f, 50, TAPIR_META_BEGAN) >= 0);
	assert_true(meta_at(f, 250, TAPIR_META_ENDED) >= 0);
	span_is(f, 50, 250);
	tapir_catalog__widen_span(f->read, 300, &from, &until); /* nothing happened */
	assert_int_equal(from, 50);
	assert_int_equal(until, 250);
	assert_true(meta_at(f, 220, "frozen") >= 0); /* a part of it, which began later */
	span_is(f, 100, 220);
}

static void span_is_not_shortened_when_something_happened_outside(void **state)
{
	struct fixture *f = *state;

	assert_true(meta_at(f, 120, TAPIR_META_BEGAN) >= 0);
	assert_true(meta_at(f, 150, TAPIR_META_ENDED) >= 0);
	span_is(f, 100, 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(mapping_holds_from_its_time_until_another_takes_its_place),
		CASE(exec_ends_the_mappings_before_it),
		CASE(forked_child_inherits_mappings_in_a_live_catalog_only),
		CASE(reused_ids_are_distinguished_by_time),
		CASE(utc_is_by_the_pair_before_when_clocks_jump),
		CASE(repeated_process_is_no_news_and_stays_what_it_was),
		CASE(dead_process_is_forgotten_after_the_segment_behind_its_exit),
		CASE(threads_are_forgotten_with_or_after_their_process),
		CASE(stack_is_kept_for_two_segments),
		CASE(stacks_are_those_of_the_last_two_segments),
		CASE(version_is_of_names_not_of_stacks),
		CASE(stacks_are_bounded_when_they_never_end),
		CASE(symbol_covers_its_size_or_reaches_to_the_next),
		CASE(jit_name_holds_from_and_until),
		CASE(unnamed_stacks_are_asked_for_once_a_segment),
		CASE(stack_is_asked_for_in_the_next_round_when_its_name_is_late),
		CASE(stack_is_asked_for_again_when_a_name_of_its_process_ended),
		CASE(stack_has_no_name_without_what_is_inlined),
		CASE(memory_is_bounded_when_descriptions_never_end),
		CASE(ordset_agrees_with_a_model),
		CASE(span_is_of_the_recording_when_it_says_when_it_ran),
		CASE(span_is_not_shortened_when_something_happened_outside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
