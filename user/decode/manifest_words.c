// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The attributes that a manifest's elements have, by ETW's schema (eventman.xsd) and tapir's
 * additions. Others are most often misspelt: they are reported, and ignored.
 */
#include <stdio.h>
#include <string.h>

#include "decode/manifest_impl.h"

#define REPORTED_MAX 16
#define PAIR_BYTES   128

/* Names with a space on both sides. Elements that are not here are skipped. */
static const struct {
	const char *element, *attrs;
} known[] = {
	{"provider", " name guid symbol message messageFileName resourceFileName parameterFileName "
		     "helpLink source namespace controlGuid controlName binaryFileName "
		     "warnOnApplicationCompatibilityError "},
	{"event", " value version symbol level opcode task keywords template channel message "
		  "notLogged attributes "},
	{"task", " name value symbol message eventGUID "},
	{"opcode", " name value symbol message "},
	{"keyword", " name mask symbol message "},
	{"level", " name value symbol message "},
	{"template", " tid name "},
	{"data", " name inType outType map count length namedBy "},
	{"struct", " name count "},
	{"valueMap", " name symbol "},
	{"bitMap", " name symbol "},
	{"map", " value message symbol mask "},
	{"resources", " culture "},
	{"string", " id value "},
};

static const char *attrs_of(const char *element)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(known[i].element, element))
			return known[i].attrs;
	return NULL;
}

static bool has_word(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = words; (at = strstr(at, word)); at++)
		if (at[-1] == ' ' && at[len] == ' ')
			return true;
	return false;
}

struct reported {
	char pairs[REPORTED_MAX][PAIR_BYTES];
	unsigned cnt;
};

/* Returns true if the pair is new. A manifest full of them is reported by its first ones. */
static bool is_new(struct reported *reported, const char *element, const char *attr)
{
	char pair[PAIR_BYTES];

	if (reported->cnt == REPORTED_MAX)
		return false;
	snprintf(pair, sizeof(pair), "%.60s %.60s", element, attr);
	for (unsigned i = 0; i < reported->cnt; i++)
		if (!strcmp(reported->pairs[i], pair))
			return false;
	memcpy(reported->pairs[reported->cnt++], pair, sizeof(pair));
	return true;
}

static void check_element(const struct manifest_source *source, const xmlNode *node,
			  struct reported *reported)
{
	const char *element = (const char *)node->name, *names = attrs_of(element);

	for (const xmlAttr *attr = names ? node->properties : NULL; attr; attr = attr->next) {
		const char *name = (const char *)attr->name;
		bool is_foreign = attr->ns && attr->ns->href &&
				  strcmp((const char *)attr->ns->href, "urn:tapir:manifest");

		if (!is_foreign && !has_word(names, name) && is_new(reported, element, name))
			tapir_manifest_xml__warn_attr(source, node, name);
	}
}

void tapir_manifest__check_attrs(const struct manifest_source *source, const xmlNode *root)
{
	struct reported reported = {};

	for (const xmlNode *node = root; node; node = tapir_manifest_xml__walk(node))
		check_element(source, node, &reported);
}
