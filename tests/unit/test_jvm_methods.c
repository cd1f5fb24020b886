// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names of compiled Java methods as HotSpot spells them, and events of its probes, also such
 * as no HotSpot sends. With a recording as argument: prints its loads (for tests/e2e).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decode/usdt_hints.h"
#include "decode/java_name.h"
#include "runtime/jvm/jvm_methods.h"
#include "trace/catalog.h"
#include "trace/reader.h"
#include "trace/recbuf.h"

#define SV(text) tapir_sv__of(text)

/* ---- names ---------------------------------------------------------------------------------- */

static const struct name_case {
	const char *class_name, *method, *signature, *name;
	bool is_complete;
} name_cases[] = {
	{"Foo", "main", "([Ljava/lang/String;IJ)V", "void Foo.main(java.lang.String[], int, long)",
	 true},
	{"Hot", "a", "(I)J", "long Hot.a(int)", true},
	{"a/b/C$D", "<init>", "()V", "void a.b.C$D.<init>()", true},
	{"A", "<clinit>", "()V", "void A.<clinit>()", true},
	{"A", "f", "(ZBCSIJFD)[[Z",
	 "boolean[][] A.f(boolean, byte, char, short, int, long, float, double)", true},
	{"A", "f", "([[[La/B;[D)La/b/C;", "a.b.C A.f(a.B[][][], double[])", true},
	{"A", "f", "()[La/B;", "a.B[] A.f()", true},
	{"Hot$$Lambda$1+0x00007fa5e8000a08", "run", "()V",
	 "void Hot$$Lambda$1/0x00007fa5e8000a08.run()", true},
	{"a/B+C", "f", "()V", "void a.B+C.f()", true},
	{"a/B+0x12g", "f", "()V", "void a.B+0x12g.f()", true},
	{"a/B+0x", "f", "()V", "void a.B+0x.f()", true},
	{"A+B+0x1f", "f", "()V", "void A+B/0x1f.f()", true},
	{"\xc3\x9cn\xe2\x82\xac", "gr\xc3\xb6\xc3\x9f\x65", "(L\xc3\x9c;)V",
	 "void \xc3\x9cn\xe2\x82\xac.gr\xc3\xb6\xc3\x9f\x65(\xc3\x9c)", true},
	{"A", "linkToStatic", "(Ljava/lang/Object;Ljava/lang/invoke/MemberName;)I",
	 "int A.linkToStatic(java.lang.Object, java.lang.invoke.MemberName)", true},
	/* not descriptors: class and method remain */
	{"a/A", "f", "", "a.A.f", false},
	{"A", "f", "(", "A.f", false},
	{"A", "f", ")", "A.f", false},
	{"A", "f", "()", "A.f", false},
	{"A", "f", "I()V", "A.f", false},
	{"A", "f", "()VV", "A.f", false},
	{"A", "f", "()II", "A.f", false},
	{"A", "f", "(V)V", "A.f", false},
	{"A", "f", "()[V", "A.f", false},
	{"A", "f", "([)V", "A.f", false},
	{"A", "f", "(L;)V", "A.f", false},
	{"A", "f", "(La/B)V", "A.f", false},
	{"A", "f", "(X)V", "A.f", false},
	{"A", "f", "(I)(I)V", "A.f", false},
	{"A", "f", "(I", "A.f", false},
};

static void names_are_spelled_as_the_perf_map_spells_them(void **state)
{
	struct tapir_str out = {};

	(void)state;
	for (size_t i = 0; i < sizeof(name_cases) / sizeof(name_cases[0]); i++) {
		const struct name_case *c = &name_cases[i];
		bool is_complete;

		tapir_str__clear(&out);
		tapir_str__adds(&out, "kept|");
		is_complete = tapir_java_name__add(&out, SV(c->class_name), SV(c->method),
						   SV(c->signature));
		assert_memory_equal(out.data, "kept|", 5);
		assert_string_equal(out.data + 5, c->name);
		assert_int_equal(is_complete, c->is_complete);
	}
	tapir_str__fini(&out);
}

