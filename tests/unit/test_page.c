// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The data of a page: its rows are those of the recording, also when there are too many, and no
 * name of a traced program leaves its string.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "output/page/page.h"
#include "output/page/page_data.h"
#include "output/page/page_nodes.h"
#include "output/page/page_rows.h"
#include "trace/recbuf.h"
#include "trace/writer.h"

#define SV(text)   ((struct tapir_sv){"" text, sizeof("" text) - 1})
#define HOSTILE	   "</script><script>alert(1)</script><!--"
#define EVENT_CNT  300
#define SAMPLE_CNT 200
#define THREAD_CNT 5
#define KSTACK_ID  77
#define STARTED_NS 1000000ull

static char path[] = "/tmp/tapir-page-XXXXXX";

/* ---- the recording -------------------------------------------------------------------------- */

static void put_descriptions(struct tapir_writer *w, struct tapir_recbuf *b)
{
	const struct tapir_rec_probe probe = {.h.time_ns = 1, .probe_id = 1};
	const struct tapir_rec_stack stack = {
		.h.time_ns = 1, .stack_id = KSTACK_ID, .flags = TAPIR_STACK_KERNEL};
	const struct tapir_field field = {.type = TAPIR_FIELD_STR};
	const struct tapir_sv name = SV(HOSTILE);
	const uint64_t frames_va[] = {0xffffffff81000010, 0xffffffff81000020};

	assert_int_equal(
		tapir_writer__put(w, tapir_recbuf__probe(b, &probe, SV("shop"), SV(HOSTILE),
							 SV("/bin/x"), SV("\1"), &field, &name, 1)),
		0);
	assert_int_equal(tapir_writer__put(w, tapir_recbuf__stack(b, &stack, frames_va, 2)), 0);
}

static void put_event(struct tapir_writer *w, struct tapir_recbuf *b, uint64_t n)
{
	static const char text[] = HOSTILE;
	const struct tapir_rec_event fixed = {.h.time_ns = STARTED_NS + n * 1000,
					      .flags = TAPIR_EVENT_KSTACK,
					      .probe_id = 1,
					      .tgid = 100,
					      .tid = (uint32_t)(100 + n % THREAD_CNT)};
	const struct tapir_event_view view = {.rec = &fixed,
					      .kstack_id = KSTACK_ID,
					      .payload = (const uint8_t *)text,
					      .payload_bytes = sizeof(text)};

	assert_int_equal(tapir_writer__put(w, tapir_recbuf__event(b, &view)), 0);
}

static void put_sample(struct tapir_writer *w, uint64_t n)
{
	struct tapir_rec_sample sample = {.tgid = 100,
					  .tid = (uint32_t)(100 + n % THREAD_CNT),
					  .period = 1000000,
					  .kstack_id = n ? KSTACK_ID : 0};

	tapir_rec__init(&sample.h, TAPIR_REC_SAMPLE, sizeof(sample), STARTED_NS + n * 1500);
	assert_int_equal(tapir_writer__put(w, &sample.h), 0);
}

static int make_recording(void **state)
{
	struct tapir_writer_opts opts = {.sz = sizeof(opts), .path = path, .force = true};
	struct tapir_recbuf b = {};
	struct tapir_writer *w;
	int fd = mkstemp(path);

	(void)state;
	if (fd < 0 || close(fd) || tapir_writer__open(&opts, &w))
		return 1;
	put_descriptions(w, &b);
	for (uint64_t n = 0; n < EVENT_CNT; n++)
		put_event(w, &b, n);
	for (uint64_t n = 0; n < SAMPLE_CNT; n++)
		put_sample(w, n);
	if (tapir_writer__close(w))
		return 1;
	tapir_writer__free(w);
	tapir_recbuf__fini(&b);
	return 0;
}

static int remove_recording(void **state)
{
	(void)state;
	return unlink(path);
}

/* ---- what a page has ------------------------------------------------------------------------ */

