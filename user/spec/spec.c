// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The parser of SPECs: one pass from left to right, every part copied out once. A mistake is
 * reported where it is found, with an example of what was expected; no part is guessed.
 */
#include "spec/spec.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/diag.h"
#include "base/str.h"

static const char *const level_names[] = {"LogAlways", "Critical",	"Error",
					  "Warning",   "Informational", "Verbose"};
#define LEVEL_CNT ((int)(sizeof(level_names) / sizeof(level_names[0])))

/* First words that name another kind of source than a provider, now or in a later version. */
static const struct {
	const char *word, *description;
} reserved[] = {
	{"tracepoint", "a tracepoint of the kernel"},
	{"syscall", "system calls"},
	{"kfunc", "a function of the kernel"},
	{"kprobe", "a function of the kernel"},
	{"kretprobe", "a function of the kernel"},
	{"uprobe", "a function by its symbol"},
	{"uretprobe", "a function by its symbol"},
	{"ufunc", "a function by its symbol"},
	{"perf", "an event of the CPU or the kernel"},
	{"timer", "a timer"},
	{"usdt", "a provider, which must follow"},
	{"interval", "an interval"},
	{"block", "block I/O"},
	{"runqueue", "waits for a CPU"},
	{"locks", "waits for locks"},
	{"request", "requests"},
};

struct parser {
	const char *text; /* the whole, for positions */
	const char *at;
	bool is_provider; /* "usdt:" precedes it: no word is reserved */
	struct tapir_spec *spec;
};

__attribute__((format(printf, 3, 4))) static int mistake(const struct parser *p, const char *where,
							 const char *fmt, ...)
{
	char line[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	return tapir_diag__fail(-EINVAL, "SPEC '%.200s', character %zu: %s", p->text,
				(size_t)(where - p->text) + 1, line);
}

/* Length of the part that starts at text: up to an end character that no '\' hides. */
static size_t part_len(const char *text, const char *ends)
{
	const char *p = text;

	for (; *p && !strchr(ends, *p); p++)
		if (p[0] == '\\' && p[1])
			p++;
	return (size_t)(p - text);
}

/* Copies a part and takes '\:' and, in a path, '\\' for what they hide. */
static char *copy_part(const char *text, size_t len, bool is_path)
{
	char *out = malloc(len + 1), *o = out;

	if (!out)
		return NULL;
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\\' && i + 1 < len &&
		    (text[i + 1] == ':' || (is_path && text[i + 1] == '\\')))
			i++;
		*o++ = text[i];
	}
	*o = '\0';
	return out;
}

const char *tapir_spec__reserved(const char *word, size_t len)
{
	for (size_t i = 0; i < sizeof(reserved) / sizeof(*reserved); i++)
		if (strlen(reserved[i].word) == len && !memcmp(word, reserved[i].word, len))
			return reserved[i].description;
	return NULL;
}

/* ---- the parts -------------------------------------------------------------------------- */

static int parse_path(struct parser *p)
{
	size_t len = part_len(p->at, ":");

	if (!p->at[len])
		return mistake(
			p, p->at + len,
			"a provider must follow the path: %.100s:PROVIDER, or %.100s:* for all of this file",
			p->at, p->at);
	p->spec->path = copy_part(p->at, len, true);
	p->at += len + 1;
	return p->spec->path ? 0 : -ENOMEM;
}

static int parse_provider(struct parser *p)
{
	size_t len = part_len(p->at, ":"), invalid = strcspn(p->at, " \t/,;=");

	if (!len)
		return mistake(p, p->at,
			       "a provider is required: hotspot:gc__*, or *:gc__* for any");
	if (invalid < len && p->at[invalid] == '/')
		return mistake(p, p->at,
			       "a path starts with '/' and comes first: /usr/bin/x:PROVIDER:EVENT");
	if (invalid < len)
		return mistake(
			p, p->at + invalid,
			"'%c' is not allowed in a provider name; separate SPECs by spaces: hotspot:gc__* hotspot:thread__*",
			p->at[invalid]);
	if (!p->is_provider && !p->spec->path && tapir_spec__reserved(p->at, len))
		return mistake(p, p->at,
			       "'%.*s' means %s, which cannot be recorded by that name; a provider "
			       "of that name is usdt:%.*s",
			       (int)len, p->at, tapir_spec__reserved(p->at, len), (int)len, p->at);
	p->spec->provider = copy_part(p->at, len, false);
	p->at += len;
	return p->spec->provider ? 0 : -ENOMEM;
}

