// SPDX-License-Identifier: GPL-2.0-or-later
// with: usdt/coreclr/coreclr_blob.c usdt/coreclr/coreclr_text.c usdt/coreclr/coreclr_layout.c
// with: usdt/coreclr/coreclr_payload.c usdt/coreclr/coreclr_number.c usdt/coreclr/coreclr_json.c
// with: usdt/coreclr/coreclr_image.c usdt/coreclr/coreclr_publish.c
/*
 * --publish usdt inside the process: fields and JSON as tapir's own decoder has them, numbers as
 * the C library reads them, images as tapir's reader of notes sees them, and the registers at a
 * probe (whose slot is overwritten by a jump to a function that keeps them).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "blob_builder.h"
#include "decode/event_blob.h"
#include "decode/value.h"
#include "elf/image.h"
#include "elf/notes.h"
#include "usdt/coreclr/coreclr_publish.h"

struct coreclr_state coreclr = {.key = 0xabc};

void coreclr_control__poke(void)
{
}

/* ---- blobs and payloads ------------------------------------------------------------------------ */

static void head(struct bytes *b, const char *name, unsigned field_cnt)
{
	head_of(b, name, 0xf00000000001, 4, field_cnt);
}

static void field_v2(struct bytes *b, const char *name, const void *type, uint32_t type_bytes)
{
	u(b, 4 + 2 * strlen(name) + 2 + type_bytes, 4);
	wide(b, name);
	put(b, type, type_bytes);
}

static uint8_t memory[1 << 20];
static uint64_t memory_used;

static void *take(uint64_t bytes)
{
	uint8_t *at = memory + memory_used;

	memory_used += (bytes + 15) & ~15ull;
	return memory_used <= sizeof(memory) ? memset(at, 0, bytes) : NULL;
}

static struct coreclr_layout layout_of(const struct bytes *blob, const struct bytes *payload)
{
	struct coreclr_layout layout;

	memory_used = 0;
	assert_int_equal(coreclr_layout__parse(blob->data, blob->len, take, &layout), 0);
	layout.is_self = coreclr_payload__way(&layout, payload->data, payload->len);
	return layout;
}

static const char *json_of(const struct bytes *blob, const struct bytes *payload)
{
	static char out[CORECLR_JSON_BYTES];
	const struct coreclr_layout layout = layout_of(blob, payload);
	uint32_t len = coreclr_json__write(&layout, payload->data, payload->len, out);

	assert_int_equal(strlen(out), len);
	assert_true(len < sizeof(out));
	return out;
}

/* What tapir's decoder makes of the same bytes, as the same object. */
static char *decoded(const struct bytes *blob, const struct bytes *payload)
{
	struct tapir_event_blob *event;
	struct tapir_value values[64];
	struct tapir_str out = {};
	unsigned odd, cnt;

	assert_int_equal(tapir_event_blob__parse(blob->data, blob->len, &event), 0);
	cnt = tapir_packed__decode(&event->layout, payload->data, payload->len, values, 64, &odd);
	if (odd && event->other.field_cnt) {
		struct tapir_value again[64];
		unsigned other_odd,
			other_cnt = tapir_packed__decode(&event->other, payload->data, payload->len,
							 again, 64, &other_odd);

		if (!other_odd) {
			memcpy(values, again, sizeof(again));
			cnt = other_cnt;
		}
	}
	tapir_str__addc(&out, '{');
	for (unsigned i = 0; i < cnt; i++) {
		tapir_str__addf(&out, "%s\"%.*s\":", i ? "," : "", (int)values[i].name.len,
				values[i].name.data);
		tapir_value__add_json(&out, &values[i]);
	}
	tapir_str__addc(&out, '}');
	tapir_event_blob__free(event);
	return out.data;
}

static void check_same(const struct bytes *blob, const struct bytes *payload)
{
	char *wanted = decoded(blob, payload);

	assert_string_equal(json_of(blob, payload), wanted);
	free(wanted);
}

static const uint8_t guid[] = {0x33, 0x22, 0x11, 0,    0x55, 0x44, 0x77, 0x66,
			       0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff};

