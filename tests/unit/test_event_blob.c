// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Metadata blobs: all type codes, both forms of field lists, nested objects and arrays; events as
 * lines with what their blob says; blobs that are cut, too deep or nonsense.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blob_builder.h"
#include "decode/event_blob.h"
#include "decode/probe_name.h"
#include "output/export/event_lines.h"
#include "trace/recbuf.h"

#define SV(text) ((struct tapir_sv){"" text, sizeof("" text) - 1})

static void head(struct bytes *b, const char *name, unsigned fields)
{
	head_of(b, name, 0xf000000000000001, 5, fields);
}

/* ---- lines ----------------------------------------------------------------------------------- */

struct event {
	const char *provider, *name;
	uint16_t id;
	uint8_t version;
	const uint8_t *activity, *related;
	struct bytes blob, payload;
};

/* The line of the event, newline cut off; yours. */
static char *line(const struct event *ev, enum tapir_event_format format)
{
	static const uint8_t zeros[16];
	struct tapir_catalog *catalog = tapir_catalog__new(TAPIR_CATALOG_READ, NULL);
	struct tapir_rec_probe probe = {.probe_id = 9,
					.event_id = ev->id,
					.version = ev->version,
					.encoding = TAPIR_ENCODING_PACKED};
	struct tapir_rec_metadata metadata = {.probe_id = 9, .format = 1};
	struct tapir_rec_event fixed = {
		.h = {.cpu = 0, .time_ns = 1000000000}, .probe_id = 9, .tgid = 10, .tid = 11};
	struct tapir_event_view view = {.rec = &fixed,
					.activity_id = ev->activity ? ev->activity : zeros,
					.related_id = ev->related,
					.payload = ev->payload.data,
					.payload_bytes = ev->payload.len};
	struct tapir_event_lines *lines = tapir_event_lines__new(format, catalog, 1);
	struct tapir_sv blob = {(const char *)ev->blob.data, ev->blob.len};
	const struct tapir_rec *named;
	struct tapir_recbuf b = {}, n = {};
	struct tapir_str out = {};

	fixed.flags = TAPIR_EVENT_ACTIVITY | (ev->related ? TAPIR_EVENT_RELATED : 0);
	named = tapir_probe_name__complete(
		&n, tapir_recbuf__probe(&b, &probe, tapir_sv__of(ev->provider),
					tapir_sv__of(ev->name), SV(""), SV(""), NULL, NULL, 0));
	tapir_catalog__describe(catalog, named);
	if (blob.len)
		tapir_catalog__describe(catalog, tapir_recbuf__metadata(&b, &metadata, blob));
	tapir_event_lines__add(lines, tapir_recbuf__event(&b, &view), &out);
	tapir_event_lines__free(lines);
	tapir_catalog__free(catalog);
	tapir_recbuf__fini(&b);
	tapir_recbuf__fini(&n);
	assert_false(out.failed);
	out.data[out.len - 1] = '\0';
	return out.data;
}

static void check(const struct event *ev, const char *text, const char *json)
{
	char *seen_text = line(ev, TAPIR_EVENT_TEXT), *seen_json = line(ev, TAPIR_EVENT_JSON);

	if (!strstr(seen_text, text))
		fail_msg("%s\nhas no %s", seen_text, text);
	if (!strstr(seen_json, json))
		fail_msg("%s\nhas no %s", seen_json, json);
	free(seen_text);
	free(seen_json);
}

/* ---- what blobs say ---------------------------------------------------------------------------- */

