// SPDX-License-Identifier: GPL-2.0-or-later
/* Few forms, told apart by their first word. */
#include "spec/machine_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/str.h"

#define MAX_BYTES      4096
#define MAX_NAME_BYTES 256

static const struct kind {
	const char *word; /* with its ':' */
	bool has_category;
	const char *form;
} kinds[] = {
	[TAPIR_MACHINE_TRACEPOINT] = {"tracepoint:", true,
				      "tracepoint:CATEGORY:NAME, such as "
				      "tracepoint:sched:sched_process_exec"},
	[TAPIR_MACHINE_SYSCALL] = {"syscall:", false,
				   "syscall:NAME, such as syscall:openat or 'syscall:*'"},
};
#define KIND_CNT (sizeof(kinds) / sizeof(kinds[0]))

static size_t kind_of(const char *text)
{
	size_t i = 0;

	while (i < KIND_CNT && strncmp(text, kinds[i].word, strlen(kinds[i].word)))
		i++;
	return i;
}

bool tapir_machine_source__is_one(const char *text)
{
	return kind_of(text) < KIND_CNT;
}

/* Nothing else is in a name of the kernel's, and in a glob of some. */
static bool is_globs(const char *text)
{
	return *text && !text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					   "0123456789_*?[]!-,")];
}

static int take_parts(struct tapir_machine_source *s, const struct kind *kind)
{
	const char *at = s->text + strlen(kind->word), *colon = strchr(at, ':');

	if (kind->has_category && (!colon || colon == at))
		return -EINVAL;
	if (kind->has_category) {
		s->category = strndup(at, (size_t)(colon - at));
		at = colon + 1;
	}
	s->names = strdup(at);
	if (!s->names || (kind->has_category && !s->category))
		return -ENOMEM;
	return is_globs(s->names) && (!s->category || is_globs(s->category)) ? 0 : -EINVAL;
}

int tapir_machine_source__parse(const char *text, struct tapir_machine_source **out)
{
	struct tapir_machine_source *s;
	size_t kind = kind_of(text);
	int err;

	if (kind == KIND_CNT || strlen(text) > MAX_BYTES)
		return tapir_diag__fail(-EINVAL, "'%.40s' is no source of the machine", text);
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->kind = (enum tapir_machine_kind)kind;
	s->text = strdup(text);
	err = s->text ? take_parts(s, &kinds[kind]) : -ENOMEM;
	if (!err) {
		*out = s;
		return 0;
	}
	tapir_machine_source__free(s);
	return err == -EINVAL
		       ? tapir_diag__fail(err, "SOURCE '%.200s' is not %s", text, kinds[kind].form)
		       : err;
}

void tapir_machine_source__free(struct tapir_machine_source *s)
{
	if (!s)
		return;
	free(s->text);
	free(s->category);
	free(s->names);
	free(s);
}

bool tapir_machine_source__has_name(const struct tapir_machine_source *s, const char *name)
{
	char glob[MAX_NAME_BYTES];

	for (const char *at = s->names; *at; at += strcspn(at, ","), at += *at == ',') {
		size_t len = strcspn(at, ",");

		if (!len || len >= sizeof(glob))
			continue;
		memcpy(glob, at, len);
		glob[len] = '\0';
		if (tapir_glob__match(glob, name))
			return true;
	}
	return false;
}

bool tapir_machine_source__matches(const struct tapir_machine_source *s, const char *provider,
				   const char *event)
{
	size_t len = strlen(TAPIR_TRACEPOINT_WORD);
	bool is_provider = s->kind == TAPIR_MACHINE_SYSCALL
				   ? !strcmp(provider, TAPIR_SYSCALL_WORD)
				   : !strncmp(provider, TAPIR_TRACEPOINT_WORD, len) &&
					     tapir_glob__match(s->category, provider + len);

	return is_provider && tapir_machine_source__has_name(s, event);
}
