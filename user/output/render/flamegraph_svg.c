// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The picture: a rectangle per node, its width its share, its callees below it: so the root is
 * right below the header however deep the stacks are, and the page opens at its top. It is complete
 * without its script (flamegraph.js), which adds zoom and search and finds a frame's numbers in
 * data-at: start, weight, depth. A <title> holds the name, a line break, and the numbers.
 */
#include "output/render/flamegraph_svg.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "output/render/human_units.h"
#include "flamegraph.gen.h" /* the script and the style sheet as strings */
#include "symbol/frame_kind.h"

const char tapir_flamegraph_policy[] =
	"default-src 'none'; script-src '" FLAMEGRAPH_JS_HASH "'; style-src '" FLAMEGRAPH_CSS_HASH
	"'; sandbox allow-scripts; frame-ancestors 'self'";

#define WIDTH_PX    1200
#define LEFT_PX	    10
#define ROW_PX	    17
#define HEAD_PX	    104
#define FINDING_PX  18 /* more, for each line of it */
#define FOOT_PX	    12
#define CHAR_PX	    7.25
#define LEAST_SHARE 50000 /* a frame narrower than one of this many cannot be seen or clicked */
#define TITLE_CHARS 90
#define ABOUT_CHARS 160

/* Without the line break; *at: where the next one begins. False: there are no more. */
static bool next_line(const char **at, struct tapir_str *line)
{
	size_t len = *at ? strcspn(*at, "\n") : 0;

	tapir_str__clear(line);
	if (!len)
		return false;
	tapir_str__add(line, *at, len);
	*at += len + ((*at)[len] == '\n');
	return !line->failed;
}

static unsigned head_px(const struct tapir_flamegraph *graph)
{
	const char *at = graph->finding;
	struct tapir_str line = {};
	unsigned px = HEAD_PX;

	while (next_line(&at, &line))
		px += FINDING_PX;
	tapir_str__fini(&line);
	return px;
}

/* ---- text ------------------------------------------------------------------------------- */

static void add_xml(struct tapir_str *out, const char *text)
{
	tapir_str__add_markup(out, text, strlen(text));
}

/*
 * Adds as much of the text as fits into room columns; characters beyond ASCII may be two columns
 * wide.
 */
static void add_fitting(struct tapir_str *out, const char *text, size_t room)
{
	size_t len = strlen(text), used = 0, kept = 0;

	for (size_t i = 0, seq; i < len; i += seq ? seq : 1) {
		seq = tapir_utf8__len((const unsigned char *)text + i, len - i);
		used += seq > 2 ? 2 : 1;
		if (used > room) {
			tapir_str__add_markup(out, text, kept);
			tapir_str__adds(out, "\xe2\x80\xa6");
			return;
		}
		if (used < room)
			kept = i + (seq ? seq : 1);
	}
	tapir_str__add_markup(out, text, len);
}

/* ---- colours ------------------------------------------------------------------------------ */

struct rgb {
	int r, g, b;
};

/* Colours from light to dark; black text can be read on both. */
static const struct rgb shades[TAPIR_FRAME_KIND_CNT][2] = {
	[TAPIR_FRAME_NONE] = {{214, 219, 225}, {198, 204, 212}},
	[TAPIR_FRAME_NATIVE] = {{250, 190, 124}, {238, 146, 84}},
	[TAPIR_FRAME_RUNTIME] = {{247, 225, 128}, {228, 196, 82}},
	[TAPIR_FRAME_INTERPRETER] = {{150, 220, 212}, {92, 186, 178}},
	[TAPIR_FRAME_JIT] = {{164, 217, 138}, {108, 183, 94}},
	[TAPIR_FRAME_KERNEL] = {{186, 196, 240}, {142, 160, 222}},
	[TAPIR_FRAME_AWAITING] = {{226, 205, 240}, {200, 168, 222}},
};

