// SPDX-License-Identifier: GPL-2.0-or-later
/* include/tapir/provider.h: what events do without a tracer, and what is refused. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tapir/listener.h"
#include "tapir/payload_parts.h"

TAPIR_EVENT(Sold, "Unit-Shop", "Sold", 1, 0, TAPIR_INFORMATIONAL, 0x8000000000000001ull,
	    (U64, Order), (UTF8, Customer));
TAPIR_EVENT(Closed, "Unit-Shop", "Closed", 2, 0, TAPIR_ERROR, 0x2);

TAPIR_EVENT(Packed, "Unit-Spans", "Packed", 3, 0, TAPIR_VERBOSE, 0x4, (UTF8N, Customer),
	    (U32S, Items), (BINARY, Label), (F64S, Weights), (U8, Last));

static struct tapir_event *const events[] = {&Sold, &Closed};

static struct tapir_provider *open_shop(void)
{
	struct tapir_provider *p = NULL;

	assert_int_equal(tapir_provider__new("Unit-Shop", NULL, events, 2, NULL, &p), 0);
	return p;
}

static void events_are_off_when_nobody_wants_them(void **state)
{
	struct tapir_provider *p = open_shop();

	(void)state;
	assert_string_equal(tapir_provider__name(p), "Unit-Shop");
	assert_int_equal(tapir_provider__ring_error(p), 0);
	assert_false(TAPIR_EVENT_ENABLED(Sold));
	assert_false(TAPIR_EVENT_ENABLED(Closed));
	errno = 12345;
	Sold_fire(1, NULL); /* without the test: still nothing */
	TAPIR_FIRE(Closed);
	assert_int_equal(errno, 12345);
	tapir_provider__free(p);
	assert_false(TAPIR_EVENT_ENABLED(Sold));
	Sold_fire(2, "after");
	assert_int_equal(tapir_library__fini(), 0);
}

static void an_event_in_two_providers_is_refused(void **state)
{
	struct tapir_provider *p = open_shop(), *other = NULL;

	(void)state;
	assert_int_equal(tapir_provider__new("Other", NULL, events, 1, NULL, &other), -EINVAL);
	assert_null(other);
	assert_int_equal(tapir_library__fini(), -EBUSY);
	tapir_provider__free(p);
	p = open_shop();
	tapir_provider__free(p);
	tapir_provider__free(NULL);
}

/* What a caller may get wrong, each with all else right. */
static void malformed_events_are_refused(void **state)
{
	static const struct tapir_event_field
		good = {"a", NULL, 0, 0, TAPIR_TYPE_U8, 0, {0}},
		bad[] = {
			{NULL, NULL, 0, 0, TAPIR_TYPE_U8, 0, {0}},
			{"", NULL, 0, 0, TAPIR_TYPE_U8, 0, {0}},
			{"a", NULL, 0, 0, TAPIR_TYPE_CNT, 0, {0}},
			{"a", NULL, 0, 0, TAPIR_TYPE_U8, TAPIR_REPEAT_COUNT_U32 + 1, {0}},
			{"a", NULL, 0, 0, TAPIR_TYPE_U8, TAPIR_REPEAT_COUNT_FIELD, {0}},
			{"a", NULL, 0, 0, TAPIR_TYPE_BINARY, 0, {0}},
			{"a", NULL, 0, 0, TAPIR_TYPE_STRUCT, 0, {0}},
			{"a", &good, 1, 0, TAPIR_TYPE_U8, 0, {0}},
		};
	struct tapir_event_about about = {"P", "E", &good, 0, 1, 0, 4, 1, 0, 0, {0}};
	struct tapir_event event = {.about = &about};
	struct tapir_event *const list[] = {&event}, *const none[] = {NULL};
	const struct tapir_provider_opts unsized_opts = {.size = 0},
					 odd_opts = {.size = sizeof(odd_opts), .flags = 1u << 7};
	struct tapir_provider *p = NULL;

	(void)state;
	assert_int_equal(tapir_provider__new(NULL, NULL, list, 1, NULL, &p), -EINVAL);
	assert_int_equal(tapir_provider__new("", NULL, list, 1, NULL, &p), -EINVAL);
	assert_int_equal(tapir_provider__new("P", NULL, NULL, 1, NULL, &p), -EINVAL);
	assert_int_equal(tapir_provider__new("P", NULL, NULL, 0, &unsized_opts, &p), -EINVAL);
	assert_int_equal(tapir_provider__new("P", NULL, NULL, 0, &odd_opts, &p), -EINVAL);
	assert_int_equal(tapir_provider__new("P", NULL, none, 1, NULL, &p), -EINVAL);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		about.fields = &bad[i];
		assert_int_equal(tapir_provider__new("P", NULL, list, 1, NULL, &p), -EINVAL);
	}
	about.fields = &good;
	about.level = 6;
	assert_int_equal(tapir_provider__new("P", NULL, list, 1, NULL, &p), -EINVAL);
	about.level = 5;
	assert_int_equal(tapir_provider__new("P", NULL, list, 1, NULL, &p), 0);
	tapir_provider__free(p);
}

