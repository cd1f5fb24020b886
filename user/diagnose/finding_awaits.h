/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * finding_awaits.h - what async methods of the program await, and for how long (analyze/awaits.h).
 * No thread waits during an await, so nothing else shows it. One thread.
 */
#ifndef TAPIR_USER_FINDING_AWAITS_H
#define TAPIR_USER_FINDING_AWAITS_H

#include "analyze/awaits.h"
#include "diagnose/finding.h"

struct tapir_diagnosis;

/* Appends "; 1.0 awaits at a time for a delay in Shop.Poll (async), 1.00 s each of 5". */
void tapir_finding_awaits__add_few(struct tapir_diagnosis *f, struct tapir_str *out);
/*
 * Appends ", most of it awaiting the statement select note from orders where id = ? in Shop.Load
 * (async), 61.2 ms each of 60 (1 a request)", if it has most of the time of the requests of that
 * kind. False: none has.
 */
bool tapir_finding_awaits__add_statement(const struct tapir_diagnosis *f, uint32_t kind,
					 struct tapir_str *out);
/*
 * Appends ", most of it awaiting HTTP in Shop.Ask (async), 83.3 ms each of 60 (2 a request)": what
 * requests await that took so long together. cut_cnt: of those that the edges of the recording cut,
 * of which awaits were seen, too; the number for each request is not known where there are many.
 */
void tapir_finding_awaits__add_for_requests(struct tapir_diagnosis *f, uint64_t request_cnt,
					    uint64_t truncated_cnt, uint64_t requests_ns,
					    struct tapir_str *out);

#endif
