// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Matching of SPECs: if one selects an event, what it may have meant, how arguments are read.
 *
 * EventPipe and libtapir understand level 0 and keywords 0 differently (enum tapir_spec_zero), so
 * every comparison names whose meaning it uses.
 */
#include "spec/spec.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/diag.h"
#include "base/str.h"
#include "tapir/abi.h"

#define NAME_BYTES 256
#define MAX_EDITS  3 /* on either side of the ':' a name with this many is near */

size_t tapir_spec__plain_len(const char *event, size_t len)
{
	size_t at = len;

	while (at && isdigit((unsigned char)event[at - 1]))
		at--;
	return at < len && at > 2 && event[at - 1] == 'V' && event[at - 2] == '_' ? at - 2 : len;
}

static bool item_matches(const struct tapir_spec_item *item, const char *event)
{
	char plain[NAME_BYTES];
	size_t len = tapir_spec__plain_len(event, strlen(event));

	if (item->kind != TAPIR_SPEC_WORD && item->kind != TAPIR_SPEC_EVENT)
		return false;
	if (tapir_glob__match(item->text, event))
		return true;
	if (!event[len] || len >= sizeof(plain))
		return false;
	memcpy(plain, event, len);
	plain[len] = '\0';
	return tapir_glob__match(item->text, plain);
}

bool tapir_spec__matches_provider(const struct tapir_spec *spec, const char *path,
				  const char *provider)
{
	if (spec->path && path && strcmp(spec->path, path) != 0)
		return false;
	return tapir_glob__match(spec->provider, provider);
}

bool tapir_spec__matches(const struct tapir_spec *spec, const char *path, const char *provider,
			 const char *event)
{
	const struct tapir_spec_item *item;
	bool wants_some = false, wanted = false;

	if (!tapir_spec__matches_provider(spec, path, provider))
		return false;
	tapir_vec_for_each (item, &spec->items) {
		bool match = item_matches(item, event);

		if (item->negated && match)
			return false;
		wants_some |= !item->negated;
		wanted |= match;
	}
	return wanted || !wants_some;
}

/* ---- events that have a level and keywords --------------------------------------------------- */

/* An event without keywords belongs to all, as the runtimes have it. */
static bool shares(uint64_t keywords, uint64_t mask)
{
	return !keywords || (keywords & mask);
}

static bool selected_by_mask(const struct tapir_spec *spec, enum tapir_spec_zero zero,
			     uint64_t keywords)
{
	const struct tapir_spec_item *item;

	tapir_vec_for_each (item, &spec->items)
		if (!item->negated && item->kind == TAPIR_SPEC_MASK &&
		    (shares(keywords, item->mask) ||
		     (!item->mask && zero == TAPIR_SPEC_ZERO_IS_ALL)))
			return true;
	return false;
}

static bool forbidden_by_mask(const struct tapir_spec *spec, uint64_t keywords)
{
	const struct tapir_spec_item *item;

	tapir_vec_for_each (item, &spec->items)
		if (item->negated && item->kind == TAPIR_SPEC_MASK && (keywords & item->mask))
			return true;
	return false;
}

/* Matches provider, file, and what the SPEC leaves out, but not what it requests. */
static bool lets_through(const struct tapir_spec *spec, const char *path, const char *provider,
			 const char *event)
{
	const struct tapir_spec_item *item;

	tapir_vec_for_each (item, &spec->items)
		if (item->negated && item_matches(item, event))
			return false;
	return tapir_spec__matches_provider(spec, path, provider);
}

static bool lets_level_through(const struct tapir_spec *spec, enum tapir_spec_zero zero,
			       uint8_t level)
{
	if (spec->level < 0 || (!spec->level && zero == TAPIR_SPEC_ZERO_IS_ALL))
		return true;
	return level <= spec->level;
}

bool tapir_spec__has_zero(const struct tapir_spec *spec)
{
	const struct tapir_spec_item *item;

	tapir_vec_for_each (item, &spec->items)
		if (!item->negated && item->kind == TAPIR_SPEC_MASK && !item->mask)
			return true;
	return !spec->level;
}

bool tapir_spec__selects(const struct tapir_spec *spec, enum tapir_spec_zero zero, const char *path,
			 const char *provider, const char *event, uint8_t level, uint64_t keywords)
{
	if (!lets_level_through(spec, zero, level) || forbidden_by_mask(spec, keywords))
		return false;
	if (tapir_spec__matches(spec, path, provider, event))
		return true;
	return selected_by_mask(spec, zero, keywords) && lets_through(spec, path, provider, event);
}

/* ---- near misses ------------------------------------------------------------------------ */

/* Lower case, runs of '_' and '-' as one '_', no wildcards: what two people call the same. */
static void simplify(const char *text, char *out)
{
	size_t n = 0;

	for (; *text && n + 1 < NAME_BYTES; text++) {
		char c = *text == '-' ? '_' : (char)tolower((unsigned char)*text);

		if (c == '*' || c == '?' || (c == '_' && n && out[n - 1] == '_'))
			continue;
		out[n++] = c;
	}
	out[n] = '\0';
}

