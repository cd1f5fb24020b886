// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * PACKED payloads: by hand, recorded from a .NET program, and made up for every layout there is,
 * whole and cut at each byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/str.h"
#include "decode/dotnet_tables.h"
#include "decode/event_blob.h"
#include "decode/packed.h"
#include "decode/value.h"

#define RECORDED "tests/data/dotnet/recorded.tsv" /* tests run at the root of the tree */
#define SV(x)	 tapir_sv__of(x)
#define VALUES	 256

/* ---- payloads by hand --------------------------------------------------------------------------- */

struct bytes {
	uint8_t data[8192];
	size_t len;
};

static void put(struct bytes *b, const void *data, size_t len)
{
	assert_true(b->len + len <= sizeof(b->data));
	memcpy(b->data + b->len, data, len);
	b->len += len;
}

static void put_uint(struct bytes *b, uint64_t value, size_t len)
{
	put(b, &value, len);
}

static void put_wide(struct bytes *b, const char *text)
{
	for (; *text; text++)
		put_uint(b, (unsigned char)*text, 2);
	put_uint(b, 0, 2);
}

/* "01 02 ..." or "0102": hex digits, spaces left out. */
static void put_hex(struct bytes *b, const char *hex)
{
	unsigned byte, digits;

	while (*hex) {
		digits = 0;
		if (*hex == ' ') {
			hex++;
			continue;
		}
		assert_int_equal(sscanf(hex, "%2x%n", &byte, (int *)&digits), 1);
		put_uint(b, byte, 1);
		hex += digits;
	}
}

/* Decoded from memory that ends where the payload does, so that a sanitizer sees each read past it.
 */
static unsigned decode(const struct tapir_packed_layout *layout, const uint8_t *payload, size_t len,
		       struct tapir_str *text, struct tapir_str *json)
{
	struct tapir_value values[VALUES];
	uint8_t *copy = malloc(len ? len : 1);
	unsigned faults = 0, cnt;

	assert_non_null(copy);
	memcpy(copy, payload, len);
	cnt = tapir_packed__decode(layout, copy, len, values, VALUES, &faults);
	for (unsigned i = 0; i < cnt; i++) {
		assert_true(values[i].len <= len);
		tapir_str__adds(text, i ? " " : "");
		tapir_value__add_name(text, values[i].name, i);
		tapir_str__addc(text, '=');
		tapir_value__add_text(text, &values[i]);
		tapir_str__adds(json, i ? "," : "");
		tapir_value__add_json(json, &values[i]);
	}
	free(copy);
	return faults;
}

static struct tapir_packed_layout layout_of(const char *provider, uint16_t id, uint8_t version)
{
	const struct tapir_layout_event *ev = tapir_dotnet_event__find(SV(provider), id, version);

	assert_non_null(ev);
	return (struct tapir_packed_layout){.fields = ev->fields, .field_cnt = ev->field_cnt};
}

static void check(uint16_t id, uint8_t version, const struct bytes *b, unsigned faults,
		  const char *text, const char *json)
{
	struct tapir_packed_layout layout = layout_of(TAPIR_DOTNET_RUNTIME, id, version);
	struct tapir_str seen_text = {}, seen_json = {};

	assert_int_equal(decode(&layout, b->data, b->len, &seen_text, &seen_json), faults);
	assert_string_equal(seen_text.data, text);
	if (json)
		assert_string_equal(seen_json.data, json);
	tapir_str__fini(&seen_text);
	tapir_str__fini(&seen_json);
}

static void check_hex(uint16_t id, uint8_t version, const char *hex, unsigned faults,
		      const char *text, const char *json)
{
	struct bytes b = {};

	put_hex(&b, hex);
	check(id, version, &b, faults, text, json);
}

