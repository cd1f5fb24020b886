/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * front_page_data.h - a page on its way: documents that it asks the agent for, with its visitor's
 * credentials, and what becomes of it. One thread of the HTTP process.
 */
#ifndef TAPIR_USER_FRONT_PAGE_DATA_H
#define TAPIR_USER_FRONT_PAGE_DATA_H

#include <jansson.h>

#include "agent/front_impl.h"

#define TAPIR_PAGE_POLICY                                                                          \
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src "    \
	"'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

/* An answer of the agent. status 0: it was not requested, or did not come. */
struct tapir_page_doc {
	int fd; /* -1: it is not awaited */
	struct tapir_wire_head head;
	struct tapir_str text;
	json_t *json; /* NULL: it is not one */
};

struct tapir_page_job {
	struct tapir_front *front;
	struct MHD_Connection *connection;
	const struct tapir_http_exchange *exchange;
	struct tapir_page_doc caller; /* of /v1/whoami */
	struct tapir_str out;
	unsigned status, retry_s;
	enum tapir_mime mime;
	const char *policy, *location, *cookie; /* as in struct tapir_front_reply */
	char path[128];				/* that location points to */
	char cookie_text[128];
	const char *url; /* its path */
};

/* Asks; several documents are made at the same time. */
void tapir_page_doc__ask(struct tapir_page_job *job, struct tapir_page_doc *doc,
			 struct tapir_wire_request *rq);
/* Takes the document's answer. true: it has the status 200. */
bool tapir_page_doc__take(struct tapir_page_job *job, struct tapir_page_doc *doc);
void tapir_page_doc__fini(struct tapir_page_doc *doc);

/* Requests "GET /v1/...". arg: of the path; NULL: none. */
void tapir_page_doc__get(struct tapir_page_job *job, struct tapir_page_doc *doc,
			 enum tapir_route_id route, const char *arg);

/* Answers with a page that says why a document is missing, or the one where visitors sign in. */
void tapir_page_job__fail(struct tapir_page_job *job, const struct tapir_page_doc *doc);
void tapir_page_job__refuse(struct tapir_page_job *job, unsigned status, const char *text);
void tapir_page_job__redirect(struct tapir_page_job *job, const char *path);

/* ---- forms ---------------------------------------------------------------------------------- */

/*
 * Handlers of the forms of pages, on the thread of the request. Each checks the form's token, makes
 * the request to the agent in the visitor's name, and answers with a page or a redirection.
 */
void tapir_page_form__start_session(struct tapir_page_job *job);
void tapir_page_form__stop_session(struct tapir_page_job *job);
void tapir_page_form__delete_session(struct tapir_page_job *job);
void tapir_page_form__show_login(struct tapir_page_job *job);
void tapir_page_form__sign_in(struct tapir_page_job *job);
void tapir_page_form__sign_out(struct tapir_page_job *job);

#endif
