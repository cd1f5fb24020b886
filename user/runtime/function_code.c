// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See function_code.h. The bytes are compared, not disassembled: a variable of a function that was
 * compiled in another way is not found, and the caller checks what it reads.
 */
#include "runtime/function_code.h"

#include <string.h>

#include "bpf/interp.h"

uint64_t tapir_function_code__relative(uint64_t va, const uint8_t *code, size_t at)
{
	int32_t disp;

	memcpy(&disp, code + at, sizeof(disp));
	return va + at + sizeof(disp) + (uint64_t)(int64_t)disp;
}

/*
 * In a library:  data16 lea index(%rip),%rdi; data16 data16 rex.W call __tls_get_addr
 * in a program:  mov %fs:-16,%rax
 */
bool tapir_function_code__thread_local(const struct tapir_process_memory *memory, uint64_t fn_va,
				       uint8_t *root, uint64_t *root_va)
{
	static const uint8_t lea[] = {0x66, 0x48, 0x8d, 0x3d}, call[] = {0x66, 0x66, 0x48, 0xe8},
			     mov[] = {0x64, 0x48, 0x8b, 0x04, 0x25};
	uint8_t code[32];
	int32_t disp;

	if (!fn_va || !tapir_process_memory__get(memory, fn_va, code, sizeof(code)))
		return false;
	for (size_t i = 0; i + 12 <= sizeof(code); i++) {
		if (!memcmp(code + i, lea, sizeof(lea)) &&
		    !memcmp(code + i + 8, call, sizeof(call))) {
			*root = TAPIR_INTERP_INDEX;
			*root_va = tapir_function_code__relative(fn_va, code, i + sizeof(lea));
			return true;
		}
		if (!memcmp(code + i, mov, sizeof(mov))) {
			memcpy(&disp, code + i + sizeof(mov), sizeof(disp));
			if (disp >= 0)
				continue; /* the canary of the stack */
			*root = TAPIR_INTERP_TLS;
			*root_va = (uint64_t)(int64_t)disp;
			return true;
		}
	}
	return false;
}

uint64_t tapir_function_code__returned(const struct tapir_process_memory *memory, uint64_t fn_va)
{
	static const uint8_t lea[] = {0x48, 0x8d, 0x05}, landing[] = {0xf3, 0x0f, 0x1e, 0xfa};
	uint8_t code[12];
	size_t at;

	if (!fn_va || !tapir_process_memory__get(memory, fn_va, code, sizeof(code)))
		return 0;
	at = memcmp(code, landing, sizeof(landing)) ? 0 : sizeof(landing);
	if (memcmp(code + at, lea, sizeof(lea)) || code[at + 7] != 0xc3)
		return 0;
	return tapir_function_code__relative(fn_va, code, at + sizeof(lea));
}

uint64_t tapir_function_code__tail_call(const struct tapir_process_memory *memory, uint64_t fn_va)
{
	uint8_t code[TAPIR_FUNCTION_CODE_BYTES];

	if (!fn_va || !tapir_process_memory__get(memory, fn_va, code, sizeof(code)))
		return 0;
	for (size_t i = 0; i + 6 <= sizeof(code); i++)
		if ((code[i] & 0xf8) == 0x58 && code[i + 1] == 0xe9) /* pop; jmp */
			return tapir_function_code__relative(fn_va, code, i + 2);
	return 0;
}
