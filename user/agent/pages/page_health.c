// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The page about the agent itself: its metrics, each with its meaning, which is the HELP text of
 * the metric.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/pages/pages_impl.h"
#include "output/render/human_units.h"
#include "trace/record.h"

#define HELP "# HELP "

static bool ends_with(struct tapir_sv text, const char *end)
{
	size_t len = strlen(end);

	return text.len >= len && !memcmp(text.data + text.len - len, end, len);
}

/* Adds a value in its unit, which ends its name, as the script shows it (tapir.js). */
static void add_health_value(struct tapir_str *out, struct tapir_sv name, struct tapir_sv value)
{
	double number = strtod(value.data, NULL);

	if (ends_with(name, "_bytes"))
		tapir_human__add_bytes(out, number > 0 ? (uint64_t)number : 0);
	else if (ends_with(name, "_seconds") || ends_with(name, "_seconds_total"))
		tapir_str__addf(out, "%.*f s", number < 10 ? 2 : 1, number);
	else if (number >= 0 && number < 1e15)
		tapir_human__add_count(out, (uint64_t)number);
	else
		tapir_str__add_markup(out, value.data, value.len);
}

static void add_figure(struct tapir_str *out, const char *name, size_t name_len, const char *help,
		       size_t help_len, const char *value, size_t value_len)
{
	tapir_str__adds(out, "<tr><td>");
	tapir_str__add_markup(out, help, help_len);
	tapir_str__adds(out, "</td><td class=\"n\" data-metric=\"");
	tapir_str__add_markup(out, name, name_len);
	tapir_str__adds(out, "\">");
	add_health_value(out, (struct tapir_sv){name, name_len},
			 (struct tapir_sv){value, value_len});
	tapir_str__adds(out, "</td></tr>\n");
}

/* "# HELP name text", then "name value": a metric with labels has no row. */
static void add_metrics(struct tapir_str *out, const char *at)
{
	const char *help = NULL, *name = NULL;
	size_t help_len = 0, name_len = 0;

	while (*at) {
		size_t len = strcspn(at, "\n"), word = strcspn(at, " \n");

		if (!strncmp(at, HELP, strlen(HELP))) {
			name = at + strlen(HELP);
			name_len = strcspn(name, " \n");
			help = name + name_len + (name[name_len] == ' ');
			help_len = (size_t)(at + len - help);
			help_len -= help_len && help[help_len - 1] == '.';
		} else if (name && word == name_len && word < len && !memcmp(at, name, word)) {
			add_figure(out, name, name_len, help, help_len, at + word + 1,
				   len - word - 1);
		}
		at += len + (at[len] == '\n');
	}
}

void tapir_page__health(struct tapir_str *out, const json_t *caller, const json_t *health,
			const char *metrics)
{
	const struct tapir_page_frame frame = {.title = "Health of the agent",
					       .here = "/health",
					       .caller = caller,
					       .has_charts = true};

	tapir_page__begin(out, &frame);
	tapir_html__add(out,
			"<p class=\"facts\"><span>%s</span> <span>version %s</span> <span>up %llu "
			"s</span> <span>recordings now: %llu</span></p>\n",
			tapir_member__text(health, "status"), tapir_member__text(health, "version"),
			(unsigned long long)tapir_member__u64(health, "uptime_seconds"),
			(unsigned long long)tapir_member__u64(health, "recordings"));
	tapir_str__adds(out, "<section id=\"health\"><div class=\"charts\"></div>\n");
	tapir_html__begin_table(out, NULL, "Figure|>Now");
	add_metrics(out, metrics);
	tapir_html__end_table(out);
	tapir_str__adds(out, "<p class=\"soft\"><a href=\"/metrics\">All of "
			     "them as Prometheus reads them</a></p></section>\n");
	tapir_page__end(out);
}