/* Steady: a function has the same shade in every picture. */
static void add_colour(struct tapir_str *out, unsigned kind, const char *name)
{
	int t = (int)(tapir_hash__bytes(3, name, strlen(name)) >> 32) & 0xff;
	const struct rgb *light = &shades[kind][0], *dark = &shades[kind][1];

	tapir_str__addf(out, "#%02x%02x%02x", (unsigned)(light->r + (dark->r - light->r) * t / 255),
			(unsigned)(light->g + (dark->g - light->g) * t / 255),
			(unsigned)(light->b + (dark->b - light->b) * t / 255));
}

/* ---- frames ------------------------------------------------------------------------------- */

struct drawing {
	const struct tapir_flamegraph *graph;
	const struct tapir_stack_tree *tree;
	struct tapir_str *out;
	uint64_t all, least; /* weights: of everything, of the narrowest frame that is drawn */
	double px_each;	     /* a unit of weight */
	unsigned height_px;
	uint64_t drawn_cnt;
};

static double share_of_all(const struct drawing *d, uint64_t weight)
{
	return 100.0 * (double)weight / (double)d->all;
}

static void add_counted(const struct drawing *d, uint64_t cnt)
{
	size_t len = strlen(d->graph->unit);

	tapir_human__add_count(d->out, cnt);
	tapir_str__addf(d->out, " %.*s", (int)(cnt == 1 && len ? len - 1 : len), d->graph->unit);
}

/* "main", a line break, "1,204 samples (12.04 %), 3 of them here (kernel)". */
static void add_title(const struct drawing *d, const struct tapir_tree_node *node)
{
	const char *kind = tapir_frame_kind__name(node->kind);
	uint32_t idx = (uint32_t)(node - d->tree->nodes.data);
	uint64_t total = tapir_stack_tree__total(d->tree, idx);
	uint64_t self = tapir_stack_tree__self(d->tree, idx);
	struct tapir_str label = {};

	tapir_stack_tree__add_label(&label, d->tree, idx);
	tapir_str__adds(d->out, "<title>");
	add_xml(d->out, label.data ? label.data : "");
	d->out->failed |= label.failed;
	tapir_str__fini(&label);
	tapir_str__addc(d->out, '\n');
	add_counted(d, total);
	tapir_str__addf(d->out, " (%.2f %%)", share_of_all(d, total));
	if (self) {
		tapir_str__adds(d->out, ", ");
		tapir_human__add_count(d->out, self);
		tapir_str__adds(d->out, " in itself");
	}
	if (*kind)
		tapir_str__addf(d->out, ", %s", kind);
	tapir_str__adds(d->out, "</title>");
}

static void draw_node(struct drawing *d, const struct tapir_tree_node *node, uint64_t start)
{
	const char *name = d->tree->names.data[node->name];
	uint64_t total = tapir_stack_tree__total(d->tree, (uint32_t)(node - d->tree->nodes.data));
	double x_px = LEFT_PX + (double)start * d->px_each;
	double width_px = (double)total * d->px_each;
	unsigned y_px = head_px(d->graph) + node->depth * ROW_PX;

	tapir_str__addf(d->out, "<g class=\"f\" data-at=\"%" PRIu64 " %" PRIu64 " %u\">", start,
			total, node->depth);
	add_title(d, node);
	tapir_str__addf(d->out,
			"<rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\" rx=\"1.5\" fill=\"",
			x_px, y_px, width_px > 3 ? width_px - 0.5 : width_px, ROW_PX - 1);
	add_colour(d->out, node->kind, name);
	tapir_str__addf(d->out, "\"/><text x=\"%.2f\" y=\"%u\">", x_px + 3, y_px + 12);
	if (width_px >= 2 * CHAR_PX + 6)
		add_fitting(d->out, name, (size_t)((width_px - 6) / CHAR_PX));
	tapir_str__adds(d->out, "</text></g>\n");
	d->drawn_cnt++;
}

/* Depth is bounded by the frames of two stacks. */
static void draw_tree(struct drawing *d, uint32_t idx, uint64_t start)
{
	const struct tapir_tree_node *node = &d->tree->nodes.data[idx];

	if (tapir_stack_tree__total(d->tree, idx) < d->least)
		return;
	draw_node(d, node, start);
	for (uint32_t c = node->first_child; c; c = d->tree->nodes.data[c].next_sibling) {
		draw_tree(d, c, start);
		start += tapir_stack_tree__total(d->tree, c);
	}
}