static int set_mask(struct parser *p, struct tapir_spec_item *item)
{
	if (tapir_str__to_u64(item->text, 0, UINT64_MAX, &item->mask))
		return 0;
	return mistake(p, p->at, "'%.40s' is not a mask of keywords: 0x0 to 0x%llx", item->text,
		       (unsigned long long)UINT64_MAX);
}

static int parse_item(struct parser *p)
{
	struct tapir_spec_item *item = tapir_vec__add(&p->spec->items);
	size_t len;
	int err = 0;

	if (!item)
		return -ENOMEM;
	if (*p->at == '-') {
		item->negated = true;
		p->at++;
	}
	if (!strncmp(p->at, "ev=", 3) || !strncmp(p->at, "kw=", 3)) {
		item->kind = *p->at == 'e' ? TAPIR_SPEC_EVENT : TAPIR_SPEC_KEYWORD;
		p->at += 3;
	} else if (!strncasecmp(p->at, "0x", 2)) {
		item->kind = TAPIR_SPEC_MASK;
	}
	len = part_len(p->at, ":,");
	if (!len)
		return mistake(p, p->at,
			       "an event or keyword is required: hotspot:gc__begin,gc__end");
	/*
	 * These characters stand in no name of an event: a SPEC in a wrong order is found out here,
	 * and not as an event that never comes.
	 */
	if (memchr(p->at, '/', len) || memchr(p->at, '=', len) || memchr(p->at, ' ', len))
		return mistake(
			p, p->at,
			"'%.*s' is not an event or keyword: ev=GLOB, kw=NAME, 0xHEX or a plain word; a path comes before the provider",
			(int)(len < 60 ? len : 60), p->at);
	item->text = copy_part(p->at, len, false);
	if (!item->text)
		return -ENOMEM;
	if (item->kind == TAPIR_SPEC_MASK)
		err = set_mask(p, item);
	if (item->kind == TAPIR_SPEC_KEYWORD && !strcasecmp(item->text, "all")) {
		item->kind = TAPIR_SPEC_MASK;
		item->mask = UINT64_MAX;
	}
	p->at += len;
	return err;
}

static int parse_items(struct parser *p)
{
	int err;

	if (*p->at == ':')
		return 0;
	for (;;) {
		err = parse_item(p);
		if (err || *p->at != ',')
			return err;
		p->at++;
	}
}

static int bad_level(struct parser *p, const char *word)
{
	for (int i = 0; i < LEVEL_CNT; i++)
		if (!strncasecmp(word, level_names[i], 4) ||
		    tapir_str__distance(word, level_names[i], 2) <= 2)
			return mistake(p, p->at, "level '%.40s' does not exist; the nearest is %s",
				       word, level_names[i]);
	if (strchr(word, '='))
		return mistake(p, p->at, "a level is expected here; it can be empty: %.60s::%.60s",
			       p->spec->provider, word);
	return mistake(
		p, p->at,
		"level '%.40s' is not one of 0 LogAlways, 1 Critical, 2 Error, 3 Warning, 4 Informational, 5 Verbose, all",
		word);
}

static int parse_level(struct parser *p)
{
	size_t len = part_len(p->at, ":");
	char word[64];

	snprintf(word, sizeof(word), "%.*s", (int)(len < 63 ? len : 63), p->at);
	if (len == 1 && word[0] >= '0' && word[0] < '0' + LEVEL_CNT)
		p->spec->level = word[0] - '0';
	for (int i = 0; i < LEVEL_CNT; i++)
		if (!strcasecmp(word, level_names[i]))
			p->spec->level = i;
	if (!len && !p->at[len])
		return mistake(p, p->at, "a level is required after ':': 0..5 or its name");
	if (len && p->spec->level < 0 && strcasecmp(word, "all") != 0)
		return bad_level(p, word);
	p->at += len;
	return 0;
}

