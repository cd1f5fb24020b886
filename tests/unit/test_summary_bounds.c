// SPDX-License-Identifier: GPL-2.0-or-later
/* A recording that is made to be too much for a summary. */
#include "summary_fixture.h"

static void tables_are_bounded_when_file_is_hostile(void **state)
{
	struct fixture *f = *state;

	feed_probe(f, 1, SV("a"));
	for (uint32_t pid = 1; pid <= TAPIR_SUMMARY_MAX_ROWS + 10; pid++)
		feed_event(f, 1, pid, 0);
	assert_int_equal(f->summary.processes.cnt, TAPIR_SUMMARY_MAX_ROWS);
	assert_int_equal(f->summary.events.data[0].captured, TAPIR_SUMMARY_MAX_ROWS + 10);
}

static void keys_are_bounded_when_file_is_hostile(void **state)
{
	struct fixture *f = *state;
	uint64_t cnt = TAPIR_SUMMARY_MAX_KEYS + 1000;

	feed_probe(f, 1, SV("a"));
	for (uint32_t id = 1; id <= cnt; id++)
		feed_event(f, id, id, id);
	assert_int_equal(f->summary.captured[TAPIR_FAMILY_EVENT], cnt);
	assert_true(f->summary.event_by_probe.cnt <= TAPIR_SUMMARY_MAX_KEYS);
	assert_true(f->summary.process_by_life.cnt <= TAPIR_SUMMARY_MAX_KEYS);
	assert_true(f->summary.more > 0);
	assert_false(f->summary.failed);
}

static void text_is_bounded_when_file_is_hostile(void **state)
{
	static char path[4096];
	struct fixture *f = *state;
	struct tapir_rec_gap gap = {.tgid = 1, .reason = TAPIR_GAP_ATTACH_LATE};
	struct tapir_sv sv = {path, sizeof(path)};
	size_t kept_bytes = 0;

	memset(path, 'x', sizeof(path));
	for (unsigned i = 0; i < TAPIR_SUMMARY_MAX_ROWS; i++)
		feed(f, tapir_recbuf__gap(&f->buf, &gap, sv));
	for (size_t i = 0; i < f->summary.gaps.cnt; i++)
		kept_bytes += strlen(f->summary.gaps.data[i].path);
	assert_true(kept_bytes <= TAPIR_SUMMARY_MAX_TEXT_BYTES);
	assert_true(f->summary.more > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(tables_are_bounded_when_file_is_hostile),
		TEST(keys_are_bounded_when_file_is_hostile),
		TEST(text_is_bounded_when_file_is_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
