// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Charts that need no script, as SVG: pauses on a time line, a counter's values. Colours are the
 * page's, so they follow its light or dark scheme.
 */
#include <math.h>

#include "agent/pages/pages_impl.h"
#include "output/render/human_units.h"

#define WIDTH	   1000
#define HEIGHT	   120
#define AXIS	   18
#define MIN_PX	   2.0
#define MAX_PAUSES 2000
#define SPARK_W	   160
#define SPARK_H	   28

/* A bar per pause, as high as the longest of them is to it. */
static void add_pause(struct tapir_str *out, const json_t *p, uint64_t duration_ns, uint64_t worst)
{
	uint64_t ns = tapir_member__u64(p, "ns");
	double x = WIDTH * (double)tapir_member__u64(p, "at_ns") / (double)duration_ns;
	double width = fmax(MIN_PX, WIDTH * (double)ns / (double)duration_ns);
	double height = fmax(MIN_PX, (HEIGHT - AXIS) * (double)ns / (double)worst);

	tapir_html__add(out,
			"<rect class=\"bar\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">"
			"<title>",
			x, HEIGHT - AXIS - height, width, height);
	tapir_human__add_duration(out, ns);
	tapir_str__adds(out, " at ");
	tapir_human__add_duration(out, tapir_member__u64(p, "at_ns"));
	tapir_html__add(out, ", %s</title></rect>", tapir_member__text(p, "reason"));
}

void tapir_chart__add_pauses(struct tapir_str *out, const json_t *pauses, uint64_t duration_ns)
{
	uint64_t worst = 1;
	const json_t *p;
	size_t i;

	json_array_foreach(pauses, i, p)
	{
		uint64_t end = tapir_member__u64(p, "at_ns") + tapir_member__u64(p, "ns");

		if (tapir_member__u64(p, "ns") > worst)
			worst = tapir_member__u64(p, "ns");
		/* The last pause may end after the last record of anything else. */
		if (end > duration_ns)
			duration_ns = end;
	}
	if (!duration_ns)
		return;
	tapir_html__add(out,
			"<figure><svg class=\"timeline\" viewBox=\"0 0 %u %u\" role=\"img\" "
			"aria-label=\"Pauses over the time of the recording\" "
			"preserveAspectRatio=\"none\">",
			WIDTH, HEIGHT);
	json_array_foreach(pauses, i, p) if (i < MAX_PAUSES) add_pause(out, p, duration_ns, worst);
	tapir_html__add(out,
			"<line class=\"axis\" x1=\"0\" y1=\"%u\" x2=\"%u\" y2=\"%u\"/></svg>\n"
			"<figcaption><span>0 s</span><span>highest bar ",
			HEIGHT - AXIS, WIDTH, HEIGHT - AXIS);
	tapir_human__add_duration(out, worst);
	tapir_str__adds(out, "</span><span>");
	tapir_human__add_duration(out, duration_ns);
	tapir_str__adds(out, "</span></figcaption></figure>\n");
}

void tapir_page__add_counter_cells(struct tapir_str *out, const json_t *c)
{
	tapir_html__add(out, "<td class=\"t\" title=\"%s\">%s %s</td>",
			tapir_member__text(c, "provider"), tapir_member__text(c, "name"),
			tapir_member__text(c, "tags"));
	tapir_html__cell(out, c, "last");
	tapir_html__add(out, "<td>%s</td>",
			tapir_member__is(c, "unit", "By") ? "bytes"
							  : tapir_member__text(c, "unit"));
	tapir_str__adds(out, "<td>");
	tapir_chart__add_points(out, json_object_get(c, "points"));
	tapir_str__adds(out, "</td>");
}

void tapir_chart__add_points(struct tapir_str *out, const json_t *points)
{
	size_t i, cnt = json_array_size(points);
	double least = INFINITY, max = -INFINITY;
	const json_t *p;

	json_array_foreach(points, i, p)
	{
		least = fmin(least, tapir_member__f64(p, "value"));
		max = fmax(max, tapir_member__f64(p, "value"));
	}
	/* A line needs two points. */
	if (cnt < 2)
		return;
	tapir_html__add(out,
			"<svg class=\"spark\" viewBox=\"0 0 %u %u\" aria-hidden=\"true\">"
			"<polyline points=\"",
			SPARK_W, SPARK_H);
	json_array_foreach(points, i, p)
	{
		double share =
			max > least ? (tapir_member__f64(p, "value") - least) / (max - least) : 0.5;

		tapir_html__add(out, "%.1f,%.1f ", SPARK_W * (double)i / (double)(cnt - 1),
				2 + (SPARK_H - 4) * (1 - share));
	}
	tapir_str__adds(out, "\"/></svg>");
}
