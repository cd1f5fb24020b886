// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The strings of a manifest, and the names that have numbers: levels, tasks, opcodes.
 *
 * "$(string.id)" in a message is the string with that id, which may refer to others. A cycle of
 * them is an error, and so is a text that grows beyond MESSAGE_MAX_BYTES.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/str.h"
#include "decode/manifest_impl.h"

#define next_of		  tapir_manifest_xml__next
#define attr_of		  tapir_manifest_xml__attr
#define fail_at		  tapir_manifest_xml__fail
#define fail_attr	  tapir_manifest_xml__fail_attr

#define STRING_MAX_CNT	  65536
#define MESSAGE_MAX_BYTES 8192
#define DEPTH_MAX	  16
#define REFERENCE	  "$(string."

const char *tapir_manifest__text(struct manifest_reader *r, const xmlNode *node, const char *text)
{
	size_t len = text ? strlen(text) : 0;
	const char *copy;

	if (!len || len > TAPIR_MANIFEST_NAME_MAX) {
		fail_at(r, node, "expected a name of 1 to 1024 bytes", "");
		return NULL;
	}
	copy = tapir_arena__text(r->arena, text, len);
	if (!copy)
		fail_at(r, node, "out of memory, or too large", "");
	return copy;
}

/* ---- strings --------------------------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
	const struct manifest_string *x = a, *y = b;

	return strcmp(x->id, y->id);
}

static int add_string(struct manifest_reader *r, const xmlNode *node)
{
	struct manifest_string *s = tapir_vec__add(r->strings);

	if (!s || r->strings->cnt > STRING_MAX_CNT)
		return fail_at(r, node, "too many strings", "");
	s->node = node;
	s->id = attr_of(node, "id");
	s->text = attr_of(node, "value");
	if (!s->id || !*s->id)
		return fail_attr(r, node, "id", "the name of a string");
	return s->text ? 0 : fail_attr(r, node, "value", "a text");
}

static int check_ids(const struct manifest_reader *r)
{
	for (size_t i = 1; i < r->strings->cnt; i++)
		if (!strcmp(r->strings->data[i - 1].id, r->strings->data[i].id))
			return fail_attr(r, r->strings->data[i].node, "id",
					 "an id that no other string has");
	return 0;
}

static const xmlNode *pick_resources(const xmlNode *root)
{
	const xmlNode *localization = next_of(root->children, "localization"), *first;

	first = localization ? next_of(localization->children, "resources") : NULL;
	for (const xmlNode *n = first; n; n = next_of(n->next, "resources")) {
		const char *culture = attr_of(n, "culture");

		if (culture && !strcmp(culture, "en-US"))
			return n;
	}
	return first;
}

int tapir_manifest__add_strings(struct manifest_reader *r, const xmlNode *root)
{
	const xmlNode *resources = pick_resources(root), *table, *n;
	int err = 0;

	table = resources ? next_of(resources->children, "stringTable") : NULL;
	for (n = table ? next_of(table->children, "string") : NULL; n && !err;
	     n = next_of(n->next, "string"))
		err = add_string(r, n);
	if (!err && r->strings->cnt) {
		qsort(r->strings->data, r->strings->cnt, sizeof(*r->strings->data), by_id);
		err = check_ids(r);
	}
	return err;
}

/* ---- messages -------------------------------------------------------------------------------- */

static struct manifest_string *find_string(const struct manifest_reader *r, const char *id,
					   size_t len)
{
	struct manifest_string key = {}, *found = NULL;
	char *copy = strndup(id, len);

	key.id = copy;
	if (copy && r->strings->cnt)
		found = bsearch(&key, r->strings->data, r->strings->cnt, sizeof(key), by_id);
	free(copy);
	return found;
}

static int expand(struct manifest_reader *r, const xmlNode *node, const char *text, int depth,
		  struct tapir_str *out);

/* Expands the reference "$(string." at text. A string that is not there stays as it is written. */
static int expand_reference(struct manifest_reader *r, const xmlNode *node, const char *text,
			    size_t len, int depth, struct tapir_str *out)
{
	size_t prefix = strlen(REFERENCE);
	struct manifest_string *s = find_string(r, text + prefix, len - prefix - 1);
	int err;

	if (!s) {
		tapir_str__add(out, text, len);
		return 0;
	}
	if (s->is_open || depth == DEPTH_MAX)
		return fail_at(r, s->node, "the string refers to itself", s->id);
	s->is_open = true;
	err = expand(r, node, s->text, depth + 1, out);
	s->is_open = false;
	return err;
}

static int expand(struct manifest_reader *r, const xmlNode *node, const char *text, int depth,
		  struct tapir_str *out)
{
	int err = 0;

	while (*text && !err) {
		const char *begin = strstr(text, REFERENCE), *end = begin ? strchr(begin, ')') : 0;

		if (!end) {
			tapir_str__adds(out, text);
			break;
		}
		tapir_str__add(out, text, (size_t)(begin - text));
		text = end + 1;
		err = expand_reference(r, node, begin, (size_t)(text - begin), depth, out);
		if (!err && out->len > MESSAGE_MAX_BYTES)
			err = fail_at(r, node, "the message is longer than 8192 bytes", "");
	}
	if (!err && out->len > MESSAGE_MAX_BYTES)
		err = fail_at(r, node, "the message is longer than 8192 bytes", "");
	return err;
}

