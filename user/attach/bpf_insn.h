/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bpf_insn.h - the few instructions that feature probes consist of, as constants of struct
 * bpf_insn. Constant.
 */
#ifndef TAPIR_USER_BPF_INSN_H
#define TAPIR_USER_BPF_INSN_H

#include <linux/bpf.h>

#define TAPIR_INSN(op, dst, src, off_, imm_)                                                       \
	((struct bpf_insn){                                                                        \
		.code = (op), .dst_reg = (dst), .src_reg = (src), .off = (off_), .imm = (imm_)})
#define TAPIR_INSN_MOV(dst, value)	 TAPIR_INSN(BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, value)
#define TAPIR_INSN_MOV_REG(dst, src)	 TAPIR_INSN(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0)
#define TAPIR_INSN_ADD(dst, value)	 TAPIR_INSN(BPF_ALU64 | BPF_ADD | BPF_K, dst, 0, 0, value)
#define TAPIR_INSN_STORE(dst, at, value) TAPIR_INSN(BPF_ST | BPF_MEM | BPF_DW, dst, 0, at, value)
#define TAPIR_INSN_CALL(helper)		 TAPIR_INSN(BPF_JMP | BPF_CALL, 0, 0, 0, helper)
#define TAPIR_INSN_EXIT()		 TAPIR_INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
/* Two instructions: the map's fd as a 64-bit constant. */
#define TAPIR_INSN_MAP(dst, map_fd)                                                                \
	TAPIR_INSN(BPF_LD | BPF_DW | BPF_IMM, dst, BPF_PSEUDO_MAP_FD, 0, map_fd),                  \
		TAPIR_INSN(0, 0, 0, 0, 0)

#endif
