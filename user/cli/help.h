/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * help.h - the command tables and the topics (topics/NAME.txt) as help for the terminal, man pages
 * and shell completion. Any thread.
 */
#ifndef TAPIR_USER_HELP_H
#define TAPIR_USER_HELP_H

#include "base/str.h"
#include "cli/options.h"
#include "output/render/screen.h"

/* A topic that belongs to no single command: `tapir help spec`, and the page tapir-spec(7). */
struct tapir_topic {
	const char *name; /* NULL ends the table */
	const char *text; /* its first line is the title; see output/render/help_text.h */
	/* Adds the rows of a table defined elsewhere, where the text has a line "{list}". NULL:
	 * none. */
	void (*add_list)(struct tapir_str *out);
};

extern const struct tapir_topic tapir_topics[];

/* Returns the title's length; what follows it in text, the list filled in, is added to body. */
size_t tapir_topic__title_len(const struct tapir_topic *topic);
void tapir_topic__add_body(const struct tapir_topic *topic, struct tapir_str *body);

/* The most frequent uses: topics/overview.txt. For the first screen and tapir(1). */
extern const char *const tapir_help_overview;

/* Writes the first screen: what tapir is, examples, the commands. */
void tapir_help__overview(const struct tapir_cli *cli, const struct tapir_palette *p,
			  struct tapir_str *out);
void tapir_help__command(const struct tapir_command *command, const struct tapir_palette *p,
			 struct tapir_str *out);
void tapir_help__topic(const struct tapir_topic *topic, const struct tapir_palette *p,
		       struct tapir_str *out);

/* Appends "; one of a, b, c" of an option that takes one of these values; nothing for others. */
void tapir_help__add_values(struct tapir_str *out, const struct tapir_option *option);

/*
 * Writes the name of the i-th man page, as its file is called ("tapir.1", "tapir-record.1",
 * "tapir-spec.7"); false after the last.
 */
bool tapir_manpage__name(const struct tapir_cli *cli, size_t i, struct tapir_str *name);
void tapir_manpage__write(const struct tapir_cli *cli, size_t i, struct tapir_str *out);

void tapir_completion__write(const struct tapir_cli *cli, struct tapir_str *out); /* bash */

#endif
