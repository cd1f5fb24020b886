// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The picture: a rectangle a node, its width its share, its callees above it. The script in the
 * file reads position and size from the rectangles' own attributes, so the picture is complete
 * without it.
 */
#include "cli/flamegraph_svg.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define WIDTH_PX      1200.0
#define ROW_PX	      17
#define HEAD_PX	      56
#define FOOT_PX	      28
#define LEAST_PX      0.1 /* what is narrower is left out: nobody could see or click it */
#define CHAR_PX	      7.0
#define TEXT_LEAST_PX 24.0

static const char script[] =
	"const "
	"W=1200,frames=[...document.querySelectorAll('g.f')],byId=i=>document.getElementById(i);\n"
	"const num=(g,k)=>parseFloat(g.dataset[k]);\n"
	"let shown=[0,W],pattern=null;\n"
	"function draw(){const [from,width]=shown,scale=W/width;let hit=0,last=-1;\n"
	" for(const g of frames){const x=(num(g,'x')-from)*scale,w=num(g,'w')*scale;\n"
	"  const out=x+w<=0.01||x>=W-0.01;g.style.display=out?'none':'';if(out)continue;\n"
	"  const "
	"left=Math.max(0,x),right=Math.min(W,x+w),r=g.querySelector('rect'),t=g.querySelector('"
	"text');\n"
	"  r.setAttribute('x',left);r.setAttribute('width',Math.max(0.1,right-left));\n"
	"  const room=Math.floor((right-left-6)/7),name=g.dataset.n;\n"
	"  t.setAttribute('x',left+3);\n"
	"  t.textContent=room<3?'':name.length<=room?name:name.slice(0,room-2)+'..';\n"
	"  const match=pattern&&pattern.test(name);r.classList.toggle('hit',!!match);}\n"
	" if(pattern){const spans=frames.filter(g=>pattern.test(g.dataset.n))\n"
	"   .map(g=>[num(g,'x'),num(g,'x')+num(g,'w')]).sort((a,b)=>a[0]-b[0]);\n"
	"  for(const [a,b] of spans){if(b>last){hit+=b-Math.max(a,last);last=b;}}\n"
	"  byId('found').textContent='found in '+(100*hit/W).toFixed(1)+' %';}\n"
	" else byId('found').textContent='';\n"
	" byId('reset').style.display=width<W?'':'none';}\n"
	"for(const g of "
	"frames)g.addEventListener('click',()=>{shown=[num(g,'x'),num(g,'w')];draw();});\n"
	"byId('reset').addEventListener('click',()=>{shown=[0,W];draw();});\n"
	"function search(){const text=prompt('Functions that match (regular expression; empty: "
	"none)','');\n"
	" if(text===null)return;try{pattern=text?new "
	"RegExp(text):null;}catch(e){alert(e.message);return;}\n"
	" draw();}\n"
	"byId('search').addEventListener('click',search);\n"
	"addEventListener('keydown',e=>{if(e.key==='/"
	"'||(e.ctrlKey&&e.key==='f')){e.preventDefault();search();}\n"
	" if(e.key==='Escape'){shown=[0,W];draw();}});\n";

/* Text for XML 1.0: what it may not hold at all becomes U+FFFD (XML 1.0, 2.2 "Characters"). */
static void add_xml(struct tapir_str *out, const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t len = strlen(text);

	for (size_t i = 0, seq; i < len; i += seq ? seq : 1) {
		seq = tapir_utf8__len(p + i, len - i);
		if (!seq || p[i] < 0x20 || p[i] == 0x7f ||
		    (seq == 3 && p[i] == 0xef && p[i + 1] == 0xbf && p[i + 2] >= 0xbe))
			tapir_str__adds(out, "\xef\xbf\xbd");
		else if (p[i] == '<')
			tapir_str__adds(out, "&lt;");
		else if (p[i] == '>')
			tapir_str__adds(out, "&gt;");
		else if (p[i] == '&')
			tapir_str__adds(out, "&amp;");
		else if (p[i] == '"')
			tapir_str__adds(out, "&quot;");
		else
			tapir_str__add(out, text + i, seq);
	}
}

/* Warm and steady: a function has the same colour in every picture. */
static void add_colour(struct tapir_str *out, const char *name)
{
	uint64_t hash = tapir_hash__bytes(3, name, strlen(name));

	tapir_str__addf(out, "rgb(%u,%u,%u)", 205 + (unsigned)(hash % 50),
			90 + (unsigned)(hash / 50 % 120), 30 + (unsigned)(hash / 6000 % 40));
}

/* The bytes of the first chars characters; what is no UTF-8 counts as one a byte. */
static size_t bytes_of(const char *name, size_t chars)
{
	size_t len = strlen(name), bytes = 0;

	while (chars-- && bytes < len) {
		size_t seq = tapir_utf8__len((const unsigned char *)name + bytes, len - bytes);

		bytes += seq ? seq : 1;
	}
	return bytes;
}

