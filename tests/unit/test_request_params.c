// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Routes, their parameters as text and as JSON, and the description made of both.
 *
 * runtimes: dotnet
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include <jansson.h>

#include "base/clock.h"
#include "base/diag.h"
#include "agent/request_params.h"
#include "agent/task.h"
#include "cli/question_options.h"
#include "agent/openapi.h"

static const struct tapir_route *const profile = &tapir_routes[TAPIR_ROUTE_PROFILE];

static void routes_are_found_by_method_and_path(void **state)
{
	struct tapir_route_match match;

	(void)state;
	assert_int_equal(tapir_route__find("GET", "/v1/processes", &match), 0);
	assert_int_equal(match.id, TAPIR_ROUTE_PROCESSES);
	assert_string_equal(match.arg, "");
	assert_int_equal(tapir_route__find("GET", "/v1/processes/4711", &match), 0);
	assert_int_equal(match.id, TAPIR_ROUTE_PROCESS);
	assert_string_equal(match.arg, "4711");
	assert_int_equal(tapir_route__find("PUT", "/v1/processes", &match), -EOPNOTSUPP);
	assert_string_equal(match.allowed, "GET");
}

static void other_paths_are_not_found(void **state)
{
	static const char *const paths[] = {"",
					    "x",
					    "/",
					    "//healthz",
					    "/healthz/",
					    "/v1",
					    "/v1/processes/",
					    "/v1/processes//",
					    "/v1/processes/1/2",
					    "/v1/../healthz",
					    "/v1/processes/../../healthz",
					    "/V1/processes",
					    "/v1/processes?x",
					    "/v1/{pid}"};
	struct tapir_route_match match;
	char longer[400] = "/v1/processes/";

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (tapir_route__find("GET", paths[i], &match) != -ENOENT)
			fail_msg("%s is found", paths[i]);
	memset(longer + strlen(longer), '1', 300);
	assert_int_equal(tapir_route__find("GET", longer, &match), -ENOENT);
}

static void values_reach_the_request(void **state)
{
	static const char *const given[][2] = {{"pid", "7,8"},	     {"pid", "9"},
					       {"seconds", "2.5"},   {"events", "hotspot:gc__*"},
					       {"frequency", "49"},  {"frames", "64"},
					       {"lane", "probe"},    {"profile", "gc"},
					       {"stack", ""},	     {"no_sched", "1"},
					       {"format", "folded"}, {"rate", "5"}};
	struct tapir_request rq;
	struct tapir_request_params ask = {};

	(void)state;
	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++)
		assert_int_equal(tapir_request_params__set(&ask, profile, given[i][0], given[i][1]),
				 0);
	assert_int_equal(tapir_request_params__request(&ask, &rq), 0);
	assert_int_equal(rq.rules.pids.cnt, 3);
	assert_int_equal(rq.rules.pids.data[2], 9);
	assert_int_equal(rq.duration_ns, 2500 * TAPIR_NS_PER_MS);
	assert_string_equal(rq.specs.data[0], "hotspot:gc__*");
	assert_int_equal(rq.sample_hz, 49);
	assert_int_equal(rq.frames, 64);
	assert_string_equal(rq.lane, "probe");
	assert_string_equal(rq.profiles.data[0], "gc");
	assert_true(rq.stack && rq.no_sched && !rq.no_samples);
	assert_int_equal(rq.rate_hz, 5);
	assert_null(rq.program);
	assert_string_equal(ask.format, "folded");
	tapir_request_params__fini(&ask);
}

static const struct tapir_option *option_called(const char *name)
{
	for (const struct tapir_option *o = tapir_question_options; o->name; o++)
		if (!strcmp(o->name, name))
			return o;
	return NULL;
}

/* Those that are no options of a question are the source, and what is recorded. */
static void question_has_parameters_that_are_options(void **state)
{
	static const char *const others[] = {"source", "seconds", "rate"};
	unsigned aggregates = 0;

	(void)state;
	for (const struct tapir_param *p = tapir_params_question; p->name; p++) {
		bool is_other = false;

		for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
			is_other |= !strcmp(p->name, others[i]);
		if (is_other == !!option_called(p->name))
			fail_msg("%s", p->name);
		aggregates += p->kind == TAPIR_PARAM_LIST;
	}
	assert_int_equal(aggregates, TAPIR_AGGREGATE_CNT + 3);
}

static int checked(const char *const given[][2], size_t cnt)
{
	const struct tapir_route *route = &tapir_routes[TAPIR_ROUTE_QUESTIONS];
	const struct tapir_serve_limits limits = {.seconds = 60};
	struct tapir_request_params ask = {};
	struct tapir_task task = {.run = tapir_task__question, .params = &ask, .limits = &limits};
	int err = tapir_request_params__set(&ask, route, "pid", "1");

	tapir_diag__clear();
	for (size_t i = 0; !err && i < cnt; i++)
		err = tapir_request_params__set(&ask, route, given[i][0], given[i][1]);
	err = err ? err : tapir_task__check(&task);
	tapir_request_params__fini(&ask);
	return err;
}

