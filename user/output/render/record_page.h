/* SPDX-License-Identifier: GPL-2.0-or-later */
/* record_page.h - the text of `tapir help records`, from trace/schema.c. One thread. */
#ifndef TAPIR_USER_RECORD_PAGE_H
#define TAPIR_USER_RECORD_PAGE_H

#include "base/str.h"

/* Adds all types of record with their members. */
void tapir_record_page__add(struct tapir_str *out);

#endif