static int more_first(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x > y ? -1 : x < y;
}

/* No child weighs more than its parent: what is drawn hangs together. */
static uint64_t least_weight(const struct tapir_stack_tree *tree, uint64_t all)
{
	uint64_t least = all / LEAST_SHARE + 1, *weights;
	size_t cnt = tree->nodes.cnt;

	if (cnt <= TAPIR_FLAMEGRAPH_MAX_FRAMES)
		return least;
	weights = calloc(cnt, sizeof(*weights));
	if (!weights)
		return all / 100 + 1;
	for (size_t i = 0; i < cnt; i++)
		weights[i] = tapir_stack_tree__total(tree, (uint32_t)i);
	qsort(weights, cnt, sizeof(*weights), more_first);
	if (weights[TAPIR_FLAMEGRAPH_MAX_FRAMES] >= least)
		least = weights[TAPIR_FLAMEGRAPH_MAX_FRAMES] + 1;
	free(weights);
	return least;
}

/* Rows that are drawn; the deepest frames may all be too narrow. */
static uint32_t drawn_depth(const struct tapir_stack_tree *tree, uint64_t least)
{
	uint32_t depth = 0;

	for (uint32_t i = 0; i < tree->nodes.cnt; i++)
		if (tapir_stack_tree__total(tree, i) >= least && tree->nodes.data[i].depth > depth)
			depth = tree->nodes.data[i].depth;
	return depth;
}

/* ---- around them ---------------------------------------------------------------------------- */

/* A square of each colour that occurs, and which share of all ended in such a frame. */
static void write_legend(const struct drawing *d)
{
	uint64_t self[TAPIR_FRAME_KIND_CNT] = {};
	bool occurs[TAPIR_FRAME_KIND_CNT] = {};
	const struct tapir_tree_node *node;

	tapir_vec_for_each (node, &d->tree->nodes) {
		self[node->kind] +=
			tapir_stack_tree__self(d->tree, (uint32_t)(node - d->tree->nodes.data));
		occurs[node->kind] = true;
	}
	tapir_str__addf(d->out,
			"<text x=\"%d\" y=\"71\" class=\"soft legend\" xml:space=\"preserve\">",
			LEFT_PX);
	for (unsigned kind = TAPIR_FRAME_NONE + 1; kind < TAPIR_FRAME_KIND_CNT; kind++) {
		const struct rgb *c = &shades[kind][1];

		if (!occurs[kind])
			continue;
		tapir_str__addf(
			d->out,
			"<tspan fill=\"#%02x%02x%02x\" font-size=\"15\">&#x25a0;</tspan> %s",
			(unsigned)c->r, (unsigned)c->g, (unsigned)c->b,
			tapir_frame_kind__name(kind));
		if (kind != TAPIR_FRAME_AWAITING) /* which no stack ends in */
			tapir_str__addf(d->out, " %.1f %%", share_of_all(d, self[kind]));
		tapir_str__adds(d->out, "    ");
	}
	tapir_str__adds(d->out, "</text>\n");
}

/* Shown by the script alone: without it there is nothing to search with. */
static void write_tools(const struct drawing *d)
{
	tapir_str__adds(
		d->out,
		"<g id=\"tools\" transform=\"translate(1190,0)\">"
		"<g id=\"reset\"><rect x=\"-370\" y=\"10\" width=\"98\" height=\"28\" rx=\"4\"/>"
		"<text x=\"-321\" y=\"28\" text-anchor=\"middle\">Reset zoom</text></g>"
		"<foreignObject x=\"-262\" y=\"10\" width=\"262\" height=\"30\">"
		"<input xmlns=\"http://www.w3.org/1999/xhtml\" id=\"query\" type=\"search\" "
		"spellcheck=\"false\" autocomplete=\"off\" "
		"placeholder=\"Search (regular expression)\"/></foreignObject>"
		"<text id=\"found\" x=\"0\" y=\"71\" text-anchor=\"end\"></text></g>\n");
}

