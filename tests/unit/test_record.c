// SPDX-License-Identifier: GPL-2.0-or-later
/* Records: every type is built, checked, cut at every length, and read back by its view. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "trace/recbuf.h"

#define SV(text) ((struct tapir_sv){"" text, sizeof("" text) - 1})

static void assert_sv(struct tapir_sv sv, const char *want)
{
	assert_int_equal(sv.len, strlen(want));
	assert_memory_equal(sv.data, want, sv.len);
}

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct tapir_recbuf));
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	tapir_recbuf__fini(*state);
	free(*state);
	return 0;
}

/* A record is accepted whole and refused when one byte less of it can be read or is claimed. */
static void assert_sound(const struct tapir_rec *rec)
{
	struct tapir_rec *copy = malloc(rec->size);

	assert_non_null(copy);
	memcpy(copy, rec, rec->size);
	assert_int_equal(copy->size % 8, 0);
	assert_true(tapir_record__ok(copy, copy->size));
	for (size_t avail = 0; avail < rec->size; avail++)
		assert_false(tapir_record__ok(copy, avail));
	for (uint32_t size = 0; size < rec->size; size++) {
		copy->size = size;
		assert_false(tapir_record__ok(copy, rec->size));
	}
	free(copy);
}

static void probe_is_read_back_when_built(void **state)
{
	struct tapir_rec_probe fixed = {.h = {.time_ns = 7}, .probe_id = 3, .version = 2};
	struct tapir_field fields[] = {{.type = TAPIR_FIELD_INT, .size = 4},
				       {.type = TAPIR_FIELD_STR}};
	struct tapir_sv names[] = {SV("count"), SV("")};
	struct tapir_probe_view v;
	const struct tapir_rec *rec =
		tapir_recbuf__probe(*state, &fixed, SV("hotspot"), SV("gc__begin"), SV("/lib/jvm"),
				    SV("\1\2\0\3"), fields, names, 2);

	assert_non_null(rec);
	assert_sound(rec);
	tapir_probe_view__of(rec, &v);
	assert_int_equal(v.rec->probe_id, 3);
	assert_int_equal(v.rec->h.time_ns, 7);
	assert_int_equal(v.fields[0].type, TAPIR_FIELD_INT);
	assert_sv(v.provider, "hotspot");
	assert_sv(v.event, "gc__begin");
	assert_sv(v.file, "/lib/jvm");
	assert_int_equal(v.build_id.len, 4);
	assert_memory_equal(v.build_id.data, "\1\2\0\3", 4);
	assert_sv(tapir_probe_view__name(&v, 0), "count");
	assert_sv(tapir_probe_view__name(&v, 1), "");
	assert_sv(tapir_probe_view__name(&v, 2), "");
}

static void probe_is_refused_when_a_field_name_reaches_out(void **state)
{
	struct tapir_rec_probe fixed = {.probe_id = 1};
	struct tapir_field field = {.type = TAPIR_FIELD_INT};
	struct tapir_sv name = SV("n");
	struct tapir_rec *rec = (struct tapir_rec *)tapir_recbuf__probe(
		*state, &fixed, SV("p"), SV("e"), SV("f"), SV(""), &field, &name, 1);
	struct tapir_field *built = (struct tapir_field *)((struct tapir_rec_probe *)rec + 1);

	built->name_len = 0xffff;
	assert_false(tapir_record__ok(rec, rec->size));
	built->name_len = 1;
	assert_true(tapir_record__ok(rec, rec->size));
	((struct tapir_rec_probe *)rec)->field_cnt = 0xffff;
	assert_false(tapir_record__ok(rec, rec->size));
}