const char *tapir_manifest__message(struct manifest_reader *r, const xmlNode *node)
{
	const char *text = attr_of(node, "message"), *copy = NULL;
	struct tapir_str out = {};

	if (!text || !*text)
		return "";
	if (!expand(r, node, text, 0, &out)) {
		copy = out.failed ? NULL
				  : tapir_arena__text(r->arena, out.data ? out.data : "", out.len);
		if (!copy)
			fail_at(r, node, "out of memory", "");
	}
	tapir_str__fini(&out);
	return copy;
}

/* ---- names with numbers ---------------------------------------------------------------------- */

static const char *without_win(const char *name)
{
	return name && !strncmp(name, "win:", 4) ? name + 4 : name;
}

/* must_have: a number has to be there. */
static int add_manifest_name(struct manifest_reader *r, const xmlNode *node, uint32_t max,
			     bool must_have, struct manifest_names *names)
{
	const char *value = attr_of(node, "value"), *symbol = attr_of(node, "symbol");
	char expected[64] = "a number up to ";
	struct tapir_manifest_name *n;
	uint64_t number = TAPIR_MANIFEST_NO_VALUE;

	if (value ? !tapir_str__to_u64(value, 0, max, &number) : must_have) {
		strcat(expected, max == UINT8_MAX ? "255" : "65535");
		return fail_attr(r, node, "value", expected);
	}
	n = tapir_vec__add(names);
	if (!n || names->cnt > TAPIR_MANIFEST_MAX_CNT)
		return fail_at(r, node, "too many of them", "");
	n->value = (uint32_t)number;
	n->name = tapir_manifest__text(r, node, without_win(attr_of(node, "name")));
	n->symbol = symbol && *symbol ? tapir_manifest__text(r, node, symbol) : "";
	n->message = n->name ? tapir_manifest__message(r, node) : NULL;
	return n->name && n->symbol && n->message ? 0 : -EINVAL;
}

int tapir_manifest__add_levels(struct manifest_reader *r, const xmlNode *levels)
{
	int err = 0;

	for (const xmlNode *n = next_of(levels->children, "level"); n && !err;
	     n = next_of(n->next, "level"))
		err = add_manifest_name(r, n, UINT8_MAX, true, &r->levels);
	return err;
}

int tapir_manifest__add_opcodes(struct manifest_reader *r, const xmlNode *opcodes)
{
	int err = 0;

	for (const xmlNode *n = next_of(opcodes->children, "opcode"); n && !err;
	     n = next_of(n->next, "opcode"))
		err = add_manifest_name(r, n, UINT8_MAX, false, &r->opcodes);
	return err;
}

/* A task may have opcodes of its own. */
int tapir_manifest__add_tasks(struct manifest_reader *r, const xmlNode *tasks)
{
	int err = 0;

	for (const xmlNode *n = next_of(tasks->children, "task"); n && !err;
	     n = next_of(n->next, "task")) {
		const xmlNode *opcodes = next_of(n->children, "opcodes");

		err = add_manifest_name(r, n, UINT16_MAX, false, &r->tasks);
		if (!err && opcodes)
			err = tapir_manifest__add_opcodes(r, opcodes);
	}
	return err;
}

static int value_of_name(const struct manifest_names *names, const char *name)
{
	const struct tapir_manifest_name *n;

	tapir_vec_for_each (n, names)
		if (!strcmp(n->name, name))
			return n->value == TAPIR_MANIFEST_NO_VALUE ? 0 : (int)n->value;
	return -1;
}

static int number_or_name(const char *const *builtin, const struct manifest_names *names,
			  const char *text, uint32_t max)
{
	bool is_win = !strncmp(text, "win:", 4);
	uint64_t number;
	int own = value_of_name(names, without_win(text));

	if (own >= 0)
		return own;
	for (int i = 0; builtin && is_win && builtin[i]; i++)
		if (!strcmp(text + 4, builtin[i]))
			return i;
	return tapir_str__to_u64(text, 0, max, &number) ? (int)number : -1;
}

int tapir_manifest__level(const struct manifest_reader *r, const char *text)
{
	static const char *const win[] = {"LogAlways",	   "Critical", "Error", "Warning",
					  "Informational", "Verbose",  NULL};

	return text ? number_or_name(win, &r->levels, text, UINT8_MAX) : 0;
}

int tapir_manifest__task(const struct manifest_reader *r, const char *text)
{
	return text ? number_or_name(NULL, &r->tasks, text, UINT16_MAX) : 0;
}

int tapir_manifest__opcode(const struct manifest_reader *r, const char *text)
{
	static const char *const win[] = {"Info",    "Start",	  "Stop",  "DC_Start",
					  "DC_Stop", "Extension", "Reply", "Resume",
					  "Suspend", "Send",	  NULL};

	if (!text)
		return 0;
	if (!strcmp(text, "win:Receive"))
		return 240;
	return number_or_name(win, &r->opcodes, text, UINT8_MAX);
}
