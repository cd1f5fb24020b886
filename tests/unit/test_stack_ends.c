// SPDX-License-Identifier: GPL-2.0-or-later
/* How stacks end, in words and in numbers: one stack of each end, in a file, and no file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/stack_ends.h"
#include "analyze/stack_tree.h"
#include "spec/runtime_db/lore.h"
#include "output/render/remedies.h"
#include "symbol/stack_end.h"
#include "trace/recbuf.h"

#define SV(text) ((struct tapir_sv){"" text, sizeof("" text) - 1})
#define TGID	 100
#define IN_FILE	 0x400110
#define IN_START 0x400210
#define NOWHERE	 0x900000
#define JIT	 0x700010

struct fixture {
	struct tapir_catalog *catalog;
	struct tapir_recbuf buf;
	struct tapir_stack_ends ends;
	struct tapir_stack_tree tree;
};

static const struct tapir_rec *describe(struct fixture *f, const struct tapir_rec *rec)
{
	assert_non_null(rec);
	assert_true(tapir_catalog__describe(f->catalog, rec) >= 0);
	return rec;
}

static void add_mapping(struct fixture *f, uint64_t start_va, uint32_t flags, uint64_t file_id,
			struct tapir_sv path)
{
	const struct tapir_rec_mapping m = {.h.time_ns = 1,
					    .tgid = TGID,
					    .flags = TAPIR_MAPPING_EXEC | flags,
					    .start_va = start_va,
					    .end_va = start_va + 0x1000,
					    .file_id = file_id};

	describe(f, tapir_recbuf__mapping(&f->buf, &m, path));
}

static void add_function(struct fixture *f, uint64_t file_id, uint64_t start_off,
			 struct tapir_sv name)
{
	const struct tapir_rec_symbol symbol = {
		.file_id = file_id, .start_off = start_off, .size = 0x100};

	describe(f, tapir_recbuf__symbol(&f->buf, &symbol, name));
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->catalog = tapir_catalog__new(TAPIR_CATALOG_READ, NULL);
	assert_non_null(f->catalog);
	add_mapping(f, 0x400000, 0, 7, SV("/usr/lib/libfoo.so"));
	add_mapping(f, 0x700000, TAPIR_MAPPING_ANON, 0, SV(""));
	add_function(f, 7, 0x100, SV("deep"));
	add_function(f, 7, 0x200, SV("start_thread"));
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	tapir_stack_ends__fini(&f->ends);
	tapir_stack_tree__fini(&f->tree);
	tapir_catalog__free(f->catalog);
	tapir_recbuf__fini(&f->buf);
	free(f);
	return 0;
}

/* A stack of two frames, of which the second is the last; the record is the catalog's. */
static const struct tapir_rec_stack *add_flagged(struct fixture *f, uint64_t id,
						 enum tapir_stack_end end, unsigned flags,
						 uint64_t last_va)
{
	const struct tapir_rec_stack stack = {
		.stack_id = id, .flags = (uint16_t)flags, .end = (uint8_t)end};
	const uint64_t frames_va[] = {IN_FILE, last_va};

	describe(f, tapir_recbuf__stack(&f->buf, &stack, frames_va, 2));
	return tapir_catalog__stack(f->catalog, id);
}

static const struct tapir_rec_stack *add_stack(struct fixture *f, uint64_t id,
					       enum tapir_stack_end end, uint64_t last_va)
{
	return add_flagged(f, id, end, 0, last_va);
}

static void add_samples(struct fixture *f, uint64_t stack_id, unsigned cnt)
{
	const struct tapir_rec_sample sample = {
		.h = {.type = TAPIR_REC_SAMPLE, .size = sizeof(sample), .time_ns = 5},
		.tgid = TGID,
		.stack_id = stack_id};

	for (unsigned i = 0; i < cnt; i++) {
		tapir_stack_ends__add(&f->ends, f->catalog, &sample.h, TAPIR_FAMILY_SAMPLE);
		tapir_stack_tree__add_record(&f->tree, f->catalog, &sample.h);
	}
}

