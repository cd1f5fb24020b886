/* SPDX-License-Identifier: GPL-2.0-or-later */
/* finding_case.h - what a made-up recording (timeline_feeder.h) is found to have; one at a time. */
#ifndef TAPIR_TEST_FINDING_CASE_H
#define TAPIR_TEST_FINDING_CASE_H

#include "finding_state.h"

/* The recording ends, and found is filled. */
static inline void end_at(uint64_t time_ns)
{
	feeder_come(&f, 99, time_ns, time_ns, 0);
	assert_int_equal(tapir_timeline__finish(f.tl), 0);
	tapir_diagnosis__list(&finding, &found);
	assert_false(found.failed);
}

/* The first finding. */
static inline void expect(enum tapir_finding_kind kind, const char *text)
{
	assert_true(found.rows.cnt > 0);
	assert_string_equal(found.rows.data[0].text, text);
	assert_int_equal(found.rows.data[0].kind, kind);
}

#endif