/* Types 3 to 18, one of each, and what they hold. is_self: as an event that describes itself. */
static void all_types(struct bytes *blob, struct bytes *payload, int is_self)
{
	static const char *const names[] = {"b",   "c",	  "s8", "u8", "s16", "u16", "s32", "u32",
					    "s64", "u64", "f",	"d",  "m",   "t",   "g",   "s"};
	double d = -2.25;
	float f = 0.1f;

	head(blob, "All", is_self ? 1 : 16);
	if (is_self) {
		u(blob, CORECLR_OBJECT, 4);
		u(blob, 16, 4);
	}
	for (unsigned i = 0; i < 16; i++)
		field(blob, 3 + i, names[i]);
	if (is_self)
		wide(blob, "");
	*payload = (struct bytes){};
	u(payload, 1, is_self ? 1 : 4);
	u(payload, 'x', 2);
	u(payload, (uint64_t)-5, 1);
	u(payload, 200, 1);
	u(payload, (uint64_t)-3000, 2);
	u(payload, 60000, 2);
	u(payload, (uint64_t)-100000, 4);
	u(payload, 4000000000, 4);
	u(payload, (uint64_t)-5000000000, 8);
	u(payload, 10000000000000000000ull, 8);
	put(payload, &f, 4);
	put(payload, &d, 8);
	if (is_self) {
		put(payload, &d, 8);
	} else {
		u(payload, 2ull << 16 | 1ull << 31, 8); /* two digits, negative */
		u(payload, 12345, 8);
	}
	u(payload, 134000000001234567ull, 8);
	put(payload, guid, 16);
	wide(payload, "a \"b\"\\\n");
}

/* ---- fields -------------------------------------------------------------------------------------- */

static void every_type_is_as_tapir_decodes_it(void **state)
{
	struct bytes blob, payload;

	(void)state;
	for (int is_self = 0; is_self < 2; is_self++) {
		all_types(&blob, &payload, is_self);
		check_same(&blob, &payload);
	}
}

static void nested_objects_and_arrays_are_as_tapir_decodes_them(void **state)
{
	const uint32_t array_of_int[] = {CORECLR_ARRAY, CORECLR_I32},
		       array_of_text[] = {CORECLR_ARRAY, CORECLR_TEXT},
		       array_of_byte[] = {CORECLR_ARRAY, CORECLR_U8};
	struct bytes blob, payload = {}, fields = {}, object = {};

	(void)state;
	u(&object, CORECLR_OBJECT, 4);
	u(&object, 2, 4);
	field_v2(&object, "X", &(uint32_t){CORECLR_I32}, 4);
	field_v2(&object, "Ys", array_of_text, 8);
	u(&fields, 4, 4);
	field_v2(&fields, "In", object.data, object.len);
	field_v2(&fields, "Is", array_of_int, 8);
	field_v2(&fields, "Raw", array_of_byte, 8);
	field_v2(&fields, "Last", &(uint32_t){CORECLR_TEXT}, 4);
	head(&blob, "Deep", 0);
	u(&blob, fields.len, 4);
	u(&blob, 2, 1);
	put(&blob, fields.data, fields.len);
	u(&payload, 5, 4);
	u(&payload, 2, 2);
	wide(&payload, "one");
	wide(&payload, "two");
	u(&payload, 2, 2);
	u(&payload, 7, 4);
	u(&payload, (uint64_t)-8, 4);
	u(&payload, 3, 2);
	u(&payload, 0xffeedd, 3);
	wide(&payload, "end");
	check_same(&blob, &payload);
	assert_string_equal(json_of(&blob, &payload),
			    "{\"In\":{\"X\":5,\"Ys\":[\"one\",\"two\"]},\"Is\":[7,-8],"
			    "\"Raw\":\"ddeeff\",\"Last\":\"end\"}");
}

static void json_is_whole_when_the_payload_is_not(void **state)
{
	struct bytes blob, payload, part;

	(void)state;
	for (int is_self = 0; is_self < 2; is_self++) {
		all_types(&blob, &payload, is_self);
		for (uint32_t len = 0; len < payload.len; len++) {
			const char *json;

			part = payload;
			part.len = len;
			json = json_of(&blob, &part);
			assert_int_equal(json[strlen(json) - 1], '}');
			assert_non_null(strstr(json, len < payload.len - 2 ? "\"s\":" : "\"b\":"));
		}
	}
	head(&blob, "Short", 2);
	field(&blob, CORECLR_I32, "a");
	field(&blob, CORECLR_TEXT, "b");
	payload = (struct bytes){.len = 3};
	assert_string_equal(json_of(&blob, &payload), "{\"a\":null,\"b\":null}");
	payload = (struct bytes){.data = {1, 0, 0, 0, 'x', 0, 0, 0, 0xab, 0xcd}, .len = 10};
	assert_string_equal(json_of(&blob, &payload), "{\"a\":1,\"b\":\"x\",\"rest\":\"abcd\"}");
}