static bool add_arrays(struct tapir_str *out, unsigned dimensions)
{
	struct tapir_str signature = {};
	bool is_complete;

	tapir_str__addc(&signature, '(');
	for (unsigned i = 0; i < dimensions; i++)
		tapir_str__addc(&signature, '[');
	tapir_str__adds(&signature, "I)V");
	is_complete = tapir_java_name__add(out, SV("A"), SV("f"), SV(signature.data));
	tapir_str__fini(&signature);
	return is_complete;
}

static void arrays_have_at_most_255_dimensions(void **state)
{
	struct tapir_str out = {};

	(void)state;
	assert_true(add_arrays(&out, 255));
	assert_int_equal(out.len, strlen("void A.f(int)") + 2 * 255);
	tapir_str__clear(&out);
	assert_false(add_arrays(&out, 256));
	assert_string_equal(out.data, "A.f");
	tapir_str__fini(&out);
}

static void a_name_is_cut_where_the_perf_map_cuts_it(void **state)
{
	struct tapir_str out = {};
	char method[3000];

	(void)state;
	memset(method, 'm', sizeof(method) - 1);
	method[sizeof(method) - 1] = '\0';
	assert_true(tapir_java_name__add(&out, SV("Lng"), SV(method), SV("(I)I")));
	assert_int_equal(out.len, TAPIR_JAVA_NAME_MAX_BYTES);
	assert_int_equal(strlen(out.data), TAPIR_JAVA_NAME_MAX_BYTES);
	assert_memory_equal(out.data, "int Lng.mmm", 11);
	tapir_str__fini(&out);
}

/* ---- events --------------------------------------------------------------------------------- */

#define MAX_FIELDS 8

/* A load or an unload with the layout the hints give, as a recording has it. */
struct fixture {
	struct tapir_recbuf probe_buf, event_buf;
	const char *event;
	struct tapir_field fields[MAX_FIELDS];
	unsigned field_cnt;
	struct tapir_sv texts[3];
	uint32_t slot_flags[3];
	uint64_t code_va, code_bytes;
	size_t payload_cut; /* bytes that are missing at the payload's end */
	uint16_t fault_mask;
	struct tapir_jvm_method method;
	struct tapir_str name;
};

static void lay_out(struct fixture *f, const char *event, unsigned field_cnt)
{
	const struct tapir_hint *hint = tapir_usdt_hint__find("hotspot", event, field_cnt);

	assert_non_null(hint);
	f->event = event;
	f->field_cnt = field_cnt;
	for (unsigned i = 0; i < field_cnt; i++) {
		uint8_t type = hint->args[i].field_type;

		f->fields[i] = (struct tapir_field){.type = type ? type : TAPIR_FIELD_INT,
						    .size = type == TAPIR_FIELD_STRN ? 0 : 4,
						    .len_field = hint->args[i].len_arg};
	}
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	lay_out(f, "compiled__method__load", 8);
	f->texts[0] = SV("Hot");
	f->texts[1] = SV("b");
	f->texts[2] = SV("([Ljava/lang/String;)J");
	f->code_va = 0x7f0000001000;
	f->code_bytes = 0xe8;
	f->method.start_va = 1; /* untouched on failure */
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	tapir_recbuf__fini(&f->probe_buf);
	tapir_recbuf__fini(&f->event_buf);
	tapir_str__fini(&f->name);
	free(f);
	return 0;
}

static size_t fill(const struct fixture *f, uint8_t *payload)
{
	size_t len = f->field_cnt * 8u;
	uint64_t slots[MAX_FIELDS] = {};

	for (unsigned i = 0; i < 3; i++) {
		struct tapir_slot_bytes slot = {(uint32_t)f->texts[i].len, f->slot_flags[i]};

		memcpy(&slots[2 * i], &slot, sizeof(slot));
		slots[2 * i + 1] = f->texts[i].len;
		memcpy(payload + len, f->texts[i].data, f->texts[i].len);
		len += f->texts[i].len;
	}
	slots[6] = f->code_va;
	slots[7] = f->code_bytes;
	memcpy(payload, slots, f->field_cnt * 8u);
	return len - f->payload_cut;
}

