// SPDX-License-Identifier: GPL-2.0-or-later
// fuzz: user/analyze/*.c user/symbol/frame.c user/symbol/frame_kind.c user/symbol/stack_memo.c
// fuzz: user/export/perf_script.c user/cli/flamegraph_svg.c user/cli/figures.c
// fuzz: user/trace/*.c user/base/*.c
/*
 * Any well-formed records in any order, folded, drawn and exported: no stack is lost, and what a
 * browser or a terminal gets has no byte that it would act on.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/stack_tree.h"
#include "cli/flamegraph_svg.h"
#include "export/perf_script.h"

#define MAX_RECORDS 4096

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

static void check_svg(struct tapir_str *svg)
{
	const char *script = strstr(svg->data, "<script>");

	if (!script || strstr(script + 1, "<script>"))
		abort();
	for (size_t i = 0; i < svg->len; i++)
		if ((unsigned char)svg->data[i] < 0x20 && !strchr("\n\t", svg->data[i]))
			abort();
}

static void draw(struct tapir_stack_tree *tree)
{
	struct tapir_str svg = {};

	tapir_flamegraph__write(&(struct tapir_flamegraph){tree, "title", "about", "samples"},
				&svg);
	check_svg(&svg);
	tapir_str__fini(&svg);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	struct tapir_catalog *catalog = tapir_catalog__new(TAPIR_CATALOG_READ, NULL);
	struct tapir_stack_tree tree = {.by_process = len % 2};
	struct tapir_perf_script script = {.catalog = catalog};
	struct tapir_str text = {};
	uint64_t *copy = malloc(len + 8), added = 0; /* aligned */
	size_t at = 0;

	memcpy(copy, input, len);
	for (unsigned i = 0; i < MAX_RECORDS && at < len; i++) {
		const struct tapir_rec *rec = (const void *)((const uint8_t *)copy + at);

		if (!tapir_record__ok(rec, len - at))
			break;
		tapir_catalog__describe(catalog, rec);
		added += tapir_stack_tree__add_record(&tree, catalog, rec);
		tapir_perf_script__add(&script, rec, &text);
		at += rec->size;
	}
	tapir_stack_tree__sort(&tree);
	if (added && tree.nodes.data[TAPIR_STACK_TREE_ROOT].total != added)
		abort();
	if (added)
		draw(&tree);
	for (size_t i = 0; i < text.len; i++)
		if ((unsigned char)text.data[i] < 0x20 && !strchr("\n\t", text.data[i]))
			abort();
	tapir_perf_script__fini(&script);
	tapir_str__fini(&text);
	tapir_stack_tree__fini(&tree);
	tapir_catalog__free(catalog);
	free(copy);
	return 0;
}
