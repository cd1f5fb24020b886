// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Help for the terminal, from the command tables: two columns, the second one wrapped at the
 * screen's width.
 */
#include "cli/help.h"

#include <string.h>

#include "output/render/help_text.h"

#define NAME_COLUMNS   13
#define OPTION_COLUMNS 25 /* an option wider than this has its help on the next line */

static void heading(struct tapir_str *out, const struct tapir_palette *p, const char *text)
{
	tapir_str__addf(out, "\n%s%s:%s\n", p->bold, text, p->off);
}

/* Two columns, the second one wrapped. */
static void add_help_row(struct tapir_str *out, const char *name, struct tapir_sv text)
{
	size_t from = out->len;

	tapir_str__addf(out, "  %s", name);
	tapir_str__pad(out, from, NAME_COLUMNS + 2);
	tapir_text__add_wrapped(out, from, text, NAME_COLUMNS + 2);
}

void tapir_help__overview(const struct tapir_cli *cli, const struct tapir_palette *p,
			  struct tapir_str *out)
{
	tapir_text__add_blocks(out, tapir_help_overview);
	heading(out, p, "Commands ('tapir help COMMAND' shows options and examples)");
	for (const struct tapir_command *const *c = cli->commands; *c; c++)
		add_help_row(out, (*c)->name, tapir_text__sv((*c)->summary));
	heading(out, p, "Topics ('tapir help TOPIC')");
	for (const struct tapir_topic *t = tapir_topics; t->name; t++)
		add_help_row(out, t->name, (struct tapir_sv){t->text, tapir_topic__title_len(t)});
}

void tapir_help__add_values(struct tapir_str *out, const struct tapir_option *option)
{
	const char *value;

	if (!option->value || !strcmp(option->value(0), option->arg_name))
		return;
	for (size_t i = 0; (value = option->value(i)); i++)
		tapir_str__addf(out, "%s%s", i ? ", " : "; one of ", value);
}

static void add_option(const struct tapir_option *o, struct tapir_str *out)
{
	struct tapir_str text = {};
	size_t from = out->len;

	tapir_str__adds(out, "  ");
	if (o->letter)
		tapir_str__addf(out, "-%c, --%s", o->letter, o->name);
	else
		tapir_str__addf(out, "    --%s", o->name);
	if (o->type != TAPIR_OPTION_FLAG)
		tapir_str__addf(out, " %s", o->arg_name);
	if (out->len - from >= OPTION_COLUMNS) {
		tapir_str__addc(out, '\n');
		from = out->len;
	}
	tapir_str__pad(out, from, OPTION_COLUMNS);
	tapir_str__adds(&text, o->help);
	tapir_help__add_values(&text, o);
	tapir_text__add_wrapped(out, from, (struct tapir_sv){text.data, text.len}, OPTION_COLUMNS);
	tapir_str__fini(&text);
}

static void add_options(const struct tapir_command *command, const struct tapir_palette *p,
			struct tapir_str *out)
{
	for (const struct tapir_option_group *g = command->groups; g && g->options; g++) {
		heading(out, p, g->title ? g->title : "Options");
		for (const struct tapir_option *o = g->options; o->name; o++)
			add_option(o, out);
	}
	heading(out, p, "Common options");
	for (const struct tapir_option *o = tapir_global_options; o->name; o++)
		add_option(o, out);
}

static void add_positionals(const struct tapir_command *command, const struct tapir_palette *p,
			    struct tapir_str *out)
{
	if (!command->positionals || !command->positionals->name)
		return;
	heading(out, p, "Arguments");
	for (const struct tapir_positional *a = command->positionals; a->name; a++)
		add_help_row(out, a->name, tapir_text__sv(a->help));
}

static void add_usage(const struct tapir_command *command, struct tapir_str *out)
{
	size_t from = out->len;

	tapir_str__addf(out, "usage: tapir %s%s", command->name, *command->synopsis ? " " : "");
	tapir_text__add_wrapped(out, from, tapir_text__sv(command->synopsis), out->len - from);
}

void tapir_help__command(const struct tapir_command *command, const struct tapir_palette *p,
			 struct tapir_str *out)
{
	tapir_str__addf(out, "%stapir %s%s: %s\n\n", p->bold, command->name, p->off,
			command->summary);
	add_usage(command, out);
	if (command->text) {
		tapir_str__addc(out, '\n');
		tapir_text__add_blocks(out, command->text);
	}
	if (command->examples && command->examples->command)
		heading(out, p, "Examples");
	for (const struct tapir_example *e = command->examples; e && e->command; e++)
		tapir_str__addf(out, "  %stapir %s%s\n      %s\n", p->bold, e->command, p->off,
				e->description);
	add_positionals(command, p, out);
	add_options(command, p, out);
}

void tapir_help__topic(const struct tapir_topic *topic, const struct tapir_palette *p,
		       struct tapir_str *out)
{
	struct tapir_str body = {};

	tapir_str__addf(out, "%stapir help %s%s: %.*s\n\n", p->bold, topic->name, p->off,
			(int)tapir_topic__title_len(topic), topic->text);
	tapir_topic__add_body(topic, &body);
	if (body.data)
		tapir_text__add_blocks(out, body.data);
	tapir_str__fini(&body);
}
