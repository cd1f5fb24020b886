// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Parsing by table. Options and words may be mixed; "--" ends the options; the words after it are
 * the program to run if the command takes one. Long names are never abbreviated: a script must not
 * change its meaning when an option is added.
 */
#include "cli/options.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/str.h"

const struct tapir_option tapir_global_options[] = {
	TAPIR_FLAG("help", 'h', "show this help", struct tapir_cli, want_help),
	TAPIR_FLAG("version", 0, "print the version", struct tapir_cli, want_version),
	TAPIR_FLAG("verbose", 'v', "log to stderr, one line per file and process", struct tapir_cli,
		   is_verbose),
	TAPIR_FLAG("no-pager", 0, "do not pipe output into $PAGER", struct tapir_cli, no_pager),
	TAPIR_FLAG("quiet", 'q', "print only errors to stderr", struct tapir_cli, is_quiet),
	{}};

#define MAX_EDITS 2 /* a near miss is this close */

int tapir_cli__exit_code(int err)
{
	switch (err < 0 ? err : 0) {
	case 0:
		return 0;
	case TAPIR_CLI_USAGE:
		return 2;
	case -EPERM:
	case -EACCES:
	case -EOPNOTSUPP:
	case -ENOSYS:
	case -524: /* ENOTSUPP, the kernel's own: not in errno.h */
		return 3;
	default:
		return 1;
	}
}

const struct tapir_command *tapir_cli__find(const struct tapir_cli *cli, const char *name)
{
	for (const struct tapir_command *const *c = cli->commands; *c; c++)
		if (!strcmp((*c)->name, name))
			return *c;
	return NULL;
}

/* ---- finding an option ------------------------------------------------------------------ */

struct found {
	const struct tapir_option *option;
	void *value;
};

/* Calls visit for every option that can be given here, until it returns true. */
static bool each_option(struct tapir_cli *cli,
			bool (*visit)(const struct tapir_option *o, void *value, void *ctx),
			void *ctx)
{
	const struct tapir_option_group *g = cli->command ? cli->command->groups : NULL;

	for (; g && g->options; g++)
		for (const struct tapir_option *o = g->options; o->name; o++)
			if (visit(o, (char *)cli->args + g->offset + o->offset, ctx))
				return true;
	for (const struct tapir_option *o = tapir_global_options; o->name; o++)
		if (visit(o, (char *)cli + o->offset, ctx))
			return true;
	return false;
}

struct wanted {
	const char *name;
	size_t name_len;
	char letter;
	struct found found;
};

static bool is_wanted_option(const struct tapir_option *o, void *value, void *ctx)
{
	struct wanted *w = ctx;
	bool match = w->letter ? o->letter == w->letter
			       : strlen(o->name) == w->name_len &&
					 !memcmp(o->name, w->name, w->name_len);

	if (match)
		w->found = (struct found){o, value};
	return match;
}

struct nearest {
	const char *to;
	const char *name;
	unsigned edits;
};

static void compare_name(struct nearest *n, const char *name)
{
	unsigned edits = tapir_str__distance(n->to, name, MAX_EDITS);
	size_t len = strlen(n->to);

	if (len >= 3 && !strncmp(name, n->to, len)) /* the beginning of it */
		edits = 0;
	if (2 * edits >= len && *name != *n->to) /* half of it, and the beginning, is different */
		return;
	if (edits < n->edits && edits < strlen(name)) {
		n->edits = edits;
		n->name = name;
	}
}

static bool is_near(const struct tapir_option *o, void *value, void *ctx)
{
	(void)value;
	compare_name(ctx, o->name);
	return false;
}

/* Options after what looks like a program are most likely its own. word: with its dashes. */
static int no_option(struct tapir_cli *cli, const char *word)
{
	const char *command = cli->command ? cli->command->name : "";
	const char *program = cli->words.cnt ? cli->words.data[0] : "";

	if (*program && cli->command->takes_program && !strpbrk(program, ":*?"))
		return tapir_cli__usage(cli, "no option '%s'; to run %s: tapir %s -- %s %s ...",
					word, program, command, program, word);
	return tapir_cli__usage(cli, "no option '%s'; 'tapir help%s%s' lists them", word,
				*command ? " " : "", command);
}

