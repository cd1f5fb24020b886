/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pages.h - the agent's pages: documents of its HTTP interface as HTML. They are complete without
 * scripts; agent/assets/tapir.js keeps them up to date. Pure functions, which run in the process
 * that has no privileges: documents may contain anything, and a member that is missing or of
 * another type is left out.
 *
 * who: of /v1/whoami; NULL: not signed in. Each function adds a complete page.
 */
#ifndef TAPIR_USER_PAGES_H
#define TAPIR_USER_PAGES_H

#include <jansson.h>

#include "base/str.h"

/* The views that are sections of a session's page. */
#define TAPIR_PAGE_VIEWS(X)                                                                        \
	X(gc)                                                                                      \
	X(counters)                                                                                \
	X(jit)                                                                                     \
	X(exceptions)                                                                              \
	X(contention)                                                                              \
	X(threadpool)                                                                              \
	X(cpu)                                                                                     \
	X(offcpu)                                                                                  \
	X(requests)                                                                                \
	/* A section is a row above this line. */

#define TAPIR_PAGE_X(name) const json_t *name;
/* The documents about a finished recording: /v1/sessions/ID/findings and views; NULL: not known. */
struct tapir_page_results {
	const json_t *session, *findings;
	TAPIR_PAGE_VIEWS(TAPIR_PAGE_X)
};
#undef TAPIR_PAGE_X

/* Values of the form above the list, as they were requested; "" or text. */
struct tapir_page_filter {
	const char *name, *runtime, *user, *container;
	bool all;
	const char *sort; /* a column: "cpu"; "" or another text: as they are */
	uint64_t page;	  /* of TAPIR_PAGE_ROWS; 0: the first; after the last: the last */
	uint64_t now_ms;  /* of the clock of "started" */
};

#define TAPIR_PAGE_ROWS 50

/*
 * The list of processes that have something to record. who: /v1/whoami; all documents are borrowed.
 * Pages have no state; any thread.
 */
void tapir_page__processes(struct tapir_str *out, const json_t *caller, const json_t *processes,
			   const struct tapir_page_filter *filter);
/*
 * process: /v1/processes/PID, with the member "watched" of /v1/counters where the agent watches it.
 * sessions: of this process, the latest last. results: of the latest that has ended;
 * may be NULL.
 */
void tapir_page__process(struct tapir_str *out, const json_t *caller, const json_t *process,
			 const json_t *sessions, const struct tapir_page_results *results);
void tapir_page__stacks(struct tapir_str *out, const json_t *caller, const char *pid,
			const json_t *stacks);
void tapir_page__sessions(struct tapir_str *out, const json_t *caller, const json_t *sessions);
void tapir_page__session(struct tapir_str *out, const json_t *caller,
			 const struct tapir_page_results *results);
void tapir_page__flamegraph(struct tapir_str *out, const json_t *caller, const json_t *session);
/* The agent's own page. metrics: the text of /metrics. */
void tapir_page__health(struct tapir_str *out, const json_t *caller, const json_t *health,
			const char *metrics);
/* The page where visitors sign in. error: "" or why it failed. next: path of a page. */
void tapir_page__login(struct tapir_str *out, const char *error, const char *next);
void tapir_page__error(struct tapir_str *out, const json_t *caller, unsigned status,
		       const char *text);

/*
 * A page's own links begin with "/": root, "/tapir", goes before that, for an agent that is mounted
 * somewhere in another program's paths. Not the texts of the page, in which there is no quote.
 */
void tapir_page__mount(struct tapir_str *page, const char *root);

#endif
