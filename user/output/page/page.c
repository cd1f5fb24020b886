// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Elements that the scripts fill. The scripts share one scope and are concatenated in this order;
 * the policy has the hash of the result, so nothing may be inserted afterwards.
 */
#include "output/page/page.h"

#include <string.h>

#include "page.gen.h"

#define HASH(name) "'" name "'"

static const char head[] =
	"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	"style-src " HASH(PAGE_CSS_HASH) "; script-src " HASH(PAGE_DATA_JS_HASH) " " HASH(PAGE_TREE_JS_HASH) " " HASH(PAGE_FLAME_JS_HASH) " " HASH(
		PAGE_TIMELINE_JS_HASH) " " HASH(PAGE_HEAT_JS_HASH) " " HASH(PAGE_TABLES_JS_HASH) " " HASH(PAGE_MAIN_JS_HASH) "; base-uri 'none'; form-action 'none'\">\n"
															     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
															     "<meta name=\"referrer\" content=\"no-referrer\">\n<title>";

static const char body[] =
	"</head>\n<body>\n"
	"<a class=\"skip\" href=\"#stacks\">Go to the stacks</a>\n"
	"<header><h1></h1><form id=\"scope\">"
	"<label>Search <input id=\"search\" type=\"search\" spellcheck=\"false\" "
	"autocomplete=\"off\" placeholder=\"regular expression\" title=\"Key: /\"></label>"
	"<label>Threads <select id=\"threads\"></select></label>"
	"<label>From <input id=\"from\" class=\"time\" inputmode=\"decimal\"> s</label>"
	"<label>to <input id=\"until\" class=\"time\" inputmode=\"decimal\"> s</label>"
	"<button type=\"button\" id=\"whole\">Whole recording</button>"
	"<output id=\"found\" role=\"status\"></output></form></header>\n"
	"<main>\n<noscript><p>This page draws by a script, which is inside it; scripts are "
	"switched off here.</p></noscript>\n"
	"<section id=\"overview\" aria-label=\"First screen\"></section>\n"
	"<section id=\"timeline\" aria-label=\"Timeline\"></section>\n"
	"<section id=\"heat\" aria-label=\"Heat map\"></section>\n"
	"<section id=\"stacks\" aria-label=\"Stacks\"></section>\n"
	"<section id=\"tables\" aria-label=\"Tables\"></section>\n</main>\n";

static void add_script(struct tapir_str *out, const char *text)
{
	tapir_str__adds(out, "<script>\n");
	tapir_str__adds(out, text);
	tapir_str__adds(out, "</script>\n");
}

/* A name must not end the element. In JSON, '<' occurs in strings alone. */
static void add_data(struct tapir_str *out, const char *id, const struct tapir_str *json)
{
	const char *at = json->data, *end = json->data + json->len, *next;

	if (!json->len)
		return;
	tapir_str__addf(out, "<script type=\"application/json\" id=\"%s\">", id);
	for (; at < end; at = next) {
		next = memchr(at, '<', (size_t)(end - at));
		tapir_str__add(out, at, (size_t)((next ? next : end) - at));
		if (next)
			tapir_str__adds(out, "\\u003c");
		next = next ? next + 1 : end;
	}
	tapir_str__adds(out, "</script>\n");
}

void tapir_page__write(const char *title, const struct tapir_page_documents *documents,
		       struct tapir_str *out)
{
	tapir_str__adds(out, head);
	tapir_str__add_markup(out, title, strlen(title));
	tapir_str__adds(out, "</title>\n<style>\n");
	tapir_str__adds(out, page_css);
	tapir_str__adds(out, "</style>\n");
	tapir_str__adds(out, body);
	add_data(out, "data", &documents->data);
	add_data(out, "other", &documents->other);
	add_data(out, "changes", &documents->changes);
	add_script(out, page_data_js);
	add_script(out, page_tree_js);
	add_script(out, page_flame_js);
	add_script(out, page_timeline_js);
	add_script(out, page_heat_js);
	add_script(out, page_tables_js);
	add_script(out, page_main_js);
	tapir_str__adds(out, "</body>\n</html>\n");
}