static void process_is_read_back_when_built(void **state)
{
	struct tapir_rec_process fixed = {.tgid = 10, .kind = TAPIR_PROCESS_EXEC};
	struct tapir_process_view v;
	const struct tapir_rec *rec = tapir_recbuf__process(*state, &fixed, SV("sh"), SV("/bin/sh"),
							    SV("sh\0-c\0true"), SV("/user"));

	assert_sound(rec);
	tapir_process_view__of(rec, &v);
	assert_sv(v.comm, "sh");
	assert_sv(v.exe, "/bin/sh");
	assert_int_equal(v.cmdline.len, 10);
	assert_memory_equal(v.cmdline.data, "sh\0-c\0true", 10);
	assert_sv(v.cgroup, "/user");
}

static void mapping_is_read_back_when_built(void **state)
{
	struct tapir_rec_mapping fixed = {.start_va = 1, .end_va = 2, .build_id_bytes = 20};
	struct tapir_mapping_view v;
	struct tapir_rec *rec = (struct tapir_rec *)tapir_recbuf__mapping(*state, &fixed, SV("/x"));

	assert_sound(rec);
	tapir_mapping_view__of(rec, &v);
	assert_sv(v.path, "/x");
	assert_int_equal(v.build_id.len, 20);
	((struct tapir_rec_mapping *)rec)->build_id_bytes = 21;
	assert_false(tapir_record__ok(rec, rec->size));
	((struct tapir_rec_mapping *)rec)->build_id_bytes = 20;
	((struct tapir_rec_mapping *)rec)->end_va = 1;
	assert_false(tapir_record__ok(rec, rec->size));
}

static void names_are_read_back_when_built(void **state)
{
	struct tapir_rec_symbol sym = {.file_id = 1};
	struct tapir_rec_jit jit = {.tgid = 1};
	struct tapir_rec_gap gap = {.tgid = 1};
	struct tapir_symbol_view sv;
	struct tapir_jit_view jv;
	struct tapir_gap_view gv;
	struct tapir_meta_view mv;
	const struct tapir_rec *rec = tapir_recbuf__symbol(*state, &sym, SV("main"));

	assert_sound(rec);
	tapir_symbol_view__of(rec, &sv);
	assert_sv(sv.name, "main");
	rec = tapir_recbuf__jit(*state, &jit, SV("Foo.bar()"));
	assert_sound(rec);
	tapir_jit_view__of(rec, &jv);
	assert_sv(jv.name, "Foo.bar()");
	rec = tapir_recbuf__gap(*state, &gap, SV("/lib/late.so"));
	assert_sound(rec);
	tapir_gap_view__of(rec, &gv);
	assert_sv(gv.path, "/lib/late.so");
	rec = tapir_recbuf__meta(*state, 5, SV("host"), SV("box"));
	assert_sound(rec);
	tapir_meta_view__of(rec, &mv);
	assert_sv(mv.key, "host");
	assert_sv(mv.value, "box");
}

static void counter_and_metadata_are_read_back_when_built(void **state)
{
	struct tapir_rec_counter counter = {.value = 1.5};
	struct tapir_rec_metadata metadata = {.format = 1};
	struct tapir_counter_view cv;
	struct tapir_metadata_view mv;
	const struct tapir_rec *rec =
		tapir_recbuf__counter(*state, &counter, SV("p"), SV("cpu"), SV("%"), SV("a=b"));

	assert_sound(rec);
	tapir_counter_view__of(rec, &cv);
	assert_true(cv.rec->value == 1.5);
	assert_sv(cv.name, "cpu");
	assert_sv(cv.unit, "%");
	assert_sv(cv.tags, "a=b");
	rec = tapir_recbuf__metadata(*state, &metadata, SV("blobby"));
	assert_sound(rec);
	tapir_metadata_view__of(rec, &mv);
	assert_sv(mv.blob, "blobby");
}

