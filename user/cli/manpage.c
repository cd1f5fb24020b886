// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Man pages from the same tables as the help: tapir(1), a page for each command in section 1, a
 * page for each topic in section 7. man(7) macros.
 */
#include "cli/help.h"

#include <ctype.h>
#include <string.h>

#include "output/render/help_text.h"

#define PAGE_INDENT 7 /* of man(7)'s text, in columns */

/* Text for roff: no request at the start of a line, '-' and '\' as typed, ASCII quotes. */
static void add_roff(struct tapir_str *out, struct tapir_sv text)
{
	bool line_start = true;

	for (size_t i = 0; i < text.len; i++) {
		char c = text.data[i];

		if (line_start && (c == '.' || c == '\''))
			tapir_str__adds(out, "\\&");
		line_start = c == '\n';
		if (c == '\\')
			tapir_str__adds(out, "\\e");
		else if (c == '-')
			tapir_str__adds(out, "\\-");
		else if (c == '\'')
			tapir_str__adds(out, "\\(aq");
		else if (c == '`')
			tapir_str__adds(out, "\\(ga");
		else
			tapir_str__addc(out, c);
	}
}

static void adds_roff(struct tapir_str *out, const char *text)
{
	add_roff(out, tapir_text__sv(text));
}

static void add_upper(struct tapir_str *out, const char *text)
{
	for (; *text; text++)
		tapir_str__addc(out, (char)toupper((unsigned char)*text));
}

static size_t longest_line(struct tapir_sv text)
{
	size_t longest = 0, len = 0;

	for (size_t i = 0; i < text.len; i++) {
		len = text.data[i] == '\n' ? 0 : len + 1;
		longest = len > longest ? len : longest;
	}
	return longest;
}

/* Lines as they are, further to the left where they would not fit. */
static void add_preformatted(struct tapir_str *out, struct tapir_sv text)
{
	size_t columns = longest_line(text) + PAGE_INDENT;
	size_t excess = columns > TAPIR_HELP_COLUMNS ? columns - TAPIR_HELP_COLUMNS : 0;
	size_t outdent = excess > PAGE_INDENT ? PAGE_INDENT : excess;

	tapir_str__adds(out, ".PP\n");
	if (outdent)
		tapir_str__addf(out, ".in -%zun\n", outdent);
	tapir_str__adds(out, ".nf\n");
	add_roff(out, text);
	tapir_str__adds(out, "\n.fi\n");
	if (outdent)
		tapir_str__addf(out, ".in +%zun\n", outdent);
}

static void add_blocks(struct tapir_str *out, const char *text)
{
	struct tapir_text_block block;

	while (tapir_text__next_block(&text, &block)) {
		if (block.is_preformatted) {
			add_preformatted(out, block.text);
			continue;
		}
		tapir_str__adds(out, ".PP\n");
		add_roff(out, block.text);
		tapir_str__addc(out, '\n');
	}
}

static void add_item(struct tapir_str *out, const char *prefix, const char *term, const char *text)
{
	tapir_str__adds(out, ".TP\n\\fB");
	adds_roff(out, prefix);
	adds_roff(out, term);
	tapir_str__adds(out, "\\fR\n");
	adds_roff(out, text);
	tapir_str__addc(out, '\n');
}

static void add_option(struct tapir_str *out, const struct tapir_option *o)
{
	struct tapir_str values = {};

	tapir_str__adds(out, ".TP\n\\fB");
	if (o->letter)
		tapir_str__addf(out, "\\-%c\\fR, \\fB", o->letter);
	tapir_str__adds(out, "\\-\\-");
	adds_roff(out, o->name);
	tapir_str__adds(out, "\\fR");
	if (o->arg_name) {
		tapir_str__adds(out, " \\fI");
		adds_roff(out, o->arg_name);
		tapir_str__adds(out, "\\fR");
	}
	tapir_str__addc(out, '\n');
	adds_roff(out, o->help);
	tapir_help__add_values(&values, o);
	if (values.data)
		adds_roff(out, values.data);
	tapir_str__fini(&values);
	tapir_str__addc(out, '\n');
}

/* name: "record", or NULL for tapir(1) itself. */
static void begin_page(struct tapir_str *out, const char *name, int section, struct tapir_sv title)
{
	tapir_str__adds(out, ".\\\" written by 'tapir help --man'\n.TH TAPIR");
	if (name) {
		tapir_str__adds(out, "\\-");
		add_upper(out, name);
	}
	tapir_str__addf(out, " %d \"\" \"tapir %s\" \"%s\"\n.SH NAME\ntapir%s%s \\- ", section,
			TAPIR_VERSION, section == 1 ? "User Commands" : "Miscellaneous",
			name ? "\\-" : "", name ? name : "");
	add_roff(out, title);
	tapir_str__addc(out, '\n');
}

