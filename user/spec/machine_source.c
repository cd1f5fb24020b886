// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A few forms, which differ in their first word. Only the form is checked here: whether a
 * tracepoint or a function exists is found out when it is attached, because that depends on the
 * machine and on the file that a process maps.
 */
#include "spec/machine_source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/str.h"

#define MAX_BYTES      4096
#define MAX_NAME_BYTES 256

enum part { PART_NONE, PART_CATEGORY, PART_FILE }; /* what precedes the names */

static const struct kind {
	const char *word; /* with its ':' */
	enum part part;
	const char *form;
} kinds[] = {
	[TAPIR_MACHINE_TRACEPOINT] = {"tracepoint:", PART_CATEGORY,
				      "tracepoint:CATEGORY:NAME, such as "
				      "tracepoint:sched:sched_process_exec"},
	[TAPIR_MACHINE_SYSCALL] = {"syscall:", PART_NONE,
				   "syscall:NAME, such as syscall:openat or 'syscall:*'"},
	[TAPIR_MACHINE_UPROBE] = {"uprobe:", PART_FILE,
				  "uprobe:FILE:SYMBOL, such as uprobe:libc:malloc"},
	[TAPIR_MACHINE_URETPROBE] = {"uretprobe:", PART_FILE,
				     "uretprobe:FILE:SYMBOL, such as uretprobe:libc:malloc"},
	[TAPIR_MACHINE_PERF] = {"perf:", PART_NONE,
				"perf:EVENT[@PERIOD], such as perf:page-faults or "
				"perf:cycles@1000000"},
	[TAPIR_MACHINE_TIMER] = {"timer:", PART_NONE, "timer:HZ, such as timer:99, at most 20000"},
	[TAPIR_MACHINE_KPROBE] = {"kprobe:", PART_NONE, "kprobe:FUNCTION, such as kprobe:vfs_read"},
	[TAPIR_MACHINE_KRETPROBE] = {"kretprobe:", PART_NONE,
				     "kretprobe:FUNCTION, such as kretprobe:vfs_read"},
	[TAPIR_MACHINE_UFUNC] = {TAPIR_UFUNC_WORD, PART_FILE,
				 "ufunc:FILE:SYMBOL, such as ufunc:libc:malloc"},
	[TAPIR_MACHINE_KFUNC] = {"kfunc:", PART_NONE, "kfunc:FUNCTION, such as kfunc:vfs_read"},
};
#define KIND_CNT (sizeof(kinds) / sizeof(kinds[0]))

static size_t source_word_kind(const char *text)
{
	size_t i = 0;

	while (i < KIND_CNT && strncmp(text, kinds[i].word, strlen(kinds[i].word)))
		i++;
	return i;
}

bool tapir_machine_source__is_one(const char *text)
{
	return source_word_kind(text) < KIND_CNT;
}

/* Nothing else is in a name of the kernel's, and in a glob of some. */
static bool is_globs(const char *text)
{
	return *text && !text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					   "0123456789_*?[]!-,")];
}

/* Returns the first ':' that no '\\' precedes, or NULL. */
static const char *find_colon(const char *at)
{
	for (; *at; at++)
		if (*at == '\\' && at[1])
			at++;
		else if (*at == ':')
			return at;
	return NULL;
}

/* Copies it without the '\\' in front of each ':'. */
static char *copy_file(const char *text, size_t len)
{
	char *out = malloc(len + 1), *o = out;

	if (!out)
		return NULL;
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\\' && i + 1 < len && text[i + 1] == ':')
			i++;
		*o++ = text[i];
	}
	*o = '\0';
	return out;
}

static bool is_printable(const char *text)
{
	while ((unsigned char)*text >= ' ' && *text != 127)
		text++;
	return !*text;
}

static bool are_names(const struct tapir_machine_source *s)
{
	if (s->file)
		return *s->names && is_printable(s->names) && is_printable(s->file);
	return is_globs(s->names) && (!s->category || is_globs(s->category));
}