static void event_optional_parts_are_found_when_flagged(void **state)
{
	struct tapir_rec_event fixed = {.flags = TAPIR_EVENT_KSTACK | TAPIR_EVENT_RELATED};
	struct tapir_event_view in = {.rec = &fixed,
				      .kstack_id = 77,
				      .related_id = (const uint8_t *)"0123456789abcdef",
				      .payload = (const uint8_t *)"payload",
				      .payload_bytes = 7};
	struct tapir_event_view v;
	const struct tapir_rec *rec = tapir_recbuf__event(*state, &in);

	assert_sound(rec);
	tapir_event_view__of(rec, &v);
	assert_int_equal(v.kstack_id, 77);
	assert_null(v.activity_id);
	assert_memory_equal(v.related_id, "0123456789abcdef", 16);
	assert_memory_equal(v.payload, "payload", 7);
}

/* The ids are at the record's end whatever the payload's length is. */
static void event_trace_ids_are_found_when_flagged(void **state)
{
	static const struct tapir_trace_ids ids = {"trace-id-16bytes", "span-id8"};
	struct tapir_rec_event fixed = {.flags = TAPIR_EVENT_KSTACK | TAPIR_EVENT_TRACE_IDS};

	for (size_t bytes = 0; bytes < 17; bytes++) {
		struct tapir_event_view v, in = {.rec = &fixed,
						 .kstack_id = 77,
						 .payload = (const uint8_t *)"0123456789abcdefg",
						 .payload_bytes = bytes,
						 .trace = &ids};
		struct tapir_rec *rec = (struct tapir_rec *)tapir_recbuf__event(*state, &in);

		assert_sound(rec);
		tapir_event_view__of(rec, &v);
		assert_int_equal(v.payload_bytes, bytes);
		assert_memory_equal(v.payload, "0123456789abcdefg", bytes);
		assert_memory_equal(v.trace, &ids, sizeof(ids));
		assert_int_equal(v.kstack_id, 77);
		((struct tapir_rec_event *)rec)->payload_bytes += 8; /* now it reaches into them */
		assert_false(tapir_record__ok(rec, rec->size));
	}
}

static void trace_ids_are_known_by_the_size_of_a_sample(void **state)
{
	struct {
		struct tapir_rec_sample sample;
		struct tapir_trace_ids ids;
	} rec = {.sample.h = {.type = TAPIR_REC_SAMPLE, .size = sizeof(rec.sample)},
		 .ids = {"\x4b\xf9\x2f\x35\x77\xb3\x4d\xa6\xa3\xce\x92\x9d\x0e\x0e\x47\x36",
			 "\x00\xf0\x67\xaa\x0b\xa9\x02\xb7"}};
	char text[TAPIR_TRACE_ID_TEXT];

	(void)state;
	assert_null(tapir_rec__trace_ids(&rec.sample.h));
	rec.sample.h.size = sizeof(rec);
	assert_true(tapir_record__ok(&rec.sample.h, sizeof(rec)));
	assert_ptr_equal(tapir_rec__trace_ids(&rec.sample.h), &rec.ids);
	assert_string_equal(tapir_trace_id__text(&rec.ids, text),
			    "4bf92f3577b34da6a3ce929d0e0e4736");
	assert_string_equal(tapir_span_id__text(&rec.ids, text), "00f067aa0ba902b7");
}

static void event_is_refused_when_its_payload_length_lies(void **state)
{
	struct tapir_rec_event ev = {};

	(void)state;
	tapir_rec__init(&ev.h, TAPIR_REC_EVENT, sizeof(ev), 0);
	assert_true(tapir_record__ok(&ev.h, sizeof(ev)));
	ev.payload_bytes = 1;
	assert_false(tapir_record__ok(&ev.h, sizeof(ev)));
	ev.payload_bytes = 0xffffffff; /* with the optional part it would wrap 32 bits */
	ev.flags = TAPIR_EVENT_KSTACK;
	assert_false(tapir_record__ok(&ev.h, sizeof(ev)));
}

