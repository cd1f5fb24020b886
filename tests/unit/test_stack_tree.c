// SPDX-License-Identifier: GPL-2.0-or-later
/* Stacks folded into a tree of calls, and the picture drawn of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/stack_tree.h"
#include "output/render/flamegraph_svg.h"
#include "symbol/frame_kind.h"
#include "trace/recbuf.h"

#define SV(text) ((struct tapir_sv){"" text, sizeof("" text) - 1})
#define TGID	 100

struct fixture {
	struct tapir_catalog *catalog;
	struct tapir_recbuf buf;
	struct tapir_stack_tree tree;
};

static void describe(struct fixture *f, const struct tapir_rec *rec)
{
	assert_non_null(rec);
	assert_true(tapir_catalog__describe(f->catalog, rec) >= 0);
}

static void add_function(struct fixture *f, uint64_t start_off, struct tapir_sv name)
{
	struct tapir_rec_symbol symbol = {.file_id = 7, .start_off = start_off, .size = 0x100};

	describe(f, tapir_recbuf__symbol(&f->buf, &symbol, name));
}

/* Functions at 0x400000 + 0x100 * n: main, b, a, and nothing beyond 0x400300. */
static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct tapir_rec_mapping mapping = {.h.time_ns = 1,
					    .tgid = TGID,
					    .flags = TAPIR_MAPPING_EXEC,
					    .start_va = 0x400000,
					    .end_va = 0x500000,
					    .file_id = 7};

	assert_non_null(f);
	f->catalog = tapir_catalog__new(TAPIR_CATALOG_READ, NULL);
	assert_non_null(f->catalog);
	describe(f, tapir_recbuf__mapping(&f->buf, &mapping, SV("/bin/x")));
	add_function(f, 0x000, SV("main"));
	add_function(f, 0x100, SV("b"));
	add_function(f, 0x200, SV("a<\"&\x01\xff>"));
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	tapir_stack_tree__fini(&f->tree);
	tapir_catalog__free(f->catalog);
	tapir_recbuf__fini(&f->buf);
	free(f);
	return 0;
}

static void add_stack(struct fixture *f, uint64_t id, const uint64_t *frames_va, unsigned cnt)
{
	struct tapir_rec_stack stack = {.stack_id = id};

	describe(f, tapir_recbuf__stack(&f->buf, &stack, frames_va, cnt));
}

/* cnt samples of one stack. */
static bool add_samples(struct fixture *f, uint32_t tgid, uint64_t time_ns, uint64_t stack_id,
			unsigned cnt)
{
	struct tapir_rec_sample sample = {.tgid = tgid, .tid = tgid, .stack_id = stack_id};
	bool all = true;

	tapir_rec__init(&sample.h, TAPIR_REC_SAMPLE, sizeof(sample), time_ns);
	while (cnt--)
		all &= tapir_stack_tree__add_record(&f->tree, f->catalog, &sample.h);
	return all;
}

static const struct tapir_tree_node *node_at(const struct fixture *f, uint32_t idx)
{
	assert_true(idx < f->tree.nodes.cnt);
	return &f->tree.nodes.data[idx];
}

static void check(const struct fixture *f, uint32_t idx, const char *name, uint64_t total,
		  uint64_t self)
{
	assert_string_equal(f->tree.names.data[node_at(f, idx)->name], name);
	assert_int_equal(tapir_stack_tree__total(&f->tree, idx), total);
	assert_int_equal(tapir_stack_tree__self(&f->tree, idx), self);
}

static void common_callers_are_one_node(void **state)
{
	struct fixture *f = *state;
	const uint64_t by_b[] = {0x400110, 0x400020}, by_a[] = {0x400210, 0x400030};
	const uint64_t in_main[] = {0x400040};
	uint32_t main_idx, first, second;

	add_stack(f, 1, by_b, 2);
	add_stack(f, 2, by_a, 2);
	add_stack(f, 3, in_main, 1);
	assert_true(add_samples(f, TGID, 10, 1, 5));
	assert_true(add_samples(f, TGID, 10, 2, 2));
	assert_true(add_samples(f, TGID, 10, 2, 1));
	assert_true(add_samples(f, TGID, 10, 3, 1));
	tapir_stack_tree__sort(&f->tree);
	check(f, TAPIR_STACK_TREE_ROOT, "all", 9, 0);
	main_idx = node_at(f, TAPIR_STACK_TREE_ROOT)->first_child;
	check(f, main_idx, "main", 9, 1);
	first = node_at(f, main_idx)->first_child;
	second = node_at(f, first)->next_sibling;
	check(f, first, "a<\"&\x01\xff>", 3, 3);
	check(f, second, "b", 5, 5);
	assert_int_equal(node_at(f, second)->next_sibling, 0);
	assert_int_equal(f->tree.max_depth, 2);
}

