// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tapir help: the command tables and topics as help, man pages and completion: no text about an
 * option is written twice.
 */
#include "cli/cmd_help.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/file.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "output/render/screen.h"
#include "cli/terminal.h"

struct args {
	bool man;
	const char *man_pages;
	bool completion;
};

static const struct tapir_option options[] = {
	TAPIR_FLAG("man", 0, "print the man page as roff", struct args, man),
	TAPIR_STRING("man-pages", 0, "DIR", "write all man pages into DIR", struct args, man_pages),
	TAPIR_FLAG("completion", 0, "print the completion for bash", struct args, completion),
	{}};

static const struct tapir_topic *find_topic(const char *name)
{
	for (const struct tapir_topic *t = tapir_topics; t->name; t++)
		if (!strcmp(t->name, name))
			return t;
	return NULL;
}

static int unknown_word(const struct tapir_cli *cli, const char *word)
{
	return tapir_cli__usage(cli, "no command or topic '%s'; 'tapir help' lists them", word);
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
		return unknown_word(cli, word);
	return 0;
}

/* word: a command or a topic; NULL: tapir(1). */
static int write_page(const struct tapir_cli *cli, const char *word, struct tapir_str *out)
{
	struct tapir_str name = {}, wanted = {};
	bool is_found = false;

	tapir_str__addf(&wanted, word ? "tapir-%s." : "tapir%s.", word ? word : "");
	for (size_t i = 0; !is_found && tapir_manpage__name(cli, i, &name); i++) {
		is_found = name.data && wanted.data && !strncmp(name.data, wanted.data, wanted.len);
		if (is_found)
			tapir_manpage__write(cli, i, out);
	}
	tapir_str__fini(&name);
	tapir_str__fini(&wanted);
	return is_found ? 0 : unknown_word(cli, word);
}

static int write_file(const char *dir, const char *name, const struct tapir_str *text)
{
	char path[PATH_MAX];
	int fd, err;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	err = fd < 0 ? -errno : tapir_file__write_all(fd, text->data, text->len);
	if (fd >= 0 && close(fd) && !err)
		err = -errno;
	return err ? tapir_diag__fail(err, "cannot write %s: %s", path, strerror(-err)) : 0;
}

static int write_pages(const struct tapir_cli *cli, const char *dir)
{
	struct tapir_str name = {}, text = {};
	int err = 0;

	for (size_t i = 0; !err && tapir_manpage__name(cli, i, &name); i++) {
		tapir_str__clear(&text);
		tapir_manpage__write(cli, i, &text);
		err = name.data && text.data ? write_file(dir, name.data, &text) : -ENOMEM;
	}
	tapir_str__fini(&name);
	tapir_str__fini(&text);
	return err;
}

static int run_help(struct tapir_cli *cli)
{
	const struct tapir_palette *p = tapir_screen__palette(stdout);
	const char *word = cli->words.cnt ? cli->words.data[0] : NULL;
	const struct args *args = cli->args;
	struct tapir_str out = {};
	int err = 0;

	if (args->man_pages)
		return write_pages(cli, args->man_pages);
	if (args->man)
		err = write_page(cli, word, &out);
	else if (args->completion)
		tapir_completion__write(cli, &out);
	else if (word)
		err = write_word(cli, word, p, &out);
	else
		tapir_help__overview(cli, p, &out);
	if (!err)
		err = tapir_terminal__flush(&out);
	tapir_str__fini(&out);
	return err;
}

int tapir_help__run(const struct tapir_cli *cli)
{
	const struct tapir_palette *p = tapir_screen__palette(stdout);
	struct tapir_str out = {};
	int err;

	if (cli->want_version)
		tapir_str__addf(&out, "%s %s\n", cli->name, TAPIR_VERSION);
	else if (cli->command)
		tapir_help__command(cli->command, p, &out);
	else
		tapir_help__overview(cli, p, &out);
	err = tapir_terminal__flush(&out);
	tapir_str__fini(&out);
	return err;
}

static const char *topic_name(size_t i)
{
	return tapir_topics[i].name;
}

const struct tapir_command tapir_cmd_help = {
	.name = "help",
	.summary = "help for a command or topic; man pages; shell completion",
	.synopsis = "[COMMAND | TOPIC] [--man] [--man-pages DIR] [--completion]",
	.groups = (const struct tapir_option_group[]){{NULL, options, 0}, {}},
	.positionals =
		(const struct tapir_positional[]){
			{.name = "WORD",
			 .help = "a command or a topic; 'tapir help' lists both",
			 .value = topic_name},
			{}},
	.examples =
		(const struct tapir_example[]){
			{"help record", "options and examples of 'tapir record'"},
			{"help spec", "how events are named"},
			{"help record --man | man -l -", "the page tapir-record(1)"},
			{"help --completion > /etc/bash_completion.d/tapir", "completion for bash"},
			{}},
	.args_bytes = sizeof(struct args),
	.run = run_help,
};
