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
#include "cli/flamegraph_svg.h"
#include "trace/recbuf.h"

#define SV(text) ((struct tapir_sv){text, sizeof(text) - 1})
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

static const struct tapir_tree_node *node_at(const struct fixture *f, uint32_t idx)
{
	assert_true(idx < f->tree.nodes.cnt);
	return &f->tree.nodes.data[idx];
}

static void check(const struct fixture *f, uint32_t idx, const char *name, uint64_t total,
		  uint64_t self)
{
	assert_string_equal(f->tree.names.data[node_at(f, idx)->name], name);
	assert_int_equal(node_at(f, idx)->total, total);
	assert_int_equal(node_at(f, idx)->self, self);
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
	assert_true(tapir_stack_tree__add(&f->tree, f->catalog, TGID, 10, 1, 0, 5));
	assert_true(tapir_stack_tree__add(&f->tree, f->catalog, TGID, 10, 2, 0, 2));
	assert_true(tapir_stack_tree__add(&f->tree, f->catalog, TGID, 10, 2, 0, 1));
	assert_true(tapir_stack_tree__add(&f->tree, f->catalog, TGID, 10, 3, 0, 1));
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
	assert_true(tapir_stack_tree__add(&f->tree, f->catalog, TGID, 10, 1, 0, 1));
	check(f, 1, "0x700000", 1, 0);
	check(f, 2, "x+0x900", 1, 1);
}

static void nothing_is_added_when_no_stack_is_described(void **state)
{
	struct fixture *f = *state;

	assert_false(tapir_stack_tree__add(&f->tree, f->catalog, TGID, 10, 0, 0, 1));
	assert_false(tapir_stack_tree__add(&f->tree, f->catalog, TGID, 10, 99, 0, 1));
	assert_int_equal(f->tree.nodes.cnt, 0);
}

static void tree_is_bounded_when_every_stack_is_new(void **state)
{
	struct fixture *f = *state;

	for (uint64_t i = 0; i < TAPIR_STACK_TREE_MAX_NODES + 100; i++) {
		uint64_t va = 0x800000 + i;

		add_stack(f, i + 1, &va, 1);
		assert_true(tapir_stack_tree__add(&f->tree, f->catalog, TGID, 10, i + 1, 0, 1));
	}
	assert_true(f->tree.nodes.cnt <= TAPIR_STACK_TREE_MAX_NODES);
	assert_true(f->tree.dropped > 0 || f->tree.failed);
	assert_int_equal(node_at(f, TAPIR_STACK_TREE_ROOT)->total,
			 TAPIR_STACK_TREE_MAX_NODES + 100);
}

static void picture_is_xml_when_names_are_hostile(void **state)
{
	struct fixture *f = *state;
	const uint64_t frames_va[] = {0x400210, 0x400030};
	struct tapir_str svg = {};

	add_stack(f, 1, frames_va, 2);
	assert_true(tapir_stack_tree__add(&f->tree, f->catalog, TGID, 10, 1, 0, 4));
	tapir_stack_tree__sort(&f->tree);
	tapir_flamegraph__write(&f->tree, "</text><script>", "events", &svg);
	assert_false(svg.failed);
	assert_non_null(strstr(svg.data, "&lt;/text&gt;&lt;script&gt;"));
	assert_non_null(strstr(svg.data, "a&lt;&quot;&amp;\xef\xbf\xbd\xef\xbf\xbd&gt; (4 events, "
					 "100.00 %)"));
	assert_null(strchr(svg.data, '\x01'));
	tapir_str__fini(&svg);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(common_callers_are_one_node),
		TEST(frame_without_name_is_its_place),
		TEST(nothing_is_added_when_no_stack_is_described),
		TEST(tree_is_bounded_when_every_stack_is_new),
		TEST(picture_is_xml_when_names_are_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