static void views(struct fixture *f, struct tapir_probe_view *probe, struct tapir_event_view *event)
{
	struct tapir_rec_probe fixed = {.probe_id = 1};
	struct tapir_rec_event ev = {.probe_id = 1, .fault_mask = f->fault_mask};
	uint8_t payload[512];
	struct tapir_event_view view = {.rec = &ev, .payload = payload};

	view.payload_bytes = fill(f, payload);
	ev.payload_bytes = (uint32_t)view.payload_bytes;
	tapir_probe_view__of(tapir_recbuf__probe(&f->probe_buf, &fixed, SV("hotspot"), SV(f->event),
						 SV(""), SV(""), f->fields, NULL, f->field_cnt),
			     probe);
	tapir_event_view__of(tapir_recbuf__event(&f->event_buf, &view), event);
}

static int decode(struct fixture *f)
{
	struct tapir_probe_view probe;
	struct tapir_event_view event;

	views(f, &probe, &event);
	tapir_str__clear(&f->name);
	return tapir_jvm_method__of(&probe, &event, &f->method, &f->name);
}

static void a_load_has_a_name_and_a_range(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(decode(f), 0);
	assert_string_equal(f->name.data, "long Hot.b(java.lang.String[])");
	assert_int_equal(f->method.start_va, 0x7f0000001000);
	assert_int_equal(f->method.size, 0xe8);
	assert_true(f->method.is_exact);
}

static void an_unload_has_a_name_only(void **state)
{
	struct fixture *f = *state;

	lay_out(f, "compiled__method__unload", 6);
	assert_int_equal(decode(f), 0);
	assert_string_equal(f->name.data, "long Hot.b(java.lang.String[])");
	assert_int_equal(f->method.start_va, 0);
	assert_true(f->method.is_exact);
}

static void a_name_is_not_exact_when_a_part_of_it_is_missing(void **state)
{
	struct fixture *f = *state;

	f->slot_flags[2] = TAPIR_SLOT_CUT;
	f->texts[2] = SV("([Ljava/lang/Str");
	assert_int_equal(decode(f), 0);
	assert_string_equal(f->name.data, "Hot.b");
	assert_false(f->method.is_exact);
	f->slot_flags[2] = TAPIR_SLOT_NULL;
	f->texts[2] = SV("");
	assert_int_equal(decode(f), 0);
	assert_string_equal(f->name.data, "Hot.b");
	f->slot_flags[0] = TAPIR_SLOT_CUT;
	f->slot_flags[2] = 0;
	f->texts[2] = SV("()V");
	assert_int_equal(decode(f), 0);
	assert_string_equal(f->name.data, "void Hot.b()");
	assert_false(f->method.is_exact);
}

static void an_event_is_refused_when_it_names_or_places_nothing(void **state)
{
	struct fixture *f = *state;

	f->fault_mask = 1u << 0;
	assert_int_equal(decode(f), -EINVAL);
	f->fault_mask = 1u << 2;
	assert_int_equal(decode(f), -EINVAL);
	f->fault_mask = 1u << 6;
	assert_int_equal(decode(f), -EINVAL);
	f->fault_mask = 0;
	f->texts[1] = (struct tapir_sv){"b\0c", 3};
	assert_int_equal(decode(f), -EINVAL);
	f->texts[1] = SV("");
	assert_int_equal(decode(f), -EINVAL);
	f->texts[1] = SV("b");
	f->code_bytes = 0;
	assert_int_equal(decode(f), -EINVAL);
	f->code_bytes = (uint64_t)-8;
	assert_int_equal(decode(f), -EINVAL);
	f->code_bytes = 0x100;
	f->code_va = UINT64_MAX - 0x80;
	assert_int_equal(decode(f), -EINVAL);
	f->code_va = 0;
	assert_int_equal(decode(f), -EINVAL);
	assert_int_equal(f->method.start_va, 1);
	assert_int_equal(f->name.len, 0);
}

