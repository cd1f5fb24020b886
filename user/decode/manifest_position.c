// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Messages about an element or an attribute of a manifest, with its line and column.
 *
 * libxml2 keeps the line of an element's end (and not above 65,535) and no column. So a place is
 * found when a message needs it: the number of the element in the order of the document, and then
 * that start tag in the text. The text is well-formed XML without a document type by then, so a
 * start tag is a '<' that begins no comment, CDATA, processing instruction or end tag.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/diag.h"
#include "decode/manifest_impl.h"

struct text_position {
	unsigned line, column; /* from 1; column 0: not known */
};

/* Characters of UTF-8, or of UTF-16 by their low bytes: markup is ASCII. */
struct scan {
	const unsigned char *text;
	size_t at, len, width, low;
	struct text_position position;
};

static struct scan scan_of(const struct manifest_source *source)
{
	struct scan s = {.text = source->bytes, .len = source->len, .width = 1, .position = {1, 1}};

	if (s.len < 2)
		return s;
	if ((s.text[0] == 0xff && s.text[1] == 0xfe) || (s.text[0] == '<' && !s.text[1]))
		s.width = 2;
	if ((s.text[0] == 0xfe && s.text[1] == 0xff) || (!s.text[0] && s.text[1] == '<')) {
		s.width = 2;
		s.low = 1;
	}
	if (s.width == 2 && s.text[s.low] != '<')
		s.at = 2;
	else if (s.len > 3 && !memcmp(s.text, "\xef\xbb\xbf", 3))
		s.at = 3;
	return s;
}

/* -1 at the end; what is not ASCII is 0. */
static int peek(const struct scan *s, size_t ahead)
{
	size_t at = s->at + ahead * s->width;
	unsigned char c;

	if (at + s->width > s->len)
		return -1;
	c = s->text[at + s->low];
	return c > 0x7f || (s->width == 2 && s->text[at + !s->low]) ? 0 : c;
}

static void scan_char(struct scan *s)
{
	bool is_continuation = s->width == 1 && (s->text[s->at] & 0xc0) == 0x80;

	if (peek(s, 0) == '\n') {
		s->position.line++;
		s->position.column = 1;
	} else {
		s->position.column += !is_continuation;
	}
	s->at += s->width;
}

static bool is_at(const struct scan *s, const char *text)
{
	for (size_t i = 0; text[i]; i++)
		if (peek(s, i) != text[i])
			return false;
	return true;
}

static void skip_past(struct scan *s, const char *text)
{
	while (peek(s, 0) >= 0 && !is_at(s, text))
		scan_char(s);
	for (size_t i = 0; text[i] && peek(s, 0) >= 0; i++)
		scan_char(s);
}

/* Moves to the next start tag. false: there is none. */
static bool find_tag(struct scan *s)
{
	while (peek(s, 0) >= 0) {
		if (is_at(s, "<!--"))
			skip_past(s, "-->");
		else if (is_at(s, "<![CDATA["))
			skip_past(s, "]]>");
		else if (is_at(s, "<?"))
			skip_past(s, "?>");
		else if (peek(s, 0) == '<' && peek(s, 1) != '/')
			return true;
		else
			scan_char(s);
	}
	return false;
}

static bool is_space(int c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool ends_name(int c)
{
	return c < 0 || c == '=' || c == '>' || c == '/' || is_space(c);
}

static void skip_name(struct scan *s)
{
	while (!ends_name(peek(s, 0)))
		scan_char(s);
}

/* Moves from behind an attribute's name to behind its value. false: there is no value. */
static bool skip_value(struct scan *s)
{
	char quote[2] = "";

	while (is_space(peek(s, 0)) || peek(s, 0) == '=')
		scan_char(s);
	if (peek(s, 0) != '"' && peek(s, 0) != '\'')
		return false;
	quote[0] = (char)peek(s, 0);
	scan_char(s);
	skip_past(s, quote);
	return true;
}

/* name without its prefix, as libxml2 has it. */
static bool is_attr(const struct scan *s, const char *name)
{
	struct scan at = *s;
	size_t len = strlen(name);

	for (; !ends_name(peek(&at, 0)); scan_char(&at))
		if (is_at(&at, name) && ends_name(peek(&at, len)) &&
		    (at.at == s->at || s->text[at.at - at.width + at.low] == ':'))
			return true;
	return false;
}

/* Moves from the start tag to the name of the attribute, if it has it. */
static void find_attr(struct scan *s, const char *name)
{
	struct scan at = *s;

	scan_char(&at);
	skip_name(&at);
	do {
		while (is_space(peek(&at, 0)))
			scan_char(&at);
		if (is_attr(&at, name)) {
			*s = at;
			return;
		}
		skip_name(&at);
	} while (skip_value(&at));
}

static struct text_position position_of_attr(const struct manifest_source *source,
					     const xmlNode *node, const char *attr)
{
	const xmlNode *at = tapir_manifest_xml__next(node->doc->children, NULL);
	struct scan s = scan_of(source);
	bool is_found = find_tag(&s);

	for (; at != node && is_found; at = tapir_manifest_xml__walk(at)) {
		scan_char(&s);
		is_found = find_tag(&s);
	}
	if (!is_found) /* an encoding without ASCII's markup */
		return (struct text_position){node->line, 0};
	if (attr)
		find_attr(&s, attr);
	return s.position;
}

/* ---- messages ---- */

#define POSITION_BYTES 512
#define WORDS_BYTES    81

/* "FILE:LINE:COLUMN", without the column where it is not known. */
static const char *position_text(const struct manifest_source *source, const xmlNode *node,
				 const char *attr, char out[POSITION_BYTES])
{
	struct text_position at = position_of_attr(source, node, attr);

	if (at.column)
		snprintf(out, POSITION_BYTES, "%s:%u:%u", source->path, at.line, at.column);
	else
		snprintf(out, POSITION_BYTES, "%s:%u", source->path, at.line);
	return out;
}

/* Words of a manifest in a line: no newline, no control character, not long. */
static const char *words(const char *text, char out[WORDS_BYTES])
{
	snprintf(out, WORDS_BYTES, "%s", text);
	for (char *c = out; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
	return out;
}

int tapir_manifest_xml__fail(const struct manifest_reader *r, const xmlNode *node, const char *why,
			     const char *label)
{
	char position[POSITION_BYTES], text[WORDS_BYTES];

	return tapir_diag__fail(
		-EINVAL, "%s: <%.40s>: %s%s%s", position_text(r->source, node, NULL, position),
		(const char *)node->name, why, *label ? ": " : "", words(label, text));
}

int tapir_manifest_xml__fail_attr(const struct manifest_reader *r, const xmlNode *node,
				  const char *attr, const char *expected)
{
	const char *value = tapir_manifest_xml__attr(node, attr);
	char position[POSITION_BYTES], text[WORDS_BYTES];

	position_text(r->source, node, value ? attr : NULL, position);
	if (!value)
		return tapir_diag__fail(-EINVAL, "%s: <%.40s> has no attribute %s: expected %s",
					position, (const char *)node->name, attr, expected);
	return tapir_diag__fail(-EINVAL, "%s: attribute %s of <%.40s> is '%s': expected %s",
				position, attr, (const char *)node->name, words(value, text),
				expected);
}

void tapir_manifest_xml__warn_attr(const struct manifest_source *source, const xmlNode *node,
				   const char *attr)
{
	char position[POSITION_BYTES], text[WORDS_BYTES];

	tapir_diag__add("%s: warning: unknown attribute %s of <%.40s> is ignored",
			position_text(source, node, attr, position), words(attr, text),
			(const char *)node->name);
}
