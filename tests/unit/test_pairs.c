// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which event begins and ends what: the table, the user's own, names; and the grammar of --pair.
 *
 * runtimes: dotnet
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/pairs.h"
#include "trace/recbuf.h"

static struct tapir_pairs pairs;
static struct tapir_recbuf buf;
static uint32_t next_id;

static int setup(void **state)
{
	(void)state;
	pairs = (struct tapir_pairs){};
	next_id = 1;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tapir_pairs__fini(&pairs);
	tapir_recbuf__fini(&buf);
	return 0;
}

static struct tapir_roles roles_of(const char *provider, const char *event)
{
	struct tapir_rec_probe fixed = {.probe_id = next_id++};
	struct tapir_sv p = {provider, strlen(provider)}, e = {event, strlen(event)}, none = {};
	struct tapir_probe_view view;

	tapir_probe_view__of(tapir_recbuf__probe(&buf, &fixed, p, e, none, none, NULL, NULL, 0),
			     &view);
	return *tapir_pairs__roles(&pairs, &view);
}

static const struct tapir_interval_kind *kind_of(struct tapir_roles roles, unsigned idx)
{
	assert_true(idx < roles.cnt);
	return &pairs.kinds.data[roles.roles[idx].kind];
}

static void known_events_have_their_roles(void **state)
{
	struct tapir_roles begin = roles_of("hotspot", "gc__begin");
	struct tapir_roles end = roles_of("hotspot", "gc__end");
	struct tapir_roles abort = roles_of("postgresql", "transaction__abort");
	unsigned last;

	(void)state;
	assert_int_equal(begin.cnt, 1);
	assert_true(begin.roles[0].is_begin);
	assert_int_equal(end.roles[0].kind, begin.roles[0].kind);
	assert_false(end.roles[0].is_begin);
	assert_int_equal(kind_of(end, 0)->scope, TAPIR_PAIR_PROCESS);
	assert_int_equal(kind_of(end, 0)->cause, TAPIR_CAUSE_GC);
	last = abort.cnt - 1; /* what else it ends is inside of the transaction */
	assert_string_equal(kind_of(abort, last)->name, "transaction");
	assert_false(abort.roles[last].is_abort || kind_of(abort, last)->is_shared);
	assert_string_equal(kind_of(abort, last - 1)->name, "query");
	assert_string_equal(kind_of(abort, 1)->name, "lock");
	assert_true(abort.roles[1].is_abort && kind_of(abort, 1)->is_shared);
	assert_int_equal(roles_of("hotspot", "monitor__notify").cnt, 0);
	assert_int_equal(roles_of("hotspo", "gc__begin").roles[0].is_begin, 1); /* by its name */
}

static void one_event_may_begin_and_end_several(void **state)
{
	struct tapir_roles roles = roles_of("System.Threading.Tasks.TplEventSource", "TaskStarted");

	(void)state;
	assert_int_equal(roles.cnt, 2);
	assert_false(roles.roles[0].is_begin); /* first of all what it ends */
	assert_string_equal(kind_of(roles, 0)->name, "task_queued");
	assert_true(roles.roles[1].is_begin);
	assert_string_equal(kind_of(roles, 1)->name, "task");
}

static void pairs_of_the_table_can_all_be_found(void **state)
{
	const struct tapir_pair *p;

	(void)state;
	for (size_t i = 0; (p = tapir_lore__pair(i)); i++) {
		struct tapir_roles roles = roles_of(p->provider, p->begin);
		bool is_found = false;

		for (unsigned r = 0; r < roles.cnt; r++)
			is_found |= roles.roles[r].is_begin &&
				    !strcmp(kind_of(roles, r)->name, p->kind);
		assert_true(is_found);
		assert_true(*p->end && strcmp(p->begin, p->end));
		assert_true(p->scope != TAPIR_PAIR_KEY || p->key);
	}
}

static void names_tell_when_nothing_else_does(void **state)
{
	static const char *const begins[] = {"order__start", "order__begin", "order__entry",
					     "orderStart",   "orderBegin",   "order__enter"};
	static const char *const ends[] = {"order__done",   "order__end", "order__stop",
					   "order__return", "orderStop",  "order__exit"};

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		struct tapir_roles begin = roles_of("shop", begins[i]);
		struct tapir_roles end = roles_of("shop", ends[i]);

		assert_string_equal(kind_of(begin, 0)->name, "order");
		assert_true(begin.roles[0].is_begin);
		assert_int_equal(end.roles[0].kind, begin.roles[0].kind);
		assert_false(end.roles[0].is_begin);
	}
	assert_int_equal(roles_of("shop", "__start").cnt, 0);
	assert_int_equal(roles_of("shop", "restart").cnt, 0);
	assert_int_equal(roles_of("shop", "").cnt, 0);
}

