// SPDX-License-Identifier: GPL-2.0-or-later
/* What a recording is summed up to, from records that are known. */
#include "summary_fixture.h"

static void feed_loss(struct fixture *f, uint32_t probe_id, uint32_t cause, uint64_t cnt)
{
	struct tapir_rec_loss loss = {.cause = cause, .probe_id = probe_id, .count = cnt};

	tapir_rec__init(&loss.h, TAPIR_REC_LOSS, sizeof(loss), 200);
	feed(f, &loss.h);
}

/* A mapping, a symbol in it, and a stack of one frame in the symbol and one outside of it. */
static void feed_stack(struct fixture *f, uint32_t tgid, uint64_t stack_id)
{
	struct tapir_rec_mapping mapping = {.h.time_ns = 1,
					    .tgid = tgid,
					    .flags = TAPIR_MAPPING_EXEC,
					    .start_va = 0x400000,
					    .end_va = 0x500000,
					    .file_id = 7};
	struct tapir_rec_symbol symbol = {.file_id = 7, .start_off = 0x100, .size = 0x100};
	struct tapir_rec_stack stack = {.stack_id = stack_id};
	uint64_t frames_va[] = {0x400110, 0x400300};

	feed(f, tapir_recbuf__mapping(&f->buf, &mapping, SV("/bin/x")));
	feed(f, tapir_recbuf__symbol(&f->buf, &symbol, SV("main")));
	feed(f, tapir_recbuf__stack(&f->buf, &stack, frames_va, 2));
}

static void sites_of_one_event_are_one_row(void **state)
{
	struct fixture *f = *state;

	feed_probe(f, 1, SV("a"));
	feed_probe(f, 2, SV("a"));
	feed_probe(f, 3, SV("b"));
	feed_event(f, 1, 100, 0);
	feed_event(f, 2, 100, 0);
	feed_event(f, 3, 200, 0);
	assert_int_equal(f->summary.captured[TAPIR_FAMILY_EVENT], 3);
	assert_int_equal(f->summary.events.cnt, 2);
	assert_string_equal(f->summary.events.data[0].provider, "prov");
	assert_string_equal(f->summary.events.data[0].event, "a");
	assert_int_equal(f->summary.events.data[0].captured, 2);
	assert_int_equal(f->summary.events.data[1].captured, 1);
}

static void losses_are_kept_by_event_and_by_cause(void **state)
{
	struct fixture *f = *state;

	feed_probe(f, 1, SV("a"));
	feed_loss(f, 1, TAPIR_LOSS_RING_FULL, 5);
	feed_loss(f, 1, TAPIR_LOSS_RING_FULL, 2);
	feed_loss(f, 1, TAPIR_LOSS_ARG_CUT, 3);
	feed_loss(f, 0, TAPIR_LOSS_DISK, 4);
	feed_loss(f, 1, 9999, 1); /* of a later version: not ours to judge */
	assert_int_equal(f->summary.events.data[0].lost, 7);
	assert_int_equal(f->summary.lost[TAPIR_LOSS_RING_FULL].cnt, 7);
	assert_int_equal(tapir_summary__lost(&f->summary, TAPIR_LOSS_KIND_EVENT), 11);
	assert_int_equal(tapir_summary__lost(&f->summary, TAPIR_LOSS_KIND_PART), 3);
}

static void processes_come_by_their_events(void **state)
{
	struct fixture *f = *state;
	struct tapir_rec_process process = {.h.time_ns = 1, .tgid = 200};

	feed_probe(f, 1, SV("a"));
	feed(f,
	     tapir_recbuf__process(&f->buf, &process, SV("two"), SV("/bin/two"), SV(""), SV("")));
	feed_event(f, 1, 100, 0);
	feed_event(f, 1, 200, 0);
	feed_event(f, 1, 200, 0);
	tapir_summary__sort(&f->summary);
	assert_int_equal(f->summary.processes.cnt, 2);
	assert_int_equal(f->summary.processes.data[0].pid, 200);
	assert_int_equal(f->summary.processes.data[0].captured[TAPIR_FAMILY_EVENT], 2);
	assert_string_equal(f->summary.processes.data[0].comm, "two");
	assert_string_equal(f->summary.processes.data[0].exe, "/bin/two");
	assert_string_equal(f->summary.processes.data[1].comm, "");
}