/* As much of the name as there is room for. */
static void add_label(struct tapir_str *out, const char *name, double width_px)
{
	size_t room = width_px < TEXT_LEAST_PX ? 0 : (size_t)((width_px - 6) / CHAR_PX);
	char text[1024];

	if (room < 3)
		return;
	if (bytes_of(name, room) == strlen(name)) {
		add_xml(out, name);
		return;
	}
	snprintf(text, sizeof(text), "%.*s", (int)bytes_of(name, room - 2), name);
	add_xml(out, text);
	tapir_str__adds(out, "..");
}

struct drawing {
	const struct tapir_stack_tree *tree;
	const char *unit;
	struct tapir_str *out;
	double px_each; /* a unit of weight */
	unsigned height_px;
};

static void draw_node(const struct drawing *d, const struct tapir_tree_node *node, double x_px)
{
	const char *name = d->tree->names.data[node->name];
	uint64_t all = d->tree->nodes.data[TAPIR_STACK_TREE_ROOT].total;
	double width_px = (double)node->total * d->px_each;
	unsigned y_px = d->height_px - FOOT_PX - (node->depth + 1) * ROW_PX;

	tapir_str__addf(d->out, "<g class=\"f\" data-x=\"%.2f\" data-w=\"%.2f\" data-n=\"", x_px,
			width_px);
	add_xml(d->out, name);
	tapir_str__adds(d->out, "\"><title>");
	add_xml(d->out, name);
	tapir_str__addf(d->out, " (%" PRIu64 " %s, %.2f %%)</title>", node->total, d->unit,
			100.0 * (double)node->total / (double)all);
	tapir_str__addf(d->out,
			"<rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\" rx=\"2\" fill=\"",
			x_px, y_px, width_px, ROW_PX - 1);
	add_colour(d->out, name);
	tapir_str__addf(d->out, "\"/><text x=\"%.2f\" y=\"%u\">", x_px + 3, y_px + 12);
	add_label(d->out, name, width_px);
	tapir_str__adds(d->out, "</text></g>\n");
}

/* Depth is bounded by the frames of two stacks. */
static void draw_tree(const struct drawing *d, uint32_t idx, double x_px)
{
	const struct tapir_tree_node *node = &d->tree->nodes.data[idx];

	if ((double)node->total * d->px_each < LEAST_PX)
		return;
	draw_node(d, node, x_px);
	for (uint32_t c = node->first_child; c; c = d->tree->nodes.data[c].next_sibling) {
		draw_tree(d, c, x_px);
		x_px += (double)d->tree->nodes.data[c].total * d->px_each;
	}
}

static void write_head(const struct drawing *d, const char *title)
{
	tapir_str__addf(d->out,
			"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
			"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %u\" "
			"width=\"100%%\" font-family=\"monospace\" font-size=\"12\">\n"
			"<style>.f{cursor:pointer}.f:hover rect{stroke:#000;stroke-width:.5}"
			".f text{pointer-events:none;font-size:11.5px}.hit{fill:#e600e6}"
			".b{cursor:pointer;fill:#555}.b:hover{fill:#000}</style>\n"
			"<rect width=\"%.0f\" height=\"%u\" fill=\"#fdf8f0\"/>\n"
			"<text x=\"%.0f\" y=\"24\" text-anchor=\"middle\" font-size=\"16\">",
			WIDTH_PX, d->height_px, WIDTH_PX, d->height_px, WIDTH_PX / 2);
	add_xml(d->out, title);
	tapir_str__addf(d->out,
			"</text>\n<text id=\"reset\" class=\"b\" x=\"10\" y=\"24\" "
			"style=\"display:none\">show all (Esc)</text>\n"
			"<text id=\"search\" class=\"b\" x=\"%.0f\" y=\"24\" "
			"text-anchor=\"end\">search (/)</text>\n"
			"<text id=\"found\" x=\"%.0f\" y=\"42\" text-anchor=\"end\"></text>\n",
			WIDTH_PX - 10, WIDTH_PX - 10);
}

void tapir_flamegraph__write(const struct tapir_stack_tree *tree, const char *title,
			     const char *unit, struct tapir_str *out)
{
	struct drawing d = {
		.tree = tree,
		.unit = unit,
		.out = out,
		.px_each = WIDTH_PX / (double)tree->nodes.data[TAPIR_STACK_TREE_ROOT].total,
		.height_px = HEAD_PX + FOOT_PX + (tree->max_depth + 1) * ROW_PX,
	};

	write_head(&d, title);
	draw_tree(&d, TAPIR_STACK_TREE_ROOT, 0);
	tapir_str__addf(out, "<text x=\"10\" y=\"%u\" fill=\"#555\">%" PRIu64 " %s",
			d.height_px - 9, tree->nodes.data[TAPIR_STACK_TREE_ROOT].total, unit);
	if (tree->dropped)
		tapir_str__addf(out, "; %" PRIu64 " frames found no room", tree->dropped);
	tapir_str__adds(out, "</text>\n<script><![CDATA[\n");
	tapir_str__adds(out, script);
	tapir_str__adds(out, "]]></script>\n</svg>\n");
}
