// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which frames are one for a person, what they are called, and trees of them.
 *
 * runtimes: dotnet
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/folded_tree.h"
#include "analyze/frame_runs.h"
#include "spec/runtime_db/lore.h"
#include "symbol/frame_kind.h"

#define K TAPIR_FRAME_KERNEL
#define R TAPIR_FRAME_RUNTIME
#define N TAPIR_FRAME_NATIVE
#define J TAPIR_FRAME_JIT

static uint8_t runtime_called(const char *name)
{
	uint8_t idx = 0;

	tapir_lore_for_each (lore) {
		idx++;
		if (!strcmp(lore->name, name))
			return idx;
	}
	return 0;
}

struct frame {
	const char *name;
	uint8_t kind;
};

/* Frames innermost first, of which `cnt` are the first run. */
struct run {
	const char *runtime, *purpose;
	struct frame frames[8];
	uint32_t cnt;
	const char *text;
};

static const struct run runs[] = {
	{NULL,
	 NULL,
	 {{"__schedule", K},
	  {"schedule", K},
	  {"futex_do_wait", K},
	  {"__futex_wait", K},
	  {"__x64_sys_futex", K},
	  {"do_syscall_64", K},
	  {"pthread_cond_wait", N}},
	 6,
	 "[futex wait]"},
	{NULL, NULL, {{"schedule", K}, {"do_nanosleep", K}}, 2, "[sleep]"},
	{NULL, NULL, {{"schedule", K}, {"odd", K}, {"__x64_sys_openat", K}}, 3, "[openat wait]"},
	{NULL,
	 NULL,
	 {{"copy_page", K}, {"vfs_read", K}, {"ksys_read", K}, {"do_syscall_64", K}},
	 4,
	 "[kernel: read, 4 frames]"},
	{NULL,
	 NULL,
	 {{"clear_page", K}, {"exc_page_fault", K}, {"asm_exc_page_fault", K}},
	 3,
	 "[kernel: page fault, 3 frames]"},
	{NULL,
	 NULL,
	 {{"tick", K}, {"asm_sysvec_apic_timer_interrupt", K}, {"fill", N}},
	 2,
	 "[kernel: interrupt, 2 frames]"},
	{NULL, NULL, {{"wb_workfn", K}, {"kthread", K}}, 2, "[kernel: wb_workfn, 2 frames]"},
	{".NET",
	 NULL,
	 {{"libcoreclr.so!fn_1", R}, {"libcoreclr.so!fn_2", R}, {"Shop.Sell()", J}},
	 2,
	 "[.NET, 2 frames]"},
	{".NET",
	 "collection",
	 {{"libcoreclr.so!fn_1", R}, {"libcoreclr.so+0x12", R}, {"Shop.Sell()", J}},
	 2,
	 "[.NET: collection, 2 frames]"},
	{".NET",
	 "collection",
	 {{"libclrjit.so!fn_1", R}, {"libcoreclr.so+0x12", R}},
	 2,
	 "[.NET: compilation, 2 frames]"},
	{".NET",
	 NULL,
	 {{"libcoreclr.so!fn_1", R}, {"System.Runtime.EH.DispatchEx(A, B)", J}, {"Shop.Sell()", J}},
	 2,
	 "[.NET: exception dispatch, 2 frames]"},
	{".NET",
	 NULL,
	 {{"libcoreclr.so!fn_1", R}, {"System.Number.ThrowFormatException()", J}},
	 1,
	 "[.NET: exception dispatch, 1 frame]"},
	{".NET",
	 NULL,
	 {{"libcoreclr.so!fn_1", R}, {"System.Threading.Monitor.Enter(object)", J}},
	 2,
	 "[.NET: monitor, 2 frames]"},
	{"OpenJDK",
	 NULL,
	 {{"Parker::park", R}, {"Unsafe_Park", R}, {"StubRoutines (1)", J}},
	 2,
	 "[OpenJDK: park, 2 frames]"},
	{"OpenJDK",
	 NULL,
	 {{"a", R}, {"JVM_Sum", R}, {"StubRoutines (1)", J}},
	 2,
	 "[OpenJDK: JVM_Sum, 2 frames]"},
	{"OpenJDK", "collection", {{"a", R}, {"b", R}}, 2, "[OpenJDK: collection, 2 frames]"},
	{NULL,
	 NULL,
	 {{"libfoo.so+0x1", N}, {"libfoo.so!fn_2", N}, {"libbar.so!fn_2", N}},
	 2,
	 "[libfoo.so, 2 frames]"},
};

static void run_is_called_by_what_it_does(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++) {
		const struct run *r = &runs[i];
		struct tapir_frame_run run = {};
		struct tapir_str text = {};

		for (const struct frame *f = r->frames; f->name; f++)
			if (!tapir_frame_run__take(
				    &run, &(struct tapir_run_frame){
						  f->name, f->kind,
						  f->kind == R ? runtime_called(r->runtime) : 0}))
				break;
		tapir_frame_run__add(&run, r->purpose, true, &text);
		assert_string_equal(text.data, r->text);
		assert_int_equal(run.cnt, r->cnt);
		tapir_str__fini(&text);
	}
}

