/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Entries of the catalog that run out, are given back and taken again: by the library and a tracer
 * that keeps to tapir/ring.h. Each case is a process of its own.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ring_case.h"

static struct tapir_ring_event events[TAPIR_RING_EVENTS + 1];
static struct tapir_ring_about abouts[TAPIR_RING_EVENTS + 1];
static char names[TAPIR_RING_EVENTS + 1][16];
static struct taker taker;

static int take_entry(unsigned i)
{
	snprintf(names[i], sizeof(names[i]), "kind%u", i);
	abouts[i] = (struct tapir_ring_about){.provider = "shop", .event = names[i]};
	return tapir_ring__register(&events[i], &abouts[i]);
}

static void fire_it(struct tapir_ring_event *of, uint64_t value)
{
	struct tapir_ring_write write;

	if (!tapir_ring__begin(&write, of, sizeof(value)))
		return;
	memcpy(write.payload, &value, sizeof(value));
	tapir_ring__commit(&write);
}

static void open_for_all(unsigned s)
{
	CHECK(!taker_init(&taker, getpid(), s));
	taker.ctl->selections[s][0].used = 1;
	strcpy(taker.ctl->selections[s][0].provider, "*");
	taker_session(&taker)->session_id = 77 + s;
	CHECK(!taker_open(&taker, 0, 0, 0));
}

static uint64_t row_of_none(int cause)
{
	struct tapir_ring_losses losses;
	off_t off = (off_t)(taker.data[0].losses_off + TAPIR_RING_EVENTS * sizeof(losses));

	CHECK(pread(taker.data_fd[0], &losses, sizeof(losses), off) == sizeof(losses));
	return losses.cnt[taker.s][cause];
}

static void fill_up(void)
{
	CHECK(!tapir_ring__init_private(TAKER_KEY));
	for (unsigned i = 0; i < TAPIR_RING_EVENTS; i++)
		CHECK(!take_entry(i));
	CHECK(take_entry(TAPIR_RING_EVENTS) == -ENOSPC);
	CHECK(!tapir_ring__wanted(&events[TAPIR_RING_EVENTS]));
}

/* ---- full ------------------------------------------------------------------------------------ */

static void full(void)
{
	const struct tapir_ring_about other = {.provider = "shop", .event = "other", .level = 5};

	fill_up();
	CHECK(tapir_ring__miss(&abouts[TAPIR_RING_EVENTS], TAPIR_RING_NO_ENTRY) == 0);
	open_for_all(3);
	taker.ctl->selections[3][0].level = 4;
	for (unsigned i = 0; i < 5; i++)
		CHECK(tapir_ring__miss(&abouts[TAPIR_RING_EVENTS], TAPIR_RING_NO_ENTRY) == 1);
	CHECK(tapir_ring__miss(&abouts[7], TAPIR_RING_NO_PROVIDER) == 1);
	CHECK(tapir_ring__miss(&other, TAPIR_RING_NO_ENTRY) == 0); /* not asked for */
	CHECK(row_of_none(TAPIR_RING_NO_ENTRY) == 5);
	CHECK(row_of_none(TAPIR_RING_NO_PROVIDER) == 1);
}

static void events_without_an_entry_are_counted(void **state)
{
	(void)state;
	in_child(full);
}

/* ---- given back ---------------------------------------------------------------------------------- */

static void nobody_reads(void)
{
	fill_up();
	for (unsigned i = 0; i < 5000; i++) {
		uint32_t before = events[i % 100].id;

		tapir_ring__unregister(&events[i % 100]);
		CHECK(!take_entry(i % 100));
		CHECK(events[i % 100].id != before);
		CHECK(TAPIR_RING_ID_IDX(events[i % 100].id) < TAPIR_RING_EVENTS);
	}
}

static void an_entry_is_free_at_once_without_a_session(void **state)
{
	(void)state;
	in_child(nobody_reads);
}

static uint64_t seen_value;
static uint32_t seen_id;

static void note(const struct tapir_rec_event *event_rec, const uint8_t *payload)
{
	memcpy(&seen_value, payload, sizeof(seen_value));
	seen_id = event_rec->probe_id;
}