/* 0: the same; small: near; MAX_EDITS + 1: another thing. */
static unsigned difference(const char *wanted, const char *name, unsigned limit)
{
	char a[NAME_BYTES], b[NAME_BYTES];
	unsigned edits;

	simplify(wanted, a);
	simplify(name, b);
	if (!*a || !strcmp(a, b))
		return 0;
	if (strlen(a) >= 3 && (strstr(b, a) || (strlen(b) >= 3 && strstr(a, b))))
		return 1;
	if (strlen(a) <= limit)
		limit = (unsigned)strlen(a) - 1; /* else every short name is near */
	edits = tapir_str__distance(a, b, limit);
	if (2 * edits >= strlen(a) && *a != *b) /* half of it, and the beginning, is different */
		return MAX_EDITS + 1;
	return edits <= limit ? edits : MAX_EDITS + 1;
}

unsigned tapir_spec__distance(const struct tapir_spec *spec, const char *provider,
			      const char *event)
{
	const char *wanted = "";
	unsigned p_score, e_score;

	for (size_t i = 0; i < spec->items.cnt && !*wanted; i++)
		if (!spec->items.data[i].negated)
			wanted = spec->items.data[i].text;
	p_score = tapir_glob__match(spec->provider, provider)
			  ? 0
			  : difference(spec->provider, provider, MAX_EDITS);
	e_score = difference(wanted, event, MAX_EDITS);
	if (p_score > MAX_EDITS || e_score > MAX_EDITS)
		return TAPIR_SPEC_FAR;
	return p_score + e_score;
}

const char *tapir_spec__suggest(const struct tapir_spec *spec, const char *const *candidates,
				size_t candidate_cnt)
{
	unsigned best_score = TAPIR_SPEC_FAR;
	const char *best = NULL;

	for (size_t i = 0; i < candidate_cnt; i++) {
		size_t len = strcspn(candidates[i], ":");
		char provider[NAME_BYTES];
		unsigned score;

		snprintf(provider, sizeof(provider), "%.*s", (int)len, candidates[i]);
		score = tapir_spec__distance(spec, provider,
					     candidates[i] + len + (candidates[i][len] == ':'));
		if (score < best_score) {
			best_score = score;
			best = candidates[i];
		}
	}
	return best;
}

/* ---- how an argument is read ------------------------------------------------------------ */

/* "argN" at text; the character after it in *end. */
static bool parse_arg_name(const char *text, uint8_t *arg, const char **end)
{
	unsigned n = 0;
	const char *p = text + 3;

	if (strncmp(text, "arg", 3) != 0 || !isdigit((unsigned char)*p))
		return false;
	while (isdigit((unsigned char)*p) && n < TAPIR_MAX_ARGS)
		n = n * 10 + (unsigned)(*p++ - '0');
	if (n >= TAPIR_MAX_ARGS)
		return false;
	*arg = (uint8_t)n;
	*end = p;
	return true;
}

/* "strn(argM)" or "buf(argM)". */
static bool parse_sized(const char *value, const char *word, uint8_t *len_arg)
{
	size_t len = strlen(word);
	const char *end;

	return !strncmp(value, word, len) && value[len] == '(' &&
	       parse_arg_name(value + len + 1, len_arg, &end) && !strcmp(end, ")");
}

static bool parse_value(const char *value, struct tapir_spec_capture *out)
{
	static const struct {
		const char *word;
		uint8_t type;
	} plain[] = {{"str", TAPIR_FIELD_STR},
		     {"int", TAPIR_FIELD_INT},
		     {"uint", TAPIR_FIELD_UINT},
		     {"hex", TAPIR_FIELD_PTR},
		     {"ptr", TAPIR_FIELD_PTR}};
	uint64_t max;

	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
		if (!strcmp(value, plain[i].word)) {
			out->field_type = plain[i].type;
			return true;
		}
	}
	if (!strncmp(value, "str:", 4) && tapir_str__to_u64(value + 4, 1, UINT16_MAX, &max)) {
		out->field_type = TAPIR_FIELD_STR;
		out->max_bytes = (uint16_t)max;
		return true;
	}
	out->field_type = value[0] == 's' ? TAPIR_FIELD_STRN : TAPIR_FIELD_BLOB;
	return parse_sized(value, "strn", &out->len_arg) ||
	       parse_sized(value, "buf", &out->len_arg);
}

int tapir_spec__capture(const struct tapir_spec_arg *arg, struct tapir_spec_capture *out)
{
	struct tapir_spec_capture capture = {};
	const char *end;

	if (strncmp(arg->key, "arg", 3) != 0 || !isdigit((unsigned char)arg->key[3]))
		return 0;
	if (!parse_arg_name(arg->key, &capture.arg, &end) || *end)
		return tapir_diag__fail(-EINVAL, "'%.40s' is not an argument: arg0 to arg%d are",
					arg->key, TAPIR_MAX_ARGS - 1);
	if (!parse_value(arg->value, &capture))
		return tapir_diag__fail(
			-EINVAL,
			"%s=%.40s is not one of str, str:64, strn(arg2), buf(arg2), int, uint, hex, ptr",
			arg->key, arg->value);
	*out = capture;
	return 1;
}
