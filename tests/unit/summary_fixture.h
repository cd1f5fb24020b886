/* SPDX-License-Identifier: GPL-2.0-or-later */
/* summary_fixture.h - a summary, and records for it. */
#ifndef TAPIR_TEST_SUMMARY_FIXTURE_H
#define TAPIR_TEST_SUMMARY_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/summary.h"
#include "trace/recbuf.h"

#define SV(text) ((struct tapir_sv){"" text, sizeof("" text) - 1})

struct fixture {
	struct tapir_catalog *catalog;
	struct tapir_recbuf buf;
	struct tapir_summary summary;
};

static inline int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->catalog = tapir_catalog__new(TAPIR_CATALOG_READ, NULL);
	assert_non_null(f->catalog);
	*state = f;
	return 0;
}

static inline int teardown(void **state)
{
	struct fixture *f = *state;

	tapir_summary__fini(&f->summary);
	tapir_catalog__free(f->catalog);
	tapir_recbuf__fini(&f->buf);
	free(f);
	return 0;
}

static inline void feed(struct fixture *f, const struct tapir_rec *rec)
{
	assert_non_null(rec);
	tapir_catalog__describe(f->catalog, rec);
	tapir_summary__add(&f->summary, f->catalog, rec);
}

static inline void feed_probe(struct fixture *f, uint32_t id, struct tapir_sv event)
{
	struct tapir_rec_probe probe = {.h.time_ns = 1, .probe_id = id};

	feed(f, tapir_recbuf__probe(&f->buf, &probe, SV("prov"), event, SV("/bin/x"), SV(""), NULL,
				    NULL, 0));
}

static inline void feed_event(struct fixture *f, uint32_t probe_id, uint32_t tgid,
			      uint64_t stack_id)
{
	struct tapir_rec_event fixed = {.h.time_ns = 100,
					.probe_id = probe_id,
					.tgid = tgid,
					.tid = tgid,
					.stack_id = stack_id};
	struct tapir_event_view view = {.rec = &fixed};

	feed(f, tapir_recbuf__event(&f->buf, &view));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
