/* SPDX-License-Identifier: GPL-2.0-or-later */
/* help.h - the command tables as text for people and for other programs. */
#ifndef TAPIR_USER_HELP_H
#define TAPIR_USER_HELP_H

#include "base/str.h"
#include "cli/options.h"
#include "cli/terminal.h"

/* What belongs to no single command: `tapir help spec`, and sections of the man page. */
struct tapir_topic {
	const char *name; /* NULL ends the table */
	const char *title;
	const char *text; /* preformatted, lines <= 90 */
};

extern const struct tapir_topic tapir_topics[];

/* The first screen: what tapir is, examples, the commands. */
void tapir_help__overview(const struct tapir_cli *cli, const struct tapir_palette *p,
			  struct tapir_str *out);
void tapir_help__command(const struct tapir_command *command, const struct tapir_palette *p,
			 struct tapir_str *out);
void tapir_help__topic(const struct tapir_topic *topic, const struct tapir_palette *p,
		       struct tapir_str *out);

void tapir_manpage__write(const struct tapir_cli *cli, struct tapir_str *out);	  /* roff */
void tapir_completion__write(const struct tapir_cli *cli, struct tapir_str *out); /* bash */

#endif