static void feed_process(struct fixture *f, enum tapir_process_kind kind, uint64_t time_ns,
			 struct tapir_sv comm)
{
	struct tapir_rec_process process = {
		.h.time_ns = time_ns, .tgid = 200, .parent_tgid = 1, .kind = (uint8_t)kind};

	feed(f, tapir_recbuf__process(&f->buf, &process, comm, SV(""), SV(""), SV("")));
}

static void feed_event_at(struct fixture *f, uint64_t time_ns, uint32_t tid)
{
	struct tapir_rec_event fixed = {
		.h.time_ns = time_ns, .probe_id = 1, .tgid = 200, .tid = tid};
	struct tapir_event_view view = {.rec = &fixed};

	feed(f, tapir_recbuf__event(&f->buf, &view));
}

/* Descriptions come first, as a chunk has them; the second is seen from its exec only. */
static void processes_of_one_id_are_rows_of_their_own(void **state)
{
	static const struct {
		const char *comm;
		uint64_t events;
	} expected[] = {{"three", 3}, {"two", 2}, {"one", 1}};
	struct fixture *f = *state;

	feed_probe(f, 1, SV("a"));
	feed_process(f, TAPIR_PROCESS_EXISTING, 100, SV("one"));
	feed_process(f, TAPIR_PROCESS_EXIT, 200, SV("one"));
	feed_process(f, TAPIR_PROCESS_EXEC, 300, SV("two"));
	feed_process(f, TAPIR_PROCESS_EXIT, 400, SV("two"));
	feed_process(f, TAPIR_PROCESS_FORK, 500, SV("three"));
	feed_process(f, TAPIR_PROCESS_EXEC, 510, SV("three"));
	feed_event_at(f, 50, 200); /* before it was described */
	for (unsigned i = 0; i < 2; i++)
		feed_event_at(f, 350 + i, 200);
	for (unsigned i = 0; i < 3; i++)
		feed_event_at(f, 505 + 5 * i, 200);
	tapir_summary__sort(&f->summary);
	assert_int_equal(f->summary.processes.cnt, 3);
	assert_int_equal(f->summary.threads.cnt, 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(f->summary.processes.data[i].pid, 200);
		assert_string_equal(f->summary.processes.data[i].comm, expected[i].comm);
		assert_int_equal(f->summary.processes.data[i].captured[TAPIR_FAMILY_EVENT],
				 expected[i].events);
		assert_int_equal(f->summary.threads.data[i].captured[TAPIR_FAMILY_EVENT],
				 expected[i].events);
	}
}

static void feed_thread(struct fixture *f, uint64_t time_ns, uint64_t start_ns,
			struct tapir_sv comm)
{
	struct tapir_rec_thread thread = {.tgid = 200, .tid = 201, .start_ns = start_ns};

	tapir_rec__init(&thread.h, TAPIR_REC_THREAD, sizeof(thread), time_ns);
	memcpy(thread.comm, comm.data, comm.len);
	feed(f, &thread.h);
}

static void threads_of_one_id_are_rows_of_their_own(void **state)
{
	struct fixture *f = *state;
	const uint64_t second = 1000000000;

	feed_probe(f, 1, SV("a"));
	feed_thread(f, second, second, SV("old"));
	feed_thread(f, 2 * second, second + 5000000, SV("old")); /* as exact as a tick */
	feed_thread(f, 3 * second, 3 * second, SV("new"));
	feed_event_at(f, second + 1, 201);
	feed_event_at(f, 3 * second + 1, 201);
	feed_event_at(f, 3 * second + 2, 201);
	tapir_summary__sort(&f->summary);
	assert_int_equal(f->summary.threads.cnt, 2);
	assert_string_equal(f->summary.threads.data[0].comm, "new");
	assert_int_equal(f->summary.threads.data[0].captured[TAPIR_FAMILY_EVENT], 2);
	assert_string_equal(f->summary.threads.data[1].comm, "old");
	assert_int_equal(f->summary.threads.data[1].captured[TAPIR_FAMILY_EVENT], 1);
}