static void stack_is_refused_when_it_is_too_deep_or_has_no_id(void **state)
{
	uint64_t frames[TAPIR_MAX_FRAMES + 1] = {1, 2, 3};
	struct tapir_rec_stack fixed = {.stack_id = 9};
	struct tapir_stack_view v;
	struct tapir_rec *rec = (struct tapir_rec *)tapir_recbuf__stack(*state, &fixed, frames,
									TAPIR_MAX_FRAMES + 1);

	assert_sound(rec);
	tapir_stack_view__of(rec, &v);
	assert_int_equal(v.rec->frame_cnt, TAPIR_MAX_FRAMES);
	assert_true(v.rec->flags & TAPIR_STACK_MORE);
	assert_int_equal(v.rec->end, TAPIR_STACK_END_MORE);
	assert_int_equal(v.frames_va[2], 3);
	((struct tapir_rec_stack *)rec)->stack_id = 0;
	assert_false(tapir_record__ok(rec, rec->size));
}

/* Files from before have fewer of the texts, and damaged ones may end amid one. */
static void texts_of_a_wait_end_at_zeros_or_with_the_record(void **state)
{
	struct tapir_recbuf b = {};
	const struct tapir_rec_wait wait = {.tgid = 7, .tid = 7, .owner_tid = 8};
	const struct tapir_rec *rec = tapir_recbuf__wait(
		&b, &(struct tapir_wait_view){.rec = &wait,
					      .text = tapir_sv__of("epoll_wait()"),
					      .object = tapir_sv__of("transaction 726"),
					      .statement = tapir_sv__of("update accounts"),
					      .holder_statement = tapir_sv__of("select 1")});
	struct tapir_wait_view v;

	(void)state;
	assert_true(tapir_record__ok(rec, rec->size));
	tapir_wait_view__of(rec, &v);
	assert_true(tapir_sv__is(v.text, "epoll_wait()"));
	assert_true(tapir_sv__is(v.object, "transaction 726"));
	assert_true(tapir_sv__is(v.statement, "update accounts"));
	assert_true(tapir_sv__is(v.holder_statement, "select 1"));
	((struct tapir_rec *)rec)->size = sizeof(wait) + strlen("epoll_wait()transaction 726");
	tapir_wait_view__of(rec, &v);
	assert_true(tapir_sv__is(v.object, "transaction 726"));
	assert_int_equal(v.statement.len, 0);
	((struct tapir_rec *)rec)->size = sizeof(wait) + strlen("epoll_wait()transaction 726") + 7;
	tapir_wait_view__of(rec, &v);
	assert_true(tapir_sv__is(v.statement, "update"));
	assert_int_equal(v.holder_statement.len, 0);
	tapir_recbuf__fini(&b);
}

/* Between the record and the ids of a trace; neither is taken for the other. */
static void futex_follows_a_switch_that_says_so(void **state)
{
	struct {
		struct tapir_rec_switch sw;
		uint64_t futex_va;
		struct tapir_trace_ids ids;
	} rec = {.futex_va = 0x7f001000};

	(void)state;
	tapir_rec__init(&rec.sw.h, TAPIR_REC_SWITCH, sizeof(rec), 1);
	assert_int_equal(tapir_switch__futex_va(&rec.sw), 0);
	rec.sw.flags = TAPIR_SWITCH_HAS_FUTEX;
	assert_int_equal(tapir_switch__futex_va(&rec.sw), 0x7f001000);
	assert_ptr_equal(tapir_rec__trace_ids(&rec.sw.h), &rec.ids);
	rec.sw.h.size = offsetof(typeof(rec), ids);
	assert_int_equal(tapir_switch__futex_va(&rec.sw), 0x7f001000);
	assert_null(tapir_rec__trace_ids(&rec.sw.h));
	rec.sw.h.size = sizeof(rec.sw);
	assert_int_equal(tapir_switch__futex_va(&rec.sw), 0);
}

