// SPDX-License-Identifier: GPL-2.0-or-later
/* Kept traces of several owners, and which of them make room for a new one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "agent/sessions_impl.h"

static struct tapir_serve_config config;
static struct tapir_agent agent;

static int setup(void **state)
{
	(void)state;
	tapir_serve_config__init(&config);
	config.limits.sessions = 2;
	config.limits.trace_mb = 10;
	config.limits.state_mb = 40;
	config.limits.traces = 6;
	agent = (struct tapir_agent){.config = &config, .state_fd = -1};
	agent.sessions = calloc(1, sizeof(*agent.sessions));
	tapir_log__mute(true);
	return agent.sessions ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	tapir_log__mute(false);
	tapir_sessions__close(agent.sessions);
	return 0;
}

static void add(const char *id, const char *owner, unsigned mb, bool runs)
{
	struct tapir_session_entry s = {
		.fd = memfd_create("trace", MFD_CLOEXEC), .waiter_fd = -1, .pid = runs ? 1 : 0};

	snprintf(s.id, sizeof(s.id), "%s", id);
	snprintf(s.owner, sizeof(s.owner), "%s", owner);
	assert_int_equal(ftruncate(s.fd, (off_t)mb << 20), 0);
	s.page = tapir_session_shm__new();
	assert_non_null(s.page);
	assert_true(tapir_vec__push(&agent.sessions->all, s));
}

static int need(const char *owner, unsigned mb)
{
	struct tapir_caller caller = {.peer = ""};

	snprintf(caller.name, sizeof(caller.name), "%s", owner);
	return tapir_session__make_room(&agent, &caller, &tapir_routes[TAPIR_ROUTE_SESSION_BEGIN],
					(uint64_t)mb << 20);
}

/* Returns the ids of kept traces: "a1 b2". */
static const char *kept(void)
{
	static char out[128];
	const struct tapir_session_entry *s;

	*out = '\0';
	tapir_vec_for_each (s, &agent.sessions->all)
		snprintf(out + strlen(out), sizeof(out) - strlen(out), "%s%s", *out ? " " : "",
			 s->id);
	return out;
}

static void own_traces_make_room_the_oldest_first(void **state)
{
	(void)state;
	add("b1", "b", 9, false);
	add("a1", "a", 9, false);
	add("a2", "a", 9, false);
	add("a3", "a", 9, false);
	assert_int_equal(need("a", 10), 0);
	assert_string_equal(kept(), "b1 a2 a3");
	assert_int_equal(agent.given_up_cnt, 1);
}

static void traces_of_others_stay_though_they_are_most_and_oldest(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++)
		add((const char *[]){"b1", "b2", "b3", "b4"}[i], "b", 9, false);
	assert_int_equal(need("a", 10), -ENOSPC);
	assert_string_equal(kept(), "b1 b2 b3 b4");
	assert_int_equal(agent.given_up_cnt, 0);
}

static void nothing_is_deleted_where_that_would_not_be_enough(void **state)
{
	(void)state;
	add("b1", "b", 31, false);
	add("a1", "a", 1, false);
	assert_int_equal(need("a", 10), -ENOSPC);
	assert_string_equal(kept(), "b1 a1");
}

static void running_recordings_reserve_what_they_may_become(void **state)
{
	(void)state;
	add("a1", "a", 1, false);
	add("a2", "a", 0, true);
	add("b1", "b", 0, true);
	add("b2", "b", 10, false);
	assert_int_equal(need("a", 10), 0);
	assert_string_equal(kept(), "a2 b1 b2");
	add("a3", "a", 0, true);
	assert_int_equal(need("a", 10), -ENOSPC);
	assert_string_equal(kept(), "a2 b1 b2 a3");
	assert_int_equal(need("b", 10), 0);
	assert_string_equal(kept(), "a2 b1 a3");
}

static void number_of_traces_is_limited_likewise(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 5; i++)
		add((const char *[]){"b1", "b2", "b3", "b4", "b5"}[i], "b", 0, false);
	add("a1", "a", 0, false);
	assert_int_equal(need("c", 1), -ENOSPC);
	assert_int_equal(need("a", 1), 0);
	assert_string_equal(kept(), "b1 b2 b3 b4 b5");
}

static void files_of_triggers_are_not_pushed_out_by_clients_that_freeze(void **state)
{
	struct tapir_caller client = {.name = "a", .peer = ""};

	(void)state;
	add("t1", "", 1, false);
	add("a1", "a", 1, false);
	add("a2", "a", 1, false);
	add("a3", "a", 1, false);
	for (size_t i = 0; i < 3; i++)
		snprintf(agent.sessions->all.data[i].target, 128, TAPIR_SESSION_FROZEN "x");
	tapir_session__limit_frozen(&agent, &client, 1);
	assert_string_equal(kept(), "t1 a2 a3");
	assert_int_equal(need("", 40), -ENOSPC);
	assert_int_equal(need("", 38), 0);
	assert_string_equal(kept(), "a2 a3");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(own_traces_make_room_the_oldest_first, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			traces_of_others_stay_though_they_are_most_and_oldest, setup, teardown),
		cmocka_unit_test_setup_teardown(nothing_is_deleted_where_that_would_not_be_enough,
						setup, teardown),
		cmocka_unit_test_setup_teardown(running_recordings_reserve_what_they_may_become,
						setup, teardown),
		cmocka_unit_test_setup_teardown(number_of_traces_is_limited_likewise, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			files_of_triggers_are_not_pushed_out_by_clients_that_freeze, setup,
			teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