/* Writes as much of the sentence as fits; all of it appears where the pointer rests on it. */
static void write_finding(const struct drawing *d)
{
	const char *at = d->graph->finding;
	struct tapir_str line = {};

	for (int y_px = HEAD_PX + 4; next_line(&at, &line); y_px += FINDING_PX) {
		tapir_str__addf(d->out, "<text %s x=\"%d\" y=\"%d\"><title>",
				y_px == HEAD_PX + 4 ? "id=\"finding\"" : "class=\"soft\"", LEFT_PX,
				y_px);
		add_xml(d->out, line.data);
		tapir_str__adds(d->out, "</title>");
		add_fitting(d->out, line.data, ABOUT_CHARS);
		tapir_str__adds(d->out, "</text>\n");
	}
	d->out->failed |= line.failed;
	tapir_str__fini(&line);
}

static void write_head(const struct drawing *d)
{
	uint64_t not_drawn_cnt = d->tree->nodes.cnt - d->drawn_cnt;

	tapir_str__addf(d->out,
			"<g id=\"head\"><rect class=\"wide\" width=\"%d\" height=\"%d\" "
			"fill=\"#f6f7f9\"/><text x=\"%d\" y=\"30\" class=\"title\">",
			WIDTH_PX, head_px(d->graph) - 6, LEFT_PX);
	add_fitting(d->out, d->graph->title, TITLE_CHARS);
	tapir_str__addf(d->out, "</text>\n<text x=\"%d\" y=\"50\" class=\"soft\">", LEFT_PX);
	add_counted(d, d->all);
	if (*d->graph->about)
		tapir_str__adds(d->out, " \xc2\xb7 ");
	add_fitting(d->out, d->graph->about, ABOUT_CHARS);
	if (not_drawn_cnt) {
		tapir_str__adds(d->out, " \xc2\xb7 <tspan class=\"warn\">");
		tapir_human__add_count(d->out, not_drawn_cnt);
		tapir_str__addf(d->out, " narrow frame%s left out</tspan>",
				not_drawn_cnt == 1 ? "" : "s");
	}
	tapir_str__adds(d->out, "</text>\n");
	write_legend(d);
	tapir_str__addf(
		d->out,
		"<text id=\"about\" x=\"%d\" y=\"90\" class=\"soft\">Click a frame to zoom in "
		"on it, Esc to see all again; / or Ctrl-F searches.</text>\n",
		LEFT_PX);
	write_finding(d);
	write_tools(d);
	tapir_str__adds(d->out, "</g>\n");
}

static void write_start(const struct drawing *d)
{
	tapir_str__addf(
		d->out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %u\" width=\"%d\" "
		"height=\"%u\" data-height=\"%u\" data-unit=\"",
		WIDTH_PX, d->height_px, WIDTH_PX, d->height_px, d->height_px);
	add_xml(d->out, d->graph->unit);
	tapir_str__adds(d->out, "\">\n<title>");
	add_xml(d->out, d->graph->title);
	tapir_str__addf(d->out,
			"</title>\n<style><![CDATA[\n%s]]></style>\n"
			"<rect class=\"wide\" width=\"%d\" height=\"%u\" fill=\"#fff\"/>\n",
			flamegraph_css, WIDTH_PX, d->height_px);
}

void tapir_flamegraph__write(const struct tapir_flamegraph *graph, struct tapir_str *out)
{
	const struct tapir_stack_tree *tree = graph->tree;
	struct drawing d = {
		.graph = graph,
		.tree = tree,
		.out = out,
		.all = tapir_stack_tree__total(tree, TAPIR_STACK_TREE_ROOT),
	};

	d.least = least_weight(tree, d.all);
	d.px_each = (WIDTH_PX - 2.0 * LEFT_PX) / (double)d.all;
	d.height_px = head_px(graph) + FOOT_PX + (drawn_depth(tree, d.least) + 1) * ROW_PX;
	write_start(&d);
	draw_tree(&d, TAPIR_STACK_TREE_ROOT, 0);
	write_head(&d); /* covers the frames when the page is scrolled */
	tapir_str__adds(out, "<script><![CDATA[\n");
	tapir_str__adds(out, flamegraph_js);
	tapir_str__adds(out, "]]></script>\n</svg>\n");
}