static void json_says_so_when_it_finds_no_room(void **state)
{
	static const char end[] = ",\"tapir_cut\":true}";
	struct bytes blob, payload = {};
	const char *json;
	char rest[64];

	(void)state;
	head(&blob, "Long", 3);
	field(&blob, CORECLR_TEXT, "a");
	field(&blob, CORECLR_I32, "b");
	field(&blob, CORECLR_TEXT, "c");
	for (unsigned cnt = 3300; cnt < 3700; cnt++) {
		payload.len = 0;
		for (unsigned i = 0; i < cnt; i++)
			u(&payload, i % 3 ? 'y' : 0xe9, 2);
		u(&payload, 0, 2);
		u(&payload, 77, 4);
		wide(&payload, "z");
		json = json_of(&blob, &payload);
		snprintf(rest, sizeof(rest), "%s", json + strlen(json) - sizeof(end) + 1);
		assert_string_equal(rest, end);
		for (size_t at = 0, n; json[at]; at += n) {
			n = tapir_utf8__len((const uint8_t *)json + at, strlen(json) - at);
			assert_true(n > 0);
		}
	}
}

/* ---- descriptions by chance, and payloads that fit them ------------------------------------------- */

static uint64_t random_state = 88172645463325252ull;

static uint64_t random_u64(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	return random_state ^= random_state << 17;
}

static void random_text(struct bytes *payload)
{
	static const uint16_t units[] = {'a', 'B', '7', ' ', '"', '\\', '\n', 0xe9, 0x20ac, 0xd800};

	for (uint64_t cnt = random_u64() % 9; cnt; cnt--) {
		uint16_t unit = units[random_u64() % 10];

		u(payload, unit, 2);
		if (unit == 0xd800) /* U+10302 */
			u(payload, 0xdf02, 2);
	}
	u(payload, 0, 2);
}

static void random_value(unsigned type, struct bytes *payload)
{
	double d = (double)(int64_t)(random_u64() % 100000) / 8 - 5000;
	float f = (float)d;

	if (type == CORECLR_TEXT)
		random_text(payload);
	else if (type == CORECLR_F64 || type == CORECLR_DECIMAL)
		put(payload, &d, 8);
	else if (type == CORECLR_F32)
		put(payload, &f, 4);
	else if (type == CORECLR_BOOL)
		u(payload, random_u64() & 1, 1);
	else if (type == CORECLR_CHAR)
		u(payload, 'a' + random_u64() % 26, 2);
	else if (type == CORECLR_TIME)
		u(payload, 130000000000000000ull + random_u64() % 1000000000000000ull, 8);
	else
		for (uint32_t i = coreclr_type__bytes((uint8_t)type, 1); i; i--)
			u(payload, random_u64(), 1);
}

static void random_fields(struct bytes *fields, struct bytes *payload, unsigned depth);

/* A type as V2 has it, and cnt values of it. */
static void random_type(struct bytes *type, struct bytes *payload, unsigned depth, unsigned cnt)
{
	unsigned code = 3 + (unsigned)(random_u64() % 16);
	struct bytes unused = {};

	if (depth < 3 && random_u64() % 5 == 0) {
		uint64_t seed = random_state;

		u(type, CORECLR_OBJECT, 4);
		random_fields(type, cnt ? payload : &unused, depth + 1);
		for (unsigned i = 1; i < cnt; i++) { /* the same again */
			struct bytes again = {};

			random_state = seed;
			random_fields(&again, payload, depth + 1);
		}
		return;
	}
	u(type, code, 4);
	for (unsigned i = 0; i < cnt; i++)
		random_value(code, payload);
}

static void random_fields(struct bytes *fields, struct bytes *payload, unsigned depth)
{
	unsigned cnt = 1 + (unsigned)(random_u64() % 4);

	u(fields, cnt, 4);
	for (unsigned i = 0; i < cnt; i++) {
		struct bytes type = {}, values = {};
		char name[8];

		snprintf(name, sizeof(name), "f%u_%u", depth, i);
		if (random_u64() % 4) {
			random_type(&type, payload, depth, 1);
		} else {
			unsigned element_cnt = (unsigned)(random_u64() % 4);

			u(&type, CORECLR_ARRAY, 4);
			random_type(&type, &values, depth, element_cnt);
			u(payload, element_cnt, 2);
			put(payload, values.data, values.len);
		}
		field_v2(fields, name, type.data, type.len);
	}
}