static int unknown_option(struct tapir_cli *cli, const char *name, size_t name_len)
{
	char word[64];
	struct nearest near = {.to = word + 2, .edits = MAX_EDITS + 1};

	snprintf(word, sizeof(word), "--%.*s", (int)(name_len < 61 ? name_len : 61), name);
	each_option(cli, is_near, &near);
	if (near.name)
		return tapir_cli__usage(cli, "no option '%s'; the nearest is '--%s'", word,
					near.name);
	return no_option(cli, word);
}

static int unknown_command(struct tapir_cli *cli, const char *name)
{
	struct nearest near = {.to = name, .edits = MAX_EDITS + 1};

	for (const struct tapir_command *const *c = cli->commands; *c; c++)
		compare_name(&near, (*c)->name);
	if (near.name)
		return tapir_cli__usage(cli, "no command '%s'; the nearest is 'tapir %s'", name,
					near.name);
	return tapir_cli__usage(cli, "no command '%s'; 'tapir help' lists them", name);
}

/* ---- the command line ------------------------------------------------------------------- */

struct cursor {
	int argc;
	char **argv;
	int at; /* the current word */
};

/* Is the option complete without what follows? Then that is noted. */
static bool takes_none(const struct cursor *c, const struct found *f)
{
	const char *next = c->at + 1 < c->argc ? c->argv[c->at + 1] : NULL;

	if (f->option->type == TAPIR_OPTION_PIDS_OR_EACH &&
	    (!next || !isdigit((unsigned char)*next))) {
		((struct tapir_pids_or_each *)f->value)->each = true;
		return true;
	}
	if (f->option->type == TAPIR_OPTION_STRING_OR_DEFAULT) {
		*(const char **)f->value = f->option->value(0);
		return true;
	}
	if (f->option->type == TAPIR_OPTION_LIST_OR_DEFAULT &&
	    (!next || *next == '-' || strchr(next, ':'))) {
		((struct tapir_words_or_default *)f->value)->is_given = true;
		return true;
	}
	if (f->option->type == TAPIR_OPTION_SOURCES_OR_DEFAULT &&
	    (!next || !tapir_option__is_source(next))) {
		((struct tapir_sources_or_default *)f->value)->has_default = true;
		return true;
	}
	return false;
}

/* attached: the text after '=' or after the letter; NULL: the value is the next word. */
static int take_value(struct tapir_cli *cli, struct cursor *c, const struct found *f,
		      const char *attached)
{
	const struct tapir_option *o = f->option;

	if (o->type == TAPIR_OPTION_FLAG && attached)
		return tapir_cli__usage(cli, "--%s takes no value", o->name);
	if (!attached && takes_none(c, f))
		return 0;
	if (o->type != TAPIR_OPTION_FLAG && !attached) {
		if (c->at + 1 >= c->argc)
			return tapir_cli__usage(cli, "--%s requires a value: --%s %s", o->name,
						o->name, o->arg_name);
		attached = c->argv[++c->at];
	}
	return tapir_option__set(cli, o, f->value, attached);
}

/* Names that options had before, each for one version: help and completion do not have them. */
static const struct {
	const char *former, *present;
} renamed_options[] = {{"distance", "cooldown"}};

/* Finds the option of w, or the one that had its name before. */
static bool find_long(struct tapir_cli *cli, struct wanted *w)
{
	bool is_found = each_option(cli, is_wanted_option, w);

	for (size_t i = 0; !is_found && i < sizeof(renamed_options) / sizeof(*renamed_options);
	     i++) {
		const char *former = renamed_options[i].former;

		if (strlen(former) != w->name_len || memcmp(former, w->name, w->name_len))
			continue;
		w->name = renamed_options[i].present;
		w->name_len = strlen(w->name);
		is_found = each_option(cli, is_wanted_option, w);
	}
	return is_found;
}

static int parse_long(struct tapir_cli *cli, struct cursor *c)
{
	const char *name = c->argv[c->at] + 2;
	size_t len = strcspn(name, "=");
	struct wanted w = {.name = name, .name_len = len};

	if (!find_long(cli, &w))
		return unknown_option(cli, name, len);
	return take_value(cli, c, &w.found, name[len] ? name + len + 1 : NULL);
}

/* "-a", "-av", "-p4242", "-p 4242". */
static int parse_letters(struct tapir_cli *cli, struct cursor *c)
{
	const char *p = c->argv[c->at] + 1;

	for (; *p; p++) {
		struct wanted w = {.letter = *p};
		int err;

		if (!each_option(cli, is_wanted_option, &w))
			return no_option(cli, (char[]){'-', *p, 0});
		if (w.found.option->type != TAPIR_OPTION_FLAG)
			return take_value(cli, c, &w.found, p[1] ? p + 1 : NULL);
		err = take_value(cli, c, &w.found, NULL);
		if (err)
			return err;
	}
	return 0;
}

