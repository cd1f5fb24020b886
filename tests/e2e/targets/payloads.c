/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * payloads - the events of tests/e2e/programs/Fields.cs, fired by provider.h with the same values.
 * Prints each event's name and its payload in hex, as a listener has it.
 */
#include "target.h"
#include "tapir/listener.h"
#include "tapir/payload.h"

#define FIELDS "MyCompany-Fields"
#define FIELD(name, type, repeat)                                                                  \
	{                                                                                          \
		name, NULL, 0, 0, TAPIR_TYPE_##type, TAPIR_REPEAT_##repeat,                        \
		{                                                                                  \
			0, 0                                                                       \
		}                                                                                  \
	}
#define FILE_TIME 134303982720000000ull /* 2026-08-05 10:11:12 */

TAPIR_EVENT(Nothing, FIELDS, "Nothing", 3, 0, TAPIR_INFORMATIONAL, 0);
TAPIR_EVENT(Small, FIELDS, "Small", 4, 0, TAPIR_INFORMATIONAL, 0, (BOOL, b), (CHAR16, c), (I8, s8),
	    (U8, u8), (I16, s16), (U16, u16), (I32, s32), (U32, u32), (I32, e));
TAPIR_EVENT(Large, FIELDS, "Large", 5, 0, TAPIR_INFORMATIONAL, 0, (I64, s64), (U64, u64), (F32, f),
	    (F64, d), (FILETIME, t), (GUID, g), (UTF16, s), (PTR, p));

/* What TAPIR_EVENT has no fields for: arrays and structures, by payload.h. */
static const struct tapir_event_field bytes_fields[] = {
	FIELD("a", I64, NONE),
	FIELD("n", U32, NONE),
	{"data", NULL, 0, 1, TAPIR_TYPE_BINARY, TAPIR_REPEAT_COUNT_FIELD, {0, 0}}};
static const struct tapir_event_field inner[] = {FIELD("X", I32, NONE), FIELD("Y", UTF16, NONE)};
static const struct tapir_event_field object_fields[] = {
	{"In", inner, 2, 0, TAPIR_TYPE_STRUCT, TAPIR_REPEAT_NONE, {0, 0}},
	FIELD("M", F64, NONE),
	FIELD("C", CHAR16, NONE),
	FIELD("B", BOOL8, NONE)};
static const struct tapir_event_field arrays_fields[] = {
	FIELD("Numbers", I32, COUNT_U16),
	{"Points", inner, 2, 0, TAPIR_TYPE_STRUCT, TAPIR_REPEAT_COUNT_U16, {0, 0}}};

static const struct tapir_event_about
	bytes_about = {FIELDS, "Bytes", bytes_fields, 0, 2, 0, TAPIR_INFORMATIONAL, 3, 0, 0, {0}},
	object_about = {FIELDS, "Object", object_fields, 0, 0, 0, TAPIR_INFORMATIONAL, 4, 0,
			0,	{0}},
	arrays_about = {FIELDS, "Arrays", arrays_fields, 0, 0, 0, TAPIR_INFORMATIONAL, 2, 0,
			0,	{0}};
static struct tapir_event Bytes = {.about = &bytes_about}, Object = {.about = &object_about},
			  Arrays = {.about = &arrays_about};
static struct tapir_event *const events[] = {&Nothing, &Small, &Large, &Bytes, &Object, &Arrays};

static const uint8_t id[16] = {0x33, 0x22, 0x11, 0x00, 0x55, 0x44, 0x77, 0x66,
			       0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff};

static void print(const struct tapir_event_record *record, void *ctx)
{
	(void)ctx;
	printf("%s ", record->kind->about->name);
	for (uint32_t i = 0; i < record->payload_bytes; i++)
		printf("%02x", record->payload[i]);
	puts("");
}

static void put_text(struct tapir_payload *p, const uint16_t *text)
{
	tapir_payload__put16(p, text, tapir_payload__bytes16(text));
}

static void put_u16(struct tapir_payload *p, uint16_t value)
{
	tapir_payload__put(p, &value, sizeof(value));
}

static void put_i32(struct tapir_payload *p, int32_t value)
{
	tapir_payload__put(p, &value, sizeof(value));
}

static void put_inner(struct tapir_payload *p, int32_t x, const uint16_t *y)
{
	put_i32(p, x);
	put_text(p, y);
}

static void fire_bytes(uint8_t *room, uint8_t *end)
{
	struct tapir_payload p = {room, end};
	const int64_t a = 7;

	tapir_payload__put(&p, &a, sizeof(a));
	put_i32(&p, 3);
	tapir_payload__put(&p, "\1\2\3", 3);
	tapir_event__write(&Bytes, room, (size_t)(p.at - room));
}

static void fire_object(uint8_t *room, uint8_t *end)
{
	static const uint16_t why[] = {'w', 'h', 'y', 0};
	struct tapir_payload p = {room, end};
	const double m = 1.5; /* a decimal, as EventSource writes one */
	const uint8_t yes = 1;

	put_inner(&p, 5, why);
	tapir_payload__put(&p, &m, sizeof(m));
	put_u16(&p, 'z');
	tapir_payload__put(&p, &yes, sizeof(yes));
	tapir_event__write(&Object, room, (size_t)(p.at - room));
}

static void fire_arrays(uint8_t *room, uint8_t *end)
{
	static const uint16_t points[2][2] = {{'p'}, {'q'}};
	static const int32_t numbers[] = {1, -2, 3};
	struct tapir_payload p = {room, end};

	put_u16(&p, 3);
	tapir_payload__put(&p, numbers, sizeof(numbers));
	put_u16(&p, 2);
	for (int i = 0; i < 2; i++)
		put_inner(&p, i + 1, points[i]);
	tapir_event__write(&Arrays, room, (size_t)(p.at - room));
}

int main(void)
{
	static const uint16_t hello[] = {'h', 0xe9, 'l', 'l', 'o', ' ', 0xd83d, 0xde00, 0};
	const struct tapir_listener_opts opts = {.size = sizeof(opts),
						 .flags = TAPIR_LISTENER_POLLED};
	const struct tapir_selection all = {FIELDS, NULL, NULL, 0, 0, {0}};
	struct tapir_provider *provider;
	struct tapir_listener *listener;
	uint8_t room[256];

	if (tapir_provider__new(FIELDS, NULL, events, 6, NULL, &provider) ||
	    tapir_listener__open(&all, 1, print, NULL, &opts, &listener))
		return 1;
	TAPIR_FIRE(Nothing);
	TAPIR_FIRE(Small, 1, 'x', -5, 200, -3000, 60000, -100000, 4000000000u, 2);
	TAPIR_FIRE(Large, -5000000000, 10000000000000000000ull, 1.5f, -2.25, FILE_TIME, id, hello,
		   (const void *)0x1234);
	fire_bytes(room, room + sizeof(room));
	fire_object(room, room + sizeof(room));
	fire_arrays(room, room + sizeof(room));
	tapir_listener__close(listener);
	tapir_provider__free(provider);
	return 0;
}
