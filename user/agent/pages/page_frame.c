// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The parts of every page: head, navigation, foot; and the pages that have nothing else. An agent
 * that is mounted below another program's path has its links rewritten here, at the end.
 */
#include <stdio.h>
#include <string.h>

#include "agent/pages/assets.h"
#include "agent/pages/pages_impl.h"

static void add_style(struct tapir_str *out, const char *name)
{
	tapir_html__add(out, "<link rel=\"stylesheet\" href=\"/assets/%s?v=%u\">\n", name,
			tapir_asset__version(tapir_asset__find(name)));
}

static void add_script(struct tapir_str *out, const char *name, const char *kind)
{
	tapir_str__addf(out, "<script %s src=\"/assets/%s?v=%u\"></script>\n", kind, name,
			tapir_asset__version(tapir_asset__find(name)));
}

static void add_head(struct tapir_str *out, const struct tapir_page_frame *f)
{
	tapir_html__add(
		out,
		"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		"<meta name=\"color-scheme\" content=\"light dark\">\n"
		"<link rel=\"icon\" href=\"/assets/icon.svg\">\n<title>%s \xc2\xb7 tapir</title>\n",
		f->title);
	if (f->refresh_s)
		tapir_html__add(out,
				"<noscript><meta http-equiv=\"refresh\" content=\"%u\">"
				"</noscript>\n",
				f->refresh_s);
	add_style(out, "tapir.css");
	if (f->has_charts) {
		add_style(out, "uPlot.css");
		add_script(out, "uPlot.js", "defer");
	}
	add_script(out, "tapir.js", "type=\"module\"");
	tapir_str__adds(out, "</head>\n");
}

static void add_entry(struct tapir_str *out, const struct tapir_page_frame *f, const char *path,
		      const char *name)
{
	tapir_html__add(out, "<a href=\"%s\"", path);
	if (!strcmp(f->here, path))
		tapir_str__adds(out, " aria-current=\"page\"");
	tapir_html__add(out, ">%s</a>\n", name);
}

static void add_reader(struct tapir_str *out, const json_t *caller)
{
	const char *name = tapir_member__text(caller, "name");

	tapir_html__add(out, "<span class=\"who\">%s <small>%s</small></span>\n",
			*name ? name : "anonymous", tapir_member__text(caller, "role"));
	if (tapir_member__is_true(caller, "login")) {
		tapir_str__adds(out, "<form method=\"post\" action=\"/logout\">");
		tapir_page__add_csrf(out, caller);
		tapir_str__adds(out, "<button>Sign out</button></form>\n");
	} else if (!*name) {
		tapir_str__adds(out, "<a href=\"/login\">Sign in</a>\n");
	}
}

void tapir_page__begin(struct tapir_str *out, const struct tapir_page_frame *f)
{
	add_head(out, f);
	tapir_html__add(out,
			"<body data-csrf=\"%s\">\n<a class=\"skip\" href=\"#main\">"
			"Skip to content</a>\n<header>\n<a class=\"logo\" href=\"/\">tapir</a>\n",
			tapir_member__text(f->caller, "csrf"));
	if (f->caller) {
		tapir_str__adds(out, "<nav aria-label=\"Pages\">\n");
		add_entry(out, f, "/", "Processes");
		add_entry(out, f, "/sessions", "Sessions");
		add_entry(out, f, "/health", "Health");
		tapir_str__adds(out, "</nav>\n");
		add_reader(out, f->caller);
	}
	tapir_html__add(out, "</header>\n<main id=\"main\" tabindex=\"-1\">\n<h1>%s</h1>\n",
			f->title);
}

void tapir_page__end(struct tapir_str *out)
{
	tapir_str__adds(out, "</main>\n<footer>tapir " TAPIR_VERSION
			     " \xc2\xb7 <a href=\"/v1/openapi.json\">HTTP API</a>"
			     "</footer>\n</body>\n</html>\n");
}

/* Bytes up to what follows the next such attribute's quote; 0: there is none. */
static size_t find_link(const char *text)
{
	static const char *const starts[] = {" href=\"/", " src=\"/", " action=\"/"};
	size_t first = 0;

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		const char *at = strstr(text, starts[i]);
		size_t len = at ? (size_t)(at - text) + strlen(starts[i]) - 1 : 0;

		if (len && (!first || len < first))
			first = len;
	}
	return first;
}

void tapir_page__mount(struct tapir_str *page, const char *root)
{
	static const char body[] = "<body ";
	struct tapir_str out = {};
	const char *at = page->data, *start;
	size_t len;

	if (!*root || !at || page->failed)
		return;
	start = strstr(at, body);
	for (; (len = find_link(at)); at += len) {
		if (start && start < at + len) { /* for the script */
			size_t before = (size_t)(start - at) + strlen(body);

			tapir_str__add(&out, at, before);
			tapir_html__add(&out, "data-root=\"%s\" ", root);
			at += before;
			len -= before;
			start = NULL;
		}
		tapir_str__add(&out, at, len);
		tapir_html__add(&out, "%s", root);
	}
	tapir_str__adds(&out, at);
	tapir_str__fini(page);
	*page = out;
}

bool tapir_page__may_profile(const json_t *caller)
{
	return tapir_member__is(caller, "role", "profile") ||
	       tapir_member__is(caller, "role", "admin");
}

void tapir_page__add_csrf(struct tapir_str *out, const json_t *caller)
{
	tapir_html__add(out, "<input type=\"hidden\" name=\"csrf\" value=\"%s\">",
			tapir_member__text(caller, "csrf"));
}

/* ---- pages without data --------------------------------------------------------------------- */

void tapir_page__login(struct tapir_str *out, const char *error, const char *next)
{
	const struct tapir_page_frame frame = {.title = "Sign in", .here = ""};

	tapir_page__begin(out, &frame);
	if (*error)
		tapir_html__add(out, "<p class=\"error\" role=\"alert\">%s</p>\n", error);
	tapir_html__add(
		out,
		"<form class=\"card\" method=\"post\" action=\"/login\">\n"
		"<label for=\"token\">Token</label>\n"
		"<input id=\"token\" name=\"token\" type=\"password\" required autofocus "
		"autocomplete=\"current-password\" maxlength=\"511\">\n"
		"<input type=\"hidden\" name=\"next\" value=\"%s\">\n"
		"<button class=\"main\">Sign in</button>\n"
		"<p class=\"soft\">Without a file of tokens in its configuration, the agent "
		"creates one in the file <code>token</code> of its state directory, and "
		"prints the path.</p>\n"
		"</form>\n",
		next);
	tapir_page__end(out);
}

void tapir_page__error(struct tapir_str *out, const json_t *caller, unsigned status,
		       const char *text)
{
	char title[48];
	struct tapir_page_frame frame = {.title = title, .here = "", .caller = caller};

	snprintf(title, sizeof(title), "%s (%u)",
		 status >= 500	 ? "Failed"
		 : status == 403 ? "Not permitted"
		 : status == 404 ? "Not found"
		 : status == 429 ? "Too many requests"
		 : status == 409 ? "Not possible now"
				 : "Not possible",
		 status);
	tapir_page__begin(out, &frame);
	tapir_html__add(out,
			"<p class=\"error\" role=\"alert\">%s</p>\n<p><a href=\"/\">All "
			"processes</a></p>\n",
			text);
	tapir_page__end(out);
}
