/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * finding_page.h - the text of `tapir help findings`, from diagnose/kinds.h, and of `tapir report
 * --explain KIND`. One thread.
 */
#ifndef TAPIR_USER_FINDING_PAGE_H
#define TAPIR_USER_FINDING_PAGE_H

#include "base/str.h"

struct tapir_finding;
struct tapir_json;
struct tapir_report_view;

/* Adds all kinds of findings with their numbers. */
void tapir_finding_page__add(struct tapir_str *out);
/*
 * Adds the findings of that kind with their numbers, or the value that kept it from being one, and
 * the other kinds that are close.
 */
void tapir_finding_page__explain(const struct tapir_report_view *view, unsigned kind,
				 struct tapir_str *out);
void tapir_finding_page__explain_json(const struct tapir_report_view *view, unsigned kind,
				      struct tapir_str *out);
/* Adds the members that show what a finding rests on: its numbers, their time, what shows them. */
void tapir_finding_page__add_facts(struct tapir_json *j, const struct tapir_finding *finding);

#endif