static void question_is_about_events_or_intervals(void **state)
{
	static const char *const right[][2] = {{"source", "shop:sold"},
					       {"pair", "shop:sold,shop:sent,key=id"},
					       {"source", "postgresql:query"},
					       {"source", "interval:dotnet:gc"}};
	static const char *const wrong[][2] = {{"source", "/etc/passwd:x"},
					       {"source", "@/etc/passwd"},
					       {"source", "shop:sold count"},
					       {"source", "runqueue:x"},
					       {"table-size", "16384"},
					       {"rate", "100001"},
					       {"pair", "sold,sent"},
					       {"until", "shop:sent"},
					       {"key", "id"},
					       {"seconds", "61"},
					       {"profile", "gc"}};
	static const char *const both[][2] = {{"source", "shop:sold"},
					      {"source", "postgresql:query"}};
	static const char *const until[][2] = {
		{"source", "shop:sold"}, {"until", "shop:sent"}, {"key", "id"}};
	static const char *const ends[][2][2] = {
		{{"source", "postgresql:query"}, {"until", "shop:sent"}},
		{{"source", "shop:sold"}, {"until", "/bin/sh:shop:sent"}},
		{{"source", "-o"}, {"until", "shop:sent"}},
		{{"source", "shop:sold by pid"}, {"until", "shop:sent"}},
		{{"pair", "shop:sold,shop:sent"}, {"until", "shop:sent"}}};

	(void)state;
	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++)
		assert_int_equal(checked(&right[i], 1), 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (checked(&wrong[i], 1) != -EINVAL || !tapir_diag__cnt())
			fail_msg("%s=%s is taken", wrong[i][0], wrong[i][1]);
	assert_int_equal(checked(until, 3), 0);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (checked(ends[i], 2) != -EINVAL || !tapir_diag__cnt())
			fail_msg("%s=%s is taken", ends[i][1][0], ends[i][1][1]);
	assert_int_equal(checked(both, 0), -EINVAL);
	assert_int_equal(checked(both, 2), -EINVAL);
	assert_string_equal(tapir_diag__line(0),
			    "source: events and intervals are two questions: ask one of them");
}

static void question_is_one_printable_object_in_the_log(void **state)
{
	static const char *const given[][2] = {{"source", "shop:sold"},
					       {"where", "name == \"\033[2J\n\""},
					       {"by", "name,pid"},
					       {"sum", "price"}};
	struct tapir_str text = {};
	struct tapir_request_params ask = {};

	(void)state;
	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++)
		assert_int_equal(tapir_request_params__set(&ask,
							   &tapir_routes[TAPIR_ROUTE_QUESTIONS],
							   given[i][0], given[i][1]),
				 0);
	tapir_request_params__add_question(&ask, &text);
	assert_string_equal(text.data, "{\"source\":[\"shop:sold\"],\"sum\":[\"price\"],"
				       "\"by\":[\"name,pid\"],"
				       "\"where\":\"name == \\\"\\\\x1b[2J\\\\n\\\"\"}");
	tapir_request_params__fini(&ask);
	tapir_str__fini(&text);
}

static void json_says_the_same(void **state)
{
	static const char text[] = "{\"pid\": [7, 8], \"seconds\": 2.5, \"events\": \"p:e\", "
				   "\"stack\": true, \"no_sched\": false}";
	struct tapir_request rq;
	struct tapir_request_params ask = {};

	(void)state;
	assert_int_equal(tapir_request_params__set_json(&ask, profile, text, sizeof(text) - 1), 0);
	assert_int_equal(tapir_request_params__request(&ask, &rq), 0);
	assert_int_equal(rq.rules.pids.cnt, 2);
	assert_int_equal(rq.duration_ns, 2500 * TAPIR_NS_PER_MS);
	assert_true(rq.stack && !rq.no_sched);
	tapir_request_params__fini(&ask);
}

static void wrong_values_are_refused_with_their_name(void **state)
{
	static const char *const given[][2] = {{"pid", ""},
					       {"pid", "0"},
					       {"pid", "1,"},
					       {"pid", "-1"},
					       {"pid", "1 "},
					       {"pid", "99999999999"},
					       {"pid", "0000000000000012345"},
					       {"seconds", "soon"},
					       {"seconds", "0"},
					       {"seconds", "1e9"},
					       {"frequency", "999999"},
					       {"frames", "513"},
					       {"lane", "fast"},
					       {"profile", "x"},
					       {"stack", "yes"},
					       {"format", "../x"},
					       {"events", ""},
					       {"output", "/x"},
					       {"path", "/etc"},
					       {"program", "/bin/sh"}};
	struct tapir_request_params ask = {};

	(void)state;
	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++) {
		tapir_diag__clear();
		if (tapir_request_params__set(&ask, profile, given[i][0], given[i][1]) != -EINVAL)
			fail_msg("%s=%s is taken", given[i][0], given[i][1]);
		assert_int_equal(strncmp(tapir_diag__line(0), given[i][0], strlen(given[i][0])), 0);
	}
	tapir_request_params__fini(&ask);
}

