// SPDX-License-Identifier: GPL-2.0-or-later
/* include/tapir/activity.h: ids that events carry, and what readers outside find (OTEP 4947, 4719).
 */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tapir/activity.h"
#include "tapir/listener.h"

static const struct tapir_event_about
	start_about = {"Unit-Activity", "Start", NULL, 0, 1, 0, 4, 0, 0, TAPIR_OPCODE_START, {0}},
	info_about = {"Unit-Activity", "Info", NULL, 0, 2, 0, 4, 0, 0, TAPIR_OPCODE_INFO, {0}};
static struct tapir_event start_event = {.about = &start_about},
			  info_event = {.about = &info_about};
static struct tapir_event *const events[] = {&start_event, &info_event};

/* The numbers of a path, as a reader of EventSource's ids shows them; "": no path. */
static void path_of(const uint8_t *id, char *out)
{
	uint32_t words[4];
	unsigned at = 0;

	*out = 0;
	memcpy(words, id, sizeof(words));
	if (((words[0] + words[1] + words[2] + 0x599d99adu) ^ (uint32_t)getpid()) != words[3])
		return;
	while (at < 24) {
		unsigned nibble = at % 2 ? id[at / 2] & 15 : id[at / 2] >> 4, number = nibble;

		at++;
		if (!nibble)
			return;
		if (nibble > 11) {
			at = (at + 1) & ~1u;
			number = 0;
			for (unsigned i = 0; i < nibble - 11; i++, at += 2)
				number |= (unsigned)id[at / 2] << 8 * i;
		}
		out += sprintf(out, "/%u", number);
	}
}

static void ids_are_nested_paths(void **state)
{
	struct tapir_activity root, child, leaf, many;
	char path[64], inner[64], expected[96];

	(void)state;
	assert_null(tapir_activity__current());
	tapir_activity__start(&root);
	path_of(root.id, path);
	assert_memory_equal(path, "/1/", 3);
	tapir_activity__start(&child);
	assert_ptr_equal(tapir_activity__current(), child.id);
	tapir_activity__start(&leaf);
	path_of(leaf.id, inner);
	snprintf(expected, sizeof(expected), "%s/1/1", path);
	assert_string_equal(inner, expected);
	tapir_activity__stop(&child); /* and the leaf, which did not end */
	assert_ptr_equal(tapir_activity__current(), root.id);
	for (unsigned i = 2; i <= 70000; i++) {
		tapir_activity__start(&many);
		if (i == 10 || i == 11 || i == 255 || i == 256 || i == 70000) {
			path_of(many.id, inner);
			snprintf(expected, sizeof(expected), "%s/%u", path, i);
			assert_string_equal(inner, expected);
		}
		tapir_activity__stop(&many);
	}
	tapir_activity__stop(&leaf); /* long over */
	tapir_activity__stop(&root);
	assert_null(tapir_activity__current());
}

static void a_path_too_long_is_another_id(void **state)
{
	struct tapir_activity deep[40];
	char path[64];

	(void)state;
	for (unsigned i = 0; i < 40; i++)
		tapir_activity__start(&deep[i]);
	path_of(deep[39].id, path);
	assert_string_equal(path, "");
	assert_memory_not_equal(deep[39].id, deep[38].id, 16);
	tapir_activity__stop(&deep[0]);
	assert_null(tapir_activity__current());
}

struct seen {
	unsigned cnt;
	uint8_t activity[8][16], related[8][16];
	int has[8]; /* 1 activity, 2 related */
};

static void see(const struct tapir_event_record *r, void *ctx)
{
	struct seen *s = ctx;

	s->has[s->cnt] = (r->activity ? 1 : 0) | (r->related ? 2 : 0);
	if (r->activity)
		memcpy(s->activity[s->cnt], r->activity, 16);
	if (r->related)
		memcpy(s->related[s->cnt], r->related, 16);
	s->cnt++;
}

static void events_carry_the_ids_of_their_thread(void **state)
{
	const struct tapir_selection all = {"Unit-Activity", NULL, NULL, 0, 0, {0}};
	const struct tapir_listener_opts opts = {.size = sizeof(opts),
						 .flags = TAPIR_LISTENER_POLLED};
	const uint8_t foreign[16] = {1, 2, 3};
	struct tapir_activity outer, inner, entered;
	struct tapir_event_write write;
	struct tapir_provider *p;
	struct tapir_listener *l;
	struct seen seen = {0};

	(void)state;
	assert_int_equal(tapir_provider__new("Unit-Activity", NULL, events, 2, NULL, &p), 0);
	assert_int_equal(tapir_listener__open(&all, 1, see, &seen, &opts, &l), 0);
	tapir_event__write(&info_event, NULL, 0);
	tapir_activity__start(&outer);
	tapir_event__write(&start_event, NULL, 0);
	tapir_activity__start(&inner);
	tapir_event__write(&start_event, NULL, 0);
	tapir_event__write(&info_event, NULL, 0);
	tapir_activity__enter(&entered, foreign);
	tapir_event__write(&info_event, NULL, 0);
	tapir_activity__stop(&outer);
	assert_true(tapir_event__begin_with_ids(&write, &info_event, 0, foreign, outer.id));
	tapir_event__commit(&write);
	assert_int_equal(tapir_listener__poll(l), 6);
	assert_int_equal(seen.has[0], 0);
	assert_int_equal(seen.has[1], 1); /* nothing around it */
	assert_memory_equal(seen.activity[1], outer.id, 16);
	assert_int_equal(seen.has[2], 3);
	assert_memory_equal(seen.activity[2], inner.id, 16);
	assert_memory_equal(seen.related[2], outer.id, 16);
	assert_int_equal(seen.has[3], 1);
	assert_memory_equal(seen.activity[4], foreign, 16);
	assert_int_equal(seen.has[5], 3);
	assert_memory_equal(seen.related[5], outer.id, 16);
	assert_int_equal(tapir_listener__close(l), 0);
	tapir_provider__free(p);
}

