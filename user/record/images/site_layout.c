// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Turns a note into a site plan. The better-informed source wins: SPEC, note, table, operand. A
 * meaning that the operand cannot have (a string in an 8-bit register) is dropped, because a
 * person's mistake must not make the kernel follow a number.
 */
#include "record/images/site_layout.h"

#include <errno.h>
#include <string.h>

#include "base/diag.h"
#include "decode/usdt_hints.h"

#define MAX_BYTES (TAPIR_EVENT_VAR_BYTES - 1)
#define CXX_TYPE_NAME_OFF                                                                          \
	8 /* of std::type_info's name, after the vtable (Itanium C++ ABI, 2.9.5) */

struct meaning {
	uint8_t field_type;
	uint8_t len_arg;
	uint16_t max_bytes;
	bool is_cxx_type;
};

static struct meaning from_operand(const struct tapir_operand *op)
{
	struct meaning m = {.max_bytes = MAX_BYTES};

	if (op->size == 16)
		m.field_type = op->is_signed ? TAPIR_FIELD_I128 : TAPIR_FIELD_U128;
	else if (op->is_float)
		m.field_type = TAPIR_FIELD_FLOAT;
	else
		m.field_type = op->is_signed ? TAPIR_FIELD_INT : TAPIR_FIELD_UINT;
	return m;
}

static uint8_t type_of_kind(char kind)
{
	switch (kind) {
	case 'i':
		return TAPIR_FIELD_INT;
	case 'u':
		return TAPIR_FIELD_UINT;
	case 'f':
		return TAPIR_FIELD_FLOAT;
	case 'p':
		return TAPIR_FIELD_PTR;
	case 's':
		return TAPIR_FIELD_STR;
	case 'b':
		return TAPIR_FIELD_BOOL;
	case 'c':
		return TAPIR_FIELD_CHAR;
	default:
		return TAPIR_FIELD_NONE;
	}
}

/* Only a pointer can point to bytes, and only 4 and 8 bytes can be a float. */
static bool fits_operand(uint8_t field_type, const struct tapir_operand *op)
{
	if (field_type == TAPIR_FIELD_NONE || op->size == 16)
		return false;
	if (field_type >= TAPIR_FIELD_STR || field_type == TAPIR_FIELD_PTR)
		return op->size == 8;
	if (field_type == TAPIR_FIELD_FLOAT)
		return op->size == 4 || op->size == 8;
	return true;
}

static struct meaning meaning_of(const struct tapir_usdt_note *note, unsigned idx,
				 const struct tapir_hint *hint)
{
	const struct tapir_operand *op = &note->args[idx];
	struct meaning m = from_operand(op);
	uint8_t from_note = type_of_kind(note->kinds[0] ? note->kinds[idx] : '\0');

	if (fits_operand(from_note, op)) {
		m.field_type = from_note;
	} else if (hint && fits_operand(hint->args[idx].field_type, op)) {
		m.field_type = hint->args[idx].field_type;
		m.len_arg = hint->args[idx].len_arg;
		m.is_cxx_type = hint->args[idx].is_cxx_type;
	}
	return m;
}

static bool has_length(uint8_t field_type)
{
	return field_type == TAPIR_FIELD_STRN || field_type == TAPIR_FIELD_BLOB;
}

static bool is_length(const struct tapir_usdt_note *note, unsigned idx)
{
	return idx < note->arg_cnt && note->args[idx].kind != TAPIR_OPERAND_NONE &&
	       note->args[idx].size <= 8 && !note->args[idx].is_float;
}

static int apply_spec(const struct tapir_spec *spec, const struct tapir_usdt_note *note,
		      struct meaning *meanings)
{
	const struct tapir_spec_arg *arg;