static void every_type_of_a_manifest_based_event_is_decoded(void **state)
{
	static const uint8_t guid[] = {0x33, 0x22, 0x11, 0,    0x55, 0x44, 0x77, 0x66,
				       0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff};
	static const char *const names[] = {"b",   "c",	  "s8", "u8", "s16", "u16", "s32", "u32",
					    "s64", "u64", "f",	"d",  "m",   "t",   "g",   "s"};
	struct event ev = {.provider = "My", .name = "All", .id = 7};
	double d = -2.25;
	float f = 1.5f;

	(void)state;
	head(&ev.blob, "All", 16);
	for (unsigned i = 0; i < 16; i++)
		field(&ev.blob, i + 3, names[i]);
	u(&ev.blob, 0, 2); /* what runtimes leave behind */
	u(&ev.payload, 1, 4);
	u(&ev.payload, 'x', 2);
	u(&ev.payload, (uint64_t)-5, 1);
	u(&ev.payload, 200, 1);
	u(&ev.payload, (uint64_t)-3000, 2);
	u(&ev.payload, 60000, 2);
	u(&ev.payload, (uint64_t)-100000, 4);
	u(&ev.payload, 4000000000, 4);
	u(&ev.payload, (uint64_t)-5000000000, 8);
	u(&ev.payload, 10000000000000000000u, 8);
	put(&ev.payload, &f, 4);
	put(&ev.payload, &d, 8);
	u(&ev.payload, 0x80030000, 4); /* 12.345m, negative */
	u(&ev.payload, 0, 4);
	u(&ev.payload, 12345, 8);
	u(&ev.payload, 0x1dd24c2bdf22000, 8);
	put(&ev.payload, guid, 16);
	wide(&ev.payload, "text");
	check(&ev,
	      "My:All                           b=true c=\"x\" s8=-5 u8=200 s16=-3000 u16=60000 "
	      "s32=-100000 u32=4000000000 s64=-5000000000 u64=10000000000000000000 f=1.5 d=-2.25 "
	      "m=-12.345 t=2026-08-05T10:11:12.0000000Z g=00112233-4455-6677-8899-aabbccddeeff "
	      "s=\"text\"",
	      "\"args\":{\"b\":true,\"c\":\"x\",\"s8\":-5,\"u8\":200,\"s16\":-3000,\"u16\":60000,"
	      "\"s32\":-100000,\"u32\":4000000000,\"s64\":-5000000000,"
	      "\"u64\":10000000000000000000,\"f\":1.5,\"d\":-2.25,\"m\":-12.345,"
	      "\"t\":\"2026-08-05T10:11:12.0000000Z\","
	      "\"g\":\"00112233-4455-6677-8899-aabbccddeeff\",\"s\":\"text\"}}");
}

/* Write(name, new { ... }): one object without a name; bool is a byte there, decimal a double. */
static void a_self_describing_event_shows_what_it_was_given(void **state)
{
	struct event ev = {.provider = "My", .name = "Self", .id = 7};
	double m = 0.5;

	(void)state;
	head(&ev.blob, "Self", 1);
	u(&ev.blob, 1, 4);
	u(&ev.blob, 4, 4);
	field(&ev.blob, 9, "A");
	u(&ev.blob, 1, 4);
	u(&ev.blob, 2, 4);
	field(&ev.blob, 9, "X");
	field(&ev.blob, 18, "Y");
	wide(&ev.blob, "In");
	field(&ev.blob, 15, "M");
	field(&ev.blob, 3, "B");
	wide(&ev.blob, "");
	u(&ev.payload, 1, 4);
	u(&ev.payload, 5, 4);
	wide(&ev.payload, "why");
	put(&ev.payload, &m, 8);
	u(&ev.payload, 1, 1);
	check(&ev, "A=1 In={X=5, Y=\"why\"} M=0.5 B=true",
	      "\"args\":{\"A\":1,\"In\":{\"X\":5,\"Y\":\"why\"},\"M\":0.5,\"B\":true}}");
}

static void field_v2(struct bytes *b, const char *name, unsigned type, unsigned element)
{
	size_t size = 4 + 2 * strlen(name) + 2 + 4 + (type == 19 ? 4 : 0);

	u(b, size, 4);
	wide(b, name);
	u(b, type, 4);
	if (type == 19)
		u(b, element, 4);
}