static void add_event(struct fixture *f, uint64_t stack_id)
{
	const struct tapir_rec_event event = {
		.h = {.type = TAPIR_REC_EVENT, .size = sizeof(event), .time_ns = 5},
		.tgid = TGID,
		.stack_id = stack_id};

	tapir_stack_ends__add(&f->ends, f->catalog, &event.h, TAPIR_FAMILY_EVENT);
}

static void check_stack(struct fixture *f, const struct tapir_rec_stack *stack, const char *wanted)
{
	struct tapir_str text = {};

	assert_int_equal(tapir_stack_end__add_of(&text, f->catalog, TGID, 5, stack),
			 wanted != NULL);
	if (wanted)
		assert_string_equal(text.data, wanted);
	else
		assert_int_equal(text.len, 0);
	tapir_str__fini(&text);
}

static void check_text(struct fixture *f, uint64_t id, enum tapir_stack_end end, uint64_t last_va,
		       const char *wanted)
{
	check_stack(f, add_stack(f, id, end, last_va), wanted);
}

static void reason_and_file_are_named_when_callers_are_missing(void **state)
{
	struct fixture *f = *state;

	check_text(f, 1, TAPIR_STACK_END_WHOLE, IN_FILE, NULL);
	check_text(f, 2, TAPIR_STACK_END_UNKNOWN, IN_FILE, NULL);
	check_text(f, 3, TAPIR_STACK_END_NO_TABLE, IN_FILE,
		   "callers lost in libfoo.so: no unwind table");
	check_text(f, 4, TAPIR_STACK_END_NOT_CODE, NOWHERE,
		   "callers lost: return address outside executable code");
	check_text(f, 5, TAPIR_STACK_END_JIT_NO_FP, JIT,
		   "callers lost: generated code without frame pointers");
	check_text(f, 6, TAPIR_STACK_END_FAULT, JIT,
		   "callers lost in generated code: stack memory not readable");
}

/* Callers without frame pointers may be missing in its midst: nobody looked at their code. */
static void chain_of_frame_pointers_is_not_called_whole_at_the_start(void **state)
{
	static const char no_more[] = "callers lost in libfoo.so: end of the frame pointer chain";
	struct fixture *f = *state;
	unsigned called = TAPIR_STACK_CALLED;
	const struct tapir_rec_stack *rec;

	rec = add_flagged(f, 1, TAPIR_STACK_END_FP_END, called, IN_START);
	check_stack(f, rec, NULL);
	assert_int_equal(tapir_stack_end__of(f->catalog, TGID, 5, rec), TAPIR_STACK_END_FP_START);
	add_event(f, 1);
	assert_int_equal(f->ends.by_fp[TAPIR_FAMILY_EVENT], 1);
	assert_int_equal(f->ends.whole[TAPIR_FAMILY_EVENT], 0);
	assert_int_equal(tapir_stack_ends__lost(&f->ends, TAPIR_FAMILY_EVENT), 0);
	check_stack(f, add_flagged(f, 2, TAPIR_STACK_END_FP_END, called, IN_FILE), no_more);
	check_stack(f, add_flagged(f, 3, TAPIR_STACK_END_FAULT, called, IN_START),
		    "callers lost in libfoo.so: stack memory not readable");
	check_text(f, 4, TAPIR_STACK_END_FP_END, IN_START, no_more);
	check_text(f, 5, TAPIR_STACK_END_NOT_YET, IN_START,
		   "callers lost in libfoo.so: unwind table not loaded yet");
}

static void threads_begin_in_few_functions(void **state)
{
	static const char *const starts[] = {"_start", "clone3", "__libc_start_main@@GLIBC_2.34",
					     "start_thread"};
	static const char *const others[] = {
		"clone_list", "_start_job", "start_threads", "start", "__libc_start_", "", "@"};

	(void)state;
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		assert_true(tapir_stack_end__is_start(starts[i], strlen(starts[i])));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(tapir_stack_end__is_start(others[i], strlen(others[i])));
}

