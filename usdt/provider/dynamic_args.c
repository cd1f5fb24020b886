/* SPDX-License-Identifier: MIT */
/*
 * dynamic_args.c - the arguments of a probe that was made at run time: signed and planned once,
 * taken out of each payload. Runs where events fire: no lock, no call of libc but memcpy.
 */
#include <string.h>

#include "dynamic_impl.h"
#include "tapir/payload_parts.h"

/* The operand's size, the letter of its kind (usdt.h). */
static const struct {
	char size[3];
	char kind;
} types[TAPIR_TYPE_CNT] = {
	[TAPIR_TYPE_U8] = {"1", 'u'},	      [TAPIR_TYPE_I8] = {"-1", 'i'},
	[TAPIR_TYPE_U16] = {"2", 'u'},	      [TAPIR_TYPE_I16] = {"-2", 'i'},
	[TAPIR_TYPE_U32] = {"4", 'u'},	      [TAPIR_TYPE_I32] = {"-4", 'i'},
	[TAPIR_TYPE_U64] = {"8", 'u'},	      [TAPIR_TYPE_I64] = {"-8", 'i'},
	[TAPIR_TYPE_F32] = {"4", 'f'},	      [TAPIR_TYPE_F64] = {"8", 'f'},
	[TAPIR_TYPE_PTR] = {"8", 'p'},	      [TAPIR_TYPE_BOOL] = {"1", 'b'},
	[TAPIR_TYPE_BOOL8] = {"1", 'b'},      [TAPIR_TYPE_CHAR16] = {"2", 'u'},
	[TAPIR_TYPE_GUID] = {"8", 'p'},	      [TAPIR_TYPE_FILETIME] = {"8", 'u'},
	[TAPIR_TYPE_SYSTEMTIME] = {"8", 'p'}, [TAPIR_TYPE_DECIMAL] = {"8", 'p'},
	[TAPIR_TYPE_UTF16] = {"8", 'p'},      [TAPIR_TYPE_UTF8] = {"8", 's'},
	[TAPIR_TYPE_UTF16N] = {"8", 'p'},     [TAPIR_TYPE_UTF8N] = {"8", 'p'},
	[TAPIR_TYPE_BINARY] = {"8", 'p'},     [TAPIR_TYPE_STRUCT] = {"8", 'p'},
};

/* Passed as the address of its first byte. */
static int is_address(const struct tapir_event_field *f)
{
	uint32_t bytes = payload_type__bytes(f->type);

	return f->repeat != TAPIR_REPEAT_NONE || !bytes || bytes > 8;
}

void dynamic_args__sign(const struct tapir_event_about *about, struct dynamic_signature *out)
{
	uint32_t cnt =
		about->field_cnt < TAPIR_PROBE_ARG_MAX ? about->field_cnt : TAPIR_PROBE_ARG_MAX;
	char *at = out->operands;

	memset(out, 0, sizeof(*out));
	for (uint32_t i = 0; i < cnt; i++) {
		const struct tapir_event_field *f = &about->fields[i];
		const char *size = f->repeat == TAPIR_REPEAT_NONE ? types[f->type].size : "8";
		size_t len = strnlen(f->name, 63);

		if (i)
			*at++ = ' ';
		at = stpcpy(stpcpy(at, size), tapir_probe_image__register(i));
		out->kinds[i] = f->repeat == TAPIR_REPEAT_NONE ? types[f->type].kind : 'p';
		memcpy(out->names + out->names_bytes, f->name, len);
		out->names_bytes += (uint32_t)len + 1;
	}
}

/* ---- a payload --------------------------------------------------------------------------------- */

/* A number with its sign. */
static uint64_t signed_part_value(const struct tapir_payload_part *part, uint8_t type)
{
	uint64_t value = tapir_part__number(part);
	uint32_t shift = 64 - 8 * payload_type__bytes(type);

	if (types[type].kind == 'b')
		return value != 0;
	if (types[type].kind != 'i')
		return value;
	return (uint64_t)((int64_t)(value << shift) >> shift);
}

