/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * v8_functions.h - the names of JavaScript functions that run, by the memory of a process with V8:
 * of a function's description (a SharedFunctionInfo), whose address the walk of a stack found
 * (bpf/interp.h). What V8 exports for debuggers (v8dbg_*) says where things are in its objects.
 *
 * Its collector moves objects while they are read. So a name counts only if the description has the
 * words that it had when the stack was walked, before and after, and if the same was read twice. No
 * state; any thread.
 */
#ifndef TAPIR_USER_V8_FUNCTIONS_H
#define TAPIR_USER_V8_FUNCTIONS_H

#include "base/str.h"
#include "bpf/interp.h"
#include "runtime/process_memory.h"

/* Constants of V8, by the beginnings of their names: a type follows, which versions change. */
#define TAPIR_V8_CONSTANTS(X)                                                                      \
	X(SHARED, "class_JSFunction__shared__")                                                    \
	X(NAME, "class_SharedFunctionInfo__name_or_scope_info__")                                  \
	X(SCRIPT, "class_SharedFunctionInfo__script_")                                             \
	X(SCRIPT_SOURCE, "class_Script__source__")                                                 \
	X(SCRIPT_NAME, "class_Script__name__")                                                     \
	X(MAP_TYPE, "class_Map__instance_type__")                                                  \
	X(STRING_LENGTH, "class_String__length__")                                                 \
	X(CONS_FIRST, "class_ConsString__first__")                                                 \
	X(CONS_SECOND, "class_ConsString__second__")                                               \
	X(THIN_ACTUAL, "class_ThinString__actual__")                                               \
	X(SLICED_PARENT, "class_SlicedString__parent__")                                           \
	X(SLICED_OFFSET, "class_SlicedString__offset__")                                           \
	X(EXTERNAL_RESOURCE, "class_ExternalString__resource__")                                   \
	X(CHARS, "class_SeqOneByteString__chars__")                                                \
	X(TYPE_FUNCTION, "type_SharedFunctionInfo__")                                              \
	X(TYPE_SCOPE, "type_ScopeInfo__")                                                          \
	X(TYPE_SCRIPT, "type_Script__")                                                            \
	X(FIRST_NO_STRING, "FirstNonstringType")                                                   \
	X(FIRST_VARIABLES, "scopeinfo_idx_first_vars")                                             \
	X(LOCALS, "scopeinfo_idx_ncontextlocals")                                                  \
	X(FP_FUNCTION, "off_fp_function")                                                          \
	X(FP_CONTEXT, "off_fp_context")                                                            \
	X(SMALL_SHIFT, "SmiShiftSize")                                                             \
	X(OBJECT_TAG, "HeapObjectTag")

enum tapir_v8_constant {
#define TAPIR_V8_X(id, prefix) TAPIR_V8_##id,
	TAPIR_V8_CONSTANTS(TAPIR_V8_X)
#undef TAPIR_V8_X
		TAPIR_V8_CONSTANT_CNT
};

struct tapir_v8 {
	int32_t constants[TAPIR_V8_CONSTANT_CNT];
};

/* Returns the constant that a symbol without "v8dbg_" is; TAPIR_V8_CONSTANT_CNT: none of these. */
enum tapir_v8_constant tapir_v8__constant(const char *name);

/* Returns true if names can be read with these constants. */
bool tapir_v8__is_known(const struct tapir_v8 *v8);

/* Describes to BPF programs how they find the functions of frames. v8: is known. */
void tapir_v8__interp(const struct tapir_v8 *v8, struct tapir_interp *out);

/*
 * Adds "draw /srv/shop/shop.js:12:3", "(anonymous)" for a function without a name, "<anonymous>"
 * for a script without a file. Line and column count from 1, and are left out where they cannot be
 * found. cookie: of the frame, as the walk made it. False: there is no longer such a function, and
 * out may hold a part.
 */
bool tapir_v8__add_name(const struct tapir_v8 *v8, const struct tapir_process_memory *memory,
			uint64_t va, uint64_t cookie, struct tapir_str *out);

#endif