static void each_end_has_a_name_of_its_own(void **state)
{
	(void)state;
	for (int i = 0; i < TAPIR_STACK_END_CNT; i++) {
		const char *id = tapir_stack_end__id((enum tapir_stack_end)i);

		assert_true(*id && *tapir_stack_end__text((enum tapir_stack_end)i));
		for (int j = 0; j < i; j++)
			assert_string_not_equal(id, tapir_stack_end__id((enum tapir_stack_end)j));
	}
	assert_string_equal(tapir_stack_end__id(TAPIR_STACK_END_CNT), "unknown");
}

static void stacks_are_counted_by_kind_reason_and_file(void **state)
{
	struct fixture *f = *state;

	add_stack(f, 1, TAPIR_STACK_END_WHOLE, IN_START);
	add_stack(f, 2, TAPIR_STACK_END_NO_TABLE, IN_FILE);
	add_stack(f, 3, TAPIR_STACK_END_JIT_NO_FP, JIT);
	add_stack(f, 4, TAPIR_STACK_END_UNKNOWN, IN_FILE);
	add_samples(f, 1, 5);
	add_samples(f, 2, 2);
	add_samples(f, 3, 4);
	add_samples(f, 4, 9);  /* not known: in no count */
	add_samples(f, 77, 3); /* not described */
	add_event(f, 2);
	add_event(f, 1);
	add_event(f, 0); /* has none */
	tapir_stack_ends__sort(&f->ends);
	assert_int_equal(f->ends.known[TAPIR_FAMILY_SAMPLE], 11);
	assert_int_equal(f->ends.whole[TAPIR_FAMILY_SAMPLE], 5);
	assert_int_equal(f->ends.known[TAPIR_FAMILY_EVENT], 2);
	assert_int_equal(f->ends.whole[TAPIR_FAMILY_EVENT], 1);
	assert_int_equal(tapir_stack_ends__known(&f->ends), 13);
	assert_int_equal(f->ends.rows.cnt, 2);
	assert_string_equal(f->ends.rows.data[0].module, "generated code");
	assert_int_equal(f->ends.rows.data[0].cnt[TAPIR_FAMILY_SAMPLE], 4);
	assert_string_equal(f->ends.rows.data[1].module, "libfoo.so");
	assert_int_equal(f->ends.rows.data[1].cnt[TAPIR_FAMILY_SAMPLE], 2);
	assert_int_equal(f->ends.rows.data[1].cnt[TAPIR_FAMILY_EVENT], 1);
}

/* The process's files tell its runtime, and so the option that gives callers. */
static void remedy_is_that_of_the_runtime(void **state)
{
	struct fixture *f = *state;
	struct tapir_str out = {};

	add_mapping(f, 0x500000, 0, 8, SV("/usr/lib/jvm/lib/server/libjvm.so"));
	add_stack(f, 1, TAPIR_STACK_END_WHOLE, IN_START);
	add_stack(f, 3, TAPIR_STACK_END_JIT_NO_FP, JIT);
	add_samples(f, 1, 8);
	assert_false(tapir_remedies__add_callers(&f->ends, &out));
	add_samples(f, 3, 2); /* too few in all */
	assert_int_equal(f->ends.rows.cnt, 1);
	assert_string_equal(f->ends.rows.data[0].runtime->name, "OpenJDK");
	add_samples(f, 1, 9);
	assert_false(tapir_remedies__add_callers(&f->ends, &out));
	add_samples(f, 3, 1);
	assert_true(tapir_remedies__add_callers(&f->ends, &out));
	assert_string_equal(
		out.data, "callers: lost in 15% of samples, most in generated code of OpenJDK: "
			  "start java with -XX:+PreserveFramePointer (or in JAVA_TOOL_OPTIONS)\n");
	assert_int_equal(f->ends.gaps.cnt, 0); /* a JVM's names come when it is asked */
	tapir_str__fini(&out);
}

