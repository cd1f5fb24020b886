// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A manifest's bytes as a tree, by libxml2. It is loaded by name when it is first needed: it
 * brings ICU along, which would cost every start of tapir 2.5 MB and 3 ms.
 *
 * A document type is refused where it begins, before an entity of it can be declared.
 */
#include <dlfcn.h>
#include <errno.h>
#include <libxml/parser.h>
#include <stdio.h>
#include <string.h>

#include "base/diag.h"
#include "base/library.h"
#include "decode/manifest_impl.h"

#define LIBXML_NAME "libxml2.so.2"

static struct {
	__typeof__(&xmlNewParserCtxt) new_parser;
	__typeof__(&xmlFreeParserCtxt) free_parser;
	__typeof__(&xmlCtxtReadMemory) read_memory;
	__typeof__(&xmlStopParser) stop_parser;
	__typeof__(&xmlFreeDoc) free_doc;
	bool is_loaded;
} xml;

/* dlsym returns an object pointer; POSIX allows it to be a function's. */
static bool find_function(void *lib, const char *name, void *out)
{
	void *at = dlsym(lib, name);

	memcpy(out, &at, sizeof(at));
	return at;
}

static int load_libxml(void)
{
	static const char *const names[] = {LIBXML_NAME, NULL};
	void *lib;

	if (xml.is_loaded)
		return 0;
	lib = tapir_library__open(names, "read a manifest", "libxml2");
	if (!lib)
		return -ENOENT;
	xml.is_loaded = find_function(lib, "xmlNewParserCtxt", &xml.new_parser) &&
			find_function(lib, "xmlFreeParserCtxt", &xml.free_parser) &&
			find_function(lib, "xmlCtxtReadMemory", &xml.read_memory) &&
			find_function(lib, "xmlStopParser", &xml.stop_parser) &&
			find_function(lib, "xmlFreeDoc", &xml.free_doc);
	return xml.is_loaded ? 0
			     : tapir_diag__fail(-ENOENT, "cannot read a manifest: %s is too old",
						LIBXML_NAME);
}

/* Called when "<!DOCTYPE" is read. _private: where the line goes. */
static void refuse_doctype(void *ctx, const xmlChar *name, const xmlChar *external_id,
			   const xmlChar *system_id)
{
	xmlParserCtxtPtr parser = ctx;

	(void)name;
	(void)external_id;
	(void)system_id;
	*(int *)parser->_private = parser->input ? parser->input->line : 1;
	xml.stop_parser(parser);
}

/*
 * A document type can name files of this machine, or entities that grow without bounds:
 * refuse_doctype sees it before anything is read, and notes its line by _private.
 */
static int parse_document(xmlParserCtxtPtr parser, const char *path, const void *bytes, size_t len,
			  xmlDocPtr *out)
{
	int line = 0;
	xmlDocPtr doc;

	parser->_private = &line;
	parser->sax->internalSubset = refuse_doctype;
	doc = xml.read_memory(parser, bytes, (int)len, NULL, NULL,
			      XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
	if (line || (doc && (doc->intSubset || doc->extSubset))) {
		xml.free_doc(doc);
		return tapir_diag__fail(
			-EINVAL,
			"%s:%d: a manifest with a document type is not accepted: expected "
			"<instrumentationManifest>",
			path, line);
	}
	if (!doc) {
		const char *why = parser->lastError.message ? parser->lastError.message : "";

		return tapir_diag__fail(-EINVAL, "%s:%d:%d: malformed XML: %.*s", path,
					parser->lastError.line, parser->lastError.int2,
					(int)strcspn(why, "\n"), why);
	}
	*out = doc;
	return 0;
}

int tapir_manifest_xml__open(const char *path, const void *bytes, size_t len, xmlDocPtr *out)
{
	xmlParserCtxtPtr parser;
	int err = load_libxml();

	if (err)
		return err;
	if (len > TAPIR_MANIFEST_MAX_BYTES)
		return tapir_diag__fail(-EFBIG, "%s is larger than %u MB", path,
					TAPIR_MANIFEST_MAX_BYTES >> 20);
	parser = xml.new_parser();
	if (!parser)
		return -ENOMEM;
	err = parse_document(parser, path, bytes, len, out);
	xml.free_parser(parser);
	return err;
}

void tapir_manifest_xml__close(xmlDocPtr doc)
{
	if (doc)
		xml.free_doc(doc);
}

const xmlNode *tapir_manifest_xml__next(const xmlNode *node, const char *name)
{
	while (node &&
	       (node->type != XML_ELEMENT_NODE || (name && strcmp((const char *)node->name, name))))
		node = node->next;
	return node;
}

const xmlNode *tapir_manifest_xml__walk(const xmlNode *element)
{
	const xmlNode *next = tapir_manifest_xml__next(element->children, NULL);

	while (!next && element && element->type == XML_ELEMENT_NODE) {
		next = tapir_manifest_xml__next(element->next, NULL);
		element = element->parent;
	}
	return next;
}

/* An attribute whose value is not one plain text (it cannot be: no entities) counts as none. */
const char *tapir_manifest_xml__attr(const xmlNode *node, const char *name)
{
	for (const xmlAttr *attr = node->properties; attr; attr = attr->next)
		if (!strcmp((const char *)attr->name, name)) {
			if (!attr->children)
				return "";
			return attr->children->type == XML_TEXT_NODE && !attr->children->next
				       ? (const char *)attr->children->content
				       : NULL;
		}
	return NULL;
}