static void numbers_are_named_where_they_have_names(void **state)
{
	(void)state;
	check_hex(1, 2, "07000000 02000000 01000000 01000000 0900 0800000000000000", 0,
		  "Count=7 Depth=2 Reason=Induced Type=BackgroundGC ClrInstanceID=9 "
		  "ClientSequenceNumber=8",
		  "7,2,\"Induced\",\"BackgroundGC\",9,8");
	check_hex(1, 2, "07000000 02000000 11000000 09000000 0900 0800000000000000", 0,
		  "Count=7 Depth=2 Reason=InducedAggressive Type=9 ClrInstanceID=9 "
		  "ClientSequenceNumber=8",
		  "7,2,\"InducedAggressive\",9,9,8");
	check_hex(9, 1, "06000000 05000000 0000", 0,
		  "Reason=SuspendForGCPrep Count=5 ClrInstanceID=0", NULL);
	check_hex(81, 2, "00 0100 1000000000000000 2000000000000000 3930000000000000", 0,
		  "ContentionFlags=Managed ClrInstanceID=1 LockID=0x10 AssociatedObjectID=0x20 "
		  "LockOwnerThreadID=12345",
		  NULL);
	check_hex(91, 1, "01 0100 000000000000f83f", 0,
		  "ContentionFlags=Native ClrInstanceID=1 DurationNs=1.5", "\"Native\",1,1.5");
	check_hex(55, 0, "0000000000000440 03000000 08000000 0000", 0,
		  "AverageThroughput=2.5 NewWorkerThreadCount=3 Reason=CooperativeBlocking "
		  "ClrInstanceID=0",
		  NULL);
}

/* 141: MethodFlags has single bits, and the tier in three of them. */
static void flags_are_named_bit_by_bit_and_the_rest_is_a_number(void **state)
{
	static const struct {
		uint32_t flags;
		const char *text, *json;
	} cases[] = {
		{0x9, "Dynamic|Jitted", "\"Dynamic|Jitted\""},
		{0x8 | 3 << 7, "Jitted|QuickJitted", "\"Jitted|QuickJitted\""},
		{0x8 | 7 << 7, "Jitted|InstrumentedTierOptimized",
		 "\"Jitted|InstrumentedTierOptimized\""},
		{0x20000008, "Jitted|0x20000000", "\"Jitted|0x20000000\""},
		{0x40, "0x40", "\"0x40\""},
		{0, "0", "0"},
	};
	char text[512], json[512];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bytes b = {};

		put_hex(&b, "0100000000000000 0200000000000000 0003000000000000 10000000 20000000");
		put_uint(&b, cases[i].flags, 4);
		put_hex(&b, "0000 0500000000000000");
		snprintf(
			text, sizeof(text),
			"MethodID=1 ModuleID=2 MethodStartAddress=768 MethodSize=16 MethodToken=32 "
			"MethodFlags=%s ClrInstanceID=0 ReJITID=5",
			cases[i].text);
		snprintf(json, sizeof(json), "1,2,768,16,32,%s,0,5", cases[i].json);
		check(141, 2, &b, 0, text, json);
	}
}

static void strings_are_utf16_and_end_with_their_nul(void **state)
{
	struct bytes b = {};

	(void)state;
	put_wide(&b, "System.InvalidOperationException");
	put_hex(&b, "6800 e900 3dd8 00de 00d8 2200 0000"); /* h, e', a pair, half a pair, " */
	put_hex(&b, "3412000000000000 09153180 1200 0000");
	check(80, 1, &b, 0,
	      "ExceptionType=\"System.InvalidOperationException\" "
	      "ExceptionMessage=\"h\xc3\xa9\xf0\x9f\x98\x80\xef\xbf\xbd\\\"\" ExceptionEIP=0x1234 "
	      "ExceptionHRESULT=2150700297 ExceptionFlags=Nested|CLSCompliant ClrInstanceID=0",
	      "\"System.InvalidOperationException\",\"h\xc3\xa9\xf0\x9f\x98\x80\xef\xbf\xbd\\\"\","
	      "4660,2150700297,\"Nested|CLSCompliant\",0");
}

static void structs_repeat_as_a_field_says(void **state)
{
	(void)state;
	check_hex(209, 0,
		  "0000 0100 0a00000000000000 0200 00000000 b9000000 0100000000000000 01000000 "
		  "02000000 0300000000000000",
		  0,
		  "ClrInstanceID=0 BucketKind=1 TotalSize=10 Count=2 "
		  "Values=[{Index=0, Count=185, Size=1},{Index=1, Count=2, Size=3}]",
		  "0,1,10,2,[{\"Index\":0,\"Count\":185,\"Size\":1},"
		  "{\"Index\":1,\"Count\":2,\"Size\":3}]");
	check_hex(190, 0,
		  "0100000000000000 0000000000000000 00 0200 feffffff 00000000 00000000 26000000 "
		  "0000",
		  0,
		  "MethodID=1 ReJITID=0 MethodExtent=0 CountOfMapEntries=2 "
		  "ILOffsets=[4294967294,0] NativeOffsets=[0,38] ClrInstanceID=0",
		  "1,0,0,2,[4294967294,0],[0,38],0");
}