static void records_without_variable_part_are_checked_by_size(void **state)
{
	static const struct {
		enum tapir_rec_type type;
		size_t bytes;
	} types[] = {{TAPIR_REC_SAMPLE, sizeof(struct tapir_rec_sample)},
		     {TAPIR_REC_SWITCH, sizeof(struct tapir_rec_switch)},
		     {TAPIR_REC_THREAD, sizeof(struct tapir_rec_thread)},
		     {TAPIR_REC_LOSS, sizeof(struct tapir_rec_loss)},
		     {TAPIR_REC_CLOCK, sizeof(struct tapir_rec_clock)}};
	uint64_t room[16] = {};
	struct tapir_rec *rec = (struct tapir_rec *)room;

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		tapir_rec__init(rec, types[i].type, types[i].bytes, 1);
		assert_sound(rec);
	}
	tapir_rec__init(rec, TAPIR_REC_TYPE_CNT + 5, 24, 1); /* unknown: its size is enough */
	assert_true(tapir_record__ok(rec, 24));
	tapir_rec__init(rec, TAPIR_REC_NONE, 16, 1);
	assert_false(tapir_record__ok(rec, 16));
}

static void long_strings_are_cut_at_a_character(void **state)
{
	static char text[40000];
	struct tapir_rec_process fixed = {.tgid = 1};
	struct tapir_sv sv = {text, sizeof(text)};
	struct tapir_process_view v;
	const struct tapir_rec *rec;

	for (size_t i = 0; i < sizeof(text); i++) /* two-byte characters, off by one */
		text[i] = (i & 1) ? '\xc3' : '\xa9';
	rec = tapir_recbuf__process(*state, &fixed, sv, sv, sv, sv);
	assert_non_null(rec);
	assert_true(tapir_record__ok(rec, rec->size));
	tapir_process_view__of(rec, &v);
	assert_int_equal(v.comm.len, TAPIR_RECBUF_STR_BYTES - 1);
	assert_int_equal((unsigned char)v.cgroup.data[v.cgroup.len - 1], 0xa9);
}

static void names_exist_for_every_value(void **state)
{
	(void)state;
	assert_string_equal(tapir_loss__name(TAPIR_LOSS_RING_FULL), "ring_full");
	assert_string_equal(tapir_loss__name(TAPIR_LOSS_CAUSE_CNT), "unknown");
	assert_int_equal(tapir_loss__kind(TAPIR_LOSS_ARG_FAULT), TAPIR_LOSS_KIND_PART);
	assert_int_equal(tapir_loss__kind(TAPIR_LOSS_CAUSE_CNT), -1);
	assert_true(tapir_loss__hides_events(TAPIR_LOSS_PROCESS_MAP_FULL));
	assert_false(tapir_loss__hides_events(TAPIR_LOSS_THREAD_RING_FULL));
	assert_string_equal(tapir_loss__text(TAPIR_LOSS_DISK), "the file could not be written");
	for (unsigned i = 0; i < TAPIR_LOSS_CAUSE_CNT; i++)
		assert_true(strlen(tapir_loss__name(i)) > 3);
	for (unsigned i = 1; i < TAPIR_REC_TYPE_CNT; i++)
		assert_string_not_equal(tapir_rec_type__name(i), "unknown");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(probe_is_read_back_when_built),
		CASE(probe_is_refused_when_a_field_name_reaches_out),
		CASE(process_is_read_back_when_built),
		CASE(mapping_is_read_back_when_built),
		CASE(names_are_read_back_when_built),
		CASE(counter_and_metadata_are_read_back_when_built),
		CASE(event_optional_parts_are_found_when_flagged),
		CASE(event_trace_ids_are_found_when_flagged),
		CASE(trace_ids_are_known_by_the_size_of_a_sample),
		CASE(texts_of_a_wait_end_at_zeros_or_with_the_record),
		CASE(futex_follows_a_switch_that_says_so),
		CASE(event_is_refused_when_its_payload_length_lies),
		CASE(stack_is_refused_when_it_is_too_deep_or_has_no_id),
		CASE(records_without_variable_part_are_checked_by_size),
		CASE(long_strings_are_cut_at_a_character),
		CASE(names_exist_for_every_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