/* V1 can say no arrays: the fields stand in a tag, with the opcode before it. */
static void arrays_come_by_the_second_form_of_field_lists(void **state)
{
	struct event ev = {.provider = "My", .name = "Arrays", .id = 7};
	struct bytes list = {};

	(void)state;
	u(&list, 4, 4);
	field_v2(&list, "a", 9, 0);
	field_v2(&list, "nums", 19, 9);
	field_v2(&list, "raw", 19, 6);
	field_v2(&list, "z", 19, 18);
	head(&ev.blob, "Arrays", 0);
	u(&ev.blob, 1, 4); /* tag: opcode */
	u(&ev.blob, 1, 1);
	u(&ev.blob, 2, 1);
	u(&ev.blob, list.len, 4);
	u(&ev.blob, 2, 1);
	put(&ev.blob, list.data, list.len);
	u(&ev.payload, 7, 4);
	u(&ev.payload, 2, 2);
	u(&ev.payload, 1, 4);
	u(&ev.payload, (uint64_t)-1, 4);
	u(&ev.payload, 3, 4); /* byte[] of a manifest-based event: u32 */
	u(&ev.payload, 0x030201, 3);
	u(&ev.payload, 2, 2);
	wide(&ev.payload, "p");
	wide(&ev.payload, "q");
	check(&ev, "a=7 nums=[1,-1] raw=0x010203 z=[\"p\",\"q\"]",
	      "\"args\":{\"a\":7,\"nums\":[1,-1],\"raw\":\"010203\",\"z\":[\"p\",\"q\"]}}");
	ev.payload.len = 14;
	u(&ev.payload, 3, 2); /* of a self-describing one: u16 */
	u(&ev.payload, 0x030201, 3);
	u(&ev.payload, 1, 2);
	wide(&ev.payload, "p");
	check(&ev, "a=7 nums=[1,-1] raw=0x010203 z=[\"p\"]",
	      "\"args\":{\"a\":7,\"nums\":[1,-1],\"raw\":\"010203\",\"z\":[\"p\"]}}");
}

static void objects_may_be_in_objects_and_arrays_of_the_second_form(void **state)
{
	struct event ev = {.provider = "My", .name = "Deep", .id = 7};
	struct bytes inner = {}, list = {};

	(void)state;
	u(&inner, 2, 4);
	field_v2(&inner, "x", 6, 0);
	field_v2(&inner, "y", 19, 7);
	u(&list, 1, 4);
	u(&list, 4 + 2 * 5 + 4 + 4 + inner.len, 4);
	wide(&list, "many");
	u(&list, 19, 4);
	u(&list, 1, 4);
	put(&list, inner.data, inner.len);
	head(&ev.blob, "Deep", 0);
	u(&ev.blob, list.len, 4);
	u(&ev.blob, 2, 1);
	put(&ev.blob, list.data, list.len);
	u(&ev.payload, 2, 2);
	u(&ev.payload, 1, 1);
	u(&ev.payload, 1, 2);
	u(&ev.payload, (uint64_t)-1, 2);
	u(&ev.payload, 2, 1);
	u(&ev.payload, 0, 2);
	check(&ev, "many=[{x=1, y=[-1]},{x=2, y=[]}]",
	      "\"args\":{\"many\":[{\"x\":1,\"y\":[-1]},{\"x\":2,\"y\":[]}]}}");
}

static void a_payload_nobody_describes_is_hex(void **state)
{
	struct event ev = {.provider = "My", .name = "Bytes", .id = 3};

	(void)state;
	head(&ev.blob, "Bytes", 0);
	u(&ev.payload, 0xbbaa, 2);
	check(&ev, " payload=0xaabb", "\"args\":{\"payload\":\"aabb\"}}");
	ev.payload.len = 0;
	check(&ev, "My:Bytes", "\"args\":{}}");
}

static void an_event_of_the_runtime_needs_no_name_and_no_blob(void **state)
{
	struct event ev = {.provider = "Microsoft-Windows-DotNETRuntime", .name = "", .id = 35};

	(void)state;
	u(&ev.payload, 2, 4);
	u(&ev.payload, 9, 2);
	check(&ev, "Microsoft-Windows-DotNETRuntime:GCTriggered Reason=LowMemory ClrInstanceID=9",
	      "\"event\":\"GCTriggered\",\"version\":0,\"args\":{\"Reason\":\"LowMemory\","
	      "\"ClrInstanceID\":9}}");
	ev.id = 12345;
	check(&ev, "Microsoft-Windows-DotNETRuntime:EventID(12345) payload=0x020000000900",
	      "\"event\":\"EventID(12345)\",\"version\":0,"
	      "\"args\":{\"payload\":\"020000000900\"}}");
}

