// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The topics of `tapir help`: texts from topics/NAME.txt, with lists from the tables that define
 * them, so that a new profile, view or format is in its topic.
 */
#include <string.h>

#include "analyze/interval_names.h"
#include "output/query/query.h"
#include "output/render/finding_page.h"
#include "output/render/record_page.h"
#include "output/render/views.h"
#include "output/sink/sinks.h"
#include "cli/help.h"
#include "decode/profiles.h"
#include "topics.gen.h"

#define LIST_LINE    "{list}\n"
#define NAME_COLUMNS 15

static void add_topic_row(struct tapir_str *out, const char *name, const char *arg,
			  const char *description)
{
	size_t from = out->len;

	tapir_str__addf(out, "  %s%s%s", name, arg ? "=" : "", arg ? arg : "");
	tapir_str__pad(out, from, NAME_COLUMNS + 2);
	tapir_str__addf(out, "%s\n", description);
}

static void add_profiles(struct tapir_str *out)
{
	const struct tapir_profile *p;
	struct tapir_str description = {};

	for (size_t i = 0; (p = tapir_profile__at(i)); i++) {
		tapir_str__clear(&description);
		tapir_profile__add_summary(p, &description);
		add_topic_row(out, p->name, NULL, description.data);
	}
	tapir_str__fini(&description);
}

static void add_views(struct tapir_str *out)
{
	for (const struct tapir_view *const *v = tapir_views; *v; v++)
		add_topic_row(out, (*v)->name, (*v)->arg, (*v)->summary);
}

static void add_formats(struct tapir_str *out)
{
	for (const struct tapir_sink *const *s = tapir_sinks; *s; s++) {
		add_topic_row(out, (*s)->name, NULL, (*s)->description);
		tapir_str__addf(out, "%*swithout %s\n", NAME_COLUMNS + 2, "", (*s)->lacks);
		if ((*s)->max_bytes)
			tapir_str__addf(out, "%*sat most %u MB\n", NAME_COLUMNS + 2, "",
					(*s)->max_bytes >> 20);
	}
}

const struct tapir_topic tapir_topics[] = {
	{"spec", topic_spec, NULL},
	{"questions", topic_questions, NULL},
	{"where", topic_where, NULL},
	{"oneliners", topic_oneliners, NULL},
	{"intervals", topic_intervals, tapir_interval_names__add_list},
	{"dotnet", topic_dotnet, NULL},
	{"runtimes", topic_runtimes, NULL},
	{"profiles", topic_profiles, add_profiles},
	{"async", topic_async, NULL},
	{"io", topic_io, NULL},
	{"net", topic_net, NULL},
	{"syscalls", topic_syscalls, NULL},
	{"signals", topic_signals, NULL},
	{"waits", topic_waits, NULL},
	{"kernel", topic_kernel, NULL},
	{"native", topic_native, NULL},
	{"views", topic_views, add_views},
	{"findings", topic_findings, tapir_finding_page__add},
	{"formats", topic_formats, add_formats},
	{"tables", topic_tables, tapir_query__add_schema},
	{"queries", topic_queries, NULL},
	{"records", topic_records, tapir_record_page__add},
	{"symbols", topic_symbols, NULL},
	{"archives", topic_archives, NULL},
	{"publish", topic_publish, NULL},
	{"limits", topic_limits, NULL},
	{"environment", topic_environment, NULL},
	{"exit", topic_exit, NULL},
	{"continuous", topic_continuous, NULL},
	{"push", topic_push, NULL},
	{},
};

const char *const tapir_help_overview = topic_overview;

size_t tapir_topic__title_len(const struct tapir_topic *topic)
{
	return strcspn(topic->text, "\n");
}

void tapir_topic__add_body(const struct tapir_topic *topic, struct tapir_str *body)
{
	const char *text = topic->text + tapir_topic__title_len(topic);
	const char *list = topic->add_list ? strstr(text, LIST_LINE) : NULL;

	if (list) {
		tapir_str__add(body, text, (size_t)(list - text));
		topic->add_list(body);
		text = list + strlen(LIST_LINE);
	}
	tapir_str__adds(body, text);
}