static void frame_without_name_is_its_place(void **state)
{
	struct fixture *f = *state;
	const uint64_t frames_va[] = {0x400900, 0x700000};

	add_stack(f, 1, frames_va, 2);
	assert_true(add_samples(f, TGID, 10, 1, 1));
	tapir_stack_tree__sort(&f->tree);
	check(f, 1, "0x700000", 1, 0);
	check(f, 2, "x+0x900", 1, 1);
}

static void code_of_no_file_is_jit_at_its_place_in_the_mapping(void **state)
{
	struct fixture *f = *state;
	const uint64_t frame_va = 0x700010;
	struct tapir_rec_mapping mapping = {.h.time_ns = 1,
					    .tgid = TGID,
					    .flags = TAPIR_MAPPING_EXEC | TAPIR_MAPPING_ANON,
					    .start_va = 0x700000,
					    .end_va = 0x800000,
					    .file_off = 0x700000}; /* as the kernel says */

	describe(f, tapir_recbuf__mapping(&f->buf, &mapping, SV("")));
	add_stack(f, 1, &frame_va, 1);
	assert_true(add_samples(f, TGID, 10, 1, 1));
	tapir_stack_tree__sort(&f->tree);
	check(f, 1, "[jit]+0x10", 1, 1);
	assert_int_equal(node_at(f, 1)->kind, TAPIR_FRAME_JIT);
}

static void nothing_is_added_when_no_stack_is_described(void **state)
{
	struct fixture *f = *state;

	assert_false(add_samples(f, TGID, 10, 0, 1));
	assert_false(add_samples(f, TGID, 10, 99, 1));
	assert_int_equal(f->tree.nodes.cnt, 0);
}

/* Weight below "(rarer stacks)". */
static uint64_t folded_self(const struct fixture *f)
{
	uint64_t sum = 0;

	for (uint32_t n = 1; n < f->tree.nodes.cnt; n++) {
		uint32_t at = n;

		while (at && strcmp(f->tree.names.data[node_at(f, at)->name], "(rarer stacks)"))
			at = node_at(f, at)->parent;
		sum += at ? tapir_stack_tree__self(&f->tree, n) : 0;
	}
	return sum;
}

static uint64_t self_of(const struct fixture *f, const char *name)
{
	uint64_t sum = 0;

	for (uint32_t n = 1; n < f->tree.nodes.cnt; n++)
		if (!strcmp(f->tree.names.data[node_at(f, n)->name], name))
			sum += tapir_stack_tree__self(&f->tree, n);
	return sum;
}

static void tree_is_bounded_when_every_stack_is_new(void **state)
{
	const unsigned cnt = TAPIR_STACK_TREE_MAX_NODES / 127 + 100;
	struct fixture *f = *state;
	uint64_t frames_va[127];

	for (uint64_t id = 1; id <= cnt; id++) {
		for (unsigned i = 0; i < 127; i++)
			frames_va[i] = 0x800000 + id * 128 + i;
		add_stack(f, id, frames_va, 127);
		assert_true(add_samples(f, TGID, 10, id, 1));
	}
	tapir_stack_tree__sort(&f->tree);
	assert_false(f->tree.failed);
	assert_true(f->tree.nodes.cnt <= TAPIR_STACK_TREE_MAX_NODES);
	assert_true(f->tree.nodes.cnt > TAPIR_STACK_TREE_MAX_NODES / 4);
	assert_true(f->tree.folded_cnt >= 99);
	assert_int_equal(tapir_stack_tree__total(&f->tree, TAPIR_STACK_TREE_ROOT), cnt);
	assert_int_equal(folded_self(f), f->tree.folded_cnt);
}

/* main, then 100 frames of its own. */
static void add_deep_stack(struct fixture *f, uint64_t id)
{
	uint64_t frames_va[101];

	for (unsigned i = 0; i < 100; i++)
		frames_va[i] = 0x800000 + id * 128 + i;
	frames_va[0] = 0x400210; /* in a */
	frames_va[100] = 0x400020;
	add_stack(f, id, frames_va, 101);
}

