/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * page.h - a recording as one HTML document: its data (page_data.h), styles and scripts are inside,
 * and its own Content-Security-Policy permits nothing else, neither another script nor a request.
 * One thread.
 */
#ifndef TAPIR_USER_PAGE_H
#define TAPIR_USER_PAGE_H

#include "base/str.h"

/* JSON, each once; all but the first may be empty. */
struct tapir_page_documents {
	struct tapir_str data;	/* of the recording (page_data.h) */
	struct tapir_str other; /* of the one with which it is compared */
	struct tapir_str
		changes; /* from that one to the recording: what 'tapir diff --json' prints */
};

/* Adds the document, titled as the recording is called. documents are borrowed. */
void tapir_page__write(const char *title, const struct tapir_page_documents *documents,
		       struct tapir_str *out);

#endif