/* In double quotes, which the provider gets as well, ';' is free. 0: they do not end. */
static size_t value_bytes(const char *value)
{
	const char *end;

	if (*value != '"')
		return strcspn(value, ";");
	end = strchr(value + 1, '"');
	return end && (!end[1] || end[1] == ';') ? (size_t)(end - value) + 1 : 0;
}

/* Behind ARGS nothing follows, so ':' is free in a value: arg1=str:64. */
static int parse_arg(struct parser *p)
{
	size_t key_len = strcspn(p->at, "=;"), value_len;
	struct tapir_spec_arg *arg;

	if (!key_len || p->at[key_len] != '=')
		return mistake(p, p->at,
			       "KEY=VALUE is required, separated by ';': arg0=str;arg1=hex");
	value_len = value_bytes(p->at + key_len + 1);
	if (!value_len && p->at[key_len + 1] == '"')
		return mistake(p, p->at + key_len + 1, "a closing '\"' is required");
	arg = tapir_vec__add(&p->spec->args);
	if (!arg)
		return -ENOMEM;
	arg->key = strndup(p->at, key_len);
	arg->value = strndup(p->at + key_len + 1, value_len);
	p->at += key_len + 1 + value_len;
	return arg->key && arg->value ? 0 : -ENOMEM;
}

static int parse_args(struct parser *p)
{
	size_t bytes = strlen(p->at);
	int err;

	if (bytes > TAPIR_SPEC_MAX_ARGS)
		return tapir_diag__fail(-EINVAL,
					"SPEC '%.40s...': its arguments have %zu characters; the "
					"limit is %d",
					p->text, bytes, TAPIR_SPEC_MAX_ARGS);
	for (;;) {
		err = parse_arg(p);
		if (err || !*p->at)
			return err;
		p->at++;
	}
}

/* Steps over the ':' in front of the next part; false: the text ends here. */
static bool next_part(struct parser *p)
{
	if (*p->at != ':')
		return false;
	p->at++;
	return true;
}

static int parse_all(struct parser *p)
{
	int err;

	p->is_provider = !strncmp(p->at, "usdt:", 5);
	p->at += p->is_provider ? 5 : 0;
	err = *p->at == '/' ? parse_path(p) : 0;
	if (!err)
		err = parse_provider(p);
	if (!err && next_part(p))
		err = parse_items(p);
	if (!err && next_part(p))
		err = parse_level(p);
	if (!err && next_part(p))
		err = parse_args(p);
	return err;
}

int tapir_spec__parse(const char *text, struct tapir_spec **out)
{
	struct parser p = {.text = text, .at = text};
	int err;

	if (strnlen(text, TAPIR_SPEC_MAX_BYTES + 1) > TAPIR_SPEC_MAX_BYTES)
		return tapir_diag__fail(-EINVAL, "SPEC '%.40s...' is longer than %d characters",
					text, TAPIR_SPEC_MAX_BYTES);
	p.spec = calloc(1, sizeof(*p.spec));
	if (!p.spec)
		return -ENOMEM;
	p.spec->level = -1;
	p.spec->text = strdup(text);
	err = p.spec->text ? parse_all(&p) : -ENOMEM;
	if (err) {
		tapir_spec__free(p.spec);
		return err;
	}
	*out = p.spec;
	return 0;
}

void tapir_spec__free(struct tapir_spec *spec)
{
	struct tapir_spec_item *item;
	struct tapir_spec_arg *arg;

	if (!spec)
		return;
	tapir_vec_for_each (item, &spec->items)
		free(item->text);
	tapir_vec_for_each (arg, &spec->args) {
		free(arg->key);
		free(arg->value);
	}
	tapir_vec__fini(&spec->items);
	tapir_vec__fini(&spec->args);
	free(spec->text);
	free(spec->path);
	free(spec->provider);
	free(spec);
}