static void add_see_also(const struct tapir_cli *cli, struct tapir_str *out)
{
	tapir_str__adds(out, ".SH \"SEE ALSO\"\n");
	for (const struct tapir_command *const *c = cli->commands; *c; c++)
		tapir_str__addf(out, ".BR tapir\\-%s (1),\n", (*c)->name);
	for (const struct tapir_topic *t = tapir_topics; t->name; t++)
		tapir_str__addf(out, ".BR tapir\\-%s (7),\n", t->name);
	tapir_str__adds(out, ".BR bpftrace (8),\n.BR perf (1)\n");
}

static void write_overview(const struct tapir_cli *cli, struct tapir_str *out)
{
	begin_page(out, NULL, 1, tapir_text__sv("trace and profile running programs"));
	tapir_str__adds(out, ".SH SYNOPSIS\n\\fBtapir\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR...] "
			     "[\\fIARGUMENT\\fR...]\n.SH DESCRIPTION\n");
	add_blocks(out, tapir_help_overview);
	tapir_str__adds(out, ".SH COMMANDS\n");
	for (const struct tapir_command *const *c = cli->commands; *c; c++)
		add_item(out, "", (*c)->name, (*c)->summary);
	tapir_str__adds(out, ".SH \"COMMON OPTIONS\"\n");
	for (const struct tapir_option *o = tapir_global_options; o->name; o++)
		add_option(out, o);
	add_see_also(cli, out);
}

static void write_command(const struct tapir_cli *cli, const struct tapir_command *c,
			  struct tapir_str *out)
{
	begin_page(out, c->name, 1, tapir_text__sv(c->summary));
	tapir_str__addf(out, ".SH SYNOPSIS\n\\fBtapir %s\\fR ", c->name);
	adds_roff(out, c->synopsis);
	tapir_str__adds(out, "\n.SH DESCRIPTION\n");
	add_blocks(out, c->text ? c->text : c->summary);
	if (c->positionals && c->positionals->name)
		tapir_str__adds(out, ".SH ARGUMENTS\n");
	for (const struct tapir_positional *a = c->positionals; a && a->name; a++)
		add_item(out, "", a->name, a->help);
	for (const struct tapir_option_group *g = c->groups; g && g->options; g++) {
		tapir_str__adds(out, ".SH \"");
		add_upper(out, g->title ? g->title : "options");
		tapir_str__adds(out, "\"\n");
		for (const struct tapir_option *o = g->options; o->name; o++)
			add_option(out, o);
	}
	if (c->examples && c->examples->command)
		tapir_str__adds(out, ".SH EXAMPLES\n");
	for (const struct tapir_example *e = c->examples; e && e->command; e++)
		add_item(out, "tapir ", e->command, e->description);
	add_see_also(cli, out);
}

static void write_topic(const struct tapir_cli *cli, const struct tapir_topic *t,
			struct tapir_str *out)
{
	struct tapir_str body = {};

	begin_page(out, t->name, 7, (struct tapir_sv){t->text, tapir_topic__title_len(t)});
	tapir_str__adds(out, ".SH DESCRIPTION\n");
	tapir_topic__add_body(t, &body);
	if (body.data)
		add_blocks(out, body.data);
	tapir_str__fini(&body);
	add_see_also(cli, out);
}

/* The pages in their order: the overview, the commands, the topics. */
struct page {
	const struct tapir_command *command;
	const struct tapir_topic *topic;
};

static bool find_page(const struct tapir_cli *cli, size_t i, struct page *page)
{
	*page = (struct page){};
	if (!i--)
		return true;
	for (const struct tapir_command *const *c = cli->commands; *c; c++)
		if (!i--) {
			page->command = *c;
			return true;
		}
	for (const struct tapir_topic *t = tapir_topics; t->name; t++)
		if (!i--) {
			page->topic = t;
			return true;
		}
	return false;
}

bool tapir_manpage__name(const struct tapir_cli *cli, size_t i, struct tapir_str *name)
{
	struct page page;

	if (!find_page(cli, i, &page))
		return false;
	tapir_str__clear(name);
	if (page.topic)
		tapir_str__addf(name, "tapir-%s.7", page.topic->name);
	else if (page.command)
		tapir_str__addf(name, "tapir-%s.1", page.command->name);
	else
		tapir_str__adds(name, "tapir.1");
	return true;
}

void tapir_manpage__write(const struct tapir_cli *cli, size_t i, struct tapir_str *out)
{
	struct page page;

	if (!find_page(cli, i, &page))
		return;
	if (page.topic)
		write_topic(cli, page.topic, out);
	else if (page.command)
		write_command(cli, page.command, out);
	else
		write_overview(cli, out);
}