static void feed_sample_of(struct fixture *f, uint64_t time_ns)
{
	struct tapir_rec_sample sample = {.tgid = 200, .tid = 201, .period = 1};

	tapir_rec__init(&sample.h, TAPIR_REC_SAMPLE, sizeof(sample), time_ns);
	feed(f, &sample.h);
}

static uint64_t samples_of(const struct fixture *f, const char *comm)
{
	uint64_t cnt = 0;

	for (size_t i = 0; i < f->summary.threads.cnt; i++)
		if (!strcmp(f->summary.threads.data[i].comm, comm))
			cnt += f->summary.threads.data[i].captured[TAPIR_FAMILY_SAMPLE];
	return cnt;
}

/* A worker that renames itself for each job, and the name it inherited for its first moment. */
static void what_a_thread_did_is_under_the_name_it_had(void **state)
{
	const uint64_t second = 1000000000;
	struct fixture *f = *state;

	feed_thread(f, second, second, SV("java"));
	feed_sample_of(f, second + 1000);
	feed_thread(f, second + 2000, second, SV("job a"));
	for (int i = 0; i < 3; i++)
		feed_sample_of(f, 2 * second + (uint64_t)i);
	feed_thread(f, 3 * second, second, SV("idle")); /* does nothing under this one */
	feed_thread(f, 4 * second, second, SV("job b"));
	feed_sample_of(f, 5 * second);
	feed_thread(f, 6 * second, second, SV("job a"));
	feed_sample_of(f, 7 * second);
	assert_int_equal(f->summary.threads.cnt, 2);
	assert_int_equal(samples_of(f, "job a"), 5);
	assert_int_equal(samples_of(f, "job b"), 1);
	assert_int_equal(f->summary.processes.data[0].thread_cnt, 1);
}

static void names_of_a_thread_are_bounded(void **state)
{
	const uint64_t second = 1000000000;
	struct fixture *f = *state;
	uint64_t sum = 0;

	for (unsigned i = 0; i < 100; i++) {
		struct tapir_rec_thread thread = {.tgid = 200, .tid = 201, .start_ns = second};

		tapir_rec__init(&thread.h, TAPIR_REC_THREAD, sizeof(thread), (i + 2) * second);
		thread.comm[0] = 'j';
		thread.comm[1] = (char)(' ' + i / 10);
		thread.comm[2] = (char)('0' + i % 10);
		feed(f, &thread.h);
		feed_sample_of(f, (i + 2) * second + 1);
	}
	assert_int_equal(f->summary.threads.cnt, TAPIR_THREAD_NAMES_MAX);
	for (size_t i = 0; i < f->summary.threads.cnt; i++)
		sum += f->summary.threads.data[i].captured[TAPIR_FAMILY_SAMPLE];
	assert_int_equal(sum, 100);
}

/* The first thread of a process has the process's id, and several begin within a moment. */
static void first_threads_of_processes_are_rows_of_their_own(void **state)
{
	struct fixture *f = *state;
	const uint32_t cnt = 50;

	feed_probe(f, 1, SV("sold"));
	for (uint32_t pid = 300; pid < 300 + cnt; pid++) {
		struct tapir_rec_thread thread = {.tgid = pid, .tid = pid, .start_ns = pid};

		tapir_rec__init(&thread.h, TAPIR_REC_THREAD, sizeof(thread), 10);
		feed(f, &thread.h);
		feed_event(f, 1, pid, 0);
	}
	assert_int_equal(f->summary.processes.cnt, cnt);
	assert_int_equal(f->summary.threads.cnt, cnt);
	for (uint32_t i = 0; i < cnt; i++)
		assert_int_equal(f->summary.threads.data[i].pid, 300 + i);
}

