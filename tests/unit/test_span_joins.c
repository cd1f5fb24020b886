// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One tree of two processes, of a trace whose ids are in events and on threads.
 *
 * runtimes: dotnet
 */
#include "view_fixture.h"

#include "analyze/spans/span_joins.h"
#include "analyze/spans/span_path.h"

#define DS    "Microsoft-Diagnostics-DiagnosticSource"
#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"

enum { ASKED = 1, ANSWERED, CALLS, CALLED, SERVE, SERVED, QUERY, QUERIED };
enum { SHOP = 100, TAX = 77 };

static const struct tapir_trace_ids of_tax = {.trace_id = {0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d,
							   0xa6, 0xa3, 0xce, 0x92, 0x9d, 0x0e, 0x0e,
							   0x47, 0x36},
					      .span_id = {0, 0, 0, 0, 0, 0, 0xcc, 0x01}};

static void texts_probe(uint32_t id, const char *event, const char *path)
{
	const char *const names[] = {"TraceId", "SpanId", "ParentSpanId", path};
	struct tapir_rec_probe probe = {.probe_id = id};
	struct tapir_field fields[4];
	struct tapir_sv texts[4];

	for (unsigned i = 0; i < 4; i++) {
		fields[i] = (struct tapir_field){.type = TAPIR_FIELD_STR};
		texts[i] = feeder_sv(names[i]);
	}
	feeder_add(&f, tapir_recbuf__probe(&f.buf, &probe, feeder_sv(DS), feeder_sv(event),
					   feeder_sv("/bin/x"), feeder_sv(""), fields, texts, 4));
}

static void fire_span(uint32_t probe, uint64_t ms, const char *span, const char *parent,
		      const char *path)
{
	const char *const values[] = {TRACE, span, parent, path};
	struct tapir_rec_event fixed = {
		.h = {.time_ns = ms * MS}, .probe_id = probe, .tgid = SHOP, .tid = 1};
	struct tapir_str payload = {};
	struct tapir_event_view event = {.rec = &fixed};

	for (unsigned i = 0; i < 4; i++) {
		struct tapir_slot_bytes slot = {.len_bytes = (uint32_t)strlen(values[i])};

		tapir_str__add(&payload, (const char *)&slot, sizeof(slot));
	}
	for (unsigned i = 0; i < 4; i++)
		tapir_str__adds(&payload, values[i]);
	event.payload = (const uint8_t *)payload.data;
	event.payload_bytes = payload.len;
	feeder_add(&f, tapir_recbuf__event(&f.buf, &event));
	tapir_str__fini(&payload);
}

/* An event of a thread that publishes its span, or of one that does not. */
static void fire_in(uint32_t probe, uint64_t ms, uint32_t tid, const struct tapir_trace_ids *ids)
{
	struct tapir_rec_event fixed = {.h = {.time_ns = ms * MS},
					.probe_id = probe,
					.tgid = TAX,
					.tid = tid,
					.flags = ids ? TAPIR_EVENT_TRACE_IDS : 0};
	struct tapir_event_view event = {.rec = &fixed, .trace = ids};

	feeder_add(&f, tapir_recbuf__event(&f.buf, &event));
}

static void describe(void)
{
	texts_probe(ASKED, "Activity1Start", "Path");
	texts_probe(ANSWERED, "Activity1Stop", "Path");
	texts_probe(CALLS, "Activity2Start", "Url");
	texts_probe(CALLED, "Activity2Stop", "Url");
	feeder_probe(&f, SERVE, "tax", "serve__start", NULL, NULL);
	feeder_probe(&f, SERVED, "tax", "serve__done", NULL, NULL);
	feeder_probe(&f, QUERY, "tax", "query__start", NULL, NULL);
	feeder_probe(&f, QUERIED, "tax", "query__done", NULL, NULL);
	ask("requests", 0);
}

static void shop_asks_tax(const struct tapir_trace_ids *ids)
{
	fire_span(ASKED, 10, "000000000000aa01", "0000000000000000", "GET /checkout/5");
	fire_span(CALLS, 15, "000000000000bb01", "000000000000aa01", "GET http://tax/7");
	fire_in(SERVE, 20, 9, ids);
	fire_in(QUERY, 22, 9, ids);
	fire_in(QUERIED, 800, 9, ids);
	fire_in(SERVED, 805, 9, ids);
	fire_span(CALLED, 810, "000000000000bb01", "000000000000aa01", "");
	fire_span(ANSWERED, 822, "000000000000aa01", "0000000000000000", "");
}