static void a_thousand_descriptions_by_chance_are_as_tapir_decodes_them(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		struct bytes blob, fields = {}, payload = {};

		random_fields(&fields, &payload, 0);
		head(&blob, "Chance", 0);
		u(&blob, fields.len, 4);
		u(&blob, 2, 1);
		put(&blob, fields.data, fields.len);
		check_same(&blob, &payload);
	}
}

/* ---- arguments ------------------------------------------------------------------------------------ */

static void fields_are_told_with_their_types_and_names(void **state)
{
	const uint32_t array_of_int[] = {CORECLR_ARRAY, CORECLR_I32};
	struct coreclr_signature s;
	struct coreclr_layout layout;
	struct bytes blob, payload, fields = {}, object = {};

	(void)state;
	all_types(&blob, &payload, 0);
	layout = layout_of(&blob, &payload);
	coreclr_payload__sign(&layout, 0, &s);
	assert_string_equal(s.operands, "1@%rdi 2@%rsi -1@%rdx 1@%rcx -2@%r8 2@%r9 -4@%rax 4@%r10 "
					"-8@%rbx 8@%r12 4@%r13 8@%r14");
	assert_string_equal(s.kinds, "buiuiuiuiuff");
	assert_memory_equal(s.names, "b\0c\0s8\0u8", 10);
	u(&object, CORECLR_OBJECT, 4);
	u(&object, 1, 4);
	field_v2(&object, "X", &(uint32_t){CORECLR_GUID}, 4);
	u(&fields, 2, 4);
	field_v2(&fields, "In", object.data, object.len);
	field_v2(&fields, "Is", array_of_int, 8);
	head(&blob, "Deep", 0);
	u(&blob, fields.len, 4);
	u(&blob, 2, 1);
	put(&blob, fields.data, fields.len);
	layout = layout_of(&blob, &payload);
	coreclr_payload__sign(&layout, 0, &s);
	assert_string_equal(s.operands, "8@%rdi 8@%rsi 4@%rdx");
	assert_string_equal(s.kinds, "ppu");
	assert_memory_equal(s.names, "In_X\0Is\0Is_Count", 17);
}

/* ---- numbers ------------------------------------------------------------------------------------- */

/* As few digits as read back the same. */
static void check_double(uint64_t bits)
{
	char out[CORECLR_NUMBER_BYTES + 1], text[40];
	uint32_t len = coreclr_number__float(out, bits, 8);
	double value, back;
	int digit_cnt = 0, p = 1;

	memcpy(&value, &bits, 8);
	assert_true(len < CORECLR_NUMBER_BYTES);
	out[len] = 0;
	if (value != value || value - value != 0) {
		assert_string_equal(out, "null");
		return;
	}
	back = strtod(out, NULL);
	assert_memory_equal(&back, &value, 8);
	for (; p < 17; p++) {
		snprintf(text, sizeof(text), "%.*e", p - 1, value);
		if (strtod(text, NULL) == value)
			break;
	}
	for (const char *c = out; *c && *c != 'e'; c++)
		digit_cnt += *c >= '0' && *c <= '9';
	if (strchr(out, 'e'))
		assert_true(digit_cnt <= p);
}

static void doubles_are_short_and_read_back_the_same(void **state)
{
	const double some[] = {0.0,
			       -0.0,
			       0.1,
			       1.0,
			       -1.5,
			       334.75,
			       1e21,
			       1e22,
			       1e23,
			       5e-324,
			       1e-6,
			       1e-7,
			       123456,
			       9.5,
			       1e308,
			       0.3,
			       1e15,
			       1.7e308,
			       4.9e-5,
			       2.2250738585072014e-308,
			       9007199254740993.0};
	char out[CORECLR_NUMBER_BYTES + 1];
	uint64_t bits;

	(void)state;
	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		memcpy(&bits, &some[i], 8);
		check_double(bits);
	}
	for (int i = 0; i < 20000; i++) {
		check_double(random_u64());
		bits = (random_u64() & 0x800fffffffffffffull) | (1000 + random_u64() % 60) << 52;
		check_double(bits);
		check_double(1ull << (random_u64() % 63) | random_u64() << 63);
	}
	for (int i = 0; i < 20000; i++) {
		uint32_t low = (uint32_t)random_u64();
		float value, back;

		memcpy(&value, &low, 4);
		out[coreclr_number__float(out, low, 4)] = 0;
		back = strtof(out, NULL);
		if (value == value && value - value == 0)
			assert_memory_equal(&back, &value, 4);
	}
	out[coreclr_number__float(out, 0x3dcccccd, 4)] = 0;
	assert_string_equal(out, "0.1");
}