/* Every event looks for itself there; a call of the library's ends that. */
static void a_child_has_a_thread_of_its_own_when_it_polls(void **state)
{
	struct tapir_provider *p = open_shop();
	int status;
	pid_t pid;

	(void)state;
#if defined(__SANITIZE_THREAD__) || defined(TAPIR_UNDER_QEMU)
	skip(); /* they start no thread in a child */
#endif
	pid = fork();
	if (!pid) {
		int ok = TAPIR_EVENT_ENABLED(Sold);

		Sold_fire(1, "child");
		ok = ok && !tapir_provider__poll() && !TAPIR_EVENT_ENABLED(Sold);
		tapir_provider__free(p);
		_exit(!(ok && !tapir_library__fini()));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_false(TAPIR_EVENT_ENABLED(Sold));
	tapir_provider__free(p);
}

/* The symbol that a program compiled with the header of 0.1 calls. */
int new_as_before(const char *name, const uint8_t *guid, struct tapir_event *const *list,
		  uint32_t event_cnt, const struct tapir_provider_opts *opts,
		  struct tapir_provider **out) __asm__("tapir_provider__new");

static void keep_text(const char *text, void *ctx)
{
	snprintf(ctx, 400, "%s", text);
}

static const struct tapir_event_field number = {"a", NULL, 0, 0, TAPIR_TYPE_U8, 0, {0}},
				      text = {"a", NULL, 0, 0, TAPIR_TYPE_UTF8, 0, {0}};

static void mistakes_are_refused_or_reported_to_older_programs(void **state)
{
	struct tapir_event_about about[2] = {{"P", "E", &number, 0, 7, 0, 4, 1, 0, 0, {0}},
					     {"P", "E", &text, 0, 7, 0, 4, 1, 0, 0, {0}}};
	struct tapir_event made[2] = {{.about = &about[0]}, {.about = &about[1]}};
	struct tapir_event *const list[] = {&made[0], &made[1]};
	struct tapir_provider *p = NULL;
	char said[400] = "";

	(void)state;
	assert_int_equal(tapir_library__warnings(NULL, NULL), 0);
	assert_int_equal(tapir_provider__new("Q", NULL, list, 1, NULL, &p), -EINVAL);
	assert_int_equal(tapir_provider__new("P", NULL, list, 2, NULL, &p), -EINVAL);
	assert_null(p);
	assert_int_equal(new_as_before("Q", NULL, list, 1, NULL, &p), 0);
	assert_int_equal(tapir_library__warnings(keep_text, said), 1);
	assert_non_null(strstr(said, "event E is of P by its description and of Q"));
	tapir_provider__free(p);
	assert_int_equal(new_as_before("P", NULL, list, 2, NULL, &p), 0);
	assert_int_equal(tapir_library__warnings(keep_text, said), 1);
	assert_non_null(strstr(said, "events E and E of P have id 7 and version 0"));
	tapir_provider__free(p);
	about[1].version = 1; /* another version, another layout */
	assert_int_equal(tapir_provider__new("P", NULL, list, 2, NULL, &p), 0);
	assert_int_equal(tapir_library__warnings(NULL, NULL), 0);
	tapir_provider__free(p);
	about[0].id = about[1].id = about[1].version = 0; /* no id */
	assert_int_equal(tapir_provider__new("P", NULL, list, 2, NULL, &p), 0);
	tapir_provider__free(p);
	assert_int_equal(tapir_library__fini(), 0);
}

static void an_event_in_no_array_is_reported_while_nobody_has_it(void **state)
{
	struct tapir_provider *p, *other;
	char said[400] = "";

	(void)state;
	assert_int_equal(tapir_provider__new("Unit-Shop", NULL, events, 1, NULL, &p), 0);
	assert_int_equal(tapir_library__warnings(keep_text, said), 1);
	assert_string_equal(said, "event Closed of Unit-Shop is in no array of "
				  "tapir_provider__new: no session gets it");
	assert_int_equal(tapir_provider__new("Unit-Shop", NULL, events + 1, 1, NULL, &other), 0);
	assert_int_equal(tapir_library__warnings(NULL, NULL), 0);
	tapir_provider__free(other);
	tapir_provider__free(p);
	assert_int_equal(tapir_library__fini(), 0);
}

struct spans {
	uint32_t cnt;
	size_t bytes[2][5];
	uint8_t payload[64];
};

static void see_spans(const struct tapir_event_record *r, void *ctx)
{
	struct tapir_payload_part parts[5];
	struct spans *seen = ctx;
	uint32_t cnt =
		tapir_payload__locate(r->kind->about, r->payload, r->payload_bytes, parts, 5);

	assert_int_equal(cnt, 5);
	for (uint32_t i = 0; i < cnt; i++)
		seen->bytes[seen->cnt & 1][i] = parts[i].bytes;
	if (!seen->cnt++)
		memcpy(seen->payload, r->payload, r->payload_bytes);
}

static void texts_with_a_length_and_arrays_are_counted_in_the_payload(void **state)
{
	static struct tapir_event *const list[] = {&Packed};
	static const uint32_t items[] = {1, 2, 3};
	static const double weights[] = {0.5};
	static const uint8_t expected[] = {4, 0, 'A', 'n', 'n', 'a', 3, 0, 1,	 0,    0, 0,
					   2, 0, 0,   0,   3,	0,   0, 0, 2,	 0,    1, 2,
					   1, 0, 0,   0,   0,	0,   0, 0, 0xe0, 0x3f, 7};
	const struct tapir_selection all = {"Unit-Spans", NULL, NULL, 0, 0, {0}};
	const struct tapir_listener_opts polled = {
		.size = sizeof(polled), .flags = TAPIR_LISTENER_POLLED, .buffer_bytes = 256 * 1024};
	static char longer[70000];
	struct tapir_provider *p;
	struct tapir_listener *l;
	struct spans seen = {.cnt = 0};

	(void)state;
	assert_int_equal(tapir_provider__new("Unit-Spans", NULL, list, 1, NULL, &p), 0);
	assert_int_equal(tapir_listener__open(&all, 1, see_spans, &seen, &polled, &l), 0);
	TAPIR_FIRE(Packed, tapir_span("Annabel", 4), tapir_span(items, 3), tapir_span("\1\2", 2),
		   tapir_span(weights, 1), 7);
	TAPIR_FIRE(Packed, tapir_span(NULL, 0), tapir_span(NULL, 0), tapir_span(NULL, 0),
		   tapir_span(NULL, 0), 8);
	assert_int_equal(tapir_listener__poll(l), 2);
	assert_memory_equal(seen.payload, expected, sizeof(expected));
	assert_int_equal(seen.bytes[0][0], 4);
	assert_int_equal(seen.bytes[0][1], 12);
	assert_int_equal(seen.bytes[1][3], 0);
	assert_int_equal(seen.bytes[1][4], 1);
	/* The count is cut to 65,535: with the other fields the event is too large. */
	TAPIR_FIRE(Packed, tapir_span(longer, sizeof(longer)), tapir_span(NULL, 0),
		   tapir_span(NULL, 0), tapir_span(NULL, 0), 9);
	assert_int_equal(tapir_listener__poll(l), 0);
	assert_int_equal(tapir_listener__lost(l, NULL), 1);
	assert_int_equal(tapir_listener__close(l), 0);
	tapir_provider__free(p);
	assert_int_equal(tapir_library__fini(), 0);
}

/* Uses semaphores alone: test_listener has sessions. */
static void a_provider_is_on_by_level_and_keyword_of_its_events(void **state)
{
	struct tapir_provider *p = open_shop();

	(void)state;
	assert_false(tapir_provider__is_on(p, 0, 0));
	Sold.word.half.semaphore = 1; /* informational, bits 0 and 63 */
	assert_true(tapir_event__is_on(&Sold));
	assert_false(tapir_event__is_on(&Closed));
	assert_true(tapir_provider__is_on(p, TAPIR_LOGALWAYS, 0));
	assert_true(tapir_provider__is_on(p, TAPIR_INFORMATIONAL, 0));
	assert_true(tapir_provider__is_on(p, TAPIR_ERROR, 0x3));
	assert_false(tapir_provider__is_on(p, TAPIR_VERBOSE, 0));
	assert_false(tapir_provider__is_on(p, TAPIR_ERROR, 0x2));
	Sold.word.half.semaphore = 0;
	assert_false(tapir_provider__is_on(p, 0, 0));
	tapir_provider__free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_are_off_when_nobody_wants_them),
		cmocka_unit_test(an_event_in_two_providers_is_refused),
		cmocka_unit_test(malformed_events_are_refused),
		cmocka_unit_test(mistakes_are_refused_or_reported_to_older_programs),
		cmocka_unit_test(an_event_in_no_array_is_reported_while_nobody_has_it),
		cmocka_unit_test(texts_with_a_length_and_arrays_are_counted_in_the_payload),
		cmocka_unit_test(a_provider_is_on_by_level_and_keyword_of_its_events),
		cmocka_unit_test(a_child_has_a_thread_of_its_own_when_it_polls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