/* A chunk was lost; the segment after it describes the stack again. */
static void stack_told_of_later_counts_from_then_on(void **state)
{
	struct fixture *f = *state;

	feed_probe(f, 1, SV("a"));
	feed_event(f, 1, 100, 0xabc);
	feed_event(f, 1, 100, 0xabc);
	feed_stack(f, 100, 0xabc);
	feed_event(f, 1, 100, 0xabc);
	assert_int_equal(tapir_summary__sort(&f->summary), 0);
	assert_int_equal(f->summary.no_stack_cnt, 2);
	assert_int_equal(f->summary.stacks.cnt, 1);
	assert_int_equal(f->summary.stacks.data[0].cnt, 1);
}

static void stacks_have_functions_or_places(void **state)
{
	struct fixture *f = *state;
	const struct tapir_stack_row *row;

	feed_probe(f, 1, SV("a"));
	feed_stack(f, 100, 0xabc);
	feed_event(f, 1, 100, 0xabc);
	feed_event(f, 1, 100, 0xabc);
	feed_event(f, 1, 100, 0xdef); /* was never described */
	assert_int_equal(tapir_summary__sort(&f->summary), 0);
	assert_int_equal(f->summary.stacks.cnt, 1);
	assert_int_equal(f->summary.no_stack_cnt, 1);
	assert_int_equal(f->summary.more, 0);
	row = &f->summary.stacks.data[0];
	assert_int_equal(row->cnt, 2);
	assert_int_equal(row->function_cnt, 2);
	assert_string_equal(f->summary.functions.data[row->functions[0]].name, "main");
	assert_string_equal(f->summary.functions.data[row->functions[1]].name, "x+0x300");
}

/* Other lines of the same functions, and the same program in another process. */
static void stacks_are_one_row_when_functions_are_the_same(void **state)
{
	struct fixture *f = *state;
	struct tapir_rec_stack stack = {.stack_id = 0xabd};
	uint64_t frames_va[] = {0x400150, 0x400300};

	feed_probe(f, 1, SV("a"));
	feed_probe(f, 2, SV("b"));
	feed_stack(f, 100, 0xabc);
	feed_stack(f, 200, 0xabc);
	feed(f, tapir_recbuf__stack(&f->buf, &stack, frames_va, 2));
	feed_event(f, 1, 100, 0xabc);
	feed_event(f, 1, 100, 0xabd);
	feed_event(f, 1, 200, 0xabc);
	feed_event(f, 2, 100, 0xabc); /* another event: another row */
	assert_int_equal(tapir_summary__sort(&f->summary), 0);
	assert_int_equal(f->summary.stacks.cnt, 2);
	assert_int_equal(f->summary.stacks.data[0].cnt, 3);
	assert_int_equal(f->summary.stacks.data[1].cnt, 1);
}

static void tables_are_sorted_and_stacks_still_name_their_rows(void **state)
{
	struct fixture *f = *state;
	const struct tapir_stack_row *row;

	feed_probe(f, 1, SV("seldom"));
	feed_probe(f, 2, SV("often"));
	feed_stack(f, 100, 0xabc);
	feed_event(f, 1, 100, 0);
	for (int i = 0; i < 3; i++)
		feed_event(f, 2, 100, 0xabc);
	assert_int_equal(tapir_summary__sort(&f->summary), 0);
	assert_string_equal(f->summary.events.data[0].event, "often");
	assert_string_equal(f->summary.events.data[1].event, "seldom");
	row = &f->summary.stacks.data[0];
	assert_string_equal(f->summary.events.data[row->event].event, "often");
	assert_string_equal(f->summary.functions.data[row->functions[0]].name, "main");
}