static bool free_value(const struct tapir_option *o, void *value, void *ctx)
{
	(void)ctx;
	if (o->type == TAPIR_OPTION_LIST || o->type == TAPIR_OPTION_CHOICES)
		tapir_vec__fini((struct tapir_words *)value);
	else if (o->type == TAPIR_OPTION_PIDS)
		tapir_vec__fini((struct tapir_pids *)value);
	else if (o->type == TAPIR_OPTION_PIDS_OR_EACH)
		tapir_vec__fini(&((struct tapir_pids_or_each *)value)->pids);
	else if (o->type == TAPIR_OPTION_LIST_OR_DEFAULT)
		tapir_vec__fini(&((struct tapir_words_or_default *)value)->words);
	else if (o->type == TAPIR_OPTION_SOURCES_OR_DEFAULT)
		tapir_vec__fini(&((struct tapir_sources_or_default *)value)->words);
	return false;
}

static void drop_command(struct tapir_cli *cli)
{
	if (cli->command)
		each_option(cli, free_value, NULL);
	free(cli->args);
	cli->args = NULL;
	cli->command = NULL;
}

static int choose_command(struct tapir_cli *cli, const char *name)
{
	const struct tapir_command *command = tapir_cli__find(cli, name);

	if (!command)
		return unknown_command(cli, name);
	drop_command(cli);
	cli->args = calloc(1, command->args_bytes ? command->args_bytes : 1);
	if (!cli->args)
		return -ENOMEM;
	if (command->defaults)
		memcpy(cli->args, command->defaults, command->args_bytes);
	cli->command = command;
	return 0;
}

static int parse_word(struct tapir_cli *cli, struct cursor *c)
{
	const char *word = c->argv[c->at];

	if (word[0] == '-' && word[1] == '-')
		return parse_long(cli, c);
	if (word[0] == '-' && word[1])
		return parse_letters(cli, c);
	if (!cli->command || cli->is_default) {
		cli->is_default = false;
		return choose_command(cli, word);
	}
	return tapir_vec__push(&cli->words, word) ? 0 : -ENOMEM;
}

static int check_words(const struct tapir_cli *cli)
{
	const struct tapir_positional *p = cli->command->positionals;
	size_t cnt = cli->words.cnt, seen = 0;

	for (; p && p->name; p++, seen++) {
		if (p->required && seen >= cnt)
			return tapir_cli__usage(cli, "%s is required: %s", p->name, p->help);
		if (p->many)
			return 0;
	}
	if (cnt > seen)
		return tapir_cli__usage(
			cli, "unexpected argument '%s' ('tapir help %s' shows the usage)",
			cli->words.data[seen], cli->command->name);
	return 0;
}

/* Behind "--": the program to run, or plain words. */
static int parse_rest(struct tapir_cli *cli, struct cursor *c)
{
	if (!cli->command)
		return tapir_cli__usage(
			cli, "a command is required before '--' ('tapir help' lists them)");
	if (cli->command->takes_program) {
		if (++c->at == c->argc)
			return tapir_cli__usage(cli, "a program is required after '--'");
		cli->program = c->argv + c->at;
		return 0;
	}
	while (++c->at < c->argc)
		if (!tapir_vec__push(&cli->words, c->argv[c->at]))
			return -ENOMEM;
	return 0;
}

int tapir_cli__parse(struct tapir_cli *cli, int argc, char **argv)
{
	struct cursor c = {argc, argv, 1};
	int err = 0;

	for (const struct tapir_command *const *each = cli->commands; *each; each++)
		if ((*each)->make_options)
			(*each)->make_options();
	if (cli->default_command) {
		err = choose_command(cli, cli->default_command);
		cli->is_default = !err;
	}
	for (; c.at < argc && !err; c.at++) {
		if (!strcmp(argv[c.at], "--")) {
			err = parse_rest(cli, &c);
			break;
		}
		err = parse_word(cli, &c);
	}
	if (err || !cli->command || cli->want_help || cli->want_version)
		return err;
	return check_words(cli);
}

void tapir_cli__fini(struct tapir_cli *cli)
{
	drop_command(cli);
	tapir_vec__fini(&cli->words);
	free(cli->chosen_file);
	cli->chosen_file = NULL;
}