static void guids_and_paths_of_a_module(void **state)
{
	struct bytes b = {};

	(void)state;
	put_hex(&b, "0100000000000000 0200000000000000 08000000 00000000");
	put_wide(&b, "/app/x.dll");
	put_wide(&b, "");
	put_hex(&b, "0000 33221100554477668899aabbccddeeff 01000000");
	put_wide(&b, "x.pdb");
	put_hex(&b, "00000000000000000000000000000000 00000000 0000");
	check(152, 2, &b, 0,
	      "ModuleID=1 AssemblyID=2 ModuleFlags=Manifest Reserved1=0 "
	      "ModuleILPath=\"/app/x.dll\" "
	      "ModuleNativePath=\"\" ClrInstanceID=0 "
	      "ManagedPdbSignature=00112233-4455-6677-8899-aabbccddeeff ManagedPdbAge=1 "
	      "ManagedPdbBuildPath=\"x.pdb\" "
	      "NativePdbSignature=00000000-0000-0000-0000-000000000000 NativePdbAge=0 "
	      "NativePdbBuildPath=\"\"",
	      NULL);
}

/* ---- GCDynamicEvent ------------------------------------------------------------------------------ */

static void put_dynamic(struct bytes *b, const char *name, const char *hex)
{
	struct bytes data = {};

	put_hex(&data, hex);
	put_wide(b, name);
	put_uint(b, data.len, 4);
	put(b, data.data, data.len);
	put_uint(b, 0, 2);
}

static void a_dynamic_event_is_decoded_by_its_inner_name(void **state)
{
	struct bytes known = {}, unknown = {}, longer = {}, shorter = {};
	const char *inside = "0100 e08d000000000000 0000000000000000 0010000000000000 "
			     "0000000000000000 0080030000000000";
	char hex[256];

	(void)state;
	put_dynamic(&known, "CommittedUsage", inside);
	check(39, 0, &known, 0,
	      "Name=\"CommittedUsage\" DataSize=42 Data={Version=1, TotalCommittedInUse=36320, "
	      "TotalCommittedInGlobalDecommit=0, TotalCommittedInFree=4096, "
	      "TotalCommittedInGlobalFree=0, TotalBookkeepingCommitted=229376} ClrInstanceID=0",
	      NULL);
	put_dynamic(&unknown, "SomethingNew", "0100 aabb");
	check(39, 0, &unknown, 0,
	      "Name=\"SomethingNew\" DataSize=4 Data=0x0100aabb ClrInstanceID=0",
	      "\"SomethingNew\",4,\"0100aabb\",0");
	snprintf(hex, sizeof(hex), "%s ff", inside);
	put_dynamic(&longer, "CommittedUsage", hex);
	check(39, 0, &longer, 0,
	      "Name=\"CommittedUsage\" DataSize=43 Data={Version=1, TotalCommittedInUse=36320, "
	      "TotalCommittedInGlobalDecommit=0, TotalCommittedInFree=4096, "
	      "TotalCommittedInGlobalFree=0, TotalBookkeepingCommitted=229376, rest=0xff} "
	      "ClrInstanceID=0",
	      NULL);
	put_dynamic(&shorter, "CommittedUsage", "0100 e08d00000000");
	check(39, 0, &shorter, 0,
	      "Name=\"CommittedUsage\" DataSize=8 Data={Version=1, TotalCommittedInUse=<missing>, "
	      "TotalCommittedInGlobalDecommit=<missing>, TotalCommittedInFree=<missing>, "
	      "TotalCommittedInGlobalFree=<missing>, TotalBookkeepingCommitted=<missing>, "
	      "rest=0xe08d00000000} ClrInstanceID=0",
	      NULL);
}