static void times_are_as_the_c_library_has_them(void **state)
{
	char out[CORECLR_NUMBER_BYTES + 1], wanted[64];

	(void)state;
	for (int i = 0; i < 20000; i++) {
		uint64_t filetime = random_u64() % 2650467744000000000ull; /* 10000-01-01 */
		time_t seconds = (time_t)(filetime / 10000000) - 11644473600;
		struct tm tm;

		gmtime_r(&seconds, &tm);
		snprintf(wanted, sizeof(wanted), "%04d-%02d-%02dT%02d:%02d:%02d.%07" PRIu64 "Z",
			 tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min,
			 tm.tm_sec, filetime % 10000000);
		out[coreclr_number__time(out, filetime)] = 0;
		assert_string_equal(out, wanted);
	}
}

/* ---- images ---------------------------------------------------------------------------------------- */

static void read_image(const struct coreclr_image *image, struct tapir_elf **elf,
		       struct tapir_usdt_notes *notes)
{
	assert_int_equal(tapir_elf__open_fd(image->fd, elf), 0);
	assert_true(tapir_usdt_notes__read(*elf, notes) >= 0);
	assert_int_equal(notes->bad_cnt, 0);
}

static void an_image_is_read_as_it_grows(void **state)
{
	struct coreclr_signature s = {.cnt = 2,
				      .operands = "-4@%rdi 8@%rsi",
				      .kinds = "is",
				      .names = "Id\0Customer",
				      .names_bytes = 12};
	struct coreclr_image image;
	struct tapir_usdt_notes notes;
	struct tapir_elf *elf;

	(void)state;
	assert_int_equal(coreclr_image__open(&image, 1, "My-Shop"), 0);
	read_image(&image, &elf, &notes);
	assert_int_equal(notes.cnt, 0);
	tapir_elf__free(elf);
	for (unsigned i = 0; i < CORECLR_SLOT_MAX; i++) {
		char name[16];

		snprintf(name, sizeof(name), "E%u", i);
		assert_int_equal(coreclr_image__add(
					 &image, &(struct coreclr_probe_note){"My-Shop", name, &s}),
				 i);
		assert_memory_equal(image.text + i * CORECLR_SLOT_BYTES, "\x90\x66\x2e", 3);
		assert_int_equal(image.text[i * CORECLR_SLOT_BYTES + 11], 0xc3);
		assert_int_equal(image.semaphores[i], 0);
	}
	assert_int_equal(
		coreclr_image__add(&image, &(struct coreclr_probe_note){"My-Shop", "One", &s}),
		-ENOSPC);
	read_image(&image, &elf, &notes);
	assert_int_equal(notes.cnt, CORECLR_SLOT_MAX);
	for (unsigned i = 0; i < CORECLR_SLOT_MAX; i += 255) {
		const struct tapir_usdt_note *n = &notes.data[i];
		char name[16];

		snprintf(name, sizeof(name), "E%u", i);
		assert_string_equal(n->provider, "My-Shop");
		assert_string_equal(n->name, name);
		assert_string_equal(n->kinds, "is");
		assert_string_equal(n->arg_names[1], "Customer");
		assert_int_equal(n->site_off - notes.data[0].site_off, i * CORECLR_SLOT_BYTES);
		assert_int_equal(n->semaphore_off - notes.data[0].semaphore_off, 2 * i);
	}
	tapir_usdt_notes__fini(&notes);
	tapir_elf__free(elf);
	coreclr_image__close(&image);
	assert_int_equal(image.fd, -1);
}

/* ---- fired ------------------------------------------------------------------------------------------ */

static volatile uint64_t seen[CORECLR_ARG_MAX] __attribute__((used));
static volatile unsigned seen_cnt __attribute__((used));
static volatile unsigned keeps_text __attribute__((used)); /* what the first argument points to */
static char seen_text[CORECLR_TEXT_BYTES] __attribute__((used));