static void request_is_one_tree_through_both_processes(void **state)
{
	const struct tapir_view_result_table *parts, *slowest;
	uint64_t sum_ns = 0, of_tax_ns = 0;

	(void)state;
	describe();
	shop_asks_tax(&of_tax);
	assert_int_equal(answer(), 0);
	slowest = table("slowest", 0);
	assert_int_equal(tapir_view_result_table__rows(slowest), 1);
	assert_int_equal(cell(slowest, 0, "ns")->u64, 812 * MS);
	assert_string_equal(cell(table("path", 0), 0, "path")->text,
			    "GET /checkout/{n} 812.00 ms > serve 785.00 ms (pid 77) > "
			    "query 778.00 ms");
	parts = table("parts", 1); /* the first one is of the route */
	for (size_t row = 0; row < tapir_view_result_table__rows(parts); row++) {
		uint64_t ns = cell(parts, row, "ns")->u64;

		if (strcmp(cell(parts, row, "kind")->text, "own") != 0)
			continue;
		sum_ns += ns;
		of_tax_ns += cell(parts, row, "pid")->u64 == TAX ? ns : 0;
	}
	assert_int_equal(sum_ns, 812 * MS);
	assert_int_equal(of_tax_ns, 785 * MS);
}

/* For whom it worked is not known: nothing of it is told. */
static void thread_without_ids_is_in_no_tree(void **state)
{
	(void)state;
	describe();
	shop_asks_tax(NULL);
	assert_int_equal(answer(), 0);
	assert_string_equal(cell(table("path", 0), 0, "path")->text,
			    "GET /checkout/{n} 812.00 ms > GET http://tax/{n} 795.00 ms");
}

static void other_trace_is_in_no_tree(void **state)
{
	struct tapir_trace_ids other = of_tax;

	(void)state;
	other.trace_id[0] ^= 1;
	describe();
	shop_asks_tax(&other);
	assert_int_equal(answer(), 0);
	assert_int_equal(tapir_view_result_table__rows(table("slowest", 0)), 2);
	assert_string_equal(cell(table("path", 0), 0, "path")->text,
			    "GET /checkout/{n} 812.00 ms > GET http://tax/{n} 795.00 ms");
	assert_string_equal(cell(table("slowest", 0), 1, "trace_id")->text,
			    "4af92f3577b34da6a3ce929d0e0e4736");
}

/* Without anything below it, all that is known of such a span is that it was there. */
static void span_that_was_seen_alone_is_no_request(void **state)
{
	(void)state;
	describe();
	fire_in(SERVED, 20, 9, &of_tax);
	fire_in(SERVED, 30, 8, &of_tax);
	assert_int_equal(answer(), 0);
	assert_true(result.has_nothing);
}

static uint32_t add(struct tapir_span_store *s, struct tapir_span like, uint64_t until_ns)
{
	uint32_t span;

	snprintf(like.trace, sizeof(like.trace), "%s", TRACE);
	span = tapir_span_store__begin(s, &like);
	s->all.data[span].until_ns = until_ns;
	return span;
}

/* One names the other as its parent, in which that one would lie: neither is lost. */
static void spans_within_each_other_are_shown(void **state)
{
	struct tapir_span_store s = {};
	uint32_t seen, named;

	(void)state;
	seen = add(&s, (struct tapir_span){.id = 1, .from_ns = 10, .is_seen = true}, 90);
	named = add(&s, (struct tapir_span){.id = 2, .parent_id = 1, .from_ns = 10}, 100);
	tapir_span_store__link(&s);
	assert_false(s.all.data[seen].has_parent);
	assert_true(s.all.data[named].has_parent);
	tapir_span_store__fini(&s);
}

static void path_ends_where_no_child_has_most_of_the_time(void **state)
{
	struct tapir_span_store s = {};
	struct tapir_str path = {};
	uint32_t root;

	(void)state;
	root = add(&s, (struct tapir_span){.id = 1, .tgid = 7, .label = strdup("GET /a")},
		   100 * MS);
	for (uint64_t i = 0; i < 3; i++)
		add(&s, (struct tapir_span){.id = 2 + i, .parent_id = 1, .from_ns = i * 30 * MS},
		    (i + 1) * 30 * MS);
	tapir_span_store__link(&s);
	assert_false(tapir_span_path__add(&s, root, &path));
	assert_int_equal(path.len, 0);
	tapir_span_store__fini(&s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(request_is_one_tree_through_both_processes),
		TEST(thread_without_ids_is_in_no_tree),
		TEST(other_trace_is_in_no_tree),
		TEST(span_that_was_seen_alone_is_no_request),
		cmocka_unit_test(spans_within_each_other_are_shown),
		cmocka_unit_test(path_ends_where_no_child_has_most_of_the_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
