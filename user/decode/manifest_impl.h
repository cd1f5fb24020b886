/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * manifest_impl.h - the parts of the manifest reader: XML, providers, templates. Everything is kept
 * in the manifest's arena and freed with it. Functions return 0 or a pointer, or -errno or NULL
 * with a diagnostic line. One thread.
 */
#ifndef TAPIR_USER_MANIFEST_IMPL_H
#define TAPIR_USER_MANIFEST_IMPL_H

#include <libxml/tree.h>
#include <stdbool.h>

#include "base/arena.h"
#include "base/vec.h"
#include "decode/manifest.h"

#define TAPIR_MANIFEST_MAX_BYTES (8u << 20)
#define TAPIR_MANIFEST_MAX_CNT	 8192 /* events, fields, map values ... of one owner */
#define TAPIR_MANIFEST_NAME_MAX	 1024

struct manifest_template {
	const char *tid;
	const struct tapir_layout_field *fields;
	uint16_t field_cnt;
};

/* The text, for the places in messages. */
struct manifest_source {
	const char *path;
	const unsigned char *bytes;
	size_t len;
};

struct manifest_string {
	const char *id, *text; /* text borrowed from the document */
	const xmlNode *node;
	bool is_open; /* being expanded: found again, it is a cycle */
};

struct manifest_event {
	struct tapir_layout_event layout;
	struct tapir_manifest_event more;
	const xmlNode *node;
};

struct manifest_strings tapir_vec(struct manifest_string);
struct manifest_names tapir_vec(struct tapir_manifest_name);

/* The parts of a provider that were collected while its elements are read. */
struct manifest_reader {
	const struct manifest_source *source;
	struct tapir_arena *arena;
	struct manifest_strings *strings; /* of the whole manifest, by id */
	struct tapir_vec(const struct tapir_layout_map *) maps;
	struct tapir_vec(struct manifest_template) templates;
	struct tapir_vec(struct tapir_layout_keyword) keywords;
	struct manifest_names levels, tasks, opcodes;
	struct tapir_vec(struct manifest_event) events;
};

/* ---- manifest_xml.c ---------------------------------------------------------------------- */

/* Parses the document without network, entities or document type; *out is closed with __close. */
int tapir_manifest_xml__open(const char *path, const void *bytes, size_t len, xmlDocPtr *out);
void tapir_manifest_xml__close(xmlDocPtr doc);
/* The first element, at node or after it, with that name (NULL: any); NULL: none. */
const xmlNode *tapir_manifest_xml__next(const xmlNode *node, const char *name);
/* The element after this one in the order of the document; NULL: it was the last. */
const xmlNode *tapir_manifest_xml__walk(const xmlNode *element);
/* The text of an attribute; borrowed from the document. NULL: it has none. */
const char *tapir_manifest_xml__attr(const xmlNode *node, const char *name);

/* ---- manifest_position.c ---------------------------------------------------------------------- */

/* Adds a line with the place of the element and the reason, and returns -EINVAL. */
int tapir_manifest_xml__fail(const struct manifest_reader *r, const xmlNode *node, const char *why,
			     const char *label);
/*
 * Adds a line with the place of the attribute (of the element, if it lacks it), its value and what
 * was expected of it, and returns -EINVAL.
 */
int tapir_manifest_xml__fail_attr(const struct manifest_reader *r, const xmlNode *node,
				  const char *attr, const char *expected);

/* The same as a warning: the manifest is used all the same. */
void tapir_manifest_xml__warn_attr(const struct manifest_source *source, const xmlNode *node,
				   const char *attr);

/* ---- manifest_words.c ---------------------------------------------------------------------- */

/* Warns of each attribute that no element of that name has, once for each pair. */
void tapir_manifest__check_attrs(const struct manifest_source *source, const xmlNode *root);

/* ---- manifest_names.c ---------------------------------------------------------------------- */

/* The string tables below <instrumentationManifest>: of en-US, else the first. */
int tapir_manifest__add_strings(struct manifest_reader *r, const xmlNode *root);
/* The message of an element in full, "" without one; NULL with a diagnostic line. */
const char *tapir_manifest__message(struct manifest_reader *r, const xmlNode *node);
/* Keeps a name or other short text with the manifest; NULL with a diagnostic line. */
const char *tapir_manifest__text(struct manifest_reader *r, const xmlNode *node, const char *text);
/* Read the levels, tasks and opcodes that a provider defines. */
int tapir_manifest__add_levels(struct manifest_reader *r, const xmlNode *levels);
int tapir_manifest__add_tasks(struct manifest_reader *r, const xmlNode *tasks);
int tapir_manifest__add_opcodes(struct manifest_reader *r, const xmlNode *opcodes);
/* Return the number of a level, a task or an opcode by name or as a number; -1: there is none. */
int tapir_manifest__level(const struct manifest_reader *r, const char *text);
int tapir_manifest__task(const struct manifest_reader *r, const char *text);
int tapir_manifest__opcode(const struct manifest_reader *r, const char *text);

/* ---- manifest_fields.c --------------------------------------------------------------------- */

/* Read all maps, and all templates, of a provider; templates refer to maps. */
int tapir_manifest__add_maps(struct manifest_reader *r, const xmlNode *maps);
int tapir_manifest__add_templates(struct manifest_reader *r, const xmlNode *templates);
/* The template with that id; NULL: none. */
const struct manifest_template *tapir_manifest__template(const struct manifest_reader *r,
							 const char *tid);

#endif
