// SPDX-License-Identifier: GPL-2.0-or-later
/* The man page from the command tables: man(7) macros, one page for all commands. */
#include "cli/help.h"

#include <ctype.h>
#include <string.h>

/* Text for roff: no request at the start of a line, '-' and '\' as typed, ASCII quotes. */
static void add_roff(struct tapir_str *out, const char *text)
{
	bool line_start = true;

	for (; *text; text++) {
		if (line_start && (*text == '.' || *text == '\''))
			tapir_str__adds(out, "\\&");
		line_start = *text == '\n';
		if (*text == '\\')
			tapir_str__adds(out, "\\e");
		else if (*text == '-')
			tapir_str__adds(out, "\\-");
		else if (*text == '\'')
			tapir_str__adds(out, "\\(aq");
		else
			tapir_str__addc(out, *text);
	}
}

static void add_heading(struct tapir_str *out, const char *macro, const char *text)
{
	tapir_str__addf(out, ".%s \"", macro);
	for (; *text; text++)
		tapir_str__addc(out, macro[1] == 'H' ? (char)toupper((unsigned char)*text) : *text);
	tapir_str__adds(out, "\"\n");
}

static void add_preformatted(struct tapir_str *out, const char *text)
{
	tapir_str__adds(out, ".PP\n.nf\n");
	add_roff(out, text);
	if (out->len && out->data[out->len - 1] != '\n')
		tapir_str__addc(out, '\n');
	tapir_str__adds(out, ".fi\n");
}

static void add_item(struct tapir_str *out, const char *prefix, const char *term, const char *text)
{
	tapir_str__adds(out, ".TP\n\\fB");
	add_roff(out, prefix);
	add_roff(out, term);
	tapir_str__adds(out, "\\fR\n");
	add_roff(out, text);
	tapir_str__addc(out, '\n');
}

static void add_option(struct tapir_str *out, const struct tapir_option *o)
{
	tapir_str__adds(out, ".TP\n\\fB");
	if (o->letter)
		tapir_str__addf(out, "\\-%c\\fR, \\fB", o->letter);
	tapir_str__adds(out, "\\-\\-");
	add_roff(out, o->name);
	tapir_str__adds(out, "\\fR");
	if (o->arg_name) {
		tapir_str__adds(out, " \\fI");
		add_roff(out, o->arg_name);
		tapir_str__adds(out, "\\fR");
	}
	tapir_str__addc(out, '\n');
	add_roff(out, o->help);
	tapir_str__addc(out, '\n');
}

static void add_command(struct tapir_str *out, const struct tapir_command *c)
{
	add_heading(out, "SS", c->name);
	tapir_str__addf(out, "\\fBtapir %s\\fR ", c->name);
	add_roff(out, c->synopsis);
	tapir_str__adds(out, "\n.PP\n");
	add_roff(out, c->summary);
	tapir_str__adds(out, ".\n");
	if (c->text)
		add_preformatted(out, c->text);
	for (const struct tapir_positional *a = c->positionals; a && a->name; a++)
		add_item(out, "", a->name, a->help);
	for (const struct tapir_option_group *g = c->groups; g && g->options; g++)
		for (const struct tapir_option *o = g->options; o->name; o++)
			add_option(out, o);
	for (const struct tapir_example *e = c->examples; e && e->command; e++)
		add_item(out, "tapir ", e->command, e->what);
}

void tapir_manpage__write(const struct tapir_cli *cli, struct tapir_str *out)
{
	tapir_str__adds(out, ".\\\" written by 'tapir help --man'\n");
	tapir_str__addf(out, ".TH TAPIR 1 \"\" \"tapir %s\" \"User Commands\"\n", TAPIR_VERSION);
	tapir_str__adds(out, ".SH NAME\ntapir \\- trace the probes of running programs\n");
	tapir_str__adds(out, ".SH SYNOPSIS\n\\fBtapir\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR...] "
			     "[\\fIARGUMENT\\fR...]\n.SH DESCRIPTION\n");
	add_roff(out,
		 "Shows the events a running program has probes for (USDT), with arguments and "
		 "stacks, and records them together with what the kernel knows of the same "
		 "processes, on one clock, in one file. Probes cost nothing while nobody "
		 "looks.\n");
	add_heading(out, "SH", "options");
	for (const struct tapir_option *o = tapir_global_options; o->name; o++)
		add_option(out, o);
	add_heading(out, "SH", "commands");
	for (const struct tapir_command *const *c = cli->commands; *c; c++)
		add_command(out, *c);
	for (const struct tapir_topic *t = tapir_topics; t->name; t++) {
		add_heading(out, "SH", t->title);
		add_preformatted(out, t->text);
	}
	tapir_str__adds(out, ".SH \"SEE ALSO\"\n.BR bpftrace (8),\n.BR perf (1)\n");
}