static __attribute__((noinline)) void take_slowly(const struct tapir_event_about *about,
						  const uint8_t *payload, uint32_t bytes,
						  uint64_t args[TAPIR_PROBE_ARG_MAX])
{
	struct tapir_payload_part parts[TAPIR_PROBE_ARG_MAX];
	uint32_t cnt = tapir_payload__locate(about, payload, bytes, parts, TAPIR_PROBE_ARG_MAX);

	for (uint32_t i = 0; i < cnt; i++)
		args[i] = is_address(&about->fields[i])
				  ? (uint64_t)(uintptr_t)parts[i].at
				  : signed_part_value(&parts[i], about->fields[i].type);
}

enum step_kind { STEP_UNSIGNED, STEP_SIGNED, STEP_BOOL, STEP_POINTER, STEP_TEXT8, STEP_TEXT16 };

void dynamic_args__plan(const struct tapir_event_about *about, struct dynamic_plan *plan)
{
	memset(plan, 0, sizeof(*plan));
	plan->cnt = (uint8_t)(about->field_cnt < TAPIR_PROBE_ARG_MAX ? about->field_cnt
								     : TAPIR_PROBE_ARG_MAX);
	for (uint32_t i = 0; i < plan->cnt; i++) {
		const struct tapir_event_field *f = &about->fields[i];
		uint32_t bytes = payload_type__bytes(f->type);
		char kind = types[f->type].kind;

		plan->steps[i].bytes = (uint8_t)bytes;
		plan->steps[i].kind = f->type == TAPIR_TYPE_UTF8    ? STEP_TEXT8
				      : f->type == TAPIR_TYPE_UTF16 ? STEP_TEXT16
				      : bytes > 8		    ? STEP_POINTER
				      : kind == 'b'		    ? STEP_BOOL
				      : kind == 'i'		    ? STEP_SIGNED
								    : STEP_UNSIGNED;
		plan->is_slow |= f->repeat != TAPIR_REPEAT_NONE || f->type == TAPIR_TYPE_STRUCT;
	}
}

/* With its NUL; UINT32_MAX: it has none. */
static uint32_t text_bytes(const uint8_t *at, uint32_t left, uint32_t width)
{
	const uint64_t ones = ~0ull / 255, highs = ones << 7;
	uint64_t word;
	uint32_t i = 0;

	/* 8 bytes without a zero one. */
	for (; left - i >= sizeof(word); i += (uint32_t)sizeof(word)) {
		memcpy(&word, at + i, sizeof(word));
		if ((word - ones) & ~word & highs)
			break;
	}
	for (; left - i >= width; i += width)
		if (!at[i] && (width == 1 || !at[i + 1]))
			return i + width;
	return UINT32_MAX;
}

/*
 * The load is as wide as the stores mostly were: a wider one would wait for two stores to be
 * complete.
 */
static inline uint64_t number_at(const uint8_t *at, uint32_t bytes, int is_signed)
{
	uint32_t shift = 64 - 8 * bytes, u32;
	uint64_t value = 0;

	if (bytes == sizeof(u32)) {
		memcpy(&u32, at, sizeof(u32));
		value = u32;
	} else if (bytes == sizeof(value)) {
		memcpy(&value, at, sizeof(value));
	} else {
		for (uint32_t i = 0; i < bytes; i++)
			value |= (uint64_t)at[i] << 8 * i;
	}
	return is_signed ? (uint64_t)((int64_t)(value << shift) >> shift) : value;
}

void dynamic_args__take(const struct dynamic_plan *plan, const struct tapir_event_about *about,
			const uint8_t *payload, uint32_t bytes, uint64_t args[TAPIR_PROBE_ARG_MAX])
{
	uint32_t left = bytes;

	memset(args, 0, TAPIR_PROBE_ARG_MAX * sizeof(args[0]));
	if (__builtin_expect(plan->is_slow, 0)) {
		take_slowly(about, payload, bytes, args);
		return;
	}
	for (uint32_t i = 0; i < plan->cnt; i++) {
		uint8_t kind = plan->steps[i].kind;
		uint32_t need = kind < STEP_TEXT8
					? plan->steps[i].bytes
					: text_bytes(payload, left, kind == STEP_TEXT8 ? 1 : 2);

		if (need > left)
			return;
		if (kind >= STEP_POINTER)
			args[i] = (uint64_t)(uintptr_t)payload;
		else
			args[i] = number_at(payload, need, kind == STEP_SIGNED);
		if (kind == STEP_BOOL)
			args[i] = args[i] != 0;
		payload += need;
		left -= need;
	}
}