	tapir_vec_for_each (arg, &spec->args) {
		struct tapir_spec_capture capture;
		int err = tapir_spec__capture(arg, &capture);

		/* 0: the key names no argument of the probe: it is the provider's own. */
		if (err <= 0) {
			if (err)
				return err;
			continue;
		}
		if (capture.arg >= note->arg_cnt)
			return tapir_diag__fail(-EINVAL, "%s:%s has %u arguments, but no arg%u",
						note->provider, note->name, note->arg_cnt,
						capture.arg);
		if (has_length(capture.field_type) && !is_length(note, capture.len_arg))
			return tapir_diag__fail(-EINVAL,
						"%s:%s: arg%u=%s: arg%u is not a readable number",
						note->provider, note->name, capture.arg, arg->value,
						capture.len_arg);
		if (!fits_operand(capture.field_type, &note->args[capture.arg]))
			return tapir_diag__fail(
				-EINVAL, "%s:%s: arg%u has %u bytes and cannot be read as %s",
				note->provider, note->name, capture.arg,
				note->args[capture.arg].size, arg->value);
		meanings[capture.arg] = (struct meaning){
			.field_type = capture.field_type,
			.len_arg = capture.len_arg,
			.max_bytes = capture.max_bytes ? capture.max_bytes : MAX_BYTES,
		};
	}
	return 0;
}

static uint8_t size_of(const struct meaning *m, const struct tapir_operand *op)
{
	if (m->is_cxx_type)
		return TAPIR_STR_CXX_TYPE;
	return m->field_type >= TAPIR_FIELD_STR && op->size <= 8 ? 0 : op->size;
}

static void fill_arg(struct tapir_site_layout *plan, unsigned idx,
		     const struct tapir_usdt_note *note, const struct meaning *m)
{
	const struct tapir_operand *op = &note->args[idx];
	bool readable = op->kind != TAPIR_OPERAND_NONE;

	plan->fields[idx] = (struct tapir_field){
		.type = readable ? m->field_type : TAPIR_FIELD_NONE,
		.size = size_of(m, op),
		.reason = note->reasons[idx],
		.len_field = m->len_arg,
	};
	plan->site.args[idx] = (struct tapir_site_arg){
		.operand = *op,
		.field_type = plan->fields[idx].type,
		.len_arg = m->len_arg,
		.max_bytes = m->max_bytes < MAX_BYTES ? m->max_bytes : MAX_BYTES,
		.via = m->is_cxx_type ? CXX_TYPE_NAME_OFF : 0,
	};
	if (readable && m->field_type >= TAPIR_FIELD_STR)
		plan->site.byte_args[plan->site.byte_arg_cnt++] = (uint8_t)idx;
	if (op->kind == TAPIR_OPERAND_TLS)
		plan->site.flags |= TAPIR_SITE_TLS;
}

int tapir_site_layout__make(const struct tapir_usdt_note *note, const struct tapir_spec *spec,
			    bool with_stack, struct tapir_site_layout *out)
{
	const struct tapir_hint *hint =
		tapir_usdt_hint__find(note->provider, note->name, note->arg_cnt);
	struct meaning meanings[TAPIR_MAX_ARGS] = {};
	struct tapir_site_layout plan = {.site.arg_cnt = (uint8_t)note->arg_cnt};
	int err;

	for (unsigned i = 0; i < note->arg_cnt; i++) {
		meanings[i] = meaning_of(note, i, hint);
		plan.names[i] = tapir_sv__of(note->arg_names[i] ? note->arg_names[i]
					     : hint		? hint->args[i].name
								: NULL);
	}
	err = apply_spec(spec, note, meanings);
	if (err)
		return err;
	for (unsigned i = 0; i < note->arg_cnt; i++)
		fill_arg(&plan, i, note, &meanings[i]);
	if (with_stack)
		plan.site.flags |= TAPIR_SITE_STACK;
	plan.site.taken = note->taken;
	if (note->taken.kind != TAPIR_OPERAND_NONE)
		plan.site.flags |= TAPIR_SITE_TELLS_TAKEN;
	*out = plan;
	return 0;
}

void tapir_site_layout__set_caller(struct tapir_site_layout *plan, const struct tapir_cfi_row *row)
{
	int32_t cfa = row->cfa_off / 8, fp = row->fp_is_saved ? -row->fp_off / 8 : 0;

	if (row->cfa_off % 8 || cfa != (int16_t)cfa || fp < 0 || fp >= (int)TAPIR_UNWIND_FP_AT_FP)
		return;
	plan->site.caller.rule = row->cfa_is_from_fp ? TAPIR_UNWIND_FP : TAPIR_UNWIND_SP;
	plan->site.caller.cfa = (uint16_t)cfa;
	plan->site.caller.fp = (uint8_t)fp;
}