static void a_session_reads(void)
{
	uint32_t before;
	unsigned drains;

	fill_up();
	open_for_all(0);
	taker.on_event = note;
	before = events[5].id;
	fire_it(&events[5], 1); /* judged before: nobody wants it */
	tapir_ring__unregister(&events[5]);
	for (drains = 0; take_entry(TAPIR_RING_EVENTS) && drains < 20; drains++)
		taker_take(&taker);
	CHECK(drains >= 2 && drains <= 8);
	CHECK(TAPIR_RING_ID_IDX(events[TAPIR_RING_EVENTS].id) == 5);
	CHECK(TAPIR_RING_ID_GENERATION(events[TAPIR_RING_EVENTS].id) ==
	      TAPIR_RING_ID_GENERATION(before) + 1);
	CHECK(tapir_ring__wanted(&events[TAPIR_RING_EVENTS]));
	fire_it(&events[TAPIR_RING_EVENTS], 2);
	taker_take(&taker);
	CHECK(seen_value == 2 && seen_id == events[TAPIR_RING_EVENTS].id);
}

static void an_entry_rests_until_sessions_have_drained(void **state)
{
	(void)state;
	in_child(a_session_reads);
}

static void a_session_sleeps(void)
{
	fill_up();
	open_for_all(0);
	for (unsigned i = 0; i < 10; i++)
		taker_take(&taker);
	tapir_ring__unregister(&events[5]);
	for (unsigned i = 0; i < 1000; i++)
		CHECK(take_entry(TAPIR_RING_EVENTS) == -ENOSPC);
	taker_close(&taker);
	CHECK(!take_entry(TAPIR_RING_EVENTS));
}

static void a_session_that_does_not_drain_keeps_it(void **state)
{
	(void)state;
	in_child(a_session_sleeps);
}

/* ---- words --------------------------------------------------------------------------------------- */

static void words(void)
{
	uint32_t idx;

	CHECK(!tapir_ring__init_private(TAKER_KEY));
	CHECK(!take_entry(0));
	open_for_all(2);
	idx = TAPIR_RING_ID_IDX(events[0].id);
	CHECK(taker.ctl->words[idx] >> TAPIR_RING_GENERATION_SHIFT == 1);
	CHECK(!tapir_ring__wanted(&events[0])); /* the generation is no interest */
	tapir_ring__unregister(&events[0]);
	CHECK((uint32_t)taker.ctl->words[idx] == 0);
	CHECK(!take_entry(1));
	CHECK(taker.ctl->words[TAPIR_RING_ID_IDX(events[1].id)] & 4ull << TAPIR_RING_WANT_SHIFT);
}

static void a_generation_is_no_interest(void **state)
{
	(void)state;
	in_child(words);
}

/* ---- a catalog that is full ------------------------------------------------------------------------ */

static void large(void)
{
	static uint8_t blob[60000];
	struct tapir_ring_about wide = {.provider = "shop",
					.event = "wide",
					.metadata = blob,
					.metadata_bytes = sizeof(blob)};
	unsigned cnt = 0;

	CHECK(!tapir_ring__init_private(TAKER_KEY));
	while (cnt < 2000 && !tapir_ring__register(&events[cnt], &wide))
		cnt++;
	CHECK(cnt > 200 && cnt < 2000);
	CHECK(tapir_ring__register(&events[cnt], &wide) == -ENOSPC);
	for (unsigned i = 0; i < 3 * cnt; i++) {
		tapir_ring__unregister(&events[i % cnt]);
		CHECK(!take_entry(1900 + i % 2));
		tapir_ring__unregister(&events[1900 + i % 2]);
		CHECK(!tapir_ring__register(&events[i % cnt], &wide));
	}
}

static void a_full_catalog_is_no_end(void **state)
{
	(void)state;
	in_child(large);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_without_an_entry_are_counted),
		cmocka_unit_test(an_entry_is_free_at_once_without_a_session),
		cmocka_unit_test(an_entry_rests_until_sessions_have_drained),
		cmocka_unit_test(a_session_that_does_not_drain_keeps_it),
		cmocka_unit_test(a_generation_is_no_interest),
		cmocka_unit_test(a_full_catalog_is_no_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
