/* SPDX-License-Identifier: GPL-2.0-or-later */
/* finding_case.h - what a made-up recording (timeline_feeder.h) is found to have; one at a time. */
#ifndef TAPIR_TEST_FINDING_CASE_H
#define TAPIR_TEST_FINDING_CASE_H

#include "base/diag.h"
#include "findings/finding.h"
#include "timeline_feeder.h"

#define TGID 100

static struct feeder f;
static struct tapir_finding finding;
static struct tapir_found_list found;

/* 0 or -1: out of memory. */
static inline int finding_begin(void)
{
	finding = (struct tapir_finding){.has_clock = true};
	found = (struct tapir_found_list){};
	if (feeder_init(&f, &(struct tapir_timeline_opts){.wants_stacks = true}))
		return -1;
	finding.tl = f.tl;
	return 0;
}

static inline int finding_listen(void)
{
	return tapir_timeline__listen(f.tl, &tapir_finding_fns, &finding);
}

static inline int finding_teardown(void **state)
{
	(void)state;
	tapir_found_list__fini(&found);
	tapir_finding__fini(&finding);
	feeder_fini(&f);
	tapir_diag__clear();
	return 0;
}

/* The recording ends, and found is filled. */
static inline void end_at(uint64_t time_ns)
{
	feeder_come(&f, 99, time_ns, time_ns, 0);
	assert_int_equal(tapir_timeline__finish(f.tl), 0);
	tapir_finding__list(&finding, &found);
	assert_false(found.failed);
}

/* The first finding. */
static inline void expect(enum tapir_found_kind kind, const char *text)
{
	assert_true(found.rows.cnt > 0);
	assert_string_equal(found.rows.data[0].text, text);
	assert_int_equal(found.rows.data[0].kind, kind);
}

#endif