static void frequent_stack_finds_room_when_rare_ones_fill_the_tree(void **state)
{
	const unsigned cnt = TAPIR_STACK_TREE_MAX_NODES / 100 * 2, frequent = cnt + 1;
	struct fixture *f = *state;
	struct tapir_stack_ref ref = {.tgid = TGID, .time_ns = 10, .stack_id = frequent};
	uint32_t node;

	for (uint64_t id = 1; id <= frequent; id++)
		add_deep_stack(f, id);
	for (uint64_t id = 1; id <= cnt; id++)
		assert_true(add_samples(f, TGID, 10, id, 1));
	/* Half of the tree is left to those that come again. */
	node = tapir_stack_tree__node(&f->tree, f->catalog, &ref);
	assert_int_equal(node_at(f, node_at(f, node)->parent)->name, node_at(f, 0)->name + 2);
	assert_true(add_samples(f, TGID, 10, frequent, 20));
	node = tapir_stack_tree__node(&f->tree, f->catalog, &ref);
	assert_int_equal(node_at(f, node)->depth, 101);
	tapir_stack_tree__sort(&f->tree);
	assert_int_equal(tapir_stack_tree__total(&f->tree, TAPIR_STACK_TREE_ROOT), cnt + 20);
	/* Folded ones still are below main, and in the function they were in. */
	assert_int_equal(
		tapir_stack_tree__total(&f->tree, node_at(f, TAPIR_STACK_TREE_ROOT)->first_child),
		cnt + 20);
	assert_int_equal(self_of(f, "a<\"&\x01\xff>"), cnt + 20);
	assert_int_equal(folded_self(f), f->tree.folded_cnt - 1); /* one was only looked up */
}

static void add_jit(struct fixture *f, uint64_t from_ns, uint64_t until_ns, struct tapir_sv name)
{
	struct tapir_rec_jit jit = {.tgid = TGID,
				    .source = TAPIR_JIT_METHOD_EVENT,
				    .start_va = 0x900000,
				    .size = 0x100,
				    .from_ns = from_ns,
				    .until_ns = until_ns};

	tapir_rec__init(&jit.h, TAPIR_REC_JIT, sizeof(jit), from_ns);
	describe(f, tapir_recbuf__jit(&f->buf, &jit, name));
}

static void one_address_has_the_name_of_its_time(void **state)
{
	struct fixture *f = *state;
	const uint64_t frames_va[] = {0x900010, 0x400020};
	uint32_t idx;

	add_jit(f, 100, 200, SV("first"));
	add_jit(f, 200, 0, SV("second"));
	add_stack(f, 1, frames_va, 2);
	assert_true(add_samples(f, TGID, 150, 1, 2));
	assert_true(add_samples(f, TGID, 200, 1, 3));
	assert_true(add_samples(f, TGID, 199, 1, 1));
	assert_true(add_samples(f, TGID, 50, 1, 1));
	tapir_stack_tree__sort(&f->tree);
	idx = node_at(f, node_at(f, TAPIR_STACK_TREE_ROOT)->first_child)->first_child;
	check(f, idx, "0x900010", 1, 1);
	idx = node_at(f, idx)->next_sibling;
	check(f, idx, "first", 3, 3);
	assert_int_equal(node_at(f, idx)->kind, TAPIR_FRAME_JIT);
	check(f, node_at(f, idx)->next_sibling, "second", 3, 3);
}

/* In code from 100 to 200; its addresses are used again. */
static void inlined_functions_are_frames_of_their_own(void **state)
{
	struct fixture *f = *state;
	const uint64_t frames_va[] = {0x400110, 0x900011, 0x400020};
	struct tapir_rec_jit inlined = {
		.tgid = TGID, .start_va = 0x900010, .size = 1, .from_ns = 100};
	uint32_t idx;

	add_jit(f, 100, 200, SV("first"));
	add_jit(f, 200, 0, SV("second"));
	describe(f, tapir_recbuf__inlined(&f->buf, &inlined, SV("inner\nouter")));
	inlined.start_va = 0x900018;
	describe(f, tapir_recbuf__inlined(&f->buf, &inlined, SV("")));
	add_stack(f, 1, frames_va, 3);
	assert_true(add_samples(f, TGID, 150, 1, 2));
	assert_true(add_samples(f, TGID, 250, 1, 5));
	tapir_stack_tree__sort(&f->tree);
	idx = node_at(f, node_at(f, TAPIR_STACK_TREE_ROOT)->first_child)->first_child;
	check(f, idx, "first", 2, 0);
	check(f, node_at(f, idx)->next_sibling, "second", 5, 0);
	idx = node_at(f, idx)->first_child;
	check(f, idx, "outer", 2, 0);
	assert_int_equal(node_at(f, idx)->kind, TAPIR_FRAME_JIT);
	check(f, node_at(f, idx)->first_child, "inner", 2, 0);
}