static void user_names_a_pair(void **state)
{
	struct tapir_roles roles;

	(void)state;
	assert_int_equal(tapir_pairs__name(&pairs, "shop:sold,ship*,key=id"), 0);
	assert_int_equal(tapir_pairs__name(&pairs, "/a:b:open,close"), 0);
	roles = roles_of("shop", "sold");
	assert_true(roles.roles[0].is_begin);
	assert_string_equal(kind_of(roles, 0)->name, "sold");
	assert_string_equal(kind_of(roles, 0)->key, "id");
	assert_int_equal(kind_of(roles, 0)->scope, TAPIR_PAIR_KEY);
	assert_int_equal(roles_of("other", "sold").cnt, 0);
	assert_false(roles_of("other", "shipped").roles[0].is_begin);
	assert_int_equal(roles_of("/a:b", "open").cnt, 1);
}

static void functions_are_named_with_their_namespaces_and_parameters(void **state)
{
	static const char *const provider[] = {"uprobe:x", "uretprobe:x"};
	static const char *const event[] = {"ns::operator[]", "ns::operator[]"};
	static const char pair[] = "uprobe:x:a::f(int, b::c),uretprobe:x:a::f(int, b::c)";

	(void)state;
	assert_int_equal(tapir_pairs__name(&pairs, pair), 0);
	assert_int_equal(tapir_pairs__name_ends(&pairs, provider, event, NULL), 0);
	assert_true(roles_of("uprobe:x", "a::f(int, b::c)").roles[0].is_begin);
	assert_false(roles_of("uretprobe:x", "a::f(int, b::c)").roles[0].is_begin);
	assert_int_equal(roles_of("uprobe:y", "a::f(int, b::c)").cnt, 0);
	assert_int_equal(roles_of("uretprobe:x", "ns::operator[]").cnt, 1);
	assert_string_equal(pairs.user.data[1].kind, "ns::operator[]");
}

static void pair_of_the_table_that_a_user_names_counts_once(void **state)
{
	(void)state;
	assert_int_equal(tapir_pairs__name(&pairs, "System.Net.Http:RequestStart,RequestStop"), 0);
	assert_int_equal(tapir_pairs__name(&pairs, "gc__begin,vmops__end"), 0);
	assert_int_equal(roles_of("System.Net.Http", "RequestStart").cnt, 1);
	assert_int_equal(roles_of("System.Net.Http", "RequestStop").cnt, 1);
	assert_int_equal(roles_of("Microsoft.AspNetCore.Hosting", "RequestStart").cnt, 1);
	assert_int_equal(roles_of("hotspot", "gc__begin").cnt, 2); /* other ends: both */
}

static void malformed_pairs_are_refused(void **state)
{
	static const char *const bad[] = {
		"",	"a",	"a,",	",b",	"a,b,", "a,b,c", "a,b,key",	"a,b,key=",
		":a,b", "a,b:", "a:,b", "a,:b", ",",	",,",	 "a,b,key=x,y", "a,b,Key=x"};

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(tapir_pairs__name(&pairs, bad[i]), -EINVAL);
	assert_int_equal(pairs.user.cnt, 0);
}

static void kinds_answer_to_their_names(void **state)
{
	const struct tapir_interval_kind *query, *order;

	(void)state;
	roles_of("postgresql", "query__start");
	roles_of("shop", "order__start");
	query = &pairs.kinds.data[0];
	order = &pairs.kinds.data[1];
	assert_true(tapir_interval_kind__is_called(query, "query"));
	assert_true(tapir_interval_kind__is_called(query, "postgresql:query"));
	assert_true(tapir_interval_kind__is_called(query, "postgresql:query__start"));
	assert_true(tapir_interval_kind__is_called(order, "order__start"));
	assert_true(tapir_interval_kind__is_called(order, "shop:order"));
	assert_false(tapir_interval_kind__is_called(query, "order"));
	assert_false(tapir_interval_kind__is_called(query, "mysql:query"));
	assert_false(tapir_interval_kind__is_called(query, ""));
	assert_false(tapir_interval_kind__is_called(order, ""));
	assert_false(tapir_interval_kind__is_called(order, ":"));
}

static void kinds_are_bounded_when_file_is_hostile(void **state)
{
	char event[32];

	(void)state;
	for (unsigned i = 0; i < TAPIR_PAIRS_MAX_KINDS + 10; i++) {
		snprintf(event, sizeof(event), "e%u__start", i);
		roles_of("shop", event);
	}
	assert_int_equal(pairs.kinds.cnt, TAPIR_PAIRS_MAX_KINDS);
	assert_false(pairs.failed);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(known_events_have_their_roles),
		TEST(one_event_may_begin_and_end_several),
		TEST(pairs_of_the_table_can_all_be_found),
		TEST(names_tell_when_nothing_else_does),
		TEST(user_names_a_pair),
		TEST(functions_are_named_with_their_namespaces_and_parameters),
		TEST(pair_of_the_table_that_a_user_names_counts_once),
		TEST(malformed_pairs_are_refused),
		TEST(kinds_answer_to_their_names),
		TEST(kinds_are_bounded_when_file_is_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