static void function_with_a_name_is_by_itself(void **state)
{
	struct tapir_frame_run run = {};

	(void)state;
	assert_true(tapir_frame_run__take(&run, &(struct tapir_run_frame){"main", N, 0}));
	assert_false(tapir_frame_run__take(&run, &(struct tapir_run_frame){"main", N, 0}));
	assert_int_equal(run.of, TAPIR_RUN_OF_FRAME);
	assert_int_equal(run.cnt, 1);
}

/* ---- trees ---------------------------------------------------------------------------------------- */

static uint32_t add(struct tapir_stack_tree *tree, const struct frame *outermost)
{
	uint32_t node = TAPIR_STACK_TREE_ROOT;

	assert_true(tapir_stack_tree__begin(tree));
	for (const struct frame *f = outermost; f->name; f++)
		node = tapir_stack_tree__child(tree, node, f->name, f->kind);
	tapir_stack_tree__count(tree, node, 1);
	return node;
}

/* "main[futex wait]" of a node, from the outside in. */
static void assert_path(const struct tapir_stack_tree *tree, uint32_t node, const char *path)
{
	size_t len = strlen(path), name_len;

	for (; node; node = tree->nodes.data[node].parent) {
		const char *name = tree->names.data[tree->nodes.data[node].name];

		name_len = strlen(name);
		assert_true(name_len <= len);
		assert_memory_equal(path + len - name_len, name, name_len);
		len -= name_len;
	}
	assert_int_equal(len, 0);
}

static const struct frame reads[] = {
	{"main", N}, {"do_syscall_64", K}, {"ksys_read", K}, {"copy_page", K}, {}};
static const struct frame reads_less[] = {{"main", N}, {"ksys_read", K}, {}};
static const struct frame nameless[] = {{"main", N},   {"libfoo.so+0x1", N}, {"libfoo.so+0x2", N},
					{"malloc", N}, {"clear", K},	     {}};

static void stacks_that_do_the_same_share_a_node(void **state)
{
	struct tapir_folded_tree folded = {};
	struct tapir_stack_tree tree = {};
	uint32_t reading = add(&tree, reads), node;

	(void)state;
	add(&tree, reads_less);
	add(&tree, nameless);
	tapir_folded_tree__add(&folded, &tree);
	tapir_stack_tree__sort(&folded.tree);
	assert_false(folded.tree.failed);
	assert_int_equal(tapir_stack_tree__total(&folded.tree, 0), 3);
	node = tapir_folded_tree__node(&folded, &tree, reading, NULL);
	assert_path(&folded.tree, node, "main[kernel: read]");
	assert_int_equal(tapir_stack_tree__self(&folded.tree, node), 2);
	assert_int_equal(folded.tree.nodes.cnt, 6);
	tapir_folded_tree__fini(&folded);
	tapir_stack_tree__fini(&tree);
}

/* What is outside of the runtime that has the purpose, is the same node with and without. */
static void purpose_is_of_the_innermost_run_without_names(void **state)
{
	struct tapir_folded_tree folded = {};
	struct tapir_stack_tree tree = {};
	uint32_t leaf = add(&tree, nameless), with, without;

	(void)state;
	with = tapir_folded_tree__node(&folded, &tree, leaf, "collection");
	without = tapir_folded_tree__node(&folded, &tree, leaf, NULL);
	assert_path(&folded.tree, with, "main[libfoo.so: collection]malloc[kernel: clear]");
	assert_path(&folded.tree, without, "main[libfoo.so]malloc[kernel: clear]");
	assert_int_equal(with, tapir_folded_tree__node(&folded, &tree, leaf, "collection"));
	assert_int_equal(tapir_folded_tree__node(&folded, &tree, UINT32_MAX, "x"), 0);
	tapir_folded_tree__fini(&folded);
	tapir_stack_tree__fini(&tree);
}

static void tree_of_nothing_has_a_root(void **state)
{
	struct tapir_folded_tree folded = {};
	struct tapir_stack_tree tree = {};

	(void)state;
	tapir_folded_tree__add(&folded, &tree);
	assert_int_equal(tapir_folded_tree__node(&folded, &tree, 0, NULL), 0);
	assert_int_equal(folded.tree.nodes.cnt, 1);
	tapir_folded_tree__fini(&folded);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(run_is_called_by_what_it_does),
		cmocka_unit_test(function_with_a_name_is_by_itself),
		cmocka_unit_test(stacks_that_do_the_same_share_a_node),
		cmocka_unit_test(purpose_is_of_the_innermost_run_without_names),
		cmocka_unit_test(tree_of_nothing_has_a_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