static void functions_come_by_their_samples(void **state)
{
	struct fixture *f = *state;
	struct tapir_rec_sample sample = {.tgid = 100, .tid = 100, .stack_id = 0xabc};
	struct tapir_rec_stack stack = {.stack_id = 0xabd};
	uint64_t frames_va[] = {0x400300};

	feed_stack(f, 100, 0xabc);
	feed(f, tapir_recbuf__stack(&f->buf, &stack, frames_va, 1));
	tapir_rec__init(&sample.h, TAPIR_REC_SAMPLE, sizeof(sample), 50);
	feed(f, &sample.h);
	sample.stack_id = 0xabd;
	feed(f, &sample.h);
	feed(f, &sample.h);
	assert_int_equal(tapir_summary__sort(&f->summary), 0);
	assert_string_equal(f->summary.functions.data[0].name, "x+0x300");
	assert_int_equal(f->summary.functions.data[0].self, 2);
	assert_int_equal(f->summary.functions.data[0].total, 3);
	assert_int_equal(f->summary.functions.data[1].self, 1);
	assert_int_equal(f->summary.functions.data[1].total, 1);
	assert_int_equal(f->summary.sample_named_cnt, 1);
	assert_int_equal(f->summary.frame_cnt, 4);
	assert_int_equal(f->summary.frame_named_cnt, 1);
	assert_int_equal(f->summary.modules.cnt, 1);
	assert_string_equal(f->summary.modules.data[0].name, "/bin/x");
	assert_int_equal(f->summary.modules.data[0].self, 3);
	assert_int_equal(f->summary.modules.data[0].total, 3);
}

static void feed_sample(struct fixture *f, uint64_t time_ns, uint64_t stack_id)
{
	struct tapir_rec_sample sample = {.tgid = 100, .tid = 100, .stack_id = stack_id};

	tapir_rec__init(&sample.h, TAPIR_REC_SAMPLE, sizeof(sample), time_ns);
	feed(f, &sample.h);
}

/* Out of a CPU, into one, and from one thread to another: the head and the tables have three. */
static void switches_are_as_many_in_the_tables_as_in_all(void **state)
{
	static const struct tapir_rec_switch switches[] = {
		{.out_tgid = 10, .out_tid = 10},
		{.in_tgid = 10, .in_tid = 10},
		{.out_tgid = 10, .out_tid = 10, .in_tgid = 10, .in_tid = 11},
	};
	struct fixture *f = *state;
	uint64_t in_threads = 0;

	for (unsigned i = 0; i < 3; i++) {
		struct tapir_rec_switch rec = switches[i];

		tapir_rec__init(&rec.h, TAPIR_REC_SWITCH, sizeof(rec), 100 + i);
		feed(f, &rec.h);
	}
	tapir_summary__sort(&f->summary);
	for (size_t i = 0; i < f->summary.threads.cnt; i++)
		in_threads += f->summary.threads.data[i].captured[TAPIR_FAMILY_SWITCH];
	assert_int_equal(f->summary.captured[TAPIR_FAMILY_SWITCH], 3);
	assert_int_equal(f->summary.processes.data[0].captured[TAPIR_FAMILY_SWITCH], 3);
	assert_int_equal(in_threads, 3);
}