/* ---- OTEP 4947, as a reader sees it ----------------------------------------------------------- */

extern __thread const uint8_t *otel_thread_ctx_v1;

static void *look_in_another_thread(void *unused)
{
	(void)unused;
	return (void *)(uintptr_t)otel_thread_ctx_v1; // NOLINT
}

static void a_thread_publishes_its_span(void **state)
{
	uint8_t trace[16], span[8];
	char text[200];
	pthread_t thread;
	uint16_t bytes;
	void *seen;

	(void)state;
	memset(trace, 0xab, sizeof(trace));
	memset(span, 0xcd, sizeof(span));
	tapir_trace__set(trace, span, 3);
	assert_non_null(otel_thread_ctx_v1);
	assert_int_equal((uintptr_t)otel_thread_ctx_v1 % 2, 0);
	assert_memory_equal(otel_thread_ctx_v1, trace, 16);
	assert_memory_equal(otel_thread_ctx_v1 + 16, span, 8);
	assert_int_equal(otel_thread_ctx_v1[24], 1);
	assert_int_equal(otel_thread_ctx_v1[25], 3);
	assert_int_equal(tapir_trace__set_attribute(2, "GET"), 0);
	memcpy(&bytes, otel_thread_ctx_v1 + 26, 2);
	assert_int_equal(bytes, 5);
	assert_memory_equal(otel_thread_ctx_v1 + 28, "\x02\x03GET", 5);
	memset(text, 'x', sizeof(text));
	text[99] = 0;
	assert_int_equal(tapir_trace__set_attribute(1, text), -ENOSPC);
	assert_int_equal(tapir_trace__set_attribute(1, NULL), -EINVAL);
	assert_int_equal(otel_thread_ctx_v1[24], 1);
	pthread_create(&thread, NULL, look_in_another_thread, NULL);
	pthread_join(thread, &seen);
	assert_null(seen);
	tapir_trace__set(NULL, NULL, 0);
	assert_int_equal(otel_thread_ctx_v1[24], 0);
}

/* ---- OTEP 4719, likewise ---------------------------------------------------------------------- */

/* By its name in /proc/self/maps; 0: none. */
static uintptr_t find_context(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long start = 0;
	char line[512];

	while (maps && !start && fgets(line, sizeof(line), maps))
		if (strstr(line, "/memfd:OTEL_CTX") || strstr(line, ":OTEL_CTX]"))
			start = strtoul(line, NULL, 16);
	if (maps)
		fclose(maps);
	return start;
}

static void check_context(const char *payload, size_t len)
{
	const uint8_t *header = (const uint8_t *)find_context(); // NOLINT
	uint64_t words[2];
	uint32_t halves[2];

	assert_non_null(header);
	assert_memory_equal(header, "OTEL_CTX", 8);
	memcpy(halves, header + 8, 8);
	memcpy(words, header + 16, 16);
	assert_int_equal(halves[0], 2);
	assert_int_not_equal(words[0], 0);
	assert_int_equal(halves[1], len);
	assert_memory_equal((const void *)(uintptr_t)words[1], payload, len); // NOLINT
}

#define SCHEMA                                                                                     \
	"\x12\x2e\x0a\x1a"                                                                         \
	"threadlocal.schema_version\x12\x10\x0a\x0e"                                               \
	"tlsdesc_v1_dev"

static void a_process_publishes_its_context(void **state)
{
	static const char first[] = "\x0a\x19\x0a\x17\x0a\x0c"
				    "service.name\x12\x07\x0a\x05"
				    "shop1" SCHEMA "\x12\x2c\x0a\x1d"
				    "threadlocal.attribute_key_map\x12\x0b\x2a\x09\x0a\x07\x0a\x05"
				    "route",
			  second[] = "\x0a\x00" SCHEMA "\x12\x23\x0a\x1d"
				     "threadlocal.attribute_key_map\x12\x02\x2a";
	const struct tapir_attribute name = {"service.name", "shop1"}, bad = {"x", NULL};
	const char *const key = "route";
	int status;
	pid_t pid;

	(void)state;
#ifdef TAPIR_UNDER_QEMU
	skip(); /* its madvise() does nothing: a child has the mapping */
#endif
	assert_int_equal(find_context(), 0);
	assert_int_equal(tapir_process_context__publish(&bad, 1, NULL, 0), -EINVAL);
	assert_int_equal(tapir_process_context__publish(NULL, 1, NULL, 0), -EINVAL);
	assert_int_equal(tapir_process_context__publish(&name, 1, &key, 1), 0);
	check_context(first, sizeof(first) - 1);
	pid = fork();
	if (!pid) {
		int ok = !find_context() && !tapir_process_context__publish(&name, 1, &key, 1);

		_exit(!(ok && find_context()));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(tapir_process_context__publish(NULL, 0, NULL, 0), 0);
	check_context(second, sizeof(second)); /* its NUL is the last length */
	tapir_process_context__withdraw();
	assert_int_equal(find_context(), 0);
	tapir_process_context__withdraw();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_are_nested_paths),
		cmocka_unit_test(a_path_too_long_is_another_id),
		cmocka_unit_test(events_carry_the_ids_of_their_thread),
		cmocka_unit_test(a_thread_publishes_its_span),
		cmocka_unit_test(a_process_publishes_its_context),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
