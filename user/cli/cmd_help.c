// SPDX-License-Identifier: GPL-2.0-or-later
/* tapir help: everything the tables say, for a person, for man, for bash. */
#include "cli/cmd_help.h"

#include <string.h>

#include "cli/commands.h"
#include "cli/help.h"

struct args {
	bool man;
	bool completion;
};

static const struct tapir_option options[] = {
	TAPIR_FLAG("man", 0, "the man page, as roff", struct args, man),
	TAPIR_FLAG("completion", 0, "completion for bash", struct args, completion),
	{}};

static const struct tapir_topic *find_topic(const char *name)
{
	for (const struct tapir_topic *t = tapir_topics; t->name; t++)
		if (!strcmp(t->name, name))
			return t;
	return NULL;
}

static int write_word(const struct tapir_cli *cli, const char *word, const struct tapir_palette *p,
		      struct tapir_str *out)
{
	const struct tapir_command *command = tapir_cli__find(cli, word);
	const struct tapir_topic *topic = find_topic(word);

	if (command)
		tapir_help__command(command, p, out);
	else if (topic)
		tapir_help__topic(topic, p, out);
	else
		return tapir_cli__usage(cli, "no command or topic '%s'; 'tapir help' lists them",
					word);
	return 0;
}

static int run(struct tapir_cli *cli)
{
	const struct tapir_palette *p = tapir_terminal__palette(stdout);
	const struct args *args = cli->args;
	struct tapir_str out = {};
	int err = 0;

	if (args->man)
		tapir_manpage__write(cli, &out);
	else if (args->completion)
		tapir_completion__write(cli, &out);
	else if (cli->words.cnt)
		err = write_word(cli, cli->words.data[0], p, &out);
	else
		tapir_help__overview(cli, p, &out);
	if (!err)
		err = tapir_terminal__flush(&out);
	tapir_str__fini(&out);
	return err;
}

int tapir_help__run(const struct tapir_cli *cli)
{
	const struct tapir_palette *p = tapir_terminal__palette(stdout);
	struct tapir_str out = {};
	int err;

	if (cli->want_version)
		tapir_str__addf(&out, "tapir %s\n", TAPIR_VERSION);
	else if (cli->command)
		tapir_help__command(cli->command, p, &out);
	else
		tapir_help__overview(cli, p, &out);
	err = tapir_terminal__flush(&out);
	tapir_str__fini(&out);
	return err;
}

const struct tapir_command tapir_cmd_help = {
	.name = "help",
	.summary = "help for a command or a topic; the man page; shell completion",
	.synopsis = "[COMMAND | TOPIC] [--man] [--completion]",
	.groups = (const struct tapir_option_group[]){{NULL, options, 0}, {}},
	.positionals =
		(const struct tapir_positional[]){
			{.name = "COMMAND",
			 .help = "a command, or a topic: spec, environment, exit"},
			{}},
	.examples =
		(const struct tapir_example[]){
			{"help record", "what record does, with examples"},
			{"help spec", "how events are named"},
			{"help --man | man -l -", "the manual"},
			{"help --completion > /etc/bash_completion.d/tapir", "completion in bash"},
			{}},
	.args_bytes = sizeof(struct args),
	.run = run,
};