/* Their sizes were seen, or add up in the runtime's source. */
static void inner_layouts_have_the_sizes_that_were_seen(void **state)
{
	static const struct {
		const char *name;
		unsigned bytes;
	} cases[] = {{"CommittedUsage", 42},	   {"SizeAdaptationSample", 38},
		     {"SizeAdaptationTuning", 56}, {"SizeAdaptationFullGCTuning", 44},
		     {"HeapCountSample", 34},	   {"HeapCountTuning", 36}};
	const struct tapir_layout_field *data =
		&tapir_dotnet_event__find(SV(TAPIR_DOTNET_RUNTIME), 39, 0)->fields[2];

	(void)state;
	assert_int_equal(data->member_cnt, sizeof(cases) / sizeof(cases[0]));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned bytes = 0;

		for (unsigned j = 0; j < data->member_cnt; j++)
			if (!strcmp(data->members[j].name, cases[i].name))
				bytes = data->members[j].min_bytes;
		assert_int_equal(bytes, cases[i].bytes);
	}
}

/* GCLOHCompact of two heaps: 32 bytes each, as .NET 10 has them in memory; and packed, 28. */
static void structs_are_read_with_their_padding_when_the_bytes_are_those_of_memory(void **state)
{
	static const char text[] =
		"ClrInstanceID=0 Count=2 Values=[{TimePlan=2, TimeCompact=3, TimeRelocate=1, "
		"TotalRefs=0x12, ZeroRefs=0x7},{TimePlan=9, TimeCompact=8, TimeRelocate=7, "
		"TotalRefs=0x6, ZeroRefs=0x5}]";

	(void)state;
	check_hex(208, 0,
		  "0000 0200 02000000 03000000 01000000 00000000 1200000000000000 "
		  "0700000000000000 09000000 08000000 07000000 cccccccc 0600000000000000 "
		  "0500000000000000",
		  0, text, NULL);
	check_hex(208, 0,
		  "0000 0200 02000000 03000000 01000000 1200000000000000 0700000000000000 "
		  "09000000 08000000 07000000 0600000000000000 0500000000000000",
		  0, text, NULL);
}

/* ---- longer, shorter ----------------------------------------------------------------------------- */

static void what_is_not_as_the_layout_says_is_shown_and_counted(void **state)
{
	(void)state;
	check_hex(2, 1, "01000000 02000000 0300", 0, "Count=1 Depth=2 ClrInstanceID=3", "1,2,3");
	check_hex(2, 1, "01000000 02000000 0300 ff", TAPIR_PACKED_LONG,
		  "Count=1 Depth=2 ClrInstanceID=3 rest=0xff", "1,2,3,\"ff\"");
	check_hex(2, 1, "01000000 0200", TAPIR_PACKED_SHORT,
		  "Count=1 Depth=<missing> ClrInstanceID=<missing> rest=0x0200",
		  "1,null,null,\"0200\"");
	check_hex(2, 1, "", TAPIR_PACKED_SHORT,
		  "Count=<missing> Depth=<missing> ClrInstanceID=<missing>", NULL);
	check_hex(299, 0, "0000 6100 6200", TAPIR_PACKED_SHORT,
		  "ClrInstanceID=0 Message=\"ab\"\xe2\x80\xa6", NULL);
	check_hex(209, 0, "0000 0100 0a00000000000000 ffff 00000000 b9000000 0100",
		  TAPIR_PACKED_SHORT,
		  "ClrInstanceID=0 BucketKind=1 TotalSize=10 Count=65535 "
		  "Values=[{Index=0, Count=185, Size=<missing>},\xe2\x80\xa6] rest=0x0100",
		  NULL);
}

/* ---- every layout -------------------------------------------------------------------------------- */

#define REPEATS 2

static void make_up(struct bytes *b, const struct tapir_layout_field *fields, unsigned cnt);

static bool is_counted(const struct tapir_layout_field *fields, unsigned cnt, unsigned idx)
{
	for (unsigned i = 0; i < cnt; i++)
		if (fields[i].repeat == TAPIR_REPEAT_FIELD && fields[i].count == idx)
			return true;
	return false;
}

static void make_up_one(struct bytes *b, const struct tapir_layout_field *f, bool counts)
{
	unsigned size = tapir_layout_type__bytes(f->type);
	static const uint8_t some[16] = {0x11, 0x22, 0x33, 0x44, 5, 6, 7, 8, 9};

	if (f->type == TAPIR_LAYOUT_STRUCT)
		make_up(b, f->members, f->member_cnt);
	else if (f->type == TAPIR_LAYOUT_UTF16)
		put_wide(b, "text");
	else if (f->type == TAPIR_LAYOUT_UTF8)
		put(b, "text", 5);
	else if (counts)
		put_uint(b, REPEATS, size);
	else
		put(b, some, size ? size : 1); /* a BINARY's bytes, one by one */
}

