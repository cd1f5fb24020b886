/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jvm_structs.h - the layout of HotSpot's own structures, as libjvm.so describes it to debuggers
 * (src/hotspot/share/runtime/vmStructs.cpp): a table of fields and a table of types, to which
 * exported variables lead. It is in the memory of the process; what is read is checked, and the
 * tables are read up to a bound. One thread.
 */
#ifndef TAPIR_USER_JVM_STRUCTS_H
#define TAPIR_USER_JVM_STRUCTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/process_memory.h"

/* The exported variables, in the order of the enum. */
#define TAPIR_JVM_EXPORTS(X)                                                                       \
	X(STRUCTS, "gHotSpotVMStructs")                                                            \
	X(STRUCT_TYPE_NAME, "gHotSpotVMStructEntryTypeNameOffset")                                 \
	X(STRUCT_FIELD_NAME, "gHotSpotVMStructEntryFieldNameOffset")                               \
	X(STRUCT_OFFSET, "gHotSpotVMStructEntryOffsetOffset")                                      \
	X(STRUCT_ADDRESS, "gHotSpotVMStructEntryAddressOffset")                                    \
	X(STRUCT_STRIDE, "gHotSpotVMStructEntryArrayStride")                                       \
	X(TYPES, "gHotSpotVMTypes")                                                                \
	X(TYPE_NAME, "gHotSpotVMTypeEntryTypeNameOffset")                                          \
	X(TYPE_SIZE, "gHotSpotVMTypeEntrySizeOffset")                                              \
	X(TYPE_STRIDE, "gHotSpotVMTypeEntryArrayStride")

enum tapir_jvm_export {
#define TAPIR_X(name, symbol) TAPIR_JVM_EXPORT_##name,
	TAPIR_JVM_EXPORTS(TAPIR_X)
#undef TAPIR_X
		TAPIR_JVM_EXPORT_CNT
};

extern const char *const tapir_jvm_exports[TAPIR_JVM_EXPORT_CNT];

/* A member to be searched in the description. */
struct tapir_jvm_struct {
	const char *type;
	const char *field; /* NULL: the size of the type */
	bool is_static;	   /* the field has an address instead of an offset */
	bool is_found;
	uint64_t value; /* the offset, the size, or the address */
};

/* vas: of the exported variables. What is out of bounds is not found. */
void tapir_jvm_structs__find(const struct tapir_process_memory *memory,
			     const uint64_t vas[TAPIR_JVM_EXPORT_CNT],
			     struct tapir_jvm_struct *wanted, size_t cnt);

#endif
