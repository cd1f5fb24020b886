// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Documents of pages, requested from the agent as any client would, with the visitor's credentials:
 * a page can show nothing that its visitor may not read. And pages that are not what was requested.
 */
#include "agent/front_page_data.h"

#include <stdio.h>
#include <string.h>

#include "agent/pages/html.h"
#include "agent/pages/pages.h"
#include "agent/answer.h"

void tapir_page_doc__ask(struct tapir_page_job *job, struct tapir_page_doc *doc,
			 struct tapir_wire_request *rq)
{
	*doc = (struct tapir_page_doc){.fd = -1};
	tapir_front__sign(job->exchange, rq);
	if (tapir_front__ask(job->front, job->connection, rq, &doc->fd))
		doc->fd = -1;
}

void tapir_page_doc__get(struct tapir_page_job *job, struct tapir_page_doc *doc,
			 enum tapir_route_id route, const char *arg)
{
	struct tapir_wire_request rq = {.route = (uint16_t)route, .path_arg = arg};

	tapir_page_doc__ask(job, doc, &rq);
}

static void take_doc(struct tapir_page_job *job, struct tapir_page_doc *doc)
{
	int err;

	if (doc->fd < 0)
		return;
	err = tapir_front__take(job->front, job->connection, doc->fd, &doc->head, &doc->text);
	doc->fd = -1;
	if (err)
		doc->head = (struct tapir_wire_head){};
}

bool tapir_page_doc__take(struct tapir_page_job *job, struct tapir_page_doc *doc)
{
	take_doc(job, doc);
	if (doc->head.mime == TAPIR_MIME_JSON && doc->text.data)
		doc->json = tapir_answer__parse(doc->text.data, doc->text.len);
	return doc->head.status == 200;
}

void tapir_page_doc__fini(struct tapir_page_doc *doc)
{
	if (doc->fd >= 0)
		close(doc->fd);
	doc->fd = -1;
	tapir_str__fini(&doc->text);
	json_decref(doc->json);
	doc->json = NULL;
}

void tapir_page_job__redirect(struct tapir_page_job *job, const char *path)
{
	snprintf(job->path, sizeof(job->path), "%s", path);
	job->location = job->path;
	job->status = MHD_HTTP_SEE_OTHER;
}

void tapir_page_job__refuse(struct tapir_page_job *job, unsigned status, const char *text)
{
	tapir_str__clear(&job->out);
	tapir_page__error(&job->out, job->caller.json, status, text);
	job->status = status;
}

void tapir_page_job__fail(struct tapir_page_job *job, const struct tapir_page_doc *doc)
{
	const char *error = tapir_member__text(doc->json, "error");

	if (doc->head.status == 401) {
		tapir_page_job__redirect(job, "/login");
		return;
	}
	job->retry_s = doc->head.retry_s;
	tapir_page_job__refuse(job, doc->head.status >= 400 ? doc->head.status : 502,
			       *error ? error : "The agent gave no answer.");
}
