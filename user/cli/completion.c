// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Completion for bash from the command tables: commands, their options, the values of an option
 * that has a table, files and pids.
 */
#include "cli/help.h"

#include <string.h>

static void add_option_words(struct tapir_str *out, const struct tapir_option *table)
{
	for (const struct tapir_option *o = table; o->name; o++) {
		tapir_str__addf(out, " --%s", o->name);
		if (o->letter)
			tapir_str__addf(out, " -%c", o->letter);
	}
}

/* Options of this kind as a case pattern: "-p|--pid|". */
static void add_patterns(const struct tapir_cli *cli, struct tapir_str *out,
			 bool (*wanted)(const struct tapir_option *))
{
	for (const struct tapir_command *const *c = cli->commands; *c; c++)
		for (const struct tapir_option_group *g = (*c)->groups; g && g->options; g++)
			for (const struct tapir_option *o = g->options; o->name; o++) {
				if (!wanted(o))
					continue;
				tapir_str__addf(out, "%s:--%s|", (*c)->name, o->name);
				if (o->letter)
					tapir_str__addf(out, "%s:-%c|", (*c)->name, o->letter);
			}
	tapir_str__adds(out, "-:-"); /* no command is called so */
}

static bool is_pid(const struct tapir_option *o)
{
	return o->type == TAPIR_OPTION_PIDS || o->type == TAPIR_OPTION_PIDS_OR_EACH;
}

static bool is_file(const struct tapir_option *o)
{
	static const char *const names[] = {"FILE", "PATH", "OUT", "OUT.svg", "DIR", "[DIR|URL]"};

	for (size_t i = 0; o->arg_name && i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(o->arg_name, names[i]))
			return true;
	return false;
}

static bool is_free_text(const struct tapir_option *o)
{
	return o->arg_name && !is_pid(o) && !is_file(o) && !o->value;
}

/* " a b c="; what follows the '=' is the user's. */
static void add_values(struct tapir_str *out, const char *(*value)(size_t i))
{
	const char *one;

	for (size_t i = 0; value && (one = value(i)); i++)
		tapir_str__addf(out, " %.*s", (int)(strcspn(one, "=") + !!strchr(one, '=')), one);
}

/* A case for each option that takes one of a table's values. */
static void add_choices(const struct tapir_cli *cli, struct tapir_str *out)
{
	for (const struct tapir_command *const *c = cli->commands; *c; c++)
		for (const struct tapir_option_group *g = (*c)->groups; g && g->options; g++)
			for (const struct tapir_option *o = g->options; o->name; o++) {
				if (!o->value)
					continue;
				tapir_str__addf(out, "\t%s:--%s", (*c)->name, o->name);
				if (o->letter)
					tapir_str__addf(out, "|%s:-%c", (*c)->name, o->letter);
				tapir_str__adds(out, ")\n\t\tCOMPREPLY=($(compgen -W \"");
				add_values(out, o->value);
				tapir_str__adds(out, o->type == TAPIR_OPTION_CHOICES
							     ? "\" -P \"$listed\" -- \"${cur##*,}\""
							     : "\" -- \"$cur\"");
				tapir_str__adds(out, "))\n\t\treturn ;;\n");
			}
}

static void add_command(struct tapir_str *out, const struct tapir_command *c)
{
	bool paths = c->takes_program;

	tapir_str__addf(out, "\t%s)\n\t\toptions=\"", c->name);
	for (const struct tapir_positional *a = c->positionals; a && a->name; a++) {
		paths |= a->is_path;
		add_values(out, a->value);
	}
	for (const struct tapir_option_group *g = c->groups; g && g->options; g++)
		add_option_words(out, g->options);
	add_option_words(out, tapir_global_options);
	tapir_str__addf(out, "\"\n\t\tpaths=%d ;;\n", paths);
}

void tapir_completion__write(const struct tapir_cli *cli, struct tapir_str *out)
{
	tapir_str__adds(out,
			"# bash completion for tapir; written by 'tapir help --completion'\n"
			"_tapir() {\n"
			"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
			"\tlocal command= options= paths=0 i\n"
			"\tif [[ $cur == = ]]; then\n" /* --view=cpu is three words */
			"\t\tcur=\n"
			"\telif [[ $prev == = ]]; then\n"
			"\t\tprev=${COMP_WORDS[COMP_CWORD-2]}\n"
			"\tfi\n"
			"\tlocal listed=${cur%\"${cur##*,}\"}\n"
			"\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
			"\t\t[[ ${COMP_WORDS[i]} == -* ]] || { command=${COMP_WORDS[i]}; break; }\n"
			"\tdone\n"
			"\tCOMPREPLY=()\n"
			"\tcase $command:$prev in\n\t");
	add_patterns(cli, out, is_pid);
	tapir_str__adds(out, ")\n\t\tCOMPREPLY=($(compgen -W \"$(cd /proc && echo [0-9]*)\" -- "
			     "\"$cur\"))\n\t\treturn ;;\n\t");
	add_patterns(cli, out, is_file);
	tapir_str__adds(out, ")\n\t\tCOMPREPLY=($(compgen -f -- \"$cur\"))\n\t\treturn ;;\n\t");
	add_patterns(cli, out, is_free_text);
	tapir_str__adds(out, ")\n\t\treturn ;;\n");
	add_choices(cli, out);
	tapir_str__adds(out, "\tesac\n\tcase $command in\n\t'')\n\t\toptions=\"");
	for (const struct tapir_command *const *c = cli->commands; *c; c++)
		tapir_str__addf(out, "%s%s", c == cli->commands ? "" : " ", (*c)->name);
	add_option_words(out, tapir_global_options);
	tapir_str__adds(out, "\" ;;\n");
	for (const struct tapir_command *const *c = cli->commands; *c; c++)
		add_command(out, *c);
	tapir_str__adds(out, "\tesac\n"
			     "\tCOMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
			     "\tif [[ $paths == 1 && $cur != -* ]]; then\n"
			     "\t\tCOMPREPLY=($(compgen -f -- \"$cur\"))\n"
			     "\tfi\n"
			     "}\ncomplete -o filenames -F _tapir tapir\n");
}
