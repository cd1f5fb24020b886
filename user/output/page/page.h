/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * page.h - a recording as one HTML document: its data (page_data.h), styles and scripts are inside,
 * and its own Content-Security-Policy permits nothing else, neither another script nor a request.
 * One thread.
 */
#ifndef TAPIR_USER_PAGE_H
#define TAPIR_USER_PAGE_H

#include "base/str.h"

/* other: the data of the recording with which it is compared; NULL: none. */
void tapir_page__write(const char *title, const struct tapir_str *data,
		       const struct tapir_str *other, struct tapir_str *out);

#endif