static void read_data(struct tapir_str *out)
{
	const struct tapir_page_opts opts = {.path = HOSTILE};
	struct tapir_reader *reader;

	assert_int_equal(tapir_reader__open(path, &reader), 0);
	assert_int_equal(tapir_page_data__write(reader, &opts, out), 0);
	tapir_reader__close(reader);
}

/* The sum of a narrow column, as a page's script reads it. */
static uint64_t sum_of(const json_t *rows, const char *column)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const json_t *numbers = json_object_get(rows, column);
	const char *text = json_string_value(numbers);
	uint64_t sum = 0, value = 0, bits = 0;
	int64_t left = json_integer_value(json_object_get(rows, "cnt"));
	unsigned bit_cnt = 0, shift = 0;

	if (json_is_integer(numbers))
		return (uint64_t)(json_integer_value(numbers) * left);
	assert_non_null(text);
	for (; *text && left; text++) {
		bits = bits << 6 | (uint64_t)(strchr(digits, *text) - digits);
		bit_cnt += 6;
		if (bit_cnt < 8)
			continue;
		bit_cnt -= 8;
		value |= (bits >> bit_cnt & 127) << shift;
		shift += 7;
		if (bits >> bit_cnt & 128)
			continue;
		sum += value;
		value = shift = 0;
		left--;
	}
	assert_int_equal(left, 0);
	return sum;
}

static void test_rows_are_those_of_the_recording(void **state)
{
	struct tapir_str data = {};
	json_t *root;

	(void)state;
	read_data(&data);
	root = json_loadb(data.data, data.len, 0, NULL);
	assert_non_null(root);
	assert_int_equal(sum_of(json_object_get(root, "events"), "weight"), EVENT_CNT);
	assert_int_equal(sum_of(json_object_get(root, "samples"), "weight"), SAMPLE_CNT);
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(root, "threads"), "cnt")),
		1 + THREAD_CNT);
	assert_int_equal(json_array_size(json_object_get(root, "left_out")), 0);
	assert_true(sum_of(json_object_get(root, "samples"), "node") >= SAMPLE_CNT - 1);
	json_decref(root);
	tapir_str__fini(&data);
}

static void test_hostile_names_stay_in_their_strings(void **state)
{
	struct tapir_page_documents documents = {};
	struct tapir_str page = {};
	size_t script_cnt = 0, document_cnt = 0;

	(void)state;
	read_data(&documents.data);
	documents.other = documents.changes = documents.data;
	assert_non_null(memchr(documents.data.data, '<', documents.data.len));
	tapir_page__write(HOSTILE, &documents, &page);
	assert_false(page.failed);
	for (const char *at = page.data; (at = strstr(at, "<script>alert")); at++)
		script_cnt++;
	assert_int_equal(script_cnt, 0);
	for (const char *at = page.data; (at = strstr(at, "json\" id=\"")); document_cnt++) {
		at = strchr(at, '>') + 1;
		at += strcspn(at, "<");
		assert_memory_equal(at, "</script>", strlen("</script>"));
	}
	assert_int_equal(document_cnt, 3);
	assert_null(strstr(page.data, "<!--"));
	assert_non_null(strstr(page.data, "Content-Security-Policy"));
	tapir_str__fini(&page);
	tapir_str__fini(&documents.data);
}

/* ---- bounds ------------------------------------------------------------------------------------- */

static void test_marks_keep_their_sum_when_there_are_too_many(void **state)
{
	struct tapir_page_marks marks = {.max_rows = 64};
	struct tapir_page_mark *m;
	uint64_t sum = 0;

	(void)state;
	for (uint32_t n = 0; n < 10000; n++)
		tapir_page_marks__add(&marks, &(struct tapir_page_mark){.time_ns = n * 100000ull,
									.thread = n % 1000,
									.node = n % 77,
									.kind = n % 3,
									.weight = 1});
	tapir_vec_for_each (m, &marks.rows)
		sum += m->weight;
	assert_int_equal(sum, 10000);
	assert_true(marks.rows.cnt <= 64);
	assert_true(marks.cell_ns);
	assert_false(marks.failed);
	tapir_vec__fini(&marks.rows);
}

