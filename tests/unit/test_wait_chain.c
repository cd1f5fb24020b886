// SPDX-License-Identifier: GPL-2.0-or-later
/* Chains of waits: what the thread that ended a wait waited for, and so on. */
#include "analyze/wait_chain.h" /* before the names of the feeder */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "timeline_feeder.h"

/* Of the last wait of thread 10 that was reported. */
static struct feeder f;
static struct tapir_wait_chain chain;
static struct tapir_wait_reasons reasons;
static struct tapir_str text;

static void on_wait(void *ctx, const struct tapir_wait *w)
{
	(void)ctx;
	if (w->thread->tid != 10)
		return;
	tapir_wait_chain__follow(&chain, f.tl, &reasons, w);
	text.len = 0;
	tapir_wait_chain__add_text(&text, &chain, f.tl, w->wake_ns);
}

static int setup(void **state)
{
	static const struct tapir_timeline_fns fns = {.wait = on_wait};
	const struct tapir_timeline_opts opts = {.wants_stacks = true};

	(void)state;
	chain = (struct tapir_wait_chain){};
	return feeder_init(&f, &opts) || tapir_timeline__listen(f.tl, &fns, NULL);
}

static int teardown(void **state)
{
	(void)state;
	feeder_fini(&f);
	tapir_wait_reasons__fini(&reasons);
	tapir_str__fini(&text);
	return 0;
}

/* Each thread is a process of its own. */
static void leave(uint64_t at_ms, uint32_t tid, uint16_t state)
{
	feeder_switch(
		&f, at_ms * MS,
		(struct tapir_rec_switch){.out_tgid = tid, .out_tid = tid, .out_state = state});
}

static void come(uint64_t at_ms, uint32_t tid, uint32_t waker_tid, uint16_t flags)
{
	feeder_switch(&f, at_ms * MS,
		      (struct tapir_rec_switch){.in_tgid = tid,
						.in_tid = tid,
						.in_wake_ns = at_ms * MS,
						.in_waker_tid = waker_tid,
						.flags = flags});
}

/* Records are held back until the end, as those of several CPUs have to be. */
static void end(void)
{
	assert_int_equal(tapir_timeline__finish(f.tl), 0);
}

static void chain_leads_to_the_device(void **state)
{
	(void)state;
	leave(1, 10, TAPIR_STATE_SLEEPING);
	leave(2, 20, TAPIR_STATE_SLEEPING);
	leave(3, 30, TAPIR_STATE_UNINTERRUPTIBLE);
	come(9, 30, 0, TAPIR_SWITCH_WOKEN_BY_IRQ);
	come(10, 20, 30, 0);
	come(11, 10, 20, 0);
	end();
	assert_int_equal(chain.cnt, 2);
	assert_int_equal(chain.end, TAPIR_CHAIN_END_IRQ);
	assert_string_equal(text.data, "? (20) waits 8.00 ms > ? (30) waits for the kernel 6.00 ms "
				       "> an interrupt");
}

static void thread_that_ran_is_no_link(void **state)
{
	(void)state;
	leave(1, 10, TAPIR_STATE_SLEEPING);
	leave(2, 20, TAPIR_STATE_SLEEPING);
	come(3, 20, 30, 0);
	come(11, 10, 20, 0);
	end();
	assert_int_equal(chain.cnt, 0);
	assert_int_equal(chain.end_tid, 20);
	assert_true(!text.len);
}

static void chain_ends_with_the_thread_that_ran(void **state)
{
	(void)state;
	come(1, 30, 0, 0);
	leave(1, 10, TAPIR_STATE_SLEEPING);
	leave(2, 20, TAPIR_STATE_SLEEPING);
	come(10, 20, 30, 0);
	come(11, 10, 20, 0);
	end();
	assert_string_equal(text.data, "? (20) waits 8.00 ms > ? (30)");
}

/* The long wait is the one that counts, whatever short ones came before and after it. */
static void short_waits_do_not_hide_a_long_one(void **state)
{
	(void)state;
	for (uint64_t at = 1; at < 40; at += 2) {
		leave(at, 20, TAPIR_STATE_SLEEPING);
		come(at + 1, 20, 40, 0);
	}
	leave(50, 10, TAPIR_STATE_SLEEPING);
	leave(51, 20, TAPIR_STATE_SLEEPING);
	come(91, 20, 30, 0);
	for (uint64_t at = 92; at < 100; at += 2) {
		leave(at, 20, TAPIR_STATE_SLEEPING);
		come(at + 1, 20, 40, 0);
	}
	come(100, 10, 20, 0);
	end();
	assert_int_equal(chain.cnt, 1);
	assert_int_equal(chain.links[0].ns, 40 * MS);
	assert_int_equal(chain.end_tid, 30);
}

static void wait_for_a_cpu_ends_the_chain(void **state)
{
	(void)state;
	leave(1, 10, TAPIR_STATE_SLEEPING);
	leave(2, 20, 0);
	come(10, 20, 0, 0);
	come(11, 10, 20, 0);
	end();
	assert_string_equal(text.data, "? (20) waits for a CPU 8.00 ms");
}

/* Each waits for the other: the chain does not come back to where it began. */
static void threads_that_wake_each_other_are_no_circle(void **state)
{
	(void)state;
	leave(1, 10, TAPIR_STATE_SLEEPING);
	leave(2, 20, TAPIR_STATE_SLEEPING);
	come(10, 20, 10, 0);
	come(11, 10, 20, 0);
	end();
	assert_int_equal(chain.cnt, 1);
	assert_int_equal(chain.links[0].tid, 20);
}

static void long_chain_is_bounded(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 20; i++)
		leave(1, 10 + i, TAPIR_STATE_SLEEPING);
	for (uint32_t i = 20; i-- > 0;)
		come(60 - i, 10 + i, 11 + i, 0);
	end();
	assert_int_equal(chain.cnt, TAPIR_WAIT_CHAIN_LINKS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(chain_leads_to_the_device),
		TEST(thread_that_ran_is_no_link),
		TEST(chain_ends_with_the_thread_that_ran),
		TEST(short_waits_do_not_hide_a_long_one),
		TEST(wait_for_a_cpu_ends_the_chain),
		TEST(threads_that_wake_each_other_are_no_circle),
		TEST(long_chain_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
