/* SPDX-License-Identifier: GPL-2.0-or-later */
/* finding_page.h - the text of `tapir help findings`, from diagnose/kinds.h. */
#ifndef TAPIR_USER_FINDING_PAGE_H
#define TAPIR_USER_FINDING_PAGE_H

#include "base/str.h"

/* Adds all kinds of findings with their numbers. */
void tapir_finding_page__add(struct tapir_str *out);

#endif