/* It was sampled, then asked who it is. */
static void process_told_of_after_its_samples_has_its_name(void **state)
{
	struct fixture *f = *state;
	struct tapir_rec_process process = {.h.time_ns = 500, .tgid = 100};
	struct tapir_rec_thread thread = {.tgid = 100, .tid = 100, .comm = "late"};

	feed_probe(f, 1, SV("a"));
	feed_stack(f, 100, 0xabc);
	feed_sample(f, 100, 0xabc);
	feed_event(f, 1, 100, 0xabc);
	feed(f,
	     tapir_recbuf__process(&f->buf, &process, SV("late"), SV("/bin/late"), SV(""), SV("")));
	tapir_rec__init(&thread.h, TAPIR_REC_THREAD, sizeof(thread), 500);
	feed(f, &thread.h);
	feed_sample(f, 600, 0xabc);
	assert_int_equal(tapir_summary__sort(&f->summary), 0);
	assert_int_equal(f->summary.processes.cnt, 1);
	assert_string_equal(f->summary.processes.data[0].comm, "late");
	assert_string_equal(f->summary.processes.data[0].exe, "/bin/late");
	assert_int_equal(f->summary.processes.data[0].captured[TAPIR_FAMILY_SAMPLE], 2);
	assert_int_equal(f->summary.processes.data[0].captured[TAPIR_FAMILY_EVENT], 1);
	assert_string_equal(f->summary.threads.data[0].comm, "late");
	assert_int_equal(f->summary.functions.data[0].self, 2);
	assert_string_equal(f->summary.functions.data[0].name, "main");
}

static const struct tapir_function_row *function(const struct fixture *f, const char *name)
{
	const struct tapir_function_row *row;

	tapir_vec_for_each (row, &f->summary.functions)
		if (!strcmp(row->name, name))
			return row;
	fail_msg("no function %s", name);
	return NULL;
}

static void samples_of_one_address_go_to_the_name_of_their_time(void **state)
{
	struct fixture *f = *state;
	struct tapir_rec_jit jit = {.tgid = 100, .start_va = 0x900000, .size = 0x100};
	struct tapir_rec_stack stack = {.stack_id = 5};
	const uint64_t frame_va = 0x900010;

	jit.from_ns = 100;
	jit.until_ns = 200;
	feed(f, tapir_recbuf__jit(&f->buf, &jit, SV("first")));
	jit.from_ns = 200;
	jit.until_ns = 0;
	feed(f, tapir_recbuf__jit(&f->buf, &jit, SV("second")));
	feed(f, tapir_recbuf__stack(&f->buf, &stack, &frame_va, 1));
	for (uint64_t ns = 100; ns < 400; ns++)
		feed_sample(f, ns, 5);
	assert_int_equal(tapir_summary__sort(&f->summary), 0);
	assert_int_equal(function(f, "first")->self, 100);
	assert_int_equal(function(f, "second")->self, 200);
	assert_string_equal(function(f, "second")->module, "[jit]");
	assert_int_equal(f->summary.kinds[TAPIR_FRAME_JIT], 300);
}

static void function_that_calls_itself_counts_once(void **state)
{
	struct fixture *f = *state;
	struct tapir_rec_stack stack = {.stack_id = 5};
	const uint64_t frames_va[] = {0x400300, 0x400150, 0x400160, 0x400170};

	feed_stack(f, 100, 0xabc);
	feed(f, tapir_recbuf__stack(&f->buf, &stack, frames_va, 4));
	feed_sample(f, 50, 5);
	feed_sample(f, 51, 5);
	assert_int_equal(tapir_summary__sort(&f->summary), 0);
	assert_int_equal(function(f, "main")->total, 2);
	assert_int_equal(function(f, "main")->self, 0);
	assert_int_equal(f->summary.modules.data[0].total, 2);
	assert_int_equal(f->summary.frame_cnt, 8);
}

static void losses_have_their_times(void **state)
{
	struct fixture *f = *state;
	struct tapir_rec_loss loss = {.cause = TAPIR_LOSS_RING_FULL};
	const struct tapir_loss_row *row = &f->summary.lost[TAPIR_LOSS_RING_FULL];
	uint64_t sum = 0;

	f->summary.start_ns = 1000;
	for (uint64_t sec = 1; sec <= 60; sec++) {
		loss.count = sec == 30 ? 100 : 0;
		loss.from_ns = 1000 + (sec - 1) * 1000000000ull;
		loss.until_ns = 1000 + sec * 1000000000ull;
		tapir_rec__init(&loss.h, TAPIR_REC_LOSS, sizeof(loss), loss.until_ns);
		if (loss.count || sec == 60)
			feed(f, &loss.h);
	}
	assert_int_equal(row->cnt, 100);
	assert_int_equal(row->from_ns, 1000 + 29000000000ull);
	assert_int_equal(row->until_ns, 1000 + 60000000000ull);
	for (unsigned i = 0; i < TAPIR_SUMMARY_TIMES; i++)
		sum += row->counts[i];
	assert_int_equal(sum, 100);
	assert_int_equal(row->counts[29500000000ull / row->width_ns], 100);
}