static void names_are_missing_by_file_and_runtime(void **state)
{
	struct fixture *f = *state;
	struct tapir_str out = {};

	add_mapping(f, 0x500000, 0, 8, SV("/usr/bin/node"));
	add_mapping(f, 0x600000, 0, 9, SV("/opt/lib\x1b[1m.so"));
	add_stack(f, 1, TAPIR_STACK_END_WHOLE, JIT);
	add_function(f, 8, 0x100, SV("node::SpinEventLoop"));
	add_stack(f, 2, TAPIR_STACK_END_WHOLE, 0x600010);
	add_stack(f, 3, TAPIR_STACK_END_WHOLE, 0x500110);
	add_samples(f, 1, 19);
	tapir_remedies__add_names(&f->ends, "x.tapir", NULL, &out);
	assert_int_equal(out.len, 0); /* of too few */
	add_samples(f, 1, 6);
	add_samples(f, 2, 3);
	add_samples(f, 3, 30); /* an event loop that waits: it runs no JavaScript */
	assert_int_equal(f->ends.searched, 58);
	tapir_stack_ends__sort(&f->ends);
	tapir_remedies__add_names(&f->ends, "x.tapir", NULL, &out);
	assert_null(strchr(out.data, '\x1b'));
	assert_non_null(strstr(out.data, "names: 5% of stacks have functions without a name in "));
	assert_non_null(strstr(out.data, "tapir symbolize x.tapir --symbols DIR|URL"));
	assert_null(strstr(out.data, "package"));
	assert_memory_equal(out.data, "names: 100% of Node.js's", 24);
	assert_non_null(strstr(out.data, "functions: start node with --perf-basic-prof "));
	tapir_str__fini(&out);
}

static void generated_code_without_a_name_is_reported_where_no_runtime_is_known(void **state)
{
	struct fixture *f = *state;
	struct tapir_str out = {};

	add_stack(f, 1, TAPIR_STACK_END_WHOLE, JIT);
	add_samples(f, 1, 25);
	tapir_stack_ends__sort(&f->ends);
	tapir_remedies__add_names(&f->ends, "x.tapir", NULL, &out);
	assert_string_equal(
		out.data,
		"names: 100% of stacks have generated code without a name: their process has no perf map or jitdump (a forked child runs its parent's code: record from before the fork, with the parent)\n");
	tapir_str__fini(&out);
}

/* all > [callers lost ...] > deep > deep; what is whole has no such frame. */
static void tree_has_a_frame_in_the_place_of_the_callers(void **state)
{
	struct fixture *f = *state;
	const struct tapir_tree_node *nodes, *lost;

	add_stack(f, 2, TAPIR_STACK_END_NO_TABLE, IN_FILE);
	add_samples(f, 2, 3);
	nodes = f->tree.nodes.data;
	lost = &nodes[nodes[TAPIR_STACK_TREE_ROOT].first_child];
	assert_string_equal(f->tree.names.data[lost->name],
			    "[callers lost in libfoo.so: no unwind table]");
	assert_string_equal(f->tree.names.data[nodes[lost->first_child].name], "deep");
	assert_false(tapir_stack_tree__is_complete(&f->tree, lost->first_child));
	add_stack(f, 1, TAPIR_STACK_END_WHOLE, IN_FILE);
	add_samples(f, 1, 1);
	nodes = f->tree.nodes.data;
	lost = &nodes[nodes[TAPIR_STACK_TREE_ROOT].first_child];
	assert_string_equal(f->tree.names.data[lost->name], "deep");
	assert_true(
		tapir_stack_tree__is_complete(&f->tree, nodes[TAPIR_STACK_TREE_ROOT].first_child));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(reason_and_file_are_named_when_callers_are_missing,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			chain_of_frame_pointers_is_not_called_whole_at_the_start, setup, teardown),
		cmocka_unit_test(threads_begin_in_few_functions),
		cmocka_unit_test(each_end_has_a_name_of_its_own),
		cmocka_unit_test_setup_teardown(stacks_are_counted_by_kind_reason_and_file, setup,
						teardown),
		cmocka_unit_test_setup_teardown(remedy_is_that_of_the_runtime, setup, teardown),
		cmocka_unit_test_setup_teardown(names_are_missing_by_file_and_runtime, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			generated_code_without_a_name_is_reported_where_no_runtime_is_known, setup,
			teardown),
		cmocka_unit_test_setup_teardown(tree_has_a_frame_in_the_place_of_the_callers, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
