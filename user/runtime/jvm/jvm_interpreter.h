/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jvm_interpreter.h - which Java method a frame of HotSpot's interpreter runs. All of them have the
 * same code; on x86-64 the third word below a frame's frame pointer is its Method, which leads to
 * its names. Layouts are those that the JVM describes itself (jvm_structs.h).
 *
 * Nothing is asked of the JVM. Its memory may hold anything and changes while it is read: what does
 * not look like a method's names is none. Pure but for reads.
 */
#ifndef TAPIR_USER_JVM_INTERPRETER_H
#define TAPIR_USER_JVM_INTERPRETER_H

#include "attach/maps.h"
#include "base/str.h"
#include "bpf/interp.h"
#include "runtime/jvm/jvm_code.h"
#include "runtime/jvm/jvm_scopes.h"
#include "runtime/jvm/jvm_structs.h"

struct tapir_jvm_interpreter {
	uint64_t code_va, code_end_va;	   /* 0: not known */
	uint32_t const_method;		   /* of a Method */
	uint32_t pool, name, signature;	   /* of that; the latter are indexes of the pool */
	uint32_t pool_bytes, pool_holder;  /* of the pool: its entries follow it; its class */
	uint32_t class_name;		   /* of a class */
	uint32_t symbol_len, symbol_bytes; /* of a name */
	struct tapir_jvm_code code;	   /* of what it compiles; may be empty */
	struct tapir_jvm_scopes scopes;	   /* of that; may be not known */
	/* 2 bytes of a name, which differ between names. False: it has none, or too far away. */
	uint32_t name_id;
	bool has_name_id;
};

/* False: it does not describe what is needed, or has not made its interpreter yet. */
bool tapir_jvm_interpreter__read(struct tapir_jvm_interpreter *out,
				 const struct tapir_process_memory *memory,
				 const uint64_t vas[TAPIR_JVM_EXPORT_CNT]);
/* The same of a process, which maps the first executable segment of its libjvm.so there. */
bool tapir_jvm_interpreter__find(struct tapir_jvm_interpreter *out, uint32_t tgid,
				 const struct tapir_mapping_line *libjvm);

/* The same, by what the process maps. Reads /proc and 2 MB of symbols. */
bool tapir_jvm_interpreter__of(struct tapir_jvm_interpreter *out, uint32_t tgid);

/* "void Hot.b(int)", as compiled methods are called (jvm_methods.h). False: it is no method. */
bool tapir_jvm_interpreter__add_name(const struct tapir_jvm_interpreter *i,
				     const struct tapir_process_memory *memory, uint64_t method_va,
				     struct tapir_str *out);

/* Says how the programs find the methods of a stack (bpf/interp.h). False: they cannot. */
bool tapir_jvm_interpreter__interp(const struct tapir_jvm_interpreter *i, struct tapir_interp *out);

/* Returns true if the method is still the one that a stack with this cookie had. */
bool tapir_jvm_interpreter__is_method(const struct tapir_jvm_interpreter *i,
				      const struct tapir_process_memory *memory, uint64_t method_va,
				      uint64_t cookie);

#endif