static void child_has_its_parents_program_when_it_does_not_exec(void **state)
{
	struct fixture *f = *state;
	struct tapir_rec_process parent = {.tgid = 100};
	struct tapir_rec_process child = {
		.tgid = 101, .parent_tgid = 100, .kind = TAPIR_PROCESS_FORK};

	feed(f, tapir_recbuf__process(&f->buf, &parent, SV("p"), SV("/bin/p"), SV(""), SV("")));
	feed(f, tapir_recbuf__process(&f->buf, &child, SV("p"), SV(""), SV(""), SV("")));
	assert_string_equal(f->summary.processes.data[1].exe, "/bin/p");
	child.kind = TAPIR_PROCESS_EXEC;
	feed(f, tapir_recbuf__process(&f->buf, &child, SV("q"), SV("/bin/q"), SV(""), SV("")));
	assert_string_equal(f->summary.processes.data[1].exe, "/bin/q");
}

static void samples_count_for_their_innermost_function(void **state)
{
	struct fixture *f = *state;
	struct tapir_rec_sample sample = {.tgid = 100, .tid = 100, .stack_id = 0xabc};

	feed_stack(f, 100, 0xabc);
	tapir_rec__init(&sample.h, TAPIR_REC_SAMPLE, sizeof(sample), 50);
	feed(f, &sample.h);
	feed(f, &sample.h);
	sample.stack_id = 0;
	feed(f, &sample.h);
	assert_int_equal(tapir_summary__sort(&f->summary), 0);
	assert_int_equal(f->summary.captured[TAPIR_FAMILY_SAMPLE], 3);
	assert_int_equal(f->summary.sample_no_stack_cnt, 1);
	assert_int_equal(f->summary.sample_named_cnt, 2);
	assert_string_equal(f->summary.functions.data[0].name, "main");
	assert_int_equal(f->summary.functions.data[0].self, 2);
	assert_int_equal(f->summary.threads.cnt, 1);
	assert_int_equal(f->summary.threads.data[0].captured[TAPIR_FAMILY_SAMPLE], 3);
	assert_int_equal(f->summary.processes.data[0].captured[TAPIR_FAMILY_SAMPLE], 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sites_of_one_event_are_one_row),
		TEST(losses_are_kept_by_event_and_by_cause),
		TEST(processes_come_by_their_events),
		TEST(processes_of_one_id_are_rows_of_their_own),
		TEST(threads_of_one_id_are_rows_of_their_own),
		TEST(what_a_thread_did_is_under_the_name_it_had),
		TEST(names_of_a_thread_are_bounded),
		TEST(process_told_of_after_its_samples_has_its_name),
		TEST(switches_are_as_many_in_the_tables_as_in_all),
		TEST(first_threads_of_processes_are_rows_of_their_own),
		TEST(stack_told_of_later_counts_from_then_on),
		TEST(stacks_have_functions_or_places),
		TEST(stacks_are_one_row_when_functions_are_the_same),
		TEST(tables_are_sorted_and_stacks_still_name_their_rows),
		TEST(samples_count_for_their_innermost_function),
		TEST(functions_come_by_their_samples),
		TEST(samples_of_one_address_go_to_the_name_of_their_time),
		TEST(function_that_calls_itself_counts_once),
		TEST(losses_have_their_times),
		TEST(child_has_its_parents_program_when_it_does_not_exec),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