static void activities_are_shown_where_there_are_any(void **state)
{
	static const uint8_t one[16] = {1}, two[16] = {[15] = 2}, none[16];
	struct event ev = {.provider = "My", .name = "A", .activity = one, .related = two};

	(void)state;
	check(&ev,
	      " activity=00000001-0000-0000-0000-000000000000 "
	      "related=00000000-0000-0000-0000-000000000002",
	      "\"args\":{},\"activity_id\":\"00000001-0000-0000-0000-000000000000\","
	      "\"related_activity_id\":\"00000000-0000-0000-0000-000000000002\"}");
	ev.activity = none;
	ev.related = NULL;
	check(&ev, "My:A", "\"args\":{}}");
}

/* ---- malformed ----------------------------------------------------------------------------------- */

static int parse(const struct bytes *b, size_t len)
{
	struct tapir_event_blob *blob = NULL;
	uint8_t *copy = malloc(len ? len : 1); /* ends where it ends */
	int err;

	assert_non_null(copy);
	memcpy(copy, b->data, len);
	err = tapir_event_blob__parse(copy, len, &blob);
	tapir_event_blob__free(blob);
	free(copy);
	return err;
}

static void a_cut_blob_is_refused_at_every_length(void **state)
{
	struct bytes b;

	(void)state;
	head(&b, "Event", 2);
	field(&b, 9, "number");
	field(&b, 18, "text");
	for (size_t len = 0; len < b.len; len++)
		assert_int_equal(parse(&b, len), -EINVAL);
	assert_int_equal(parse(&b, b.len), 0);
}

static void a_blob_is_refused_when_it_is_deeper_or_larger_than_any_event(void **state)
{
	struct bytes b;

	(void)state;
	head(&b, "Deep", 1);
	for (int i = 0; i < 100; i++) {
		u(&b, 1, 4);
		u(&b, 1, 4);
	}
	assert_int_equal(parse(&b, b.len), -EINVAL);
	head(&b, "Wide", 0x7fffffff);
	assert_int_equal(parse(&b, b.len), -EINVAL);
	head(&b, "Tag", 0);
	u(&b, 0xffffffff, 4);
	u(&b, 2, 2);
	assert_int_equal(parse(&b, b.len), -EINVAL);
	head(&b, "Size", 0); /* a field that says it is longer than its list */
	u(&b, 12, 4);
	u(&b, 2, 1);
	u(&b, 1, 4);
	u(&b, 100, 4);
	u(&b, 0, 4);
	assert_int_equal(parse(&b, b.len), -EINVAL);
}

/* Any number of empty objects would take for ever and need no payload. */
static void an_array_of_nothing_ends_the_fields(void **state)
{
	struct event ev = {.provider = "My", .name = "Nothing", .id = 7};
	struct bytes list = {};

	(void)state;
	u(&list, 2, 4);
	field_v2(&list, "a", 6, 0);
	u(&list, 4 + 2 * 2 + 4 + 4 + 4, 4);
	wide(&list, "n");
	u(&list, 19, 4);
	u(&list, 1, 4);
	u(&list, 0, 4);
	head(&ev.blob, "Nothing", 0);
	u(&ev.blob, list.len, 4);
	u(&ev.blob, 2, 1);
	put(&ev.blob, list.data, list.len);
	u(&ev.payload, 0xffff05, 3);
	check(&ev, " a=5 rest=0xffff", "\"args\":{\"a\":5,\"rest\":\"ffff\"}}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_of_a_manifest_based_event_is_decoded),
		cmocka_unit_test(a_self_describing_event_shows_what_it_was_given),
		cmocka_unit_test(arrays_come_by_the_second_form_of_field_lists),
		cmocka_unit_test(objects_may_be_in_objects_and_arrays_of_the_second_form),
		cmocka_unit_test(a_payload_nobody_describes_is_hex),
		cmocka_unit_test(an_event_of_the_runtime_needs_no_name_and_no_blob),
		cmocka_unit_test(activities_are_shown_where_there_are_any),
		cmocka_unit_test(a_cut_blob_is_refused_at_every_length),
		cmocka_unit_test(a_blob_is_refused_when_it_is_deeper_or_larger_than_any_event),
		cmocka_unit_test(an_array_of_nothing_ends_the_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
