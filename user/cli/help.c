// SPDX-License-Identifier: GPL-2.0-or-later
/* Help for the terminal. */
#include "cli/help.h"

#include <string.h>

#define NAME_COLUMNS 13

static void heading(struct tapir_str *out, const struct tapir_palette *p, const char *text)
{
	tapir_str__addf(out, "\n%s%s:%s\n", p->bold, text, p->off);
}

static void add_row(struct tapir_str *out, const char *name, const char *text)
{
	size_t from;

	tapir_str__adds(out, "  ");
	from = out->len;
	tapir_str__adds(out, name);
	tapir_str__pad(out, from, NAME_COLUMNS);
	tapir_str__addf(out, "%s\n", text);
}

void tapir_help__overview(const struct tapir_cli *cli, const struct tapir_palette *p,
			  struct tapir_str *out)
{
	static const struct tapir_example first[] = {
		{"list -p 4242", "which events can this process tell of?"},
		{"trace postgresql:query__start -p 4242", "every SQL text, as it is run"},
		{"trace 'hotspot:gc__*' --all", "garbage collections of every JVM here"},
		{"record -p 4242 -d 30 -o a.tapir", "events, stacks, processes -> one file"},
		{"report a.tapir", "what happened in it, and what was lost"},
		{}};

	tapir_str__addf(
		out,
		"%stapir%s shows what a running program is doing: the events its authors built "
		"probes for\n(Java, Python, PostgreSQL, Ruby, PHP, your own C), with arguments "
		"and stacks, without a\nrestart and without a cost while nobody looks.\n\n",
		p->bold, p->off);
	for (const struct tapir_example *e = first; e->command; e++) {
		size_t from;

		tapir_str__addf(out, "  %stapir ", p->bold);
		from = out->len;
		tapir_str__addf(out, "%s%s", e->command, p->off);
		tapir_str__pad(out, from, 40 + strlen(p->off));
		tapir_str__addf(out, "%s\n", e->what);
	}
	heading(out, p, "Commands ('tapir help COMMAND' has examples of each)");
	for (const struct tapir_command *const *c = cli->commands; *c; c++)
		add_row(out, (*c)->name, (*c)->summary);
	heading(out, p, "Topics ('tapir help TOPIC')");
	for (const struct tapir_topic *t = tapir_topics; t->name; t++)
		add_row(out, t->name, t->title);
}

static bool takes_value(const struct tapir_option *o)
{
	return o->type != TAPIR_OPTION_FLAG;
}

static size_t option_columns(const struct tapir_option *o)
{
	return strlen("-x, --") + strlen(o->name) + (takes_value(o) ? 1 + strlen(o->arg_name) : 0);
}

static size_t widest(const struct tapir_option *table, size_t at_least)
{
	for (const struct tapir_option *o = table; o->name; o++)
		if (option_columns(o) > at_least)
			at_least = option_columns(o);
	return at_least;
}

static void add_option(const struct tapir_option *o, size_t width, struct tapir_str *out)
{
	size_t from;

	tapir_str__adds(out, "  ");
	from = out->len;
	if (o->letter)
		tapir_str__addf(out, "-%c, --%s", o->letter, o->name);
	else
		tapir_str__addf(out, "    --%s", o->name);
	if (takes_value(o))
		tapir_str__addf(out, " %s", o->arg_name);
	for (const char *line = o->help;; line++) {
		size_t len = strcspn(line, "\n");

		tapir_str__pad(out, from, width + 2);
		tapir_str__add(out, line, len);
		tapir_str__addc(out, '\n');
		line += len;
		if (!*line)
			return;
		tapir_str__adds(out, "  ");
		from = out->len;
	}
}

static void add_options(const struct tapir_command *command, const struct tapir_palette *p,
			struct tapir_str *out)
{
	size_t width = widest(tapir_global_options, 0);

	for (const struct tapir_option_group *g = command->groups; g && g->options; g++)
		width = widest(g->options, width);
	for (const struct tapir_option_group *g = command->groups; g && g->options; g++) {
		heading(out, p, g->title ? g->title : "Options");
		for (const struct tapir_option *o = g->options; o->name; o++)
			add_option(o, width, out);
	}
	heading(out, p, "Everywhere");
	for (const struct tapir_option *o = tapir_global_options; o->name; o++)
		add_option(o, width, out);
}

static void add_positionals(const struct tapir_command *command, const struct tapir_palette *p,
			    struct tapir_str *out)
{
	if (!command->positionals || !command->positionals->name)
		return;
	heading(out, p, "Arguments");
	for (const struct tapir_positional *a = command->positionals; a->name; a++)
		add_row(out, a->name, a->help);
}

void tapir_help__command(const struct tapir_command *command, const struct tapir_palette *p,
			 struct tapir_str *out)
{
	tapir_str__addf(out, "%stapir %s%s: %s\n\n", p->bold, command->name, p->off,
			command->summary);
	tapir_str__addf(out, "usage: tapir %s %s\n", command->name, command->synopsis);
	if (command->text)
		tapir_str__addf(out, "\n%s\n", command->text);
	if (command->examples && command->examples->command)
		heading(out, p, "Examples");
	for (const struct tapir_example *e = command->examples; e && e->command; e++)
		tapir_str__addf(out, "  %stapir %s%s\n      %s\n", p->bold, e->command, p->off,
				e->what);
	add_positionals(command, p, out);
	add_options(command, p, out);
}

void tapir_help__topic(const struct tapir_topic *topic, const struct tapir_palette *p,
		       struct tapir_str *out)
{
	tapir_str__addf(out, "%stapir help %s%s: %s\n\n%s", p->bold, topic->name, p->off,
			topic->title, topic->text);
}