/* Runs as the slot would: on its own return address. */
__attribute__((naked, used)) static void keep_registers(void)
{
	__asm__("push %r15\n"
		"lea seen(%rip), %r15\n"
		"mov %rdi, (%r15)\n"
		"mov %rsi, 8(%r15)\n"
		"mov %rdx, 16(%r15)\n"
		"mov %rcx, 24(%r15)\n"
		"mov %r8, 32(%r15)\n"
		"mov %r9, 40(%r15)\n"
		"mov %rax, 48(%r15)\n"
		"mov %r10, 56(%r15)\n"
		"mov %rbx, 64(%r15)\n"
		"mov %r12, 72(%r15)\n"
		"mov %r13, 80(%r15)\n"
		"mov %r14, 88(%r15)\n"
		"incl seen_cnt(%rip)\n"
		"cmpl $0, keeps_text(%rip)\n"
		"je 1f\n"
		"mov %rdi, %rsi\n"
		"lea seen_text(%rip), %rdi\n"
		"mov $2048, %ecx\n" /* CORECLR_TEXT_BYTES */
		"cld\n"
		"rep movsb\n"
		"1:\n"
		"pop %r15\n"
		"ret\n");
}

/* As struct coreclr_published begins. */
struct published_head {
	uint16_t *semaphore;
	uint8_t *slot;
};

