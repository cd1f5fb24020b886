// SPDX-License-Identifier: GPL-2.0-or-later
/* Containers and pods by the paths of cgroups and by the state of runtimes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <string.h>

#include "agent/containers.h"

#define ID   "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID2  "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define UID  "12345678-1234-1234-1234-123456789abc"
#define UID_ "12345678_1234_1234_1234_123456789abc"

static void paths_show_container_and_pod(void **state)
{
	static const struct {
		const char *path, *id, *pod_uid;
	} cases[] = {
		{"/", "", ""},
		{"", "", ""},
		{"/system.slice/ssh.service", "", ""},
		{"/system.slice/docker-" ID ".scope", ID, ""},
		{"/docker/" ID, ID, ""},
		{"/docker/" ID "/docker/" ID2, ID2, ""}, /* the innermost */
		{"/kubepods/besteffort/pod" UID "/" ID, ID, UID},
		{"/kubepods.slice/kubepods-pod" UID_ ".slice/cri-containerd-" ID ".scope", ID, UID},
		{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_
		 ".slice/crio-" ID ".scope/sub",
		 ID, UID},
		{"/machine.slice/libpod-" ID ".scope/container", ID, ""},
		{"/podium/pod12/x", "", ""},
		{"/kubepods/pod" UID "0/x", "", ""}, /* a digit too many */
		{"/a" ID, "", ""},		     /* 65 of them */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct tapir_container_path c;

		tapir_container_path__of(cases[i].path, &c);
		assert_string_equal(c.id, cases[i].id);
		assert_string_equal(c.pod_uid, cases[i].pod_uid);
	}
}

static void names_are_compared_whole_and_ids_from_their_begin(void **state)
{
	const struct tapir_container c = {
		.id = ID, .name = "web", .pod = "shop-0", .space = "prod", .pod_uid = UID};

	(void)state;
	assert_true(tapir_container__is_called(&c, ID));
	assert_true(tapir_container__is_called(&c, "0123456789ab"));
	assert_true(tapir_container__is_called(&c, "web"));
	assert_false(tapir_container__is_called(&c, "0123456789a")); /* too few for one alone */
	assert_false(tapir_container__is_called(&c, "0123456789ac"));
	assert_false(tapir_container__is_called(&c, "we"));
	assert_false(tapir_container__is_called(&c, ""));
	assert_false(tapir_container__is_called(&(struct tapir_container){.id = ID}, ""));
	assert_true(tapir_container__is_of_pod(&c, UID));
	assert_true(tapir_container__is_of_pod(&c, "shop-0"));
	assert_true(tapir_container__is_of_pod(&c, "prod/shop-0"));
	assert_false(tapir_container__is_of_pod(&c, "pro/shop-0"));
	assert_false(tapir_container__is_of_pod(&c, "/shop-0"));
	assert_false(tapir_container__is_of_pod(&c, "prod/"));
	assert_false(tapir_container__is_of_pod(&(struct tapir_container){}, ""));
}

/* json: of any content; true: the state was taken over without harm. */
static void take(const char *json, struct tapir_container *c)
{
	*c = (struct tapir_container){.id = ID};
	tapir_container__take_state(json, strlen(json), c);
}

static void state_of_each_runtime_names_container_and_pod(void **state)
{
	struct tapir_container c;

	(void)state;
	take("{\"annotations\": {\"io.kubernetes.cri.sandbox-name\": \"shop-0\", "
	     "\"io.kubernetes.cri.sandbox-namespace\": \"prod\", "
	     "\"io.kubernetes.cri.container-name\": \"web\"}}",
	     &c);
	assert_string_equal(c.pod, "shop-0");
	assert_string_equal(c.space, "prod");
	assert_string_equal(c.name, "web");
	take("{\"Name\": \"/web\", \"Config\": {\"Labels\": {\"io.kubernetes.pod.name\": \"p\"}}}",
	     &c);
	assert_string_equal(c.name, "web");
	assert_string_equal(c.pod, "p");
	assert_string_equal(c.space, "");
}

static void list_of_podman_names_the_container_of_this_id(void **state)
{
	static const char *const bad[] = {"", "{}", "[7, {}, {\"id\": 1}, {\"id\": \"" ID "\"}]",
					  "[{\"id\": \"" ID "\", \"names\": {}}]",
					  "[{\"id\": \"" ID "\", \"names\": [7]}]"};
	static const char list[] = "[{\"id\": \"0\", \"names\": [\"other\"]}, "
				   "{\"id\": \"" ID "\", \"names\": [\"web\", \"alias\"]}]";
	struct tapir_container c = {.id = ID};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		tapir_container__take_list(bad[i], strlen(bad[i]), &c);
		assert_string_equal(c.name, "");
	}
	tapir_container__take_list(list, strlen(list), &c);
	assert_string_equal(c.name, "web");
}

static void state_that_is_no_state_names_nothing(void **state)
{
	static const char *const bad[] = {"",
					  "{",
					  "[]",
					  "{\"Name\": 5}",
					  "{\"annotations\": []}",
					  "{\"Config\": {\"Labels\": 7}}",
					  "\"x\"",
					  "{\"annotations\": {\"nerdctl/name\": {}}}"};
	struct tapir_container c;
	char *longest;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		take(bad[i], &c);
		assert_string_equal(c.name, "");
		assert_string_equal(c.pod, "");
	}
	longest = malloc(5000);
	memcpy(longest, "{\"Name\": \"", 10);
	memset(longest + 10, 'x', 4000);
	strcpy(longest + 4010, "\"}");
	take(longest, &c);
	assert_int_equal(strlen(c.name), TAPIR_CONTAINER_NAME_SIZE - 1);
	free(longest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_show_container_and_pod),
		cmocka_unit_test(names_are_compared_whole_and_ids_from_their_begin),
		cmocka_unit_test(state_of_each_runtime_names_container_and_pod),
		cmocka_unit_test(list_of_podman_names_the_container_of_this_id),
		cmocka_unit_test(state_that_is_no_state_names_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