/* Takes what follows the '@', or all of it, as a number. */
static bool take_rate(struct tapir_machine_source *s)
{
	char *at = strchr(s->names, '@');

	if (s->kind == TAPIR_MACHINE_TIMER)
		return tapir_str__to_u64(s->names, 1, TAPIR_TIMER_MAX_HZ, &s->rate);
	if (s->kind != TAPIR_MACHINE_PERF || !at)
		return true;
	*at = '\0';
	return tapir_str__to_u64(at + 1, 1, INT64_MAX, &s->rate);
}

static int take_parts(struct tapir_machine_source *s, const struct kind *kind)
{
	const char *at = s->text + strlen(kind->word), *colon = find_colon(at);

	if (kind->part != PART_NONE && (!colon || colon == at))
		return -EINVAL;
	if (kind->part == PART_CATEGORY)
		s->category = strndup(at, (size_t)(colon - at));
	if (kind->part == PART_FILE)
		s->file = copy_file(at, (size_t)(colon - at));
	s->names = strdup(kind->part == PART_NONE ? at : colon + 1);
	if (!s->names || (kind->part != PART_NONE && !s->category && !s->file))
		return -ENOMEM;
	return take_rate(s) && are_names(s) ? 0 : -EINVAL;
}

int tapir_machine_source__parse(const char *text, struct tapir_machine_source **out)
{
	struct tapir_machine_source *s;
	size_t kind = source_word_kind(text);
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
	free(s->file);
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

bool tapir_machine_source__is_function(const struct tapir_machine_source *s)
{
	return s->file;
}

static bool is_of_calls(size_t kind)
{
	return kind == TAPIR_MACHINE_UFUNC || kind == TAPIR_MACHINE_KFUNC;
}

bool tapir_machine_source__is_call(const struct tapir_machine_source *s)
{
	return is_of_calls(s->kind);
}

bool tapir_machine_source__means_calls(const char *text)
{
	return is_of_calls(source_word_kind(text));
}

void tapir_machine_source__provider(const struct tapir_machine_source *s, char *out,
				    size_t out_bytes)
{
	snprintf(out, out_bytes, "%s%s", kinds[s->kind].word, s->file ? s->file : "");
}

bool tapir_machine_source__is_of_file(const struct tapir_machine_source *s, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t len = s->file ? strlen(s->file) : 0;

	if (!s->file || strchr(s->file, '/'))
		return s->file && !strcmp(s->file, path);
	return !strncmp(name, s->file, len) && strchr(".-", name[len]); /* or it ends there */
}

static bool is_event_of(const struct tapir_machine_source *s, const char *event)
{
	size_t len = strlen(s->names);

	return !strncmp(event, s->names, len) &&
	       (!event[len] ||
		(s->kind == TAPIR_MACHINE_UFUNC && !strcmp(event + len, TAPIR_UFUNC_RETURN)));
}

bool tapir_machine_source__matches(const struct tapir_machine_source *s, const char *provider,
				   const char *event)
{
	size_t len = strlen(TAPIR_TRACEPOINT_WORD);
	char own[MAX_BYTES + 16];

	switch (s->kind) {
	case TAPIR_MACHINE_SYSCALL:
	case TAPIR_MACHINE_PERF:
	case TAPIR_MACHINE_TIMER:
	case TAPIR_MACHINE_KPROBE:
	case TAPIR_MACHINE_KRETPROBE:
		snprintf(own, sizeof(own), "%s:", provider);
		return !strcmp(kinds[s->kind].word, own) &&
		       tapir_machine_source__has_name(s, event);
	case TAPIR_MACHINE_TRACEPOINT:
		return !strncmp(provider, TAPIR_TRACEPOINT_WORD, len) &&
		       tapir_glob__match(s->category, provider + len) &&
		       tapir_machine_source__has_name(s, event);
	case TAPIR_MACHINE_KFUNC:
		return (!strcmp(provider, TAPIR_KPROBE_WORD) ||
			!strcmp(provider, TAPIR_KRETPROBE_WORD)) &&
		       tapir_machine_source__has_name(s, event);
	default:
		tapir_machine_source__provider(s, own, sizeof(own));
		return !strcmp(own, provider) && is_event_of(s, event);
	}
}
