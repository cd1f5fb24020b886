// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any well-formed records in any order, folded, drawn and exported: no stack is lost, and what a
 * browser or a terminal gets has no byte that it would act on.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/stack_tree.h"
#include "each_record.h"
#include "output/render/flamegraph_svg.h"
#include "output/export/perf_script.h"

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

struct growing {
	struct tapir_stack_tree tree;
	struct tapir_perf_script script;
	struct tapir_str text;
	uint64_t added;
};

static void grow(void *ctx, const struct tapir_rec *rec)
{
	struct growing *g = ctx;

	g->added += tapir_stack_tree__add_record(&g->tree, g->script.catalog, rec);
	tapir_perf_script__add(&g->script, rec, &g->text);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	struct tapir_catalog *catalog = tapir_catalog__new(TAPIR_CATALOG_READ, NULL);
	struct growing g = {.tree.process_frame = len % 3, .script.catalog = catalog};

	each_record(input, len, catalog, grow, &g);
	tapir_stack_tree__sort(&g.tree);
	if (g.added && tapir_stack_tree__total(&g.tree, TAPIR_STACK_TREE_ROOT) != g.added)
		abort();
	if (g.added)
		draw(&g.tree);
	for (size_t i = 0; i < g.text.len; i++)
		if ((unsigned char)g.text.data[i] < 0x20 && !strchr("\n\t", g.text.data[i]))
			abort();
	tapir_perf_script__fini(&g.script);
	tapir_str__fini(&g.text);
	tapir_stack_tree__fini(&g.tree);
	tapir_catalog__free(catalog);
	return 0;
}
