/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * control.h - what the loader tells the BPF programs: sites, operands, filters. Not part of
 * a recording (that is abi.h); shared by bpf/, user/elf (which fills operands) and
 * user/attach.
 */
#ifndef TAPIR_BPF_CONTROL_H
#define TAPIR_BPF_CONTROL_H

#include "tapir/abi.h"

/*
 * Where an argument lies when its site fires. Registers are named by their place in the
 * kernel's x86 struct pt_regs, in units of 8 bytes (arch/x86/include/uapi/asm/ptrace.h).
 */
enum tapir_reg {
	TAPIR_REG_R15, TAPIR_REG_R14, TAPIR_REG_R13, TAPIR_REG_R12, TAPIR_REG_BP, TAPIR_REG_BX,
	TAPIR_REG_R11, TAPIR_REG_R10, TAPIR_REG_R9, TAPIR_REG_R8, TAPIR_REG_AX, TAPIR_REG_CX,
	TAPIR_REG_DX, TAPIR_REG_SI, TAPIR_REG_DI,
	TAPIR_REG_IP = 16,
	TAPIR_REG_SP = 19,
	TAPIR_REG_CNT = 21,
	TAPIR_REG_NONE = 0xff
};

enum tapir_operand_kind {
	TAPIR_OPERAND_NONE = 0, /* cannot be read; reason says why */
	TAPIR_OPERAND_CONST = 1, /* value */
	TAPIR_OPERAND_REG = 2,	 /* reg >> reg_shift */
	TAPIR_OPERAND_MEM = 3,	 /* memory at reg + (index << scale_shift) + value */
	TAPIR_OPERAND_TLS = 4	 /* as MEM, and the thread pointer (%fs base) added; reg may be NONE */
};

struct tapir_operand {
	int64_t value;	   /* constant or displacement; relative to the site with REG_IP as base */
	uint8_t kind;	   /* enum tapir_operand_kind */
	uint8_t reg;	   /* enum tapir_reg; TAPIR_REG_NONE: absent */
	uint8_t index_reg; /* TAPIR_REG_NONE: absent */
	uint8_t scale_shift;
	uint8_t reg_shift; /* 8 for %ah and its like */
	uint8_t size;	   /* 1, 2, 4, 8, 16 */
	uint8_t is_signed;
	uint8_t is_float;
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_operand) == 16, "tapir_operand");

struct tapir_site_arg {
	struct tapir_operand operand;
	uint8_t field_type; /* enum tapir_field_type: how it is captured */
	uint8_t len_arg;    /* STRN, BLOB: argument that holds the length */
	uint16_t max_bytes; /* STR, STRN, BLOB: recorded at most */
	uint32_t pad0;
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_site_arg) == 24, "tapir_site_arg");

#define TAPIR_SITE_STACK  (1u << 0) /* take the user stack */
#define TAPIR_SITE_KSTACK (1u << 1)

/* One element of the map `sites`; its index is the attach cookie and the probe id. */
struct tapir_site {
	uint32_t probe_id; /* 0: not in use */
	uint16_t flags;
	uint8_t arg_cnt;
	uint8_t pad0;
	struct tapir_site_arg args[TAPIR_MAX_ARGS];
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_site) == 296, "tapir_site");

#endif /* TAPIR_BPF_CONTROL_H */