static void test_longest_slices_stay_when_there_are_too_many(void **state)
{
	struct tapir_page_slices slices = {.max_rows = 64};
	struct tapir_page_slice *s;
	uint64_t sum = 0, longest = 0;

	(void)state;
	for (uint64_t n = 0; n < 1000; n++)
		tapir_page_slices__add(
			&slices, &(struct tapir_page_slice){.from_ns = n, .took_ns = n * 7 % 1000});
	tapir_page_slices__sort(&slices);
	tapir_vec_for_each (s, &slices.rows) {
		assert_true(s->took_ns >= slices.least_ns);
		assert_true(s == slices.rows.data || s->from_ns >= s[-1].from_ns);
		sum += s->took_ns;
		longest = s->took_ns > longest ? s->took_ns : longest;
	}
	assert_int_equal(slices.rows.cnt + slices.left_cnt, 1000);
	assert_int_equal(sum + slices.left_ns, 999 * 1000 / 2);
	assert_int_equal(longest, 999);
	tapir_vec__fini(&slices.rows);
}

static void test_texts_beyond_the_bound_are_counted(void **state)
{
	struct tapir_page_texts texts = {.arena.max_bytes = 10000};
	char text[300];

	(void)state;
	memset(text, 'x', sizeof(text));
	assert_int_equal(tapir_page_texts__number(&texts, "", 0), 0);
	assert_int_equal(tapir_page_texts__number(&texts, "one", 3), 1);
	for (size_t len = 100; len < sizeof(text); len++)
		(void)tapir_page_texts__number(&texts, text, len);
	assert_int_equal(tapir_page_texts__number(&texts, "one", 3), 1);
	assert_true(texts.left_cnt > 0);
	assert_int_equal(texts.all.cnt + texts.left_cnt, 201);
	assert_false(texts.failed);
	tapir_page_texts__fini(&texts);
}

/* A caller that calls the functions 2 and 3; 3 is rare. */
static void test_rare_functions_count_with_their_callers(void **state)
{
	struct tapir_stack_tree tree = {};
	struct tapir_page_marks marks = {.max_rows = 64};
	struct tapir_page_slices slices = {.max_rows = 64};
	struct tapir_page_nodes nodes = {};

	(void)state;
	for (uint32_t n = 0; n < 4; n++)
		assert_true(
			tapir_vec__push(&tree.nodes, ((struct tapir_tree_node){.parent = n > 1})));
	for (uint32_t n = 0; n < 9; n++)
		tapir_page_marks__add(&marks,
				      &(struct tapir_page_mark){.node = n ? 2 : 3, .weight = 1});
	assert_int_equal(tapir_page_nodes__choose(&nodes, &tree, 2,
						  (struct tapir_page_marks *[]){&marks, NULL},
						  (struct tapir_page_slices *[]){&slices, NULL}),
			 0);
	assert_int_equal(nodes.kept.cnt, 3);
	assert_int_equal(nodes.left_cnt, 1);
	assert_int_equal(marks.rows.data[0].node, 1);
	assert_int_equal(marks.rows.data[1].node, 2);
	tapir_page_nodes__fini(&nodes);
	tapir_vec__fini(&marks.rows);
	tapir_vec__fini(&tree.nodes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_are_those_of_the_recording),
		cmocka_unit_test(test_hostile_names_stay_in_their_strings),
		cmocka_unit_test(test_marks_keep_their_sum_when_there_are_too_many),
		cmocka_unit_test(test_longest_slices_stay_when_there_are_too_many),
		cmocka_unit_test(test_texts_beyond_the_bound_are_counted),
		cmocka_unit_test(test_rare_functions_count_with_their_callers),
	};

	return cmocka_run_group_tests_name("page", tests, make_recording, remove_recording);
}
