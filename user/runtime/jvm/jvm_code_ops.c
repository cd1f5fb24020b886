// SPDX-License-Identifier: GPL-2.0-or-later
/* HotSpot's interpreter and compiled code, as what walks stacks and names frames takes them. */
#include <stdlib.h>
#include <string.h>

#include "runtime/jvm/jvm_interpreter.h"
#include "runtime/jvm/jvm_ops.h"

_Static_assert(TAPIR_JVM_CODE_HEAPS <= TAPIR_CODE_HEAPS, "all heaps of a JVM have room");

static void *find(uint32_t tgid, const struct tapir_mapping_line *file,
		  struct tapir_code_place *out)
{
	struct tapir_jvm_interpreter *i = calloc(1, sizeof(*i));

	if (!i || !(file ? tapir_jvm_interpreter__find(i, tgid, file)
			 : tapir_jvm_interpreter__of(i, tgid))) {
		free(i);
		return NULL;
	}
	*out = (struct tapir_code_place){
		.interpreter_va = i->code_va,
		.interpreter_end_va = i->code_end_va,
		.heap_cnt = i->code.heap_cnt,
		.has_inlined = i->scopes.is_known,
	};
	memcpy(out->heaps, i->code.heaps, sizeof(i->code.heaps));
	return i;
}

static bool add_name(const void *state, const struct tapir_process_memory *memory,
		     uint64_t method_va, struct tapir_str *out)
{
	return tapir_jvm_interpreter__add_name(state, memory, method_va, out);
}

/*
 * The names of all but the outermost. What the code is now may not be what it was: false if the
 * outermost is not the one that had the address.
 */
static bool add_inlined(const void *state, const struct tapir_process_memory *memory, uint64_t va,
			bool is_return, struct tapir_sv outermost, struct tapir_str *out)
{
	const struct tapir_jvm_interpreter *jvm = state;
	struct tapir_jvm_scope scopes[TAPIR_JVM_SCOPES_MAX];
	unsigned cnt = tapir_jvm_scopes__at(&jvm->scopes, &jvm->code, memory, va + is_return,
					    is_return, scopes);
	struct tapir_str last = {};
	bool ok = cnt > 1 &&
		  tapir_jvm_interpreter__add_name(jvm, memory, scopes[cnt - 1].method_va, &last);

	ok = ok && last.len == outermost.len && !memcmp(last.data, outermost.data, last.len);
	tapir_str__fini(&last);
	for (unsigned i = 0; ok && i < cnt - 1; i++) {
		if (i)
			tapir_str__addc(out, '\n');
		ok = tapir_jvm_interpreter__add_name(jvm, memory, scopes[i].method_va, out);
	}
	return ok;
}

const struct tapir_code_ops tapir_jvm_code_ops = {
	.find = find,
	.add_name = add_name,
	.add_inlined = add_inlined,
};