static void make_up(struct bytes *b, const struct tapir_layout_field *fields, unsigned cnt)
{
	for (unsigned i = 0; i < cnt; i++) {
		unsigned times = fields[i].repeat == TAPIR_REPEAT_ONCE	  ? 1
				 : fields[i].repeat == TAPIR_REPEAT_FIXED ? fields[i].count
									  : REPEATS;

		while (times--)
			make_up_one(b, &fields[i], is_counted(fields, cnt, i));
	}
}

/* Complete payloads are read to the last byte; one that was cut is reported, and not read past its
 * end. */
static void check_all_lengths(const struct tapir_packed_layout *layout, const uint8_t *payload,
			      size_t len, const char *what)
{
	struct tapir_str text = {}, json = {};

	if (decode(layout, payload, len, &text, &json) != 0)
		fail_msg("%s: %s", what, text.data);
	if (text.data && (strstr(text.data, "<missing>") || strstr(text.data, "rest=")))
		fail_msg("%s: %s", what, text.data);
	for (size_t cut = 0; cut < len; cut++) {
		tapir_str__clear(&text);
		tapir_str__clear(&json);
		if (decode(layout, payload, cut, &text, &json) != TAPIR_PACKED_SHORT)
			fail_msg("%s, %zu of %zu: %s", what, cut, len, text.data);
	}
	tapir_str__fini(&text);
	tapir_str__fini(&json);
}

static void every_layout_is_decoded_to_the_last_byte(void **state)
{
	const struct tapir_layout_provider *p;
	unsigned cnt = 0;

	(void)state;
	for (unsigned n = 0; (p = tapir_dotnet_provider__at(n)); n++)
		for (unsigned i = 0; i < p->event_cnt; i++, cnt++) {
			const struct tapir_layout_event *ev = &p->events[i];
			struct tapir_packed_layout layout = {.fields = ev->fields,
							     .field_cnt = ev->field_cnt};
			struct bytes b = {};

			make_up(&b, ev->fields, ev->field_cnt);
			check_all_lengths(&layout, b.data, b.len, ev->symbol);
		}
	assert_true(cnt >= 475);
}

/* ---- recorded ------------------------------------------------------------------------------------ */

struct recorded {
	const char *provider;
	uint16_t id;
	uint8_t version;
	struct bytes blob, payload;
};

/* How a row is described: by itself, by the tables, not at all. */
enum source { BLOB, TABLES, NOBODY, SOURCE_CNT };

static enum source check_recorded(const struct recorded *r)
{
	const struct tapir_layout_event *ev =
		tapir_dotnet_event__find(SV(r->provider), r->id, r->version);
	struct tapir_event_blob *blob = NULL;
	struct tapir_packed_layout layout = {};
	enum source source = NOBODY;

	assert_int_equal(tapir_event_blob__parse(r->blob.data, r->blob.len, &blob), 0);
	assert_int_equal(blob->version, r->version);
	if (blob->layout.field_cnt) {
		layout = blob->layout;
		source = BLOB;
	} else if (ev && ev->version == r->version) {
		layout = (struct tapir_packed_layout){.fields = ev->fields,
						      .field_cnt = ev->field_cnt};
		source = TABLES;
		assert_int_equal(ev->level, blob->level);
		if (*blob->name)
			assert_string_equal(ev->name, blob->name);
	}
	if (source != NOBODY)
		check_all_lengths(&layout, r->payload.data, r->payload.len, r->provider);
	/* what the tables and a blob say of one event is the same */
	if (source == BLOB && ev && ev->version == r->version && ev->field_cnt) {
		layout = (struct tapir_packed_layout){.fields = ev->fields,
						      .field_cnt = ev->field_cnt};
		check_all_lengths(&layout, r->payload.data, r->payload.len, ev->symbol);
	}
	tapir_event_blob__free(blob);
	return source;
}

