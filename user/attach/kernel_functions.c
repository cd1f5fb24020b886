// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Arguments are in registers up to the first that is none of one word: a struct by value takes two
 * of them or none (System V ABI 3.2.3; AAPCS64 6.8.2), and the names of all behind it are dropped.
 */
#include "attach/kernel_functions.h"

#include <asm/ptrace.h>
#include <bpf/btf.h>
#include <stddef.h>
#include <stdio.h>

#include "trace/record.h"

#if defined(__x86_64__)
static const uint16_t arg_offs[] = {offsetof(struct pt_regs, rdi), offsetof(struct pt_regs, rsi),
				    offsetof(struct pt_regs, rdx), offsetof(struct pt_regs, rcx),
				    offsetof(struct pt_regs, r8),  offsetof(struct pt_regs, r9)};
#define RESULT_OFF offsetof(struct pt_regs, rax)
#else /* arm64: struct user_pt_regs begins with x0 */
static const uint16_t arg_offs[] = {0, 8, 16, 24, 32, 40};
#define RESULT_OFF 0
#endif
#define ARG_CNT (sizeof(arg_offs) / sizeof(arg_offs[0]))

static void set_number(struct tapir_tracepoint_field *f, const char *name, uint16_t off)
{
	*f = (struct tapir_tracepoint_field){
		.machine_field = {.off = off, .size = sizeof(uint64_t)},
		.field_type = TAPIR_FIELD_UINT};
	snprintf(f->name, sizeof(f->name), "%s", name);
}

/* Returns false for what is not in one register. */
static bool set_type(struct tapir_tracepoint_field *f, const struct btf *types, uint32_t id)
{
	const struct btf_type *type;
	int found = btf__resolve_type(types, id);

	type = found > 0 ? btf__type_by_id(types, (uint32_t)found) : NULL;
	if (type && btf_is_ptr(type)) {
		f->field_type = TAPIR_FIELD_PTR;
		return true;
	}
	if (!type || !(btf_is_int(type) || btf_is_any_enum(type)) || !type->size ||
	    type->size > sizeof(uint64_t))
		return false;
	f->machine_field.size = (uint16_t)type->size;
	f->machine_field.is_signed =
		btf_is_int(type) ? btf_int_encoding(type) & BTF_INT_SIGNED : btf_kflag(type);
	f->machine_field.is_signed = f->machine_field.is_signed != 0;
	if (btf_is_int(type) && btf_int_encoding(type) & BTF_INT_BOOL)
		f->field_type = TAPIR_FIELD_BOOL;
	else
		f->field_type = f->machine_field.is_signed ? TAPIR_FIELD_INT : TAPIR_FIELD_UINT;
	return true;
}

static const struct btf_type *proto_of(const struct btf *types, const char *name)
{
	int id = types ? btf__find_by_name_kind(types, name, BTF_KIND_FUNC) : -1;
	const struct btf_type *function = id > 0 ? btf__type_by_id(types, (uint32_t)id) : NULL;

	return function ? btf__type_by_id(types, function->type) : NULL;
}

static void set_args(const struct btf *types, const struct btf_type *proto,
		     struct tapir_tracepoint_format *out)
{
	const struct btf_param *params = btf_params(proto);
	unsigned cnt = btf_vlen(proto);
	char name[16];

	for (unsigned i = 0; i < cnt && i < ARG_CNT; i++) {
		const char *own = btf__name_by_offset(types, params[i].name_off);

		snprintf(name, sizeof(name), "arg%u", i);
		set_number(&out->fields[i], own && *own ? own : name, arg_offs[i]);
		if (!set_type(&out->fields[i], types, params[i].type))
			break;
		out->field_cnt++;
	}
	out->skipped_cnt = cnt - out->field_cnt;
}

static void set_numbers(struct tapir_tracepoint_format *out)
{
	char name[16];

	for (unsigned i = 0; i < ARG_CNT; i++) {
		snprintf(name, sizeof(name), "arg%u", i);
		set_number(&out->fields[i], name, arg_offs[i]);
	}
	out->field_cnt = ARG_CNT;
}

void tapir_kernel_function__format_by(const struct btf *types, const char *name, bool is_return,
				      struct tapir_tracepoint_format *out)
{
	const struct btf_type *proto = proto_of(types, name);

	*out = (struct tapir_tracepoint_format){};
	if (is_return) {
		set_number(&out->fields[0], "ret", RESULT_OFF);
		out->fields[0].field_type = TAPIR_FIELD_INT;
		out->fields[0].machine_field.is_signed = true;
		if (proto)
			(void)set_type(&out->fields[0], types, proto->type);
		out->field_cnt = !proto || proto->type; /* void has none */
	} else if (proto) {
		set_args(types, proto, out);
	} else {
		set_numbers(out);
	}
}

void tapir_kernel_function__format(const char *name, bool is_return,
				   struct tapir_tracepoint_format *out)
{
	struct btf *types = btf__load_vmlinux_btf();

	tapir_kernel_function__format_by(types, name, is_return, out);
	btf__free(types);
}