/* Whatever is missing at its end: the strings' bytes, then the slots. */
static void a_payload_is_refused_or_not_exact_when_it_is_cut(void **state)
{
	struct fixture *f = *state;
	size_t whole = 8 * 8 + strlen("Hotb([Ljava/lang/String;)J");

	for (f->payload_cut = 1; f->payload_cut <= whole; f->payload_cut++) {
		f->method.is_exact = false;
		if (!decode(f))
			assert_false(f->method.is_exact);
	}
}

static void probes_are_known_by_name_and_layout(void **state)
{
	struct fixture *f = *state;
	struct tapir_probe_view probe;
	struct tapir_event_view event;

	views(f, &probe, &event);
	assert_int_equal(tapir_jvm_probe__of(&probe), TAPIR_JVM_PROBE_LOAD);
	f->field_cnt = 7;
	views(f, &probe, &event);
	assert_int_equal(tapir_jvm_probe__of(&probe), TAPIR_JVM_PROBE_OTHER);
	lay_out(f, "compiled__method__unload", 6);
	views(f, &probe, &event);
	assert_int_equal(tapir_jvm_probe__of(&probe), TAPIR_JVM_PROBE_UNLOAD);
	f->event = "compiled__method__loa";
	views(f, &probe, &event);
	assert_int_equal(tapir_jvm_probe__of(&probe), TAPIR_JVM_PROBE_OTHER);
}

/* ---- for tests/e2e ----------------------------------------------------------------------------- */

static void print_load(const struct tapir_probe_view *probe, const struct tapir_event_view *event)
{
	struct tapir_jvm_method method;
	struct tapir_str name = {};

	if (!tapir_jvm_method__of(probe, event, &method, &name))
		printf("%" PRIx64 " %" PRIx64 " %d %s\n", method.start_va, method.size,
		       method.is_exact, name.data);
	tapir_str__fini(&name);
}

static int print_loads(const char *path)
{
	struct tapir_reader *reader = NULL;
	const struct tapir_rec *rec;

	if (tapir_reader__open(path, &reader))
		return 1;
	while (tapir_reader__next(reader, &rec) == 1) {
		const struct tapir_rec_probe *probe_rec;
		struct tapir_probe_view probe;
		struct tapir_event_view event;

		if (rec->type != TAPIR_REC_EVENT)
			continue;
		tapir_event_view__of(rec, &event);
		probe_rec =
			tapir_catalog__probe(tapir_reader__catalog(reader), event.rec->probe_id);
		if (!probe_rec)
			continue;
		tapir_probe_view__of(&probe_rec->h, &probe);
		if (tapir_jvm_probe__of(&probe) == TAPIR_JVM_PROBE_LOAD)
			print_load(&probe, &event);
	}
	tapir_reader__close(reader);
	return 0;
}

#define EVENT_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_spelled_as_the_perf_map_spells_them),
		cmocka_unit_test(arrays_have_at_most_255_dimensions),
		cmocka_unit_test(a_name_is_cut_where_the_perf_map_cuts_it),
		EVENT_TEST(a_load_has_a_name_and_a_range),
		EVENT_TEST(an_unload_has_a_name_only),
		EVENT_TEST(a_name_is_not_exact_when_a_part_of_it_is_missing),
		EVENT_TEST(an_event_is_refused_when_it_names_or_places_nothing),
		EVENT_TEST(a_payload_is_refused_or_not_exact_when_it_is_cut),
		EVENT_TEST(probes_are_known_by_name_and_layout),
	};

	if (argc > 1)
		return print_loads(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