static void what_was_recorded_is_decoded_to_the_last_byte(void **state)
{
	unsigned cnt[SOURCE_CNT] = {}, empty = 0;
	tapir_autofree char *text = NULL;
	char *rest, *line;
	size_t len;

	(void)state;
	assert_int_equal(tapir_file__read(RECORDED, 1 << 20, &text, &len), 0);
	for (rest = text; (line = strsep(&rest, "\n"));) {
		struct recorded r = {};
		enum source source;

		if (!*line || *line == '#')
			continue;
		r.provider = strsep(&line, "\t");
		r.id = (uint16_t)atoi(strsep(&line, "\t"));
		r.version = (uint8_t)atoi(strsep(&line, "\t"));
		put_hex(&r.blob, strsep(&line, "\t"));
		put_hex(&r.payload, line);
		source = check_recorded(&r);
		cnt[source]++;
		empty += source == NOBODY && !r.payload.len;
	}
	assert_true(cnt[BLOB] > 30);
	assert_true(cnt[TABLES] > 60);
	/* MyCompany-Demo 3, 4 and Self 157, 159, which have arrays: the runtime describes no fields
	 */
	assert_int_equal(cnt[NOBODY] - empty, 4);
}

/* A NUL inside of a string: the numbers behind it are read from the end. */
static void numbers_behind_a_string_with_a_nul_are_right(void **state)
{
	static const struct tapir_layout_field one[] = {
		{.name = "a", .type = TAPIR_LAYOUT_I32},
		{.name = "text", .type = TAPIR_LAYOUT_UTF16},
		{.name = "baz", .type = TAPIR_LAYOUT_I32},
		{.name = "wide", .type = TAPIR_LAYOUT_I64}};
	static const struct tapir_layout_field two[] = {
		{.name = "first", .type = TAPIR_LAYOUT_UTF16},
		{.name = "text", .type = TAPIR_LAYOUT_UTF16},
		{.name = "baz", .type = TAPIR_LAYOUT_I32}};
	struct tapir_packed_layout layout = {.fields = one, .field_cnt = 4, .is_exact = true};
	struct tapir_str text = {}, json = {};
	struct bytes b = {};

	(void)state;
	put_uint(&b, 7, 4);
	put_wide(&b, "foo");
	put_wide(&b, "bar");
	put_uint(&b, 10, 4);
	put_uint(&b, 11, 8);
	assert_int_equal(decode(&layout, b.data, b.len, &text, &json), 0);
	assert_string_equal(text.data, "a=7 text=\"foo\\x00bar\" baz=10 wide=11");
	assert_string_equal(json.data, "7,\"foo\\u0000bar\",10,11");
	/* A layout of tables may be an earlier version's: what follows it is the rest. */
	layout.is_exact = false;
	tapir_str__clear(&text);
	assert_int_equal(decode(&layout, b.data, b.len, &text, &json), TAPIR_PACKED_LONG);
	assert_non_null(strstr(text.data, "text=\"foo\" baz=6357090 "));
	/* Of two strings it is not known whose it is. */
	layout = (struct tapir_packed_layout){.fields = two, .field_cnt = 3, .is_exact = true};
	b.len = 0;
	put_wide(&b, "x");
	put_wide(&b, "foo");
	put_wide(&b, "bar");
	put_uint(&b, 10, 4);
	tapir_str__clear(&text);
	assert_int_equal(decode(&layout, b.data, b.len, &text, &json), TAPIR_PACKED_LONG);
	assert_non_null(strstr(text.data, "first=\"x\" text=\"foo\""));
	assert_non_null(strstr(text.data, " baz=10 rest="));
	tapir_str__fini(&text);
	tapir_str__fini(&json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_behind_a_string_with_a_nul_are_right),
		cmocka_unit_test(numbers_are_named_where_they_have_names),
		cmocka_unit_test(flags_are_named_bit_by_bit_and_the_rest_is_a_number),
		cmocka_unit_test(strings_are_utf16_and_end_with_their_nul),
		cmocka_unit_test(structs_repeat_as_a_field_says),
		cmocka_unit_test(guids_and_paths_of_a_module),
		cmocka_unit_test(a_dynamic_event_is_decoded_by_its_inner_name),
		cmocka_unit_test(inner_layouts_have_the_sizes_that_were_seen),
		cmocka_unit_test(
			structs_are_read_with_their_padding_when_the_bytes_are_those_of_memory),
		cmocka_unit_test(what_is_not_as_the_layout_says_is_shown_and_counted),
		cmocka_unit_test(every_layout_is_decoded_to_the_last_byte),
		cmocka_unit_test(what_was_recorded_is_decoded_to_the_last_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
