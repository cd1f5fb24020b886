/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jvm_scopes.h - which methods HotSpot has inlined at an address of its compiled code. For each
 * place where it may have to inspect a frame (calls, safepoints, implicit checks) a compiled method
 * has a PcDesc, which leads to the scope of the innermost method, and that to its caller's.
 *
 * Nothing is asked of the JVM. Its memory may hold anything and changes while it is read: each read
 * is bounded, and a list of methods is taken only if its outermost one is the method that was
 * compiled. JDK 17 to 22, and from 25 on, whose layouts differ. Pure but for reads.
 */
#ifndef TAPIR_USER_JVM_SCOPES_H
#define TAPIR_USER_JVM_SCOPES_H

#include "runtime/jvm/jvm_code.h"

#define TAPIR_JVM_SCOPES_MAX 64u /* methods at one address */

struct tapir_jvm_scopes {
	bool is_known;
	bool is_apart;	  /* the scopes are not in the block of the code (JDK 25) */
	uint8_t excluded; /* 1: no byte of a number is 0 (JDK 20) */
	uint32_t block_bytes, header_bytes;
	/* Offsets in the nmethod, of members or of offsets that it holds. */
	uint32_t name, method, code, pcs, pcs_end, data, metadata;
	uint32_t apart_va, apart_bytes, mutable_va, mutable_bytes, relocation_bytes;
	uint32_t pc_off, scope_off; /* of a PcDesc */
};

/* The structures of the description that this needs: to be searched together with others'. */
#define TAPIR_JVM_SCOPE_STRUCT_CNT 21u
extern const struct tapir_jvm_struct tapir_jvm_scope_structs[TAPIR_JVM_SCOPE_STRUCT_CNT];

/* found: the above, with what was found. It need not be known. */
void tapir_jvm_scopes__read(struct tapir_jvm_scopes *out, const struct tapir_process_memory *memory,
			    const struct tapir_jvm_struct found[TAPIR_JVM_SCOPE_STRUCT_CNT]);

/* A method, and where in it: the call of the one before, or the place itself. */
struct tapir_jvm_scope {
	uint64_t method_va;
	int32_t bci;
};

/*
 * The methods at va, innermost first; the last one is that which was compiled. is_return: va is the
 * return address of a call, of which all is known. Else only those are given that hold before and
 * after it: what lies between two places is not described. 0: not known.
 */
unsigned tapir_jvm_scopes__at(const struct tapir_jvm_scopes *s, const struct tapir_jvm_code *code,
			      const struct tapir_process_memory *memory, uint64_t va,
			      bool is_return, struct tapir_jvm_scope out[TAPIR_JVM_SCOPES_MAX]);

#endif