static void processes_stand_apart_when_asked_for(void **state)
{
	struct tapir_rec_process process = {.tgid = TGID, .kind = TAPIR_PROCESS_EXISTING};
	struct fixture *f = *state;
	const uint64_t frame_va = 0x400110;

	tapir_rec__init(&process.h, TAPIR_REC_PROCESS, sizeof(process), 1);
	describe(f, tapir_recbuf__process(&f->buf, &process, SV("java"), SV("/j"), SV(""), SV("")));
	add_stack(f, 1, &frame_va, 1);
	f->tree.process_frame = TAPIR_PROCESS_FRAME_EACH;
	assert_true(add_samples(f, TGID, 10, 1, 2));
	assert_true(add_samples(f, TGID + 1, 10, 1, 1));
	tapir_stack_tree__sort(&f->tree);
	check(f, 1, "java (100)", 2, 0);
	check(f, 2, "b", 2, 2);
	check(f, 3, "? (101)", 1, 0);
}

/* ---- the picture -------------------------------------------------------------------------- */

static void draw(struct fixture *f, struct tapir_str *svg)
{
	tapir_stack_tree__sort(&f->tree);
	tapir_flamegraph__write(&(struct tapir_flamegraph){.tree = &f->tree,
							   .title = "</text><script>]]>",
							   .about = "a & b",
							   .unit = "samples"},
				svg);
	assert_false(svg->failed);
}

static size_t times_in(const struct tapir_str *svg, const char *text)
{
	size_t cnt = 0;

	for (const char *at = svg->data; (at = strstr(at, text)); at += strlen(text))
		cnt++;
	return cnt;
}

static void picture_is_xml_when_names_are_hostile(void **state)
{
	struct fixture *f = *state;
	const uint64_t frames_va[] = {0x400210, 0x400030};
	struct tapir_str svg = {};

	add_stack(f, 1, frames_va, 2);
	assert_true(add_samples(f, TGID, 10, 1, 4));
	draw(f, &svg);
	assert_non_null(strstr(svg.data, "&lt;/text&gt;&lt;script&gt;]]&gt;"));
	assert_non_null(strstr(svg.data, "a &amp; b"));
	assert_non_null(strstr(svg.data, "a&lt;&quot;&amp;\xef\xbf\xbd\xef\xbf\xbd&gt;\n"
					 "4 samples (100.00 %), 4 in itself, native"));
	assert_null(strchr(svg.data, '\x01'));
	assert_int_equal(times_in(&svg, "<script>"), 1);
	assert_int_equal(times_in(&svg, "]]>"), times_in(&svg, "<![CDATA["));
	assert_null(strstr(svg.data, "href"));
	assert_null(strstr(svg.data, "url("));
	assert_int_equal(times_in(&svg, "://"), 2); /* names of XML: SVG and XHTML */
	tapir_str__fini(&svg);
}

static void narrow_frames_are_left_out_and_counted(void **state)
{
	struct fixture *f = *state;
	struct tapir_str svg = {};
	const unsigned cnt = TAPIR_FLAMEGRAPH_MAX_FRAMES + 5000;

	for (uint64_t id = 1; id <= cnt; id++) {
		uint64_t va = 0x800000 + id;

		add_stack(f, id, &va, 1);
		assert_true(add_samples(f, TGID, 10, id, id == 7 ? 100 : id % 2 ? 2 : 1));
	}
	draw(f, &svg);
	assert_int_equal(times_in(&svg, "<g class=\"f\""), 2 + (cnt / 2 - 1));
	assert_non_null(strstr(svg.data, "12,500 narrow frames left out"));
	tapir_str__fini(&svg);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(common_callers_are_one_node),
		TEST(frame_without_name_is_its_place),
		TEST(code_of_no_file_is_jit_at_its_place_in_the_mapping),
		TEST(nothing_is_added_when_no_stack_is_described),
		TEST(tree_is_bounded_when_every_stack_is_new),
		TEST(frequent_stack_finds_room_when_rare_ones_fill_the_tree),
		TEST(one_address_has_the_name_of_its_time),
		TEST(inlined_functions_are_frames_of_their_own),
		TEST(processes_stand_apart_when_asked_for),
		TEST(narrow_frames_are_left_out_and_counted),
		TEST(picture_is_xml_when_names_are_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