/* Functions, system calls and tracepoints: others may ask for events that programs offer. */
static void sources_of_the_machine_are_for_administrators(void **state)
{
	static const char *const specs[] = {"tracepoint:sched:sched_switch",
					    "syscall:openat",
					    "uprobe:libc:malloc",
					    "uretprobe:libc:malloc",
					    "kprobe:vfs_read",
					    "ufunc:libc:malloc",
					    "kfunc:vfs_read"};

	(void)state;
	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		struct tapir_request_params ask = {};
		struct tapir_request rq;

		tapir_diag__clear();
		assert_int_equal(tapir_request_params__set(&ask, profile, "pid", "1"), 0);
		assert_int_equal(tapir_request_params__set(&ask, profile, "events", specs[i]), 0);
		assert_int_equal(tapir_request_params__request(&ask, &rq), -EKEYREJECTED);
		assert_int_equal(tapir_diag__cnt(), 1);
		ask.is_admin = true;
		assert_int_equal(tapir_request_params__request(&ask, &rq), 0);
		ask.only_pid = 1;
		assert_int_equal(tapir_request_params__request(&ask, &rq), -EKEYREJECTED);
		tapir_request_params__fini(&ask);
	}
	tapir_diag__clear();
}

static void wrong_json_is_refused(void **state)
{
	static const char *const texts[] = {"",
					    "[]",
					    "{\"pid\": null}",
					    "{\"pid\": {}}",
					    "{\"pid\": [[1]]}",
					    "{\"pid\": 1, \"pid\": 2}",
					    "{\"x\": 1}",
					    "{\"pid\": 1.5}",
					    "{\"events\": \"a\\u0000b\"}"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct tapir_request_params ask = {};

		tapir_diag__clear();
		if (tapir_request_params__set_json(&ask, profile, texts[i], strlen(texts[i])) !=
		    -EINVAL)
			fail_msg("%s is taken", texts[i]);
		assert_true(tapir_diag__cnt() > 0);
		tapir_request_params__fini(&ask);
	}
}

static void no_request_names_a_file(void **state)
{
	static const char *const specs[] = {"/etc/passwd:p", "/x:p:e", "/a\\:b:p"};

	(void)state;
	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		struct tapir_request rq;
		struct tapir_request_params ask = {};

		assert_int_equal(tapir_request_params__set(&ask, profile, "pid", "1"), 0);
		assert_int_equal(tapir_request_params__set(&ask, profile, "events", specs[i]), 0);
		assert_int_equal(tapir_request_params__request(&ask, &rq), -EINVAL);
		tapir_request_params__fini(&ask);
	}
}

/* The document is held against the table of routes, both ways. */
static void description_has_every_route_and_parameter(void **state)
{
	struct tapir_str text = {};
	size_t operations = 0;
	const char *key;
	json_t *root, *paths, *path;

	(void)state;
	tapir_openapi__write(&text);
	root = json_loads(text.data, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(root);
	paths = json_object_get(root, "paths");
	json_object_foreach(paths, key, path) operations += json_object_size(path);
	assert_int_equal(operations, TAPIR_ROUTE_CNT);
	for (size_t i = 0; i < TAPIR_ROUTE_CNT; i++) {
		const struct tapir_route *r = &tapir_routes[i];
		char method[8] = "";
		json_t *operation;
		size_t params = 0;

		for (const char *p = r->path; *p; p++)
			params += *p == '{';
		for (size_t k = 0; r->method[k]; k++)
			method[k] = (char)(r->method[k] | 0x20);
		operation = json_object_get(json_object_get(paths, r->path), method);
		assert_non_null(operation);
		for (size_t t = 0; t < TAPIR_ROUTE_MAX_TABLES && r->params[t]; t++)
			for (const struct tapir_param *p = r->params[t]; p->name; p++)
				params++;
		assert_int_equal(json_array_size(json_object_get(operation, "parameters")), params);
	}
	json_decref(root);
	tapir_str__fini(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(routes_are_found_by_method_and_path),
		cmocka_unit_test(other_paths_are_not_found),
		cmocka_unit_test(values_reach_the_request),
		cmocka_unit_test(question_has_parameters_that_are_options),
		cmocka_unit_test(question_is_about_events_or_intervals),
		cmocka_unit_test(question_is_one_printable_object_in_the_log),
		cmocka_unit_test(json_says_the_same),
		cmocka_unit_test(wrong_values_are_refused_with_their_name),
		cmocka_unit_test(sources_of_the_machine_are_for_administrators),
		cmocka_unit_test(wrong_json_is_refused),
		cmocka_unit_test(no_request_names_a_file),
		cmocka_unit_test(description_has_every_route_and_parameter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