static void watch(const struct coreclr_published *p)
{
	const struct published_head *h = (const struct published_head *)p;
	uint64_t page = (uint64_t)(uintptr_t)h->slot & ~4095ull,
		 to = (uint64_t)(uintptr_t)keep_registers;

	assert_int_equal(mprotect((void *)page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
	memcpy(h->slot, "\xff\x25\0\0\0\0", 6); /* jmp *0(%rip) */
	memcpy(h->slot + 6, &to, 8);
	*h->semaphore = 1;
}

static const struct coreclr_published *see(struct coreclr_published **at, const char *provider,
					   const char *name, uint32_t version,
					   const struct bytes *blob, const struct bytes *payload)
{
	const struct coreclr_publish_event event = {.provider = provider,
						    .name = name,
						    .id = 7,
						    .version = version,
						    .level = 4,
						    .meta = blob->data,
						    .meta_bytes = blob->len};

	return coreclr_publish__see(at, &event, payload->data, payload->len);
}

static void arguments_are_in_their_registers_when_a_probe_fires(void **state)
{
	struct coreclr_published *at[3] = {};
	struct bytes blob, payload, text_blob, text = {};
	const struct coreclr_published *p, *q;
	const char *strings[3];

	(void)state;
	coreclr_publish__turn(1);
	assert_int_equal(coreclr_publishing, 1);
	all_types(&blob, &payload, 0);
	p = see(&at[0], "My-Shop", "All", 3, &blob, &payload);
	coreclr_publish__fire(p, payload.data, payload.len, NULL, NULL); /* no slot yet */
	coreclr_publish__serve();
	coreclr_publish__fire(p, payload.data, payload.len, NULL, NULL);
	assert_int_equal(seen_cnt, 0); /* nobody is there */
	watch(p);
	coreclr_publish__fire(p, payload.data, payload.len, NULL, NULL);
	assert_int_equal(seen_cnt, 1);
	assert_int_equal(seen[0], 1);
	assert_int_equal(seen[1], 'x');
	assert_int_equal((int64_t)seen[2], -5);
	assert_int_equal(seen[3], 200);
	assert_int_equal((int64_t)seen[4], -3000);
	assert_int_equal((int64_t)seen[6], -100000);
	assert_int_equal((int64_t)seen[8], -5000000000);
	assert_int_equal(seen[9], 10000000000000000000ull);
	assert_int_equal(seen[10], 0x3dcccccd);
	assert_int_equal(seen[11], 0xc002000000000000ull);
	coreclr_publish__fire(p, payload.data, 14, NULL, NULL); /* it ends within s32 */
	assert_int_equal(seen[4], (uint64_t)-3000);
	assert_int_equal(seen[6] | seen[7] | seen[11], 0);

	head(&text_blob, "Text", 3);
	field(&text_blob, CORECLR_TEXT, "a");
	field(&text_blob, CORECLR_TEXT, "b");
	field(&text_blob, CORECLR_TEXT, "c");
	for (unsigned i = 0; i < 2000; i++)
		u(&text, 0x20ac, 2);
	u(&text, 0, 2);
	wide(&text, "second");
	wide(&text, "third");
	q = see(&at[1], "My-Shop", "Text", 0, &text_blob, &text);
	coreclr_publish__serve();
	watch(q);
	keeps_text = 1;
	coreclr_publish__fire(q, text.data, text.len, NULL, NULL);
	for (unsigned i = 0; i < 3; i++)
		strings[i] = (const char *)(uintptr_t)seen[i];
	__asm__ volatile("" : : : "memory");
	assert_int_equal(strlen(seen_text), 1023 / 3 * 3); /* whole characters */
	assert_string_equal(seen_text + (strings[1] - strings[0]), "second");
	assert_string_equal(seen_text + (strings[2] - strings[0]), "third");
	coreclr_publish__end();
	assert_int_equal(coreclr_publishing, 0);
}

/* The image of a provider, by its memfd. */
static void find_notes(const char *name, struct tapir_elf **elf, struct tapir_usdt_notes *notes)
{
	char path[64], target[256];

	for (int fd = 3; fd < 256; fd++) {
		ssize_t len;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		len = readlink(path, target, sizeof(target) - 1);
		target[len > 0 ? len : 0] = 0;
		if (strstr(target, name)) {
			assert_int_equal(tapir_elf__open_fd(fd, elf), 0);
			assert_true(tapir_usdt_notes__read(*elf, notes) >= 0);
			return;
		}
	}
	fail_msg("no image %s", name);
}

static void names_stay_apart_when_events_share_them(void **state)
{
	static const char *const wanted[] = {"Order_placed_1", "Order_placed_1",
					     "Order_placed_1_V2", "Order_placed_1_2", "Raw"};
	struct coreclr_published *at[7] = {};
	char longest[251] = "";
	struct bytes one, two, three, none, payload = {.len = 8};
	struct tapir_usdt_notes notes;
	struct tapir_elf *elf;

	(void)state;
	head(&one, "x", 1);
	field(&one, CORECLR_I32, "a");
	head(&two, "x", 1);
	field(&two, CORECLR_I64, "a");
	head(&three, "x", 1);
	field(&three, CORECLR_I16, "a");
	head(&none, "x", 0);
	coreclr_publish__turn(1);
	see(&at[0], "Odd/Provider \xc3\xa9", "Order placed:1", 1, &one, &payload);
	see(&at[1], "Odd/Provider \xc3\xa9", "Order/placed\"1", 2, &one, &payload);
	see(&at[2], "Odd/Provider \xc3\xa9", "Order placed:1", 2, &two, &payload);
	see(&at[3], "Odd/Provider \xc3\xa9", "Order placed:1", 2, &three, &payload);
	see(&at[4], "Odd/Provider \xc3\xa9", "Raw", 0, &none, &payload);
	memset(longest, 'e', sizeof(longest) - 1);
	see(&at[6], "Odd/Provider \xc3\xa9", longest, 0, &one, &payload);
	/* The runtime's own have no name. */
	see(&at[5], "Odd/Provider \xc3\xa9", "", 0, &none, &payload);
	assert_ptr_equal(see(&at[0], "", "", 0, &none, &payload), at[0]);
	coreclr_publish__serve();
	find_notes("tapir-usdt.0000000000000abc:Odd", &elf, &notes);
	assert_int_equal(notes.cnt, 6);
	assert_true(strlen(notes.data[5].name) > 100 && strlen(notes.data[5].name) < 160);
	for (unsigned i = 0; i < 5; i++) {
		assert_string_equal(notes.data[i].provider, "Odd_Provider__");
		assert_string_equal(notes.data[i].name, wanted[i]);
	}
	assert_string_equal(notes.data[4].kinds, "pu");
	tapir_usdt_notes__fini(&notes);
	tapir_elf__free(elf);
	coreclr_publish__end();
}

static int descriptor_cnt(void)
{
	int cnt = 0;

	for (int fd = 0; fd < 1024; fd++)
		cnt += fcntl(fd, F_GETFD) >= 0;
	return cnt;
}

static void so_many_providers_have_images_and_few_descriptors(void **state)
{
	static struct coreclr_published *at[66];
	static char names[66][8];
	int before = descriptor_cnt();
	struct bytes blob, payload = {.len = 4};

	(void)state;
	head(&blob, "x", 1);
	field(&blob, CORECLR_I32, "a");
	coreclr_publish__turn(1);
	for (unsigned i = 0; i < 66; i++) {
		snprintf(names[i], sizeof(names[i]), "P%u", i);
		see(&at[i], names[i], "One", 1, &blob, &payload);
	}
	coreclr_publish__serve();
	assert_int_equal(descriptor_cnt(), before + 16);
	for (unsigned i = 0; i < 66; i++)
		assert_int_equal(((const struct published_head *)at[i])->slot != NULL, i < 64);
	watch(at[63]);
	keeps_text = 0;
	coreclr_publish__fire(at[63], (const uint8_t *)"\x09\0\0", 4, NULL, NULL);
	assert_int_equal(seen[0], 9);
	coreclr_publish__end();
	assert_int_equal(descriptor_cnt(), before);
}

/* No descriptor left: the event is none of these, and fires as ever. */
static void events_are_fired_when_there_can_be_no_image(void **state)
{
	struct coreclr_published *at = NULL;
	struct bytes blob, payload = {.len = 4};
	struct rlimit limit, none;

	(void)state;
	head(&blob, "x", 1);
	field(&blob, CORECLR_I32, "a");
	coreclr_publish__turn(1);
	see(&at, "My-Shop", "One", 1, &blob, &payload);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){0, limit.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	coreclr_publish__serve();
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(*((const struct published_head *)at)->semaphore, 0);
	assert_null(((const struct published_head *)at)->slot);
	coreclr_publish__fire(at, payload.data, payload.len, NULL, NULL);
	coreclr_publish__end();
}

/* ---- malformed -------------------------------------------------------------------------------------- */

static void a_description_that_is_cut_or_lies_is_refused_or_shortened(void **state)
{
	struct coreclr_layout layout;
	struct bytes blob, payload, deep;

	(void)state;
	all_types(&blob, &payload, 1);
	for (uint32_t len = 0; len < blob.len; len++) {
		uint8_t *exact = malloc(len ? len : 1);

		memcpy(exact, blob.data, len);
		memory_used = 0;
		assert_int_equal(coreclr_layout__parse(exact, len, take, &layout), -EPROTO);
		free(exact);
	}
	head(&deep, "x", 1);
	for (unsigned i = 0; i < 9; i++) {
		u(&deep, CORECLR_OBJECT, 4);
		u(&deep, 1, 4);
	}
	assert_int_equal(coreclr_layout__parse(deep.data, deep.len, take, &layout), -EPROTO);
	head(&blob, "x", 3);
	field(&blob, CORECLR_I32, "a");
	u(&blob, 99, 4); /* no such type */
	assert_int_equal(coreclr_layout__parse(blob.data, blob.len, take, &layout), 0);
	assert_int_equal(layout.cnt, 1);
	head(&blob, "x", 2);
	field(&blob, CORECLR_I32, "a");
	u(&blob, CORECLR_ARRAY, 4); /* of objects with nothing in them */
	u(&blob, CORECLR_OBJECT, 4);
	u(&blob, 0, 4);
	wide(&blob, "b");
	assert_int_equal(coreclr_layout__parse(blob.data, blob.len, take, &layout), 0);
	assert_int_equal(layout.cnt, 1);
	head(&blob, "x", 400);
	for (unsigned i = 0; i < 400; i++)
		field(&blob, CORECLR_U8, "a");
	memory_used = 0;
	assert_int_equal(coreclr_layout__parse(blob.data, blob.len, take, &layout), 0);
	assert_int_equal(layout.cnt, CORECLR_FIELD_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_is_as_tapir_decodes_it),
		cmocka_unit_test(nested_objects_and_arrays_are_as_tapir_decodes_them),
		cmocka_unit_test(a_thousand_descriptions_by_chance_are_as_tapir_decodes_them),
		cmocka_unit_test(json_is_whole_when_the_payload_is_not),
		cmocka_unit_test(json_says_so_when_it_finds_no_room),
		cmocka_unit_test(fields_are_told_with_their_types_and_names),
		cmocka_unit_test(doubles_are_short_and_read_back_the_same),
		cmocka_unit_test(times_are_as_the_c_library_has_them),
		cmocka_unit_test(an_image_is_read_as_it_grows),
		cmocka_unit_test(arguments_are_in_their_registers_when_a_probe_fires),
		cmocka_unit_test(names_stay_apart_when_events_share_them),
		cmocka_unit_test(so_many_providers_have_images_and_few_descriptors),
		cmocka_unit_test(events_are_fired_when_there_can_be_no_image),
		cmocka_unit_test(a_description_that_is_cut_or_lies_is_refused_or_shortened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
