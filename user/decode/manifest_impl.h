/* SPDX-License-Identifier: GPL-2.0-or-later */
/* manifest_impl.h - the parts of the manifest reader: XML, providers, templates. */
#ifndef TAPIR_USER_MANIFEST_IMPL_H
#define TAPIR_USER_MANIFEST_IMPL_H

#include <libxml/tree.h>
#include <stdbool.h>

#include "base/arena.h"
#include "base/vec.h"
#include "decode/layout.h"

#define TAPIR_MANIFEST_MAX_BYTES (8u << 20)
#define TAPIR_MANIFEST_MAX_CNT	 8192 /* events, fields, map values ... of one owner */
#define TAPIR_MANIFEST_NAME_MAX	 1024

struct manifest_template {
	const char *tid;
	const struct tapir_layout_field *fields;
	uint16_t field_cnt;
};

/* What is collected of a provider while its elements are read. */
struct manifest_reader {
	const char *path; /* for diagnostics */
	struct tapir_arena *arena;
	struct tapir_vec(const struct tapir_layout_map *) maps;
	struct tapir_vec(struct manifest_template) templates;
	struct tapir_vec(struct tapir_layout_keyword) keywords;
	struct tapir_vec(struct tapir_layout_event) events;
};

/* ---- manifest_xml.c ---------------------------------------------------------------------- */

/* *out is yours. */
int tapir_manifest_xml__open(const char *path, const void *bytes, size_t len, xmlDocPtr *out);
void tapir_manifest_xml__close(xmlDocPtr doc);
/* The first element, at node or after it, with that name (NULL: any); NULL: none. */
const xmlNode *tapir_manifest_xml__next(const xmlNode *node, const char *name);
/* The text of an attribute; borrowed from the document. NULL: it has none. */
const char *tapir_manifest_xml__attr(const xmlNode *node, const char *name);
/* Bytes of line and reason, with the place: -EINVAL. */
int tapir_manifest_xml__fail(const struct manifest_reader *r, const xmlNode *node, const char *why,
			     const char *what);

/* ---- manifest_fields.c --------------------------------------------------------------------- */

int tapir_manifest__add_maps(struct manifest_reader *r, const xmlNode *maps);
int tapir_manifest__add_templates(struct manifest_reader *r, const xmlNode *templates);
/* A name or other short text for good; NULL with a diagnostic line. */
const char *tapir_manifest__text(struct manifest_reader *r, const xmlNode *node, const char *text);

#endif
